package request

import "testing"

// A meter's request that waits looks like the one that is taken up in its stead, which
// went past the meter. Its first token tells them apart, in flight and afterwards.
func TestMeterBehindAnother(t *testing.T) {
	for _, seen := range []bool{true, false} { // the first token is told in flight, or only at the end
		tracker := NewTracker()
		ask(tracker, 0, 0, idle(0, -1, 0))
		m := metered("meter-1", "qwen3:14b", 0.4, 0.4)
		tracker.Meter(m)
		ask(tracker, 0.5, 0.5, reading(0, 5, 100))
		work(tracker, 0, 5, 600, 1, 8, 20)
		ask(tracker, 8, 8, reading(0, 6, 700))
		ask(tracker, 8.5, 8.5, reading(0, 6, 1400))
		m.Phase, m.OutputTokens, m.OutputApproximate, m.Changed = PhaseDecode, new(1), true, at(9).Wall
		m.TTFT = &Number{Value: 8.5, Source: SourceMeter, At: at(8.9).Wall}
		if seen {
			tracker.Meter(m)
		}
		work(tracker, 0, 6, 1427, 9, 13, 20)
		if r := tracker.Requests(at(13)); seen && (len(r) != 2 || *r[0].PromptTokens != 1427 || len(r[0].Sources) != 2 || *r[0].OutputTokens > 90 || len(r[1].Sources) != 1) {
			t.Errorf("in flight: %+v", r)
		}
		m.Phase, m.Outcome, m.Ended, m.Changed = PhaseDone, OutcomeCancelled, new(at(13).Wall), at(13).Wall
		m.OutputTokens = new(80)
		tracker.Meter(m)
		ask(tracker, 13.5, 13.5, idle(0, 6, 80))
		r := tracker.Requests(at(14))
		if len(r) != 2 {
			t.Fatalf("%d requests: %+v", len(r), r)
		}
		for _, one := range r {
			carried := one.Endpoint != ""
			if want := map[bool]int{true: 1427, false: 600}[carried]; *one.PromptTokens != want || carried && one.TTFT.Value != 8.5 || carried && *one.OutputTokens != 80 || !carried && one.has(SourceMeter) {
				t.Errorf("over: %+v", one)
			}
		}
		if got := len(tracker.watches[child.key()].slots); got != 1 {
			t.Errorf("%d slots", got)
		}
	}
}

// A tool call reaches its client whole: its first chunk comes long after the slot's
// first token, and it is one request all the same.
func TestToolCallIsOne(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	m := metered("meter-1", "qwen3:14b", 0.4, 0.4)
	tracker.Meter(m)
	work(tracker, 0, 5, 600, 1, 8, 20)
	m = answered(m, 8.2, 600, 150, 20)
	m.TTFT = &Number{Value: 7.7, Source: SourceMeter, At: at(8.1).Wall}
	tracker.Meter(m)
	ask(tracker, 8.5, 8.5, idle(0, 5, 150))
	if r := only(t, tracker, 9); len(r.Sources) != 2 || *r.OutputTokens != 150 {
		t.Errorf("told as %+v", r)
	}
}

// A meter that tells of a request when its slot is free again, as one does to an agent
// that was started anew, adds to the request that is listed: nothing is learned twice.
func TestMeterComesLate(t *testing.T) {
	tracker := NewTracker()
	ask(tracker, 0, 0, idle(0, -1, 0))
	work(tracker, 0, 5, 600, 1, 8, 20)
	ask(tracker, 8, 8, idle(0, 5, 140))
	id := only(t, tracker, 12).ID
	if v := tracker.Speeds(at(12)); len(v) != 1 || v[0].Runs != 1 {
		t.Fatalf("the slot taught %+v", v)
	}
	m := answered(metered("meter-1", "qwen3:14b", 0.4, 0.4), 8, 600, 140, 20.5)
	tracker.Meter(m)
	r := only(t, tracker, 13)
	if r.ID != id || len(r.Sources) != 2 || r.Decode.Value != 20.5 {
		t.Errorf("told as %+v", r)
	}
	if v := tracker.Speeds(at(13)); len(v) != 1 || v[0].Runs != 1 || v[0].Decode.Value != 20.5 {
		t.Errorf("learned %+v", v)
	}
}
