package monitor

import (
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
	"plimsoll/monitor/request"
)

// workingAt is a snapshot of one model with one request at a pace.
func workingAt(rate float64, change func(*request.Request)) *Snapshot {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	q := request.Request{ID: "1", Backend: "ollama", Model: "a:latest", Phase: request.PhaseDecode, Began: at, Changed: at, PromptTokens: new(100),
		OutputTokens: new(50), Live: &request.Number{Value: rate, Source: request.SourceSlots, At: at}}
	if change != nil {
		change(&q)
	}
	return &Snapshot{
		Taken: at, Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "a:latest"}, Activity: ActivityBusy}},
		Requests: []request.Request{q},
		Speeds: []request.Speed{{Backend: "ollama", Model: "a:latest", Runs: 9, Decode: &request.Number{Value: 20},
			Depths: []request.Depth{{From: 16384, To: 32768, Decode: 9, Runs: 9}}}},
	}
}

// TestDecodingRate: what says how fast a model is now against what it usually is.
func TestDecodingRate(t *testing.T) {
	if rate, usual, ok := decodingRate(workingAt(12, nil)); !ok || rate != 12 || usual != 20 {
		t.Errorf("%v of %v (%v)", rate, usual, ok)
	}
	if rate, usual, ok := decodingRate(workingAt(8, func(q *request.Request) { q.PromptTokens = new(20000) })); !ok || rate != 8 || usual != 9 {
		t.Errorf("at its depth of context: %v of %v (%v)", rate, usual, ok)
	}
	for name, s := range map[string]*Snapshot{
		"a prompt is read":     workingAt(0, func(q *request.Request) { q.Phase, q.Live = request.PhasePrefill, nil }),
		"not known well":       workingAt(12, func(q *request.Request) { q.Live.Approximate = true }),
		"long since":           workingAt(12, func(q *request.Request) { q.Live.At = q.Live.At.Add(-time.Minute) }),
		"another's prompt":     workingAt(1, func(q *request.Request) { q.Notes = []request.Note{request.NoteOtherPrompt} }),
		"a depth never seen":   workingAt(12, func(q *request.Request) { q.PromptTokens = new(9000) }),
		"a model never seen":   workingAt(12, func(q *request.Request) { q.Model = "b" }),
		"over":                 workingAt(12, func(q *request.Request) { q.Phase = request.PhaseDone }),
		"two at once":          func() *Snapshot { s := workingAt(12, nil); s.Requests = append(s.Requests, s.Requests[0]); return s }(),
		"nothing was measured": func() *Snapshot { s := workingAt(12, nil); s.Requests, s.Speeds = nil, nil; return s }(),
	} {
		if rate, usual, ok := decodingRate(s); ok {
			t.Errorf("%s: %v of %v", name, rate, usual)
		}
	}
}

// TestLongPromptIsNotSlowed: reading a prompt takes other watts than decoding, and
// is held against other prompts alone.
func TestLongPromptIsNotSlowed(t *testing.T) {
	e := newEngine()
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range 300 {
		watts, phase := 40.0, request.PhasePrefill
		if i%60 >= 40 { // 40 s of prompt, 20 s of answer
			watts, phase = 22, request.PhaseDecode
		}
		s := &Snapshot{
			Taken: begin.Add(time.Duration(i) * time.Second), Awake: new(float64(i)),
			GPU:       &metal.GPU{Source: "iokit", Utilisation: new(0.98), Power: &watts},
			Residents: []Resident{{Resident: backend.Resident{Backend: "ollama", Model: "a:latest", Size: new(uint64(gib)), GPU: new(uint64(gib))}}},
			Requests:  []request.Request{{ID: "1", Backend: "ollama", Model: "a:latest", Phase: phase, Began: begin, Changed: begin}},
		}
		e.complete(s)
		e.step(nil)
		if s.Throttle != nil && s.Throttle.Throttled {
			t.Fatalf("after %d s in %s: %+v", i, phase, s.Throttle)
		}
	}
}

// TestReplayKeepsRequests: a recording holds them, and what follows from them is
// made again.
func TestReplayKeepsRequests(t *testing.T) {
	p := NewPlayer()
	s := workingAt(12, nil)
	s.Residents[0].Activity = ""
	u := p.Step(Update{Snapshot: s})
	if len(u.Snapshot.Requests) != 1 || len(u.Snapshot.Speeds) != 1 || u.Snapshot.Residents[0].Activity != ActivityBusy {
		t.Errorf("%+v", u.Snapshot)
	}
	waiting := workingAt(12, func(q *request.Request) { q.Phase, q.Live = request.PhaseQueued, nil })
	waiting.Residents[0].Activity = ""
	if u := NewPlayer().Step(Update{Snapshot: waiting}); u.Snapshot.Residents[0].Activity != ActivityIdle {
		t.Errorf("a request that waits keeps it %s", u.Snapshot.Residents[0].Activity)
	}
}

// TestHistoryForgetsWhatIsOver: ten minutes of lists would be megabytes.
func TestHistoryForgetsWhatIsOver(t *testing.T) {
	var h History
	for i := range 2 * historyLength {
		s := workingAt(12, nil)
		s.Awake = new(float64(i))
		s.Requests = append(s.Requests, make([]request.Request, 30)...)
		for n := range s.Requests[1:] {
			s.Requests[n+1].Phase = request.PhaseDone
		}
		h.add(s)
	}
	for n := range historyLength {
		s := h.back(n)
		want := 31
		if n > fatSnapshots {
			want = 1
		}
		if len(s.Requests) != want || *s.Awake != float64(2*historyLength-1-n) {
			t.Fatalf("%d ticks back there are %d requests, want %d", n, len(s.Requests), want)
		}
	}
}

// TestModelThatComesIn: a request for a model that is not in memory brings it there.
func TestModelThatComesIn(t *testing.T) {
	s := workingAt(12, nil)
	s.Backends = []backend.Status{{Name: "ollama", Kind: "ollama", State: backend.Running, Answered: new(s.Taken.Add(time.Second))}}
	q := request.Request{Backend: "ollama", Model: "b", Began: s.Taken}
	if !comesIn(s, &q) {
		t.Error("it is not in memory, and its server answers")
	}
	q.Model = "a"
	if comesIn(s, &q) {
		t.Error("it is there under its name with a tag")
	}
	q.Model = "b:480b-cloud"
	if comesIn(s, &q) {
		t.Error("it runs elsewhere")
	}
	q.Model, s.Backends[0].Answered = "b", new(s.Taken.Add(-time.Second))
	if comesIn(s, &q) {
		t.Error("its server did not answer since")
	}
}
