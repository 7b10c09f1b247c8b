package request

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// metered is a request as the meter tells it, so many seconds into a test.
func metered(id, model string, began, changed float64) Request {
	return Request{ID: id, Model: model, Endpoint: "/api/chat", Phase: PhaseQueued, Began: at(began).Wall, Changed: at(changed).Wall}
}

// answered is the same when the server has told its statistics.
func answered(r Request, ended float64, prompt, output int, rate float64) Request {
	r.Phase, r.Outcome, r.Changed, r.Ended = PhaseDone, OutcomeFinished, at(ended).Wall, new(at(ended).Wall)
	r.PromptTokens, r.OutputTokens, r.OutputApproximate = &prompt, &output, false
	r.Decode = &Number{Value: rate, Source: SourceServer, At: *r.Ended}
	r.TTFT = &Number{Value: 1, Source: SourceMeter, At: *r.Ended}
	return r
}

// work plays a slot at work from one second to another, twice a second.
func work(t *Tracker, slot, task, prompt int, from, to, rate float64, others ...Slot) {
	for now := from; now < to; now += 0.5 {
		ask(t, now, now, append([]Slot{making(slot, task, prompt, 1+int((now-from)*rate))}, others...)...)
	}
}

// TestMeterAndSlots: what both tell is one request; the meter's words count where
// it knows better, the slots' where the meter only counts chunks.
func TestMeterAndSlots(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	m := metered("meter-1", "qwen3:14b", 0.4, 0.4)
	tracker.Meter(m)
	if r := only(t, tracker, 0.5); r.Phase != PhaseQueued && r.Phase != PhasePrefill {
		t.Fatalf("the meter alone: %+v", r)
	}
	id := only(t, tracker, 0.5).ID
	work(tracker, 0, 5, 3000, 2, 6, 20)
	m.Phase, m.OutputTokens, m.OutputApproximate, m.Changed = PhaseDecode, new(17), true, at(5.9).Wall // 4.6 tokens a chunk
	m.Live = &Number{Value: 4.3, Source: SourceMeter, Approximate: true, At: at(5.9).Wall}
	m.TTFT = &Number{Value: 1.62, Source: SourceMeter, At: at(2).Wall}
	tracker.Meter(m)
	r := only(t, tracker, 6)
	if r.ID != id || r.Phase != PhaseDecode || r.TTFT.Value != 1.62 || *r.OutputTokens != 71 || r.OutputApproximate || *r.Slot != 0 ||
		!slices.Equal(r.Sources, []Source{SourceMeter, SourceSlots}) || r.Endpoint != "/api/chat" || r.Backend != "ollama" || *r.PromptTokens != 3000 {
		t.Errorf("in flight: %+v", r)
	}
	tracker.Meter(answered(m, 6.1, 3000, 73, 19.9))
	ask(tracker, 6.5, 6.5, idle(0, 5, 73))
	r = only(t, tracker, 7)
	if r.Phase != PhaseDone || r.Outcome != OutcomeFinished || r.Decode.Value != 19.9 || *r.OutputTokens != 73 || !r.Ended.Equal(at(6.1).Wall) {
		t.Errorf("ended: %+v", r)
	}
	if v := tracker.Speeds(at(1e5)); len(v) != 1 || v[0].Runs != 1 || v[0].Decode.Value != 19.9 {
		t.Errorf("learned twice, or the worse: %+v", v)
	}
}

// TestTwoAtOnce: two of a model at the same time are told apart, and what the
// counts contradict is taken apart again.
func TestTwoAtOnce(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0), idle(1, -1, 0))
	a, b := metered("a", "qwen3:14b", 0.5, 0.5), metered("b", "qwen3:14b", 0.6, 0.6)
	tracker.Meter(a)
	tracker.Meter(b)
	// b is taken up first.
	ask(tracker, 1, 1, making(0, 7, 100, 1), idle(1, -1, 0))
	for now := 1.5; now < 9; now += 0.5 {
		ask(tracker, now, now, making(0, 7, 100, int(20*now)), making(1, 8, 2000, int(11*now)))
	}
	ask(tracker, 9, 9, idle(0, 7, 180), idle(1, 8, 99))
	tracker.Meter(answered(b, 8.9, 100, 180, 20))
	tracker.Meter(answered(a, 8.9, 2000, 99, 11))
	list := tracker.Requests(at(9))
	if len(list) != 2 {
		t.Fatalf("%d requests: %+v", len(list), list)
	}
	for _, r := range list {
		if *r.Slot == 0 != (*r.OutputTokens == 180) || len(r.Sources) != 2 || *r.ReadTokens != *r.PromptTokens {
			t.Errorf("%+v", r)
		}
	}
}

