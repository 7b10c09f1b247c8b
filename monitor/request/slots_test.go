package request

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at is a moment so many seconds into a test.
func at(seconds float64) Moment {
	d := time.Duration(seconds * float64(time.Second))
	return Moment{Wall: noon.Add(d), Awake: d}
}

var child = Origin{Backend: "ollama", Model: "qwen3:14b", Process: "4711/1"}

// ask plays one poll: slots as the server tells them when it answers.
func ask(t *Tracker, asked, came float64, slots ...Slot) {
	t.Slots(Reading{Origin: child, Asked: at(asked), Came: at(came), Slots: slots})
}

// idle, reading and making are slots in their states; task −1 was never used.
func idle(id, task, made int) Slot {
	s := Slot{ID: id, Context: new(8192)}
	if task >= 0 {
		s.Task, s.Decoded = &task, &made
	}
	return s
}

func reading(id, task, read int) Slot {
	return Slot{ID: id, Task: &task, Processing: true, Context: new(8192), Read: &read, Cached: new(0), Tokens: &read, Decoded: new(0)}
}

func making(id, task, prompt, made int) Slot {
	return Slot{ID: id, Task: &task, Processing: true, Context: new(8192), Read: &prompt, Cached: new(0), Tokens: new(prompt + made), Decoded: &made}
}

// only is the one request that there is.
func only(t *testing.T, tracker *Tracker, now float64) Request {
	t.Helper()
	list := tracker.Requests(at(now))
	if len(list) != 1 {
		t.Fatalf("%d requests, want 1: %+v", len(list), list)
	}
	return list[0]
}

// TestKnownRates polls slots whose true rate is known, at any phase of the poll,
// and holds the live rate and the final one against it.
func TestKnownRates(t *testing.T) {
	const poll = 0.5
	random := rand.New(rand.NewPCG(1, 2))
	for _, slots := range []int{1, 2, 4} {
		for _, rate := range []float64{0.03, 0.11, 0.4, 0.7, 0.97, 1, 1.9, 3, 4.7, 7.3, 11, 24, 61, 137, 300} {
			for range 8 {
				t.Run(fmt.Sprintf("%d slots at %g", slots, rate), func(t *testing.T) { knownRate(t, random, slots, rate, poll) })
			}
		}
	}
}

func knownRate(t *testing.T, random *rand.Rand, slots int, rate, poll float64) {
	tracker := NewTracker()
	lasts := max(20, 12/rate)
	phase, jitter := make([]float64, slots), func() float64 { return 0.02 * random.Float64() }
	for i := range phase {
		phase[i] = random.Float64() * max(1, 1/rate)
	}
	idles := make([]Slot, slots)
	for i := range idles {
		idles[i] = idle(i, -1, 0)
	}
	ask(tracker, -1, -1, idles...)
	now := random.Float64() * poll
	for ; now < lasts; now += poll + jitter() {
		var all []Slot
		came := now + jitter()
		for i := range slots {
			made := int(max(0, 1+math.Floor((came-phase[i])*rate)))
			all = append(all, making(i, 7+i, 100, made))
		}
		ask(tracker, now, came, all...)
		for _, r := range tracker.Requests(at(now + 0.1)) {
			if r.Live == nil {
				if now > 2+4/rate {
					t.Fatalf("no live rate after %.0f s", now)
				}
				continue
			}
			off := math.Abs(r.Live.Value-rate) / rate
			if allowed := 0.03 + spreadOf(r.Live)/rate; off > allowed {
				t.Fatalf("live %.4f after %.1f s with %d tokens: %.1f %% off, allowed are %.1f", r.Live.Value, now, *r.OutputTokens, 100*off, 100*allowed)
			}
			if now > 20 && now > 10/rate && (off > 0.03 || r.Live.Approximate) {
				t.Fatalf("live %.4f after %.1f s is %.1f %% off (approximate: %v)", r.Live.Value, now, 100*off, r.Live.Approximate)
			}
		}
	}
	for i := range idles {
		idles[i] = idle(i, 7+i, int(1+math.Floor((now-poll-phase[i])*rate)))
	}
	ask(tracker, now, now, idles...)
	over := tracker.Requests(at(now))
	if len(over) != slots {
		t.Fatalf("%d requests ended, want %d", len(over), slots)
	}
	for _, r := range over {
		if r.Phase != PhaseDone || r.Decode == nil || math.Abs(r.Decode.Value-rate) > 0.03*rate {
			t.Errorf("the whole answer: %+v of %v tokens", r.Decode, *r.OutputTokens)
		}
	}
}

func spreadOf(n *Number) float64 {
	if n.Spread == nil {
		return 0
	}
	return *n.Spread
}

