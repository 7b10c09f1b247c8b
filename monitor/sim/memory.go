package sim

import (
	"math"

	"plimsoll/metal"
)

const (
	gb  = 1e9
	gib = 1 << 30

	ram             = 32 * gib
	pageSize        = 16384              // bytes, Apple silicon
	defaultGPULimit = 21845 * (1 << 20)  // recommendedMaxWorkingSetSize of a 32 GB Mac
	compressorFloor = 2.5 * gb           // room that the rest of the system must keep
	compressRatio   = 2.5                // logical bytes per byte in the compressor
	compressRate    = 5 * gb             // logical bytes per second, on several cores
	diskRate        = 3 * gb             // reading a model, bytes per second
	swapRate        = 1.5 * gb           // each way, bytes per second
	growRate        = 1 * gb             // how fast an app fills its memory
	hotShare        = 0.08               // part of apps' memory in constant use
	reserve         = 1 * gb             // free and cached that the system keeps
	hardFloor       = 0.25 * gb          // below it whoever asks for memory waits
	freeFloor       = 0.12 * gb          // kept free
	freeGoal        = 0.6 * gb           // beyond it free memory slowly becomes file cache
	cacheRate       = 0.15 * gb          // bytes per second
	stickyHeld      = 0.4 * gb           // compressed memory that nobody touches again
	decompressRate  = 0.4 * gb           // logical bytes per second
	lazyRate        = 0.02 * gb          // swapped memory touched now and then, bytes per second
	stickySwap      = 0.25 * gb          // swapped memory that nobody touches again
	swapFile        = gib                // macOS grows swap by whole files
	swapPatience    = 10                 // s until it does
	swapSpare       = 3 * (swapFile / 4) // it keeps this much of them unused
	swapExcess      = 5 * (swapFile / 2) // and drops a file when more than this is unused
)

// memory is where every byte of the machine is. Wired, plain, compressed, cached
// and free always add up to the RAM; all are bytes.
type memory struct {
	systemWired float64 // kernel, drivers and the GPU's share of the desktop
	models      float64 // allocated on the GPU by runners, wherever it is
	modelsOut   float64 // part of models that is swapped out
	modelsPlain float64 // part of models past the limit, not wired, not yet out

	plain   float64 // apps' memory as it is
	held    float64 // apps' memory in the compressor, before compression
	swapped float64 // apps' memory in swap, before compression
	cached  float64

	files   float64 // swap files
	unused  float64 // s for which one too many has been there
	in, out float64 // since start
	inNow   float64 // over the last step
	outNow  float64
	level   metal.Pressure
	limit   float64 // of the GPU as it is set; 0 is the default
	fit     float64 // what models may have wired
	spare   float64 // swap-out budget left in this step
}

func newMemory() memory {
	m := memory{level: metal.PressureNormal, in: 0.9 * gb, out: 1.2 * gb, swapped: 0.3 * gb * compressRatio}
	m.files = m.filesFor()
	return m
}

// gpuLimit is the effective limit of the GPU.
func (m *memory) gpuLimit() float64 {
	if m.limit > 0 {
		return m.limit
	}
	return defaultGPULimit
}

// demand is what apps have, wherever it is.
func (m *memory) demand() float64 { return m.plain + m.held + m.swapped }

func (m *memory) wiredModels() float64 { return m.models - m.modelsOut - m.modelsPlain }
func (m *memory) wired() float64       { return m.systemWired + m.wiredModels() }
func (m *memory) compressed() float64  { return m.held / compressRatio }

// room is what is cached or free.
func (m *memory) room() float64 {
	return ram - m.wired() - m.modelsPlain - m.plain - m.compressed()
}

func (m *memory) swapUsed() float64 { return m.swapped/compressRatio + m.modelsOut }

// over is how much more models have than can be wired.
func (m *memory) over() float64 { return max(0, m.models-m.fit) }

// grant gives at most want bytes to somebody who fills memory, less when the
// system has to make room first.
func (m *memory) grant(want float64) float64 {
	return max(0, min(want, m.room()-hardFloor))
}

// setDemand makes apps have that much in all. What they give back comes from
// everywhere in proportion.
func (m *memory) setDemand(bytes float64) {
	had := m.demand()
	if bytes >= had {
		m.plain += bytes - had
		return
	}
	left := bytes / had
	m.plain, m.held, m.swapped = m.plain*left, m.held*left, m.swapped*left
}

// release takes bytes away from models, swapped and resident parts in proportion.
func (m *memory) release(bytes float64) {
	if m.models <= 0 {
		return
	}
	left := max(0, m.models-bytes) / m.models
	m.models, m.modelsOut, m.modelsPlain = m.models*left, m.modelsOut*left, m.modelsPlain*left
}