// TestWhatIsNotOne: other models, other times, other counts.
func TestWhatIsNotOne(t *testing.T) {
	for name, m := range map[string]Request{
		"another model":     answered(metered("m", "llama3:8b", 1, 1), 6.2, 100, 71, 20),
		"another backend":   func() Request { r := metered("m", "qwen3:14b", 1, 1); r.Backend = "llama-server"; return r }(),
		"over before":       answered(metered("m", "qwen3:14b", -9, -9), -3, 100, 71, 20),
		"began later":       metered("m", "qwen3:14b", 5, 5),
		"fewer tokens":      answered(metered("m", "qwen3:14b", 1.5, 1.5), 6.2, 100, 30, 20),
		"more tokens":       answered(metered("m", "qwen3:14b", 1.5, 1.5), 6.2, 100, 500, 20),
		"another prompt":    answered(metered("m", "qwen3:14b", 1.5, 1.5), 6.2, 900, 73, 20),
		"over long since":   answered(metered("m", "qwen3:14b", 1.5, 1.5), 2.5, 100, 73, 20),
		"a cloud's, as big": answered(metered("m", "qwen3-coder:480b-cloud", 1.5, 1.5), 6.2, 100, 73, 20),
	} {
		t.Run(name, func(t *testing.T) {
			tracker := NewTracker()
			tracker.Slots(Reading{Origin: Origin{Backend: "ollama", Model: "llama3:8b", Process: "1"}, Came: at(-20), Slots: []Slot{idle(0, -1, 0)}})
			ask(tracker, 0, 0, idle(0, -1, 0))
			work(tracker, 0, 5, 100, 2, 6, 20)
			ask(tracker, 6, 6, idle(0, 5, 73))
			tracker.Meter(m)
			if list := tracker.Requests(at(7)); len(list) != 2 {
				t.Errorf("%+v", list)
			}
		})
	}
	// Another name of the same file is known by its counts.
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	work(tracker, 0, 5, 100, 2, 6, 20)
	ask(tracker, 6, 6, idle(0, 5, 73))
	tracker.Meter(answered(metered("m", "my-assistant", 1.5, 1.5), 6.2, 100, 73, 20))
	only(t, tracker, 7)
}

// TestOrphan (case 84): the client left while its prompt was read, and the server
// reads on.
func TestOrphan(t *testing.T) {
	left := metered("m", "qwen3:14b", 1.5, 4)
	left.Phase, left.Outcome, left.Ended = PhaseDone, OutcomeCancelled, new(at(4).Wall)
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	tracker.Meter(metered("m", "qwen3:14b", 1.5, 1.5))
	ask(tracker, 2, 2, reading(0, 5, 512))
	tracker.Meter(left)
	for _, now := range []float64{5, 40, 80} {
		ask(tracker, now, now, reading(0, 5, int(512*now)))
		r := only(t, tracker, now)
		if r.Phase != PhasePrefill || r.Outcome != OutcomeCancelled || !r.noted(NoteOrphan) || r.Ended != nil || !tracker.InFlight(at(now), "ollama", "qwen3:14b") {
			t.Fatalf("after %v s: %+v", now, r)
		}
	}
	ask(tracker, 81, 81, idle(0, 5, 0))
	if r := only(t, tracker, 82); r.Phase != PhaseDone || r.noted(NoteOrphan) || !r.Ended.Equal(at(4).Wall) {
		t.Errorf("when it noticed: %+v", r)
	}
	if v := tracker.Speeds(at(1e5)); len(v) != 0 {
		t.Errorf("it taught %+v", v)
	}
	// An old server tells no slots; its runner's processor time tells that it works.
	tracker = NewTracker()
	tracker.Meter(left)
	tracker.Working(at(4.5), "ollama", "qwen3:14b")
	if r := only(t, tracker, 5); r.Phase != PhasePrefill || !r.noted(NoteOrphan) {
		t.Errorf("its runner works: %+v", r)
	}
	if r := only(t, tracker, 9); r.Phase != PhaseDone || r.noted(NoteOrphan) {
		t.Errorf("its runner rests: %+v", r)
	}
	// One that left in the middle of its answer is over at once.
	left.OutputTokens, left.OutputApproximate = new(40), true
	tracker = NewTracker()
	tracker.Meter(left)
	tracker.Working(at(4.5), "ollama", "qwen3:14b")
	if r := only(t, tracker, 5); r.Phase != PhaseDone {
		t.Errorf("in the middle of its answer: %+v", r)
	}
}