func TestPhases(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	if list := tracker.Requests(at(0)); len(list) != 0 || tracker.InFlight(at(0), "", "") {
		t.Fatalf("an idle server has %+v", list)
	}
	ask(tracker, 2, 2.01, reading(0, 5, 512))
	r := only(t, tracker, 2.1)
	if r.Phase != PhasePrefill || *r.ReadTokens != 512 || r.OutputTokens != nil || r.PromptTokens != nil || *r.Slot != 0 || r.Model != "qwen3:14b" {
		t.Fatalf("in prefill: %+v", r)
	}
	if !tracker.InFlight(at(2.1), "ollama", "qwen3:14b") || tracker.InFlight(at(2.1), "ollama", "other") {
		t.Error("it is not in flight, or another is")
	}
	ask(tracker, 2.5, 4.5, reading(0, 5, 1536))
	ask(tracker, 5, 6.5, reading(0, 5, 2560))
	r = only(t, tracker, 6.5)
	if r.Prefill == nil || math.Abs(r.Prefill.Value-512) > 1 {
		t.Errorf("a prompt read at 512 tokens/s: %+v", r.Prefill)
	}
	ask(tracker, 7, 8.5, making(0, 5, 3000, 1))
	for i := range 10 {
		when := 9 + 0.5*float64(i)
		ask(tracker, when, when, making(0, 5, 3000, 6+5*i))
	}
	r = only(t, tracker, 13.5)
	if r.Phase != PhaseDecode || *r.OutputTokens != 51 || *r.PromptTokens != 3000 || *r.ReadTokens != 3000 || math.Abs(r.Live.Value-10) > 0.3 {
		t.Errorf("in decode: %+v", r)
	}
	if r.TTFT == nil || !r.TTFT.Approximate || math.Abs(r.TTFT.Value-7.5) > *r.TTFT.Spread || *r.TTFT.Spread > 1.3 {
		t.Errorf("time to the first token: %+v", r.TTFT)
	}
	id := r.ID
	ask(tracker, 14, 14, idle(0, 5, 53))
	r = only(t, tracker, 14)
	if r.Phase != PhaseDone || r.Outcome != OutcomeUnknown || r.ID != id || *r.OutputTokens != 53 || r.OutputApproximate || r.Ended == nil || r.Live == nil {
		t.Errorf("ended: %+v", r)
	}
	speed := tracker.Speeds(at(1e5))
	if len(speed) != 1 || speed[0].Runs != 1 || math.Abs(speed[0].Decode.Value-10) > 0.3 || math.Abs(speed[0].Prefill.Value-512) > 20 || speed[0].Last == nil {
		t.Errorf("what is usual: %+v", speed)
	}
}

// TestFirstSightIsABaseline: what ran before it was looked at has no time to its
// first token, and its tokens so far are no rate.
func TestFirstSightIsABaseline(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, making(0, 5, 100, 4000), idle(1, 4, 77))
	r := only(t, tracker, 0)
	if r.Live != nil || r.TTFT != nil || r.Decode != nil || *r.OutputTokens != 4000 {
		t.Errorf("at first sight: %+v", r)
	}
}

// TestNewTasks: counters start again with a new task; where the build has no task,
// a counter that goes back says so.
func TestNewTasks(t *testing.T) {
	for name, task := range map[string][2]int{"task": {5, 6}, "counter": {5, 5}} {
		t.Run(name, func(t *testing.T) {
			tracker := NewTracker()
			ask(tracker, 0, 0, idle(0, -1, 0))
			for i := range 8 {
				when := 1 + 0.5*float64(i)
				ask(tracker, when, when, making(0, task[0], 100, 10+10*i))
			}
			ask(tracker, 5, 5, making(0, task[1], 60, 3))
			list := tracker.Requests(at(5))
			if len(list) != 2 || list[0].Phase != PhaseDecode || *list[0].OutputTokens != 3 || list[0].Live != nil {
				t.Fatalf("the new one: %+v", list[0])
			}
			old := list[1]
			if old.Phase != PhaseDone || math.Abs(old.Decode.Value-20) > 0.6 || !old.OutputApproximate || *old.OutputTokens != 80 {
				t.Errorf("the old one: %+v %+v", old, old.Decode)
			}
		})
	}
}

// TestMissed: a request between two polls is listed with its tokens, and no time.
func TestMissed(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, 3, 12))
	ask(tracker, 2, 2, idle(0, 4, 40))
	r := only(t, tracker, 2)
	if r.Phase != PhaseDone || *r.OutputTokens != 40 || r.Decode != nil || r.TTFT != nil || r.Live != nil {
		t.Errorf("between two polls: %+v", r)
	}
}