// step settles memory after everybody's demand has changed. share is the system's
// part of memory, gpuOther what others hold on the GPU, working whether a model
// runs, and paged the bytes of weights that decoding pulled through swap.
func (m *memory) step(share, gpuOther float64, working bool, paged, dt float64) {
	m.inNow, m.outNow = 0, 0
	m.spare = swapRate * dt
	if paged > 0 { // what comes in pushes as much out
		m.swapIn(paged)
		m.swapOut(paged)
	}
	m.fit = max(0, min(m.gpuLimit()-gpuOther, ram-share-compressorFloor))
	m.placeModels(working, dt)
	m.reclaim(dt)
	m.relieve(dt)
	m.cache(dt)
	m.judge()
	m.growSwap(dt)
}

// placeModels moves models between wired memory and swap. Weights do not compress.
func (m *memory) placeModels(working bool, dt float64) {
	m.modelsPlain = max(0, m.models-m.modelsOut-m.fit)
	if m.modelsPlain > 0 {
		n := min(m.modelsPlain, m.spare)
		m.modelsPlain -= n
		m.modelsOut += n
		m.swapOut(n)
		return
	}
	if spare := min(m.fit-m.wiredModels(), m.modelsOut); spare > 0 {
		rate := 0.3 * gb
		if working {
			rate = swapRate
		}
		n := m.grant(min(spare, rate*dt))
		m.modelsOut -= n
		m.swapIn(n)
	}
}

// reclaim makes room: the file cache goes first (it is part of room), then apps'
// memory is compressed, and what the compressor cannot give in time or in all is
// swapped out. The kernel begins to swap when the pageable rest of memory falls
// below 0.40 of all that is not wired (XNU, doc/vm/memorystatus_notify.md).
func (m *memory) reclaim(dt float64) {
	const gain = 1 - 1/compressRatio
	if need := reserve - m.room(); need > 0 {
		cold := max(0, m.plain-hotShare*m.demand())
		n := min(need/gain, cold, compressRate*dt)
		m.plain -= n
		m.held += n
	}
	need := reserve - m.room()
	pageable := ram - m.wired()
	if over := m.compressed() - 0.60*pageable; over > need {
		need = over
	}
	if need > 0 {
		n := min(need, m.compressed(), m.spare)
		m.held -= n * compressRatio
		m.swapped += n * compressRatio
		m.swapOut(n)
	}
}

// relieve brings memory back when there is room: compressed memory as it is
// touched, swapped memory lazily, which is why swap used stays long after the
// trouble is over.
func (m *memory) relieve(dt float64) {
	if m.room() < reserve+0.5*gb {
		return
	}
	if n := min(decompressRate*dt, m.held-stickyHeld); n > 0 {
		m.held -= n
		m.plain += n
	}
	if n := min(lazyRate*dt, m.swapped/compressRatio-stickySwap); n > 0 {
		m.swapped -= n * compressRatio
		m.plain += n * compressRatio
		m.swapIn(n)
	}
}

// cache keeps a little memory free and lets files have the rest in time.
func (m *memory) cache(dt float64) {
	room := m.room()
	if free := room - m.cached; free > freeGoal {
		m.cached += min(free-freeGoal, cacheRate*dt)
	}
	m.cached = max(0, min(m.cached, room-freeFloor))
}

// judge is the kernel's rule of memory pressure, with its hysteresis: N is what
// can be paged, A that and what the compressor occupies (XNU, same document).
func (m *memory) judge() {
	a := ram - m.wired()
	ratio := (a - m.compressed()) / a
	switch {
	case ratio < 0.348, m.level == metal.PressureCritical && ratio < 0.406:
		m.level = metal.PressureCritical
	case ratio < 0.50, m.level != metal.PressureNormal && ratio < 0.60:
		m.level = metal.PressureWarning
	default:
		m.level = metal.PressureNormal
	}
}

func (m *memory) swapIn(n float64)  { m.in += n; m.inNow += n }
func (m *memory) swapOut(n float64) { m.out += n; m.outNow += n; m.spare = max(0, m.spare-n) }

func (m *memory) filesFor() float64 {
	return math.Ceil((m.swapUsed()+swapSpare)/swapFile) * swapFile
}

// growSwap adds files at once and drops them slowly.
func (m *memory) growSwap(dt float64) {
	m.files = max(m.files, m.filesFor())
	if m.files-m.swapUsed() <= swapExcess {
		m.unused = 0
		return
	}
	if m.unused += dt; m.unused >= swapPatience {
		m.files -= swapFile
		m.unused = 0
	}
}

func pages(bytes float64) uint64 { return uint64(max(0, bytes)) / pageSize * pageSize }

// report is memory as the system tells it: whole pages that add up.
func (m *memory) report() metal.Memory {
	wired, app := pages(m.wired()), pages(m.plain+m.modelsPlain)
	compressed, cached := pages(m.compressed()), pages(m.cached)
	free := ram - wired - app - compressed - cached
	return metal.Memory{
		Total: new(uint64(ram)), Used: new(app + wired + compressed), App: new(app), Wired: new(wired),
		Compressed: new(compressed), Cached: new(cached), Free: new(free), Available: new(free + cached),
		Pressure: m.level, PressureSource: "kernel",
	}
}

func (m *memory) reportSwap() metal.Swap {
	return metal.Swap{Used: new(pages(m.swapUsed())), Total: new(uint64(m.files)), In: new(pages(m.in)), Out: new(pages(m.out))}
}