// TestQueued: all slots work on others.
func TestQueued(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	tracker.Meter(metered("a", "qwen3:14b", 0.5, 0.5))
	ask(tracker, 1, 1, making(0, 5, 100, 1))
	tracker.Meter(metered("b", "qwen3:14b", 1.2, 1.2))
	work(tracker, 0, 5, 100, 2, 5, 20)
	list := tracker.Requests(at(5))
	if len(list) != 2 || list[0].Phase != PhaseDecode || list[1].Phase != PhaseQueued {
		t.Fatalf("%+v", list)
	}
	tracker = NewTracker()
	tracker.Meter(metered("a", "old", 0.5, 0.5))
	tracker.Meter(metered("b", "old", 0.6, 0.6))
	if list := tracker.Requests(at(2)); list[0].Phase != PhasePrefill || list[1].Phase != PhaseQueued {
		t.Errorf("nobody tells slots: %+v", list)
	}
}

// TestOneTokenIsNoRate (case 93).
func TestOneTokenIsNoRate(t *testing.T) {
	for _, c := range []struct {
		tokens int
		d      time.Duration
		want   float64 // 0: none
	}{
		{1, 13203, 0}, {1, 0, 0}, {0, 0, 0}, {74891, 2107317930000, 35.54}, {330, 4357000, 0}, {5, 20 * time.Millisecond, 250}, {4, time.Minute, 0}, {-3, time.Second, 0},
	} {
		got := Rate(c.tokens, c.d)
		if (got == nil) != (c.want == 0) || got != nil && math.Abs(*got-c.want) > 0.005 {
			t.Errorf("%d tokens in %v: %v, want %v", c.tokens, c.d, got, c.want)
		}
	}
	tracker := NewTracker()
	one := answered(metered("m", "a", 0, 0), 1, 578, 1, 75740)
	tracker.Meter(one)
	if r := only(t, tracker, 2); r.Decode != nil || !r.noted(NoteTiny) {
		t.Errorf("%+v", r)
	}
	if v := tracker.Speeds(at(1e5)); len(v) == 1 && v[0].Decode != nil {
		t.Errorf("it taught %+v", v)
	}
}

// withPrefill is a finished request whose server hides what it had cached.
func withPrefill(id string, began float64, prompt, output int, prefill float64) Request {
	r := answered(metered(id, "a", began, began), began+5, prompt, output, 12)
	r.Prefill = &Number{Value: prefill, Source: SourceServer, At: *r.Ended}
	return r
}

// TestCacheHitIsNoPrefill (case 94): 2410 tokens in 128 ms where 50 a second are usual.
func TestCacheHitIsNoPrefill(t *testing.T) {
	tracker := NewTracker()
	first := withPrefill("1", 0, 2410, 50, 50)
	first.Load = new(3.0)
	tracker.Meter(first)
	tracker.Meter(withPrefill("2", 10, 2410, 50, 18828))
	list := tracker.Requests(at(20))
	if r := list[0]; r.Prefill != nil || !r.noted(NoteCached) {
		t.Errorf("the hit: %+v", r)
	}
	if r := list[1]; r.Prefill == nil || r.noted(NoteCached) {
		t.Errorf("the first: %+v", r)
	}
	if v := tracker.Speeds(at(1e5))[0]; v.Runs != 2 || v.Prefill.Value != 50 || v.BestPrefill.Value != 50 {
		t.Errorf("what is usual: %+v", v)
	}
	tracker.Meter(withPrefill("3", 20, 2500, 50, 140))
	if r := tracker.Requests(at(30))[0]; r.Prefill == nil {
		t.Errorf("under three times the best it is believed: %+v", r)
	}
}

