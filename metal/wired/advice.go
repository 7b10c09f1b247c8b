package wired

// Machine is what advice is made of.
type Machine struct {
	// RAM is the memory of the machine in bytes.
	RAM uint64
	// Default is the working set in bytes while nothing is set, as Metal told it or
	// estimated; 0 when nobody knows.
	Default uint64
	// Now is the working set in bytes that is in force; 0 is Default.
	Now uint64
	// NonModel is the memory in bytes that is in use and that no model holds, as it
	// was measured; nil when it was not.
	NonModel *uint64
}

// Advice is which limits are worth setting on a machine.
type Advice struct {
	Bounds Bounds
	// Default is what follows from going back to the system's default.
	Default Step
	// Steps raise the limit above the default, in rising order: at most four, whole GiB.
	Steps []Step
	// Recommended is the limit of one of Steps, nil when none is.
	Recommended *MiB
	// Why says why nothing is recommended: one of the Nothing constants, else "".
	Why string
}

// Why nothing is recommended.
const (
	NothingUnknown = "unknown" // memory or default are not known
	NothingAbove   = "above"   // the default is as high as is safe, or nearly
	NothingInUse   = "in_use"  // other programs use what a step would take
)

// Step is what follows from one limit.
type Step struct {
	// Limit is what would be set; 0 is the system's default.
	Limit MiB
	// Before and After are the working set in bytes, now and then. Servers that run
	// notice the change when they are restarted.
	Before, After uint64
	// Keeps is the memory in bytes that is left for macOS and everything but models.
	Keeps uint64
	// Short is what other programs use beyond Keeps, in bytes: when it is above 0,
	// measured use forbids the step. 0 also when use was not measured.
	Short uint64
	// ContextBefore and ContextAfter are the context, in tokens, that Ollama takes
	// when neither request nor settings name one, before and after its restart. Both
	// are 0 when Before or After is not known.
	ContextBefore, ContextAfter int
}

// Gain is how much more the GPU may use, in bytes; below 0 it is less.
func (s Step) Gain() int64 { return int64(s.After) - int64(s.Before) }

// CacheGrowth is how much more memory in bytes the cache of a model takes after
// Ollama's restart, at so many bytes for each token: where the default context
// jumps, this may be more than Gain.
func (s Step) CacheGrowth(perToken uint64) int64 {
	return int64(s.ContextAfter-s.ContextBefore) * int64(perToken)
}

// assumedUse is what programs besides models are taken to need, in bytes, where
// their use was not measured: the lower end of what people leave on small Macs.
const assumedUse = 6 * gib

// leastGain is the least, in bytes, that a step must bring over the default.
const leastGain = gib / 2

// At is what follows from a limit. The limit need not be within bounds: Check
// tells that.
func (m Machine) At(limit MiB) Step {
	s := Step{Limit: limit, Before: m.Now, After: limit.Bytes()}
	if s.Before == 0 {
		s.Before = m.Default
	}
	if limit == 0 {
		s.After = m.Default
	}
	if m.RAM > s.After {
		s.Keeps = m.RAM - s.After
	}
	if m.NonModel != nil && *m.NonModel > s.Keeps {
		s.Short = *m.NonModel - s.Keeps
	}
	if s.Before > 0 && s.After > 0 {
		s.ContextBefore, s.ContextAfter = DefaultContext(s.Before), DefaultContext(s.After)
	}
	return s
}

// Advise makes the advice for a machine. All that it names is within its bounds;
// what it recommends keeps the reserve, and what other programs were measured to
// use where that is more.
func Advise(m Machine) Advice {
	a := Advice{Bounds: BoundsOf(m.RAM), Default: m.At(0)}
	if m.RAM == 0 || m.Default == 0 {
		a.Why = NothingUnknown
		return a
	}
	for _, limit := range steps(a.Bounds, m.Default) {
		a.Steps = append(a.Steps, m.At(limit))
	}
	use := uint64(assumedUse)
	if m.NonModel != nil {
		use = *m.NonModel
	}
	a.Why = NothingAbove
	for _, s := range a.Steps {
		if s.Keeps < use {
			if a.Recommended == nil {
				a.Why = NothingInUse
			}
			break
		}
		a.Recommended, a.Why = new(s.Limit), ""
	}
	return a
}

// steps are whole GiB, or multiples of 2, 4, … GiB where that many would be more
// than four, above what is in force by default.
func steps(b Bounds, byDefault uint64) []MiB {
	least := max(byDefault+leastGain, b.Floor.Bytes())
	for grain := MiB(1 << 10); ; grain *= 2 {
		var all []MiB
		first := MiB(least>>20) / grain * grain
		for limit := first; limit <= b.Most && len(all) < 5; limit += grain {
			if limit.Bytes() >= least {
				all = append(all, limit)
			}
		}
		if len(all) <= 4 {
			return all
		}
	}
}

// contexts are the tiers of Ollama's default context: tokens, from that much GPU
// memory in bytes (ollama, server/routes.go: 47 and 23 GiB, so that cards of 48
// and 24 count in full).
var contexts = []struct {
	from   uint64
	tokens int
}{{47 * gib, 262144}, {23 * gib, 32768}, {0, 4096}}

// DefaultContext is the context, in tokens, that Ollama takes by default where
// the GPU may use that much memory in bytes.
func DefaultContext(workingSet uint64) int {
	for _, c := range contexts {
		if workingSet >= c.from {
			return c.tokens
		}
	}
	return 0
}
