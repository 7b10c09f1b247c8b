package fit

import (
	"cmp"
	"slices"
)

// Learner gathers what engines reach on this machine. The zero value has learned
// nothing. It is used by one goroutine at a time.
type Learner struct {
	runs map[learnedKey][]float64
	kept []Learned
}

type learnedKey struct {
	engine, version string
	class           Class
}

// keptRuns is how many of the newest runs count: enough for a median that one odd
// run does not move, few enough that a changed machine is noticed.
const keptRuns = 31

// mostKeys bounds how many engines, versions and classes are remembered.
const mostKeys = 64

// Add takes in one run: efficiency is a share of the bandwidth. What is no share of
// it is left out.
func (l *Learner) Add(engine, version string, class Class, efficiency float64) {
	if engine == "" || class == "" || !(efficiency > 0.01 && efficiency <= 1.5) {
		return
	}
	if l.runs == nil {
		l.runs = map[learnedKey][]float64{}
	}
	key := learnedKey{engine, version, class}
	runs, known := l.runs[key]
	if !known && len(l.runs) >= mostKeys {
		return
	}
	runs = append(runs, efficiency)
	l.runs[key] = runs[max(0, len(runs)-keptRuns):]
	l.kept = nil
}

// Restore takes what was learned before, as Learned gave it. New runs of the same
// engine replace it once there are LeastRuns of them.
func (l *Learner) Restore(before []Learned) {
	for _, b := range before {
		if b.Runs < LeastRuns || !b.Band.sound() {
			continue
		}
		for _, share := range []float64{b.Band.Low, b.Band.Centre, b.Band.High} {
			l.Add(b.Engine, b.Version, b.Class, share)
		}
	}
}

// Learned is what was learned, sorted. It is not to be changed.
func (l *Learner) Learned() []Learned {
	if l.kept != nil || len(l.runs) == 0 {
		return l.kept
	}
	for key, runs := range l.runs {
		if len(runs) < LeastRuns {
			continue
		}
		sorted := slices.Sorted(slices.Values(runs))
		at := func(share float64) float64 { return sorted[int(share*float64(len(sorted)-1)+0.5)] }
		l.kept = append(l.kept, Learned{Engine: key.engine, Version: key.version, Class: key.class, Runs: len(runs), Band: Band{at(0.1), at(0.5), at(0.9)}})
	}
	slices.SortFunc(l.kept, func(a, b Learned) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Class, b.Class))
	})
	return l.kept
}

// Comfort is one word on how a model is to work with here.
type Comfort string

const (
	// Comfortable: both bounds of a Standard hold.
	Comfortable Comfort = "comfortable"
	// Slow: one does not, and the model still writes at half of the least rate.
	Slow Comfort = "slow"
	// BatchOnly: below that, or its first word takes ten times the bound: work that
	// nobody waits for.
	BatchOnly Comfort = "batch_only"
)

// Standard is what a person takes for usable.
type Standard struct {
	TTFT   float64 // seconds
	Decode float64 // tokens/s
}

// Usable is the usual standard: from the field.
var Usable = Standard{TTFT: 1.5, Decode: 8}

// Comfort judges medians that were measured at 4K: seconds to the first token and
// tokens/s. "" when they do not tell.
func (s Standard) Comfort(ttft, decode *float64) Comfort {
	if decode == nil || !(*decode > 0) {
		return ""
	}
	switch {
	case *decode < s.Decode/2, ttft != nil && *ttft > 10*s.TTFT:
		return BatchOnly
	case *decode < s.Decode, ttft != nil && *ttft > s.TTFT:
		return Slow
	case ttft == nil:
		return ""
	}
	return Comfortable
}