// TestPromptCountMissing (case 96): 11 tokens at first, then the field is absent.
func TestPromptCountMissing(t *testing.T) {
	tracker := NewTracker()
	first := answered(metered("1", "orca2", 0, 0), 0.9, 11, 39, 65.537627)
	first.Prefill = &Number{Value: 39.928999, Source: SourceServer, At: *first.Ended}
	second := answered(metered("2", "orca2", 5, 5), 6.3, 0, 72, 65.75)
	second.PromptTokens = nil
	tracker.Meter(first)
	tracker.Meter(second)
	list := tracker.Requests(at(7))
	if r := list[1]; math.Abs(r.Prefill.Value-39.93) > 0.01 || !r.noted(NoteTiny) || math.Abs(r.Decode.Value-65.54) > 0.01 {
		t.Errorf("the first: %+v", r)
	}
	if r := list[0]; r.Prefill != nil || !r.noted(NoteCached) || r.Decode == nil || r.PromptTokens != nil {
		t.Errorf("the second: %+v", r)
	}
	if v := tracker.Speeds(at(1e5))[0]; v.Prefill != nil || math.Abs(v.Decode.Value-65.7) > 0.3 {
		t.Errorf("a sample of 11 tokens taught %+v", v)
	}
}

// TestReread (case 105): a chat whose history is read again, whole.
func TestReread(t *testing.T) {
	tracker := NewTracker()
	begin := withPrefill("1", 0, 3000, 400, 100)
	begin.Load = new(2.0)
	tracker.Meter(begin)
	tracker.Meter(withPrefill("2", 60, 3500, 400, 90000)) // the cache serves
	tracker.Meter(withPrefill("3", 120, 4000, 400, 95))   // and does not
	tracker.Meter(withPrefill("4", 180, 900, 100, 98))    // another chat
	list := tracker.Requests(at(200))
	for i, want := range []bool{false, true, false, false} {
		if got := list[i].noted(NoteReread); got != want {
			t.Errorf("%s: reread %v, want %v: %+v", list[i].ID, got, want, list[i])
		}
	}
	if !list[2].noted(NoteCached) {
		t.Errorf("the second came from the cache: %+v", list[2])
	}
	// Where the server tells what it had, that says it.
	tracker = NewTracker()
	for i, cached := range []int{0, 3000, 12} {
		r := withPrefill(fmt.Sprint(i), float64(60*i), 3000+500*i, 400, 100)
		r.CachedTokens = &cached
		tracker.Meter(r)
	}
	if list := tracker.Requests(at(200)); !list[0].noted(NoteReread) || list[1].noted(NoteReread) || list[2].noted(NoteReread) {
		t.Errorf("%+v", list)
	}
}

// Prompts of many lengths where nothing ever comes from the cache are no chat.
func TestPromptsThatAreNoChatAreNotReread(t *testing.T) {
	tracker := NewTracker()
	for i, prompt := range []int{900, 700, 1000, 800, 1100} {
		r := withPrefill(fmt.Sprint(i), float64(60*i), prompt, 200, 100)
		r.CachedTokens = new(0)
		tracker.Meter(r)
	}
	for _, r := range tracker.Requests(at(400)) {
		if r.noted(NoteReread) {
			t.Errorf("%d tokens: called read again", *r.PromptTokens)
		}
	}
}