// TestSilence: a server that does not answer is reading a prompt.
func TestSilence(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0), idle(1, -1, 0))
	tracker.Silent(at(2.6), child, at(2))
	r := only(t, tracker, 2.6)
	if r.Phase != PhasePrefill || r.ReadTokens != nil || r.Slot != nil {
		t.Fatalf("unanswered: %+v", r)
	}
	id := r.ID
	ask(tracker, 2, 4.8, making(0, 5, 1801, 1), idle(1, -1, 0))
	r = only(t, tracker, 4.8)
	if r.ID != id || r.Phase != PhaseDecode || *r.Slot != 0 {
		t.Errorf("it was the request that then shows: %+v", r)
	}
	// A silence after which nothing shows was none.
	ask(tracker, 5, 5, idle(0, 5, 4), idle(1, -1, 0))
	tracker.Silent(at(7.7), child, at(7))
	if list := tracker.Requests(at(7.7)); len(list) != 2 {
		t.Errorf("unanswered again: %+v", list)
	}
	ask(tracker, 7, 9, idle(0, 5, 4), idle(1, -1, 0))
	if r := only(t, tracker, 9); r.Phase != PhaseDone {
		t.Errorf("answered: %+v", r)
	}
}

// TestStandstill: another's prompt stops an answer. The rate falls while it does,
// and the cause is named.
func TestStandstill(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0), idle(1, -1, 0))
	made := 0
	for i := range 10 {
		made = 1 + 10*i
		ask(tracker, 1+0.5*float64(i), 1+0.5*float64(i), making(0, 5, 100, made), idle(1, -1, 0))
	}
	before := only(t, tracker, 5.5)
	tracker.Silent(at(6.6), child, at(6))
	tracker.Silent(at(8), child, at(6))
	list := tracker.Requests(at(8))
	if len(list) != 2 || !list[0].noted(NoteOtherPrompt) || list[0].Live.Value > 0.5 || before.Live.Value < 19 || list[1].Phase != PhasePrefill {
		t.Fatalf("while it stands still: %+v", list)
	}
	ask(tracker, 6, 11, making(0, 5, 100, made+1), making(1, 6, 4000, 1))
	list = tracker.Requests(at(11))
	if len(list) != 2 || !list[0].noted(NoteOtherPrompt) || list[1].noted(NoteOtherPrompt) {
		t.Errorf("after it: %+v", list)
	}
}

// TestLoading: a process that loads its model for somebody has a request.
func TestLoading(t *testing.T) {
	tracker := NewTracker()
	tracker.Loading(at(0), child)
	tracker.Loading(at(0.5), child)
	if r := only(t, tracker, 0.6); r.Phase != PhaseLoading {
		t.Fatalf("loading: %+v", r)
	}
	ask(tracker, 1, 1, reading(0, 0, 10))
	if r := only(t, tracker, 1); r.Phase != PhasePrefill {
		t.Errorf("loaded: %+v", r)
	}
}

// TestProcessGone: what a dead process worked on is over.
func TestProcessGone(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, making(0, 5, 100, 4))
	tracker.Gone(at(1), child)
	tracker.Gone(at(1), child)
	if r := only(t, tracker, 1); r.Phase != PhaseDone || r.Outcome != OutcomeUnknown {
		t.Errorf("its process is gone: %+v", r)
	}
}

// TestSleepIsNoTime: rates are made of time awake.
func TestSleepIsNoTime(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	for i := range 12 {
		m := at(1 + 0.5*float64(i))
		if i >= 6 {
			m.Wall = m.Wall.Add(8 * time.Hour)
		}
		tracker.Slots(Reading{Origin: child, Asked: m, Came: m, Slots: []Slot{making(0, 5, 100, 1+10*i)}})
	}
	if r := only(t, tracker, 7); math.Abs(r.Live.Value-20) > 0.5 {
		t.Errorf("across a night: %+v", r.Live)
	}
}

// TestSlowAnswerIsNoPrompt: where a token takes long, so does an answer to a
// question; that makes no request of it. A longer silence does.
func TestSlowAnswerIsNoPrompt(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0), idle(1, -1, 0))
	asked := 1.0
	for made := 1; made < 12; made++ { // a token takes 10 s
		tracker.Silent(at(asked+0.5), child, at(asked))
		for late := 1.0; late < 9; late++ {
			if made > 1 && len(tracker.Requests(at(asked+late))) != 1 {
				t.Fatalf("a token takes 10 s, and after %v s there are two requests", late)
			}
		}
		ask(tracker, asked, asked+9.9, making(0, 5, 100, made), idle(1, -1, 0))
		asked += 10
	}
	r := only(t, tracker, asked)
	if r.Live == nil || math.Abs(r.Live.Value-0.1) > 0.003 || r.Live.Approximate || r.noted(NoteOtherPrompt) {
		t.Errorf("%+v %+v", r, r.Live)
	}
	tracker.Silent(at(asked+0.5), child, at(asked))
	if list := tracker.Requests(at(asked + 40)); len(list) != 2 || list[1].Phase != PhasePrefill || list[0].Live.Value > 0.026 {
		t.Errorf("four times as long: %+v", list)
	}
}
