package monitor

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// step is the time between two moments: long enough for a load to be over at the third.
const step = 61 * time.Second

// seen is a snapshot of a model at its normal rate: 20 of 20 tokens/s, all on the
// GPU, nothing else going on.
func seen(n int) *Snapshot {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(n) * step)
	return &Snapshot{
		Taken: at, Awake: new((time.Duration(n) * step).Seconds()),
		Machine:  &metal.Machine{Chip: "Apple M4", RAMBytes: new(uint64(32 * gib))},
		Memory:   &metal.Memory{Total: new(uint64(32 * gib)), Available: new(uint64(12 * gib)), Pressure: metal.PressureNormal},
		Swap:     &Swap{Swap: metal.Swap{Used: new(uint64(0)), Total: new(uint64(gib))}, InRate: new(0.0), OutRate: new(0.0)},
		GPU:      &metal.GPU{Source: "iokit", WorkingSet: new(uint64(22 * gib)), InUse: new(uint64(11 * gib)), Utilisation: new(0.97)},
		Power:    &metal.Power{OnBattery: new(false), LowPower: new(false)},
		Backends: []backend.Status{{Name: "ollama", Kind: "ollama", Address: "http://127.0.0.1:11434", State: backend.Running}},
		Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "qwen3:14b", Size: new(uint64(10 * gib)), GPU: new(uint64(10 * gib))},
			Activity: ActivityBusy, Footprint: new(uint64(10 * gib)), ReadPerToken: new(9e9), CachePerToken: new(163840.0)}},
		Requests: []request.Request{{ID: "1", Backend: "ollama", Model: "qwen3:14b", Phase: request.PhaseDecode, Began: at.Add(-5 * time.Second),
			Changed: at, PromptTokens: new(600), OutputTokens: new(80), Live: rateOf(20, at)}},
		Speeds: []request.Speed{{Backend: "ollama", Model: "qwen3:14b", Runs: 7, Decode: rateOf(20, at)}},
	}
}

func rateOf(v float64, at time.Time) *request.Number {
	return &request.Number{Value: v, Source: request.SourceSlots, At: at}
}

func slowTo(rate float64) func(*Snapshot) {
	return func(s *Snapshot) { s.Requests[0].Live.Value = rate }
}

// produced is how each cause shows, strongest first.
var produced = []struct {
	cause  DiagnosisCause
	change func(*Snapshot)
	slow   bool // it counts only while the model is slower than usual
}{
	{SlowSwapping, func(s *Snapshot) { s.Swap.OutRate = new(50e6) }, false},
	{SlowSpill, func(s *Snapshot) { s.Residents[0].GPU = new(uint64(7 * gib)) }, false},
	{SlowThrottled, func(s *Snapshot) {
		s.Throttle = &Throttle{Throttled: true, Since: new(s.Taken), Cause: CauseHeat, Evidence: []Sign{{Reason: SignClock, Clock: new(900.0), TopClock: new(1500.0)}}}
	}, false},
	{SlowSecondModel, func(s *Snapshot) {
		s.Residents = append(s.Residents, Resident{Resident: backend.Resident{Backend: "ollama", Model: "gemma3:4b", Size: new(uint64(4 * gib)), GPU: new(uint64(4 * gib))}, Activity: ActivityBusy})
	}, false},
	{SlowSecondUser, func(s *Snapshot) {
		s.Requests = append(s.Requests, request.Request{ID: "2", Backend: "ollama", Model: "qwen3:14b", Phase: request.PhaseQueued, Began: s.Taken, Changed: s.Taken})
	}, false},
	{SlowDeepContext, func(s *Snapshot) { s.Requests[0].PromptTokens = new(30000) }, true},
	{SlowReread, func(s *Snapshot) { s.Requests[0].Notes = []request.Note{request.NoteReread} }, false},
	{SlowColdLoad, func(s *Snapshot) { s.Requests[0].Phase, s.Requests[0].Live = request.PhaseLoading, nil }, false},
	{SlowOtherGPU, func(s *Snapshot) { s.GPUUsers = []GPUUser{{Name: "Blender", Share: 0.6}} }, true},
	{SlowBattery, func(s *Snapshot) { s.Power.OnBattery = new(true) }, true},
	{SlowBackground, func(s *Snapshot) { s.Background = []Background{{Name: "mds_stores", Cores: 0.9, Processes: 1}} }, true},
	{SlowGrown, func(s *Snapshot) { s.Residents[0].Footprint = new(uint64(12 * gib)) }, true},
	{SlowEngine, func(s *Snapshot) {}, true},
}

