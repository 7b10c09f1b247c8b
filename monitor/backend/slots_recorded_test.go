package backend

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor/request"
)

// timeline plays a recorded timeline of /slots to a tracker. Each line's reply came
// when it was asked for and as much later as it took.
func timeline(t *testing.T, name string, tracker *request.Tracker, each func(now request.Moment)) request.Moment {
	t.Helper()
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	moment := func(s float64) request.Moment {
		d := time.Duration(s * float64(time.Second))
		return request.Moment{Wall: start.Add(d), Awake: d + time.Hour}
	}
	origin := request.Origin{Backend: "llama-server", Model: "m512", Process: "1"}
	idle, err := decodeSlots(bytes.NewReader(llamaRecorded(t, "slots-never-used.json")))
	if err != nil || len(idle) != 2 || idle[0].Task != nil || idle[0].Processing || *idle[0].Context != 2048 {
		t.Fatalf("%s (%v)", pretty(idle), err)
	}
	tracker.Slots(request.Reading{Origin: origin, Asked: moment(-0.5), Came: moment(-0.5), Slots: idle})
	var now request.Moment
	for line := range bytes.Lines(llamaRecorded(t, name)) {
		var r struct {
			T     float64
			Took  float64 `json:"took_ms"`
			Slots json.RawMessage
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		slots, err := decodeSlots(bytes.NewReader(r.Slots))
		if err != nil {
			t.Fatal(err)
		}
		asked := moment(r.T)
		now = moment(r.T + r.Took/1000)
		if r.Took > 500 {
			tracker.Silent(moment(r.T+0.5), origin, asked)
			each(moment(r.T + 0.5))
		}
		tracker.Slots(request.Reading{Origin: origin, Asked: asked, Came: now, Slots: slots})
		each(now)
	}
	return now
}

// within fails when a rate is further than 3 % from what the server said.
func within(t *testing.T, what string, got *request.Number, want float64) {
	t.Helper()
	if got == nil || math.Abs(got.Value-want) > 0.03*want {
		t.Errorf("%s: %s, the server said %.2f", what, pretty(got), want)
	}
}

// TestOneRequestRecorded: 1801 tokens of prompt in 3.09 s, 200 of answer at 62.84 a
// second, read by its counters alone.
func TestOneRequestRecorded(t *testing.T) {
	value, err := DecodeLlamaServer(llamaRecorded(t, "one-request.final.json"))
	if err != nil {
		t.Fatal(err)
	}
	final := value.(LlamaFinal)
	if *final.PromptTokens != 1801 || *final.DecodeTokens != 200 || !final.Done {
		t.Fatalf("%s", pretty(final))
	}
	tracker := request.NewTracker()
	phases := map[request.Phase]bool{}
	now := timeline(t, "one-request.slots-timeline.jsonl", tracker, func(now request.Moment) {
		list := tracker.Requests(now)
		if len(list) != 1 {
			t.Fatalf("%s", pretty(list))
		}
		phases[list[0].Phase] = true
	})
	if !phases[request.PhasePrefill] || !phases[request.PhaseDecode] {
		t.Errorf("its phases were %v", phases)
	}
	r := tracker.Requests(now)[0]
	within(t, "the whole answer", r.Decode, *final.Decode)
	within(t, "the last seconds", r.Live, *final.Decode)
	if r.TTFT == nil || math.Abs(r.TTFT.Value-3.09) > *r.TTFT.Spread || *r.TTFT.Spread > 0.5 {
		t.Errorf("time to the first token: %s", pretty(r.TTFT))
	}
	if *r.OutputTokens != 200 || r.OutputApproximate || r.Phase != request.PhaseDone || r.PromptTokens != nil {
		t.Errorf("%s", pretty(r))
	}
}

// TestTotalsRecorded: the counters before and after one request are its rates,
// where its slots were not seen at work.
func TestTotalsRecorded(t *testing.T) {
	tracker := request.NewTracker()
	origin := request.Origin{Backend: "llama-server", Model: "m512", Process: "1"}
	at := func(s int) request.Moment {
		d := time.Duration(s) * time.Second
		return request.Moment{Wall: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).Add(d), Awake: d}
	}
	read := func(now int, slots, totals string) {
		list, err := decodeSlots(strings.NewReader(slots))
		if err != nil {
			t.Fatal(err)
		}
		tracker.Slots(request.Reading{Origin: origin, Asked: at(now), Came: at(now), Slots: list})
		tracker.Totals(at(now), origin, decodeTotals(string(llamaRecorded(t, totals))))
	}
	read(1, string(llamaRecorded(t, "slots-never-used.json")), "metrics-idle.prom")
	read(9, `[{"id":0,"id_task":2,"is_processing":false,"next_token":{"n_decoded":200}}]`, "metrics-after.prom")
	r := tracker.Requests(at(9))[0]
	within(t, "decode", r.Decode, 62.84)
	within(t, "prefill", r.Prefill, 583.01)
	if r.Decode.Source != request.SourceMetrics || *r.OutputTokens != 200 {
		t.Errorf("%s", pretty(r))
	}
}

// TestThreeRequestsRecorded: two slots, a third request that waits for one. What
// counts of each is told by its finals, in the order of the tasks.
func TestThreeRequestsRecorded(t *testing.T) {
	tracker := request.NewTracker()
	stood := map[int]bool{} // slots that stood still for another's prompt
	now := timeline(t, "three-requests-two-slots.slots-timeline.jsonl", tracker, func(now request.Moment) {
		for _, r := range tracker.Requests(now) {
			for _, n := range []*request.Number{r.Live, r.Decode} {
				if n != nil && (n.Value <= 0 || n.Value > 100) {
					t.Fatalf("no such rate: %s", pretty(r))
				}
			}
			for _, note := range r.Notes {
				if note == request.NoteOtherPrompt && r.Slot != nil {
					stood[*r.Slot] = true
				}
			}
		}
	})
	if !stood[1] {
		t.Error("slot 1 stood still for 5 s and nobody says why")
	}
	finals := map[int]float64{}
	d := json.NewDecoder(bytes.NewReader(llamaRecorded(t, "three-requests.finals.json")))
	var all []json.RawMessage
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for i, raw := range all {
		final, err := decodeLlamaFinal(raw)
		if err != nil {
			t.Fatal(err)
		}
		finals[i] = *final.Decode
	}
	list := tracker.Requests(now)
	if len(list) != 4 || list[0].Phase != request.PhaseDecode {
		t.Fatalf("the third in flight, two ended, and one before them: %s", pretty(list))
	}
	within(t, "the third", list[0].Live, finals[2])
	for _, r := range list[1:] {
		switch {
		case *r.Slot == 1:
			within(t, "the first", r.Decode, finals[0])
		case *r.OutputTokens == 100 && r.Decode != nil:
			// Its last token came before or after a silence of 4 s; nothing says which,
			// and the server's 14.9 and the 44.5 up to there are both possible.
			t.Errorf("the second has a rate, %s, that its counters do not tell", pretty(r.Decode))
		}
	}
}
