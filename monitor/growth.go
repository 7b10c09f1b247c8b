package monitor

import "time"

const (
	// growthPerHour is the lasting growth of a runner, in bytes, that ends in a
	// machine that stops: a server grew from 32 to 146 GB overnight and took three
	// Macs down while memory pressure was normal (github.com/jundot/omlx/issues/3065).
	growthPerHour = 10e9
	// trailStep is the time between the readings that growth is made of, and
	// trailSpan how far back they reach; trailLeast is the least time that
	// tells a trend from a load or a first long prompt.
	trailStep, trailLeast, trailSpan = time.Minute, 10 * time.Minute, 2 * time.Hour
	// settle is how long a runner may take to load: until then the trail has
	// not begun.
	settle = 2 * time.Minute
	// lateShare of all growth must lie in the later half: a step is no trend.
	lateShare = 0.25
	// oversize is how far past its model's size a runner may go, oversizeLeast
	// at least how many bytes: engines keep buffers of their own. A 4B model's
	// prompt cache reached 26 GB (github.com/ml-explore/mlx-lm/issues/1390).
	oversize, oversizeLeast = 1.5, 2 * gib
	// How long those that may pass must last: loading takes more for a moment.
	limitHold, oversizeHold = 10 * time.Second, 30 * time.Second
)

// The causes of runner_grows, worst first.
const (
	causeOverRAM   = "over_ram"
	causeOverLimit = "over_gpu_limit"
	causeGrowing   = "growing"
	causeOverSize  = "over_size"
)

// footprints is how a runner's footprint went.
type footprints struct {
	pid    int
	trail  []footprint
	loaded uint64 // what it took once it was loaded
}

type footprint struct {
	at    time.Duration
	bytes uint64
}

// note takes a reading and returns the growth in bytes per second, nil as long
// as it is no trend. at is the engine's own time awake.
func (f *footprints) note(pid int, bytes uint64, at time.Duration) *float64 {
	if f.pid != pid {
		f.pid, f.trail = pid, nil
	}
	switch n := len(f.trail); {
	case n == 0:
		f.trail, f.loaded = append(f.trail, footprint{at, bytes}), bytes
	case n == 1 && at-f.trail[0].at < settle && bytes > f.trail[0].bytes:
		f.trail[0].bytes, f.loaded = bytes, bytes // it loads
	case at-f.trail[n-1].at >= trailStep:
		f.trail = append(f.trail, footprint{at, bytes})
	}
	for len(f.trail) > 0 && at-f.trail[0].at > trailSpan {
		f.trail = f.trail[1:]
	}
	return f.rate(footprint{at, bytes})
}

// rate is the growth over the trail up to now, when both halves of it grew.
func (f *footprints) rate(now footprint) *float64 {
	if len(f.trail) < 2 {
		return nil
	}
	first := f.trail[0]
	span := now.at - first.at
	if span < trailLeast || now.bytes <= first.bytes {
		return nil
	}
	middle := first
	for _, one := range f.trail {
		if one.at-first.at <= span/2+trailStep/2 {
			middle = one
		}
	}
	late := float64(now.bytes) - float64(middle.bytes)
	if grown := float64(now.bytes - first.bytes); middle != first && middle.bytes > first.bytes && late >= lateShare*grown {
		return new(grown / span.Seconds())
	}
	return nil
}

// runnerGrows finds runners that take more than their model, than the GPU may
// have or than there is, and those on the way there, whatever the pressure says.
func runnerGrows(h *History) []finding {
	var found []finding
	now := h.back(0)
	for i := range now.Residents {
		r := &now.Residents[i]
		if r.Footprint == nil || !here(now, r) {
			continue
		}
		f := finding{subject: residentKey(r), severity: SeverityWarning, action: &Command{Kind: CommandUnload, Backend: r.Backend, Model: r.Model}}
		f.evidence = Evidence{Backend: r.Backend, Model: r.Model, Bytes: r.Footprint, PID: r.RunnerPID}
		if !f.grows(now, r) {
			continue
		}
		if r.Unloading {
			f.action = nil
		}
		found = append(found, f)
	}
	return found
}

// grows fills in the worst that is wrong with a runner's footprint.
func (f *finding) grows(s *Snapshot, r *Resident) bool {
	e, bytes := &f.evidence, *r.Footprint
	e.GrowthRate = r.Growth
	over := func(cause string, limit uint64, hold time.Duration, severity Severity) bool {
		e.Cause, e.Limit, f.hold, f.severity = cause, &limit, &hold, severity
		return true
	}
	if ram := ram(s); ram > 0 && bytes > ram {
		return over(causeOverRAM, ram, 0, SeverityCritical)
	}
	if limit := gpuLimit(s); limit > 0 && bytes > limit && !partly(r) {
		return over(causeOverLimit, limit, limitHold, SeverityWarning)
	}
	if r.Growth != nil && *r.Growth*3600 >= growthPerHour {
		e.Cause = causeGrowing
		return true
	}
	if size := expected(r); size > 0 && float64(bytes) > oversize*float64(size) && bytes >= size+oversizeLeast {
		return over(causeOverSize, size, oversizeHold, SeverityWarning)
	}
	return false
}

// expected is what a model should take, in bytes: what its server says or what it
// was planned to take, the larger, as a server may leave the cache out (MLX); 0 when
// neither is known.
func expected(r *Resident) uint64 {
	var size uint64
	for _, told := range []*uint64{r.Size, r.Planned} {
		if told != nil {
			size = max(size, *told)
		}
	}
	return size
}

// gpuLimit is the effective limit of a GPU that shares RAM, 0 when it is not told.
func gpuLimit(s *Snapshot) uint64 {
	if !unified(s) || s.GPU == nil || s.GPU.WorkingSet == nil {
		return 0
	}
	return *s.GPU.WorkingSet
}

// partly reports a model that its server keeps in part off the GPU, as it may
// well do with one that is larger than the limit.
func partly(r *Resident) bool { return r.GPU != nil && r.Size != nil && *r.GPU < *r.Size }

// ram is the memory of the machine, 0 when it is not told.
func ram(s *Snapshot) uint64 {
	if s.Memory != nil && s.Memory.Total != nil {
		return *s.Memory.Total
	}
	if s.Machine != nil && s.Machine.RAMBytes != nil {
		return *s.Machine.RAMBytes
	}
	return 0
}