// diagnose runs three normal moments and three with changes.
func diagnose(changes ...func(*Snapshot)) *Diagnosis {
	e := newEngine()
	for n := range 6 {
		s := seen(n)
		if n >= 3 {
			for _, change := range changes {
				change(s)
			}
		}
		e.complete(s)
		e.step(nil)
	}
	return e.history.back(0).Diagnosis
}

func TestDiagnosisOfEachCauseAlone(t *testing.T) {
	for _, p := range produced {
		changes := []func(*Snapshot){p.change}
		if p.slow {
			changes = []func(*Snapshot){slowTo(11), p.change}
		}
		d := diagnose(changes...)
		if d == nil || d.Cause != p.cause || d.Model != "qwen3:14b" {
			t.Errorf("%s: %+v", p.cause, d)
			continue
		}
		if d.Evidence == (Evidence{}) {
			t.Errorf("%s: no numbers show it", p.cause)
		}
		if began := map[bool]int{true: 4, false: 3}[p.cause == SlowSwapping]; !d.Since.Equal(seen(began).Taken) { // traffic counts at its second tick
			t.Errorf("%s: since %v, want the first moment of it", p.cause, d.Since)
		}
	}
}

func TestDiagnosisOfPairs(t *testing.T) {
	for i, first := range produced {
		for _, second := range produced[i+1:] {
			if second.cause == SlowEngine || first.cause == SlowDeepContext && second.cause == SlowColdLoad {
				continue // nothing else seen; a model that is loading has no depth yet
			}
			changes := []func(*Snapshot){first.change, second.change}
			if first.slow || second.slow {
				changes = append([]func(*Snapshot){slowTo(11)}, changes...)
			}
			d := diagnose(changes...)
			name := fmt.Sprintf("%s and %s", first.cause, second.cause)
			switch {
			case d == nil || d.Cause != first.cause:
				t.Errorf("%s: %+v", name, d)
			case second.cause == SlowColdLoad || first.cause == SlowColdLoad: // a model that is loading makes no tokens that could be slow
			case !slices.Contains(d.Also, second.cause):
				t.Errorf("%s: the second is not named: %v", name, d.Also)
			}
		}
	}
}

// Nothing wrong is said of what is merely so: at its normal rate a model may be
// on battery, beside an indexer, deep in its context.
func TestDiagnosisNormal(t *testing.T) {
	for _, p := range produced {
		if !p.slow {
			continue
		}
		if d := diagnose(p.change); d == nil || d.Cause != SlowNot || d.Action != nil || len(d.Also) > 0 {
			t.Errorf("at the normal rate, %s: %+v", p.cause, d)
		}
	}
	if d := diagnose(); d == nil || d.Cause != SlowNot || *d.Evidence.DecodeRate != 20 || *d.Evidence.UsualDecodeRate != 20 {
		t.Errorf("nothing wrong: %+v", d)
	}
}

// Without a measured rate nothing is called normal.
func TestDiagnosisWithoutRates(t *testing.T) {
	unmeasured := func(s *Snapshot) { s.Requests, s.Speeds = nil, nil }
	e := newEngine()
	for n := range 4 {
		s := seen(n)
		unmeasured(s)
		e.complete(s)
		e.step(nil)
		if s.Diagnosis != nil {
			t.Fatalf("nobody measures: %+v", s.Diagnosis)
		}
	}
	if d := diagnose(func(s *Snapshot) { s.Swap.OutRate = new(50e6) }, unmeasured); d == nil || d.Cause != SlowSwapping {
		t.Errorf("swapping shows without: %+v", d)
	}
}