// TestImplausible: decoding that takes longer than the whole request.
func TestImplausible(t *testing.T) {
	tracker := NewTracker()
	r := answered(metered("1", "a", 0, 0), 10, 100, 300, 12)
	r.Session = &Number{Value: 30, Source: SourceMeter, At: *r.Ended}
	tracker.Meter(r)
	if got := only(t, tracker, 11); !got.noted(NoteImplausible) {
		t.Errorf("%+v", got)
	}
	if v := tracker.Speeds(at(1e5)); len(v) != 0 {
		t.Errorf("it taught %+v", v)
	}
}

// TestUsual: medians at shallow context and by depth, of those that count.
func TestUsual(t *testing.T) {
	tracker := NewTracker()
	for i := range 9 {
		tracker.Meter(answered(metered(fmt.Sprint("s", i), "a:latest", float64(20*i), 0), float64(20*i+10), 500, 100, 20+float64(i)))
		tracker.Meter(answered(metered(fmt.Sprint("d", i), "a", float64(20*i), 0), float64(20*i+10), 20000, 100, 8))
		bad := answered(metered(fmt.Sprint("c", i), "a", float64(20*i), 0), float64(20*i+10), 500, 100, 1000)
		bad.Outcome = []Outcome{OutcomeCancelled, OutcomeFailed, OutcomeCut}[i%3]
		tracker.Meter(bad)
	}
	v := tracker.Speeds(at(1e5))
	if len(v) != 1 || v[0].Runs != 18 || v[0].Decode.Value != 24 || len(v[0].Depths) != 2 || v[0].Depths[1].Decode != 8 || v[0].Depths[1].From != 16384 || v[0].Last == nil {
		t.Errorf("%+v", v)
	}
}

// TestMeterGone: what a meter had in flight when it ended.
func TestMeterGone(t *testing.T) {
	tracker := NewTracker()
	tracker.Meter(metered("1", "a", 0, 0))
	tracker.MeterGone(at(5))
	if r := only(t, tracker, 6); r.Phase != PhaseDone || r.Outcome != OutcomeUnknown {
		t.Errorf("%+v", r)
	}
}

// TestLog: lines join the request that they are about, or make one.
func TestLog(t *testing.T) {
	line := func(kind LineKind, seconds float64, change func(*Line)) Line {
		l := Line{Kind: kind, Backend: "ollama", Model: "qwen3:14b", Slot: new(0), Task: new(5), At: at(seconds).Wall}
		if change != nil {
			change(&l)
		}
		return l
	}
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	tracker.Log(at(0.5), line(LineTruncated, 0.5, func(l *Line) { l.Slot, l.Task, l.PromptTokens = nil, nil, new(9000) }))
	tracker.Log(at(0.6), line(LinePrompt, 0.6, func(l *Line) { l.PromptTokens = new(3000) }))
	if r := only(t, tracker, 1); r.Phase != PhasePrefill || *r.PromptTokens != 3000 || !r.noted(NoteTruncated) {
		t.Fatalf("the log alone: %+v", r)
	}
	work(tracker, 0, 5, 2000, 1.5, 5, 20)
	if r := only(t, tracker, 5); r.Phase != PhaseDecode || len(r.Sources) != 2 || !r.noted(NoteTruncated) {
		t.Fatalf("log and slots: %+v", r)
	}
	tracker.Log(at(6), line(LineTimings, 6, func(l *Line) {
		l.ReadTokens, l.PromptTime, l.OutputTokens, l.DecodeTime = new(2000), new(time.Second), new(90), new(4500*time.Millisecond)
	}))
	ask(tracker, 6.5, 6.5, idle(0, 5, 90))
	tracker.Log(at(6.6), line(LineReply, 6.6, func(l *Line) {
		l.Slot, l.Task, l.Path, l.Status, l.Total = nil, nil, "/api/chat", 200, new(6*time.Second)
	}))
	r := only(t, tracker, 7)
	if r.Phase != PhaseDone || r.Decode.Value != 20 || r.Decode.Source != SourceServer || r.Prefill.Value != 2000 || r.Endpoint != "/api/chat" || r.Session == nil {
		t.Errorf("ended: %+v %+v", r, r.Decode)
	}
	// A line about nothing that is known makes nothing.
	tracker.Log(at(60), line(LineReply, 60, func(l *Line) {
		l.Slot, l.Task, l.Path, l.Status, l.Total = nil, nil, "/api/generate", 200, new(3*time.Millisecond)
	}))
	only(t, tracker, 61)
	tracker.Log(at(70), line(LineFailed, 70, func(l *Line) { l.Slot, l.Task, l.Error = nil, nil, strings.Repeat("é", 400) }))
	only(t, tracker, 71)
	// An engine without slots, and one that stops telling.
	tracker.Log(at(80), line(LinePrompt, 80, func(l *Line) { l.Slot, l.Task, l.Model = nil, new(1), "gemma:mlx" }))
	if list := tracker.Requests(at(81)); len(list) != 2 || list[0].Model != "gemma:mlx" || list[0].Phase != PhasePrefill {
		t.Errorf("%+v", list)
	}
	ask(tracker, 1000, 1000, idle(0, 5, 90))
	if list := tracker.Requests(at(1000)); list[0].Phase != PhaseDone {
		t.Errorf("no line for a quarter of an hour: %+v", list)
	}
}

