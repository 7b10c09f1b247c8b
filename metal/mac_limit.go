package metal

import (
	"strconv"
	"strings"
	"time"

	"plimsoll/metal/internal/iokit"
)

// gpuLimit is what is known of the GPU's limit.
type gpuLimit struct {
	key    string // the sysctl that this system has
	wired  *uint64
	device *iokit.Device
	err    error
	asked  bool
	at     time.Duration // when Metal was asked, awake
	again  int           // how many calls more ask it in any case
}

// Metal follows a change of the limit the next time that it is asked; asking it
// makes Objective-C objects, so it is asked when something changed, some times
// after that, and now and then.
const (
	limitAsked = 30 * time.Second
	limitAgain = 3
)

// The sources of a GPU's limit.
const (
	limitFromMetal    = "metal"
	limitFromSysctl   = "sysctl"
	limitFromEstimate = "estimate"
)

// gpuLimit fills in the limit: Metal's word, else an override that is set, else an
// estimate. The error is that of Metal where nobody told a limit.
func (m *mac) gpuLimit(g *GPU, awake time.Duration, woke bool) error {
	l := &m.gpu.limit
	wired := m.wiredLimit()
	if changed := (wired == nil) != (l.wired == nil) || wired != nil && *wired != *l.wired; changed || woke {
		l.again = limitAgain
	}
	if !l.asked || l.again > 0 || awake-l.at >= limitAsked {
		l.again = max(0, l.again-1)
		l.device, l.err = m.hardware.Device()
		l.asked, l.at = true, awake
	}
	l.wired = wired
	g.WiredLimit = wired
	switch d := l.device; {
	case d != nil && d.WorkingSet > 0 && d.WorkingSet <= mostMemory:
		g.WorkingSet, g.LimitSource = new(d.WorkingSet), limitFromMetal
		if d.MaxBuffer > 0 {
			g.MaxBuffer = new(d.MaxBuffer)
		}
		if g.Name == "" {
			g.Name = d.Name
		}
	case wired != nil && *wired > 0:
		g.WorkingSet, g.LimitSource = new(*wired), limitFromSysctl
	default:
		if n := estimatedLimit(m.text("machdep.cpu.brand_string"), m.text("kern.osproductversion"), m.number("hw.memsize")); n != nil {
			g.WorkingSet, g.LimitSource = n, limitFromEstimate
		}
	}
	if g.WorkingSet == nil {
		return l.err
	}
	return nil
}

// mostMemory is more than any Mac has, in bytes: 16 TiB. A counter that went below
// 0 tells such numbers.
const mostMemory = 1 << 44

// wiredLimits are the names of the limit that can be set, with the bytes that one
// counts: MiB since macOS 14, bytes in macOS 13 (llama.cpp discussion 2182).
var wiredLimits = []struct {
	key  string
	unit uint64
}{{"iogpu.wired_limit_mb", 1 << 20}, {"debug.iogpu.wired_limit", 1}}

// wiredLimit is the limit as it is set, in bytes; 0 is the system's default, nil
// that this system has none that can be set. Which name it has is found by trying.
func (m *mac) wiredLimit() *uint64 {
	for _, k := range wiredLimits {
		if l := &m.gpu.limit; l.key == "" || l.key == k.key {
			if n := m.number(k.key); n != nil {
				l.key = k.key
				if n = times(n, k.unit); n == nil || *n > mostMemory {
					return nil
				}
				return n
			}
		}
	}
	m.gpu.limit.key = ""
	return nil
}

// newerLimits is what Metal reported by default on macOS 26 and 27, in bytes, by
// memory in GiB: reports of 2026 in the trackers of llmfit, ds4 and others. What
// is not in it nobody has reported.
var newerLimits = map[uint64]float64{
	16: 12124.18 * mebi, 24: 18186 * mebi, 32: 25559 * mebi, 36: 28753.9 * mebi, 48: 38338.6 * mebi, 64: 53084.2 * mebi,
	128: 110100.5 * mebi, 256: 212992 * mebi, 512: 475136 * mebi,
}

const mebi = 1 << 20

// DefaultLimit is the same guess for a Mac that is not at hand: chip is "Apple M4
// Pro", version that of its macOS, ram its memory in bytes. nil as there.
func DefaultLimit(chip, version string, ram uint64) *uint64 {
	return estimatedLimit(chip, version, &ram)
}

// estimatedLimit guesses the system's default from memory, for an Apple chip whose
// Metal does not answer: two thirds below 36 GiB and three quarters above up to
// macOS 15 (ollama/ollama#434, ggml-org/llama.cpp#1870 and #3213), more since macOS 26
// on the sizes that were seen. nil for other chips and for virtual machines.
func estimatedLimit(chip, version string, ram *uint64) *uint64 {
	if ram == nil || *ram == 0 || !strings.HasPrefix(chip, "Apple ") || strings.HasSuffix(chip, "(Virtual)") {
		return nil
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 26 && *ram%(1<<30) == 0 {
		if limit := newerLimits[*ram>>30]; limit > 0 {
			return new(uint64(limit))
		}
	}
	if *ram < 36<<30 {
		return new(*ram / 3 * 2)
	}
	return new(*ram / 4 * 3)
}