// A slow rate ends at nine tenths of the usual, not at the edge where it began.
func TestDiagnosisDoesNotFlicker(t *testing.T) {
	e, changes := newEngine(), 0
	var last DiagnosisCause
	for n := range 40 {
		s := seen(n)
		s.Requests[0].Live.Value = 16 + []float64{0.3, -0.4}[n%2] // around 80 %
		e.complete(s)
		if e.step(nil); s.Diagnosis.Cause != last {
			changes, last = changes+1, s.Diagnosis.Cause
		}
	}
	if changes > 2 {
		t.Errorf("%d changes of the sentence at a rate that stays", changes)
	}
}

// After the answer the sentence stays for two minutes and then goes.
func TestDiagnosisKeepsAndGoes(t *testing.T) {
	e := newEngine()
	var at []DiagnosisCause
	for n := range 200 {
		s := seen(n)
		s.Awake, s.Taken = new(float64(n)), seen(0).Taken.Add(time.Duration(n)*time.Second)
		switch {
		case n < 5:
			s.Throttle = &Throttle{Throttled: true, Since: new(s.Taken), Cause: CauseHeat}
		default:
			s.Residents[0].Activity = ActivityIdle
			r := &s.Requests[0]
			r.Phase, r.Outcome, r.Ended, r.Decode = request.PhaseDone, request.OutcomeFinished, new(seen(0).Taken.Add(5*time.Second)), rateOf(14, s.Taken)
		}
		e.complete(s)
		e.step(nil)
		if s.Diagnosis == nil {
			at = append(at, "")
		} else {
			at = append(at, s.Diagnosis.Cause)
		}
	}
	if at[4] != SlowThrottled || at[6] != SlowThrottled || at[100] != SlowThrottled || at[199] != "" {
		t.Errorf("in flight %q, after %q, later %q, at last %q", at[4], at[6], at[100], at[199])
	}
}

// Case 37: a hybrid model's cache adds nothing that would explain 0.37 after
// 15.75 tokens/s at 50K: it is the engine, not memory or heat.
func TestDiagnosisNamesTheEngineForADepthThatShouldCostNothing(t *testing.T) {
	d := diagnose(slowTo(0.37), func(s *Snapshot) {
		s.Requests[0].PromptTokens = new(50000)
		s.Residents[0].CachePerToken = new(20480.0) // 1 GB beside 9 GB of weights
		s.Speeds[0].Decode = rateOf(15.75, s.Taken)
	})
	if d == nil || d.Cause != SlowEngine || d.Evidence.Tokens == nil || *d.Evidence.Tokens != 50080 {
		t.Errorf("%+v", d)
	}
}

// Case 22: a part on the CPU is a spill, and not heat.
func TestDiagnosisOfASpillIsNotHeat(t *testing.T) {
	d := diagnose(slowTo(4.7), func(s *Snapshot) {
		s.Speeds[0].Decode = rateOf(33.8, s.Taken)
		s.Residents[0].GPU = new(uint64(88 * gib / 10))
	})
	if d == nil || d.Cause != SlowSpill || math.Abs(*d.Evidence.GPUShare-0.88) > 1e-6 {
		t.Errorf("%+v", d)
	}
}

// A machine whose GPU nobody uses has no spill.
func TestModelOnTheProcessorAloneIsNoSpill(t *testing.T) {
	d := diagnose(func(s *Snapshot) {
		s.GPU, s.Machine.OS, s.Residents[0].GPU = nil, "Debian GNU/Linux 12", new(uint64(0))
	})
	if d == nil || d.Cause != SlowNot {
		t.Errorf("%+v", d)
	}
}