// TestMemoryIsBounded: whatever is told, by however many, forever.
func TestMemoryIsBounded(t *testing.T) {
	tracker := NewTracker()
	for i := range 600 {
		now := float64(i)
		model := fmt.Sprint("model", i%500)
		o := Origin{Backend: "ollama", Model: model, Process: fmt.Sprint(i % 300)}
		slots := make([]Slot, 400)
		for s := range slots {
			slots[s] = making(s%300, i, 100, i)
		}
		if i%50 == 0 {
			tracker.Slots(Reading{Origin: o, Asked: at(now), Came: at(now), Slots: slots})
		}
		tracker.Silent(at(now+1), o, at(now))
		tracker.Meter(metered(fmt.Sprint("open", i), model, now, now))
		tracker.Meter(answered(metered(fmt.Sprint("m", i), model, now, now), now+1, 100, 100, 20))
		tracker.Log(at(now), Line{Kind: LineTruncated, Model: "nobody's"})
		tracker.Log(at(now), Line{Kind: LinePrompt, Model: model, Slot: new(i), Task: new(i)})
		tracker.Totals(at(now), o, Totals{DecodeTokens: &now, DecodeSeconds: &now})
	}
	now := at(600)
	if n := len(tracker.Requests(now)); n > listMost {
		t.Errorf("%d requests in a list", n)
	}
	steps := 0
	for _, c := range tracker.records {
		if c.slots != nil {
			steps += cap(c.slots.tokens.steps) + cap(c.slots.prompt.steps)
		}
	}
	samples := 0
	for _, s := range tracker.speeds {
		samples += len(s.samples)
	}
	if len(tracker.records) > recordsMost || len(tracker.watches) > originsMost || len(tracker.speeds) > modelsMost ||
		len(tracker.hints) > hintsMost || samples > modelsMost*samplesMost {
		t.Errorf("%d records, %d processes, %d models, %d hints, %d samples", len(tracker.records), len(tracker.watches), len(tracker.speeds), len(tracker.hints), samples)
	}
	one := int(unsafe.Sizeof(Request{})+unsafe.Sizeof(seen{})+unsafe.Sizeof(record{})) * 3
	if total := len(tracker.records)*one + steps*int(unsafe.Sizeof(step{})) + samples*int(unsafe.Sizeof(sample{})+unsafe.Sizeof(Number{})*3); total > 8<<20 {
		t.Errorf("%d KiB are held", total>>10)
	}
}

// BenchmarkTick is what the tracker does for one tick: fifty requests over, one in
// flight, one reply.
func BenchmarkTick(b *testing.B) {
	tracker := NewTracker()
	for i := range 60 {
		tracker.Meter(answered(metered(fmt.Sprint("m", i), "qwen3:14b", float64(10*i), 0), float64(10*i+5), 100, 100, 20))
	}
	now := 1000.0
	b.ReportAllocs()
	for b.Loop() {
		now += 0.5
		ask(tracker, now, now, making(0, 5, 100, int(now*20)))
		tracker.Requests(at(now))
		tracker.Speeds(at(1e5))
	}
}
