package metal

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Recording is what a machine told when it was asked for everything that a Reader
// reads, some times in a row: what it said (Facts), what each question cost, and,
// for a Mac or Linux, the raw bytes (Files), from which OpenRecording makes the
// same facts again on another machine.
//
// Nothing is recorded in daily use: Capture puts its own reader over the machine,
// and that one keeps what passes through it.
type Recording struct {
	// System is what was asked: "darwin", "linux", or "" for a Reader that is no
	// machine (the simulator).
	System string
	// Taken is when, by the machine's clock.
	Taken time.Time

	rounds [][]section // of each round; the last one counts
	at     []time.Duration
	costs  map[string][]time.Duration // by the name of the question
	failed map[string]error           // why a question has no answer, by its name

	reader Reader
	mac    *recorder // what passed through, for Files; nil for what is no Mac
}

// section is one call of a Reader.
type section struct {
	name  string
	value any // a pointer to Machine and so on, []Process; nil when nothing is told
	err   error
}

// The sections in the order they are asked for.
const (
	sectionMachine   = "machine"
	sectionMemory    = "memory"
	sectionSwap      = "swap"
	sectionGPU       = "gpu"
	sectionThermal   = "thermal"
	sectionPower     = "power"
	sectionProcesses = "processes"
)

// Capture asks r everything, once and again after each of between, which let time
// pass: rates of the GPU need two readings at least 0.1 s apart. It fails when one
// of between does; that a machine does not tell something is a fact and no error.
func Capture(r Reader, between ...func() error) (*Recording, error) {
	c := &Recording{costs: map[string][]time.Duration{}, failed: map[string]error{}, reader: r}
	switch m := r.(type) {
	case *mac:
		c.System = "darwin"
		c.mac = newRecorder(m, c.asked)
		c.reader = c.mac.reader
	default:
		c.System = systemOf(r)
	}
	for i := range len(between) + 1 {
		if i > 0 {
			if err := between[i-1](); err != nil {
				return nil, fmt.Errorf("recording the machine: %w", err)
			}
		}
		at := time.Now()
		if c.mac != nil {
			at = c.mac.begin(i, len(between)+1)
		}
		if i == 0 {
			c.Taken = at
		}
		c.at = append(c.at, at.Sub(c.Taken))
		c.rounds = append(c.rounds, readAll(c.reader, i == len(between), c.asked))
	}
	return c, nil
}

// asked notes what a question cost and why it had no answer.
func (c *Recording) asked(name string, cost time.Duration, err error) {
	c.costs[name] = append(c.costs[name], cost)
	if err != nil {
		c.failed[name] = err
	} else {
		delete(c.failed, name)
	}
}

// readAll calls a Reader. Processes are asked for in one round only: there are
// hundreds.
func readAll(r Reader, processes bool, asked func(string, time.Duration, error)) []section {
	var all []section
	add := func(name string, read func() (any, error)) {
		start := time.Now()
		value, err := read()
		asked(name, time.Since(start), err)
		if err != nil {
			value = nil
		}
		all = append(all, section{name, value, err})
	}
	add(sectionMachine, func() (any, error) { return r.Machine() })
	add(sectionMemory, func() (any, error) { return r.Memory() })
	add(sectionSwap, func() (any, error) { return r.Swap() })
	add(sectionGPU, func() (any, error) { return r.GPU() })
	add(sectionThermal, func() (any, error) { return r.Thermal() })
	add(sectionPower, func() (any, error) { return r.Power() })
	if processes {
		add(sectionProcesses, func() (any, error) { return r.Processes() })
	}
	return all
}

// last is a section of the last round.
func (c *Recording) last(name string) section {
	if len(c.rounds) > 0 {
		for _, s := range c.rounds[len(c.rounds)-1] {
			if s.name == name {
				return s
			}
		}
	}
	return section{name: name, err: fmt.Errorf("reading %s: %w", name, ErrUnsupported)}
}

// valueIn is what the last round has of a section, nil when nothing was told.
func valueIn[T any](c *Recording, name string) *T {
	v, _ := c.last(name).value.(*T)
	return v
}

// Cost is the median of what a question cost, by the name that Fact.Source has;
// false when it was not asked.
func (c *Recording) Cost(name string) (time.Duration, bool) {
	all := slices.Sorted(slices.Values(c.costs[name]))
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)/2], true
}

// errIncomplete is what is wrong with a recording that was not finished.
var errIncomplete = errors.New("it is not complete")

// architecture is what the manifest tells of who recorded.
func architecture() string { return runtime.GOOS + "/" + runtime.GOARCH }
