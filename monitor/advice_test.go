package monitor

import (
	"math"
	"testing"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

func calm() *Snapshot {
	s := seen(0)
	s.Requests[0].Phase = request.PhaseDone
	s.Speeds[0].Prefill, s.Speeds[0].TTFT = rateOf(400, s.Taken), rateOf(0.9, s.Taken)
	return s
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name     string
		task     Task
		change   func(*Snapshot)
		swapping bool
		choice   Choice
		reason   VetoReason // the first
	}{
		{"a small task", Task{Context: new(500), Output: new(200), Interactive: true}, nil, false, ChooseEither, ""},
		{"nothing is known of it", Task{}, nil, false, ChooseEither, ""},
		{"private", Task{Private: true}, nil, false, ChooseLocal, VetoPrivate},
		{"private and far over the boundary", Task{Private: true, Context: new(90000)}, nil, false, ChooseLocal, VetoPrivate},
		{"at the boundary", Task{Context: new(8192), Output: new(1024)}, nil, false, ChooseEither, ""},
		{"a long prompt", Task{Context: new(8193)}, nil, false, ChooseCloud, VetoContext},
		{"a long answer", Task{Output: new(1025)}, nil, false, ChooseCloud, VetoOutput},
		{"a boundary of one's own", Task{Context: new(20000), Boundary: Boundary{Context: new(32768)}}, nil, false, ChooseEither, ""},
		{"two at work already", Task{}, func(s *Snapshot) {
			s.Requests = []request.Request{{ID: "1", Phase: request.PhaseDecode}, {ID: "2", Phase: request.PhaseQueued}}
		}, false, ChooseCloud, VetoQueue},
		{"swapping", Task{}, nil, true, ChooseCloud, VetoSwapping},
		{"slowed, and somebody waits", Task{Interactive: true}, func(s *Snapshot) { s.Throttle = &Throttle{Throttled: true} }, false, ChooseCloud, VetoThrottled},
		{"slowed, and nobody waits", Task{}, func(s *Snapshot) { s.Throttle = &Throttle{Throttled: true} }, false, ChooseEither, ""},
		{"5 s of reading, and somebody waits", Task{Context: new(2000), Interactive: true}, nil, false, ChooseCloud, VetoTTFT},
		{"5 s of reading, and nobody waits", Task{Context: new(2000)}, nil, false, ChooseEither, ""},
		{"too slow to read along", Task{Interactive: true}, func(s *Snapshot) { s.Speeds[0].Decode.Value = 5 }, false, ChooseCloud, VetoDecode},
		{"no server", Task{}, func(s *Snapshot) { s.Backends[0].State = backend.NotRunning }, false, ChooseCloud, VetoNoServer},
		{"another model is asked for", Task{Model: "llama4:scout"}, nil, false, ChooseCloud, VetoNoModel},
		{"a demanding task", Task{Demanding: true}, nil, false, ChooseCloud, VetoDemanding},
	} {
		s := calm()
		if c.change != nil {
			c.change(s)
		}
		a := Advise(c.task, s, c.swapping)
		reason := VetoReason("")
		if len(a.Vetoes) > 0 {
			reason = a.Vetoes[0].Reason
		}
		if a.Choice != c.choice || reason != c.reason {
			t.Errorf("%s: %s for %q, want %s for %q; %+v", c.name, a.Choice, reason, c.choice, c.reason, a.Vetoes)
		}
	}
}

func TestAdviceExpectsAndCosts(t *testing.T) {
	s := calm()
	s.GPU.Power = new(30.0)
	task := Task{Context: new(2000), Output: new(500), Prices: &Prices{In: new(0.5), Out: new(2.0), KWh: new(0.3), RequestsPerDay: new(100.0)}}
	a := Advise(task, s, false)
	// 2000 ÷ 400 s to read, 500 ÷ 20 s to write
	if a.Seconds == nil || math.Abs(*a.Seconds-30) > 1e-9 {
		t.Fatalf("%+v", a)
	}
	month := 100 * 365.0 / 12
	want := Cost{Cloud: new(month * (2000*0.5 + 500*2) / 1e6), LocalHours: new(month * 30 / 3600), Local: new(month * 30 / 3600 * 0.030 * 0.3)}
	if c := a.Cost; c == nil || math.Abs(*c.Cloud-*want.Cloud) > 1e-9 || math.Abs(*c.Local-*want.Local) > 1e-9 || math.Abs(*c.LocalHours-*want.LocalHours) > 1e-9 {
		t.Errorf("%+v, want %+v", a.Cost, want)
	}
	task.Prices.KWh = nil
	if c := Advise(task, s, false).Cost; c.Local != nil || c.Cloud == nil {
		t.Errorf("without a price of electricity: %+v", c)
	}
	if c := Advise(Task{Prices: &Prices{RequestsPerDay: new(100.0)}}, s, false).Cost; c != nil {
		t.Errorf("nothing to count: %+v", c)
	}
}

func TestAdviceHasNoNumberThatIsNone(t *testing.T) {
	s := calm()
	s.Speeds[0].Decode.Value, s.Speeds[0].Prefill.Value = math.NaN(), 0
	if a := Advise(Task{Context: new(100), Output: new(100), Interactive: true}, s, false); a.Decode != nil || a.TTFT != nil || a.Seconds != nil || a.Choice != ChooseEither {
		t.Errorf("%+v", a)
	}
	if a := Advise(Task{}, &Snapshot{}, false); a.Choice != ChooseCloud || a.Model != "" {
		t.Errorf("nothing known of the machine: %+v", a)
	}
}
