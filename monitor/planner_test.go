package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"plimsoll/monitor/backend"
	"plimsoll/monitor/fit"
)

// describer is a server that is asked how its models are built.
type describer struct {
	*fakeServer
	asked []string
	err   error
}

func (d *describer) Describe(_ context.Context, model string) ([]byte, error) {
	d.asked = append(d.asked, model)
	return show8B(4.9e9), d.err
}

// planning is a monitor of an M4 Pro with 8b and 70b described and others on disk.
func planning(t *testing.T, s *Snapshot) (*Monitor, *describer) {
	t.Helper()
	m := foreseeing(t, map[string]uint64{"8b": 4.9e9, "70b": 42e9})
	server := &describer{fakeServer: newFakeServer()}
	on := func(name string) backend.Model {
		return backend.Model{Backend: "ollama", Model: name, Digest: name, Size: new(uint64(4.9e9))}
	}
	m.pollers = []*poller{{backend: server, answer: backend.Answer{Models: []backend.Model{
		on("70b"), on("8b"), {Backend: "ollama", Model: "cloud", Cloud: true}, on("new"),
	}}}}
	m.latest.Snapshot = s
	return m, server
}

func TestAPlanIsOfWhatIsAsked(t *testing.T) {
	m, server := planning(t, proMac())
	plan, err := m.Plan(t.Context(), PlanRequest{Model: "8b", Context: 8192, Cache: fit.Q8, Flash: fit.FlashOn, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Backend != "ollama" || plan.Trained != 131072 || plan.Context != 8192 || plan.Slots != 2 || plan.Cache != fit.Q8 || plan.Verdict.State != fit.Fits {
		t.Errorf("%+v", plan)
	}
	// 32 layers × 8 heads × 256 values, 34 bytes for 32 of them, 2 × 8192 tokens.
	if want := uint64(32 * 8 * 256 * 34 / 32 * 2 * 8192); plan.KV == nil || *plan.KV != want {
		t.Errorf("cache %v, want %d", plan.KV, want)
	}
	if len(server.asked) != 0 {
		t.Errorf("the server was asked for %q, which it had told", server.asked)
	}
	// Nobody asked for a context: the server's own for this limit.
	if plan, err = m.Plan(t.Context(), PlanRequest{Model: "8b"}); err != nil || plan.Context != 32768 {
		t.Errorf("%d tokens, %v", plan.Context, err)
	}
}

// A server that has not told yet is asked once, and never loads anything.
func TestAPlanAsksWhereNothingIsTold(t *testing.T) {
	m, server := planning(t, proMac())
	for range 2 {
		plan, err := m.Plan(t.Context(), PlanRequest{Backend: "ollama", Model: "new"})
		if err != nil || plan.Verdict.State != fit.Fits {
			t.Fatalf("%+v, %v", plan.Verdict, err)
		}
	}
	if fmt.Sprint(server.asked) != "[new]" || len(server.models) != 0 {
		t.Errorf("asked %q, loaded %v", server.asked, server.models)
	}
	m, server = planning(t, proMac())
	server.err = errors.New("away")
	plan, err := m.Plan(t.Context(), PlanRequest{Model: "new"})
	if err != nil || plan.Verdict.State != fit.Unknown || plan.Verdict.Reason != fit.ReasonNoInfo || plan.Total != nil || plan.Weights == nil {
		t.Errorf("%+v, %v", plan, err)
	}
	if plan, err = m.Plan(t.Context(), PlanRequest{Model: "cloud"}); err != nil || plan.Verdict.Reason != fit.ReasonCloud || len(server.asked) != 1 {
		t.Errorf("of a model in the cloud: %+v, %v, asked %q", plan.Verdict, err, server.asked)
	}
	m.pollers[0].backend = server.fakeServer // one that describes nothing
	if plan, err = m.Plan(t.Context(), PlanRequest{Model: "new"}); err != nil || plan.Verdict.Reason != fit.ReasonNoInfo {
		t.Errorf("%+v, %v", plan.Verdict, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = m.Plan(gone, PlanRequest{Model: "new"}); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

func TestWhatMakesNoPlan(t *testing.T) {
	m, _ := planning(t, proMac())
	for _, r := range []PlanRequest{
		{}, {Model: "8b", Context: -1}, {Model: "8b", Context: MostContext + 1}, {Model: "8b", Slots: -1}, {Model: "8b", Slots: MostSlots + 1},
		{Model: "8b", Cache: "q3"}, {Model: "8b", Flash: "maybe"},
	} {
		if _, err := m.Plan(t.Context(), r); !errors.Is(err, ErrBadPlan) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range []PlanRequest{{Model: "9b"}, {Model: "8b", Backend: "lmstudio"}} {
		if _, err := m.Plan(t.Context(), r); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// What a model was measured to take counts, for as long as the plan is of what runs.
func TestMeasuredWins(t *testing.T) {
	r := resident("8b", 32768, 9.4e9)
	r.Footprint = new(uint64(11e9))
	s := proMac(r)
	s.Headroom.GPU = new(uint64(2 * gib))
	m, _ := planning(t, s)
	for _, asked := range []PlanRequest{{Model: "8b"}, {Model: "8b", Context: 32768}} {
		plan, err := m.Plan(t.Context(), asked)
		if err != nil || plan.Measured == nil || plan.Reported == nil || *plan.Reported != 9.4e9 {
			t.Fatalf("%+v, %v", plan, err)
		}
		// What it holds is there for it, so what is left is the headroom.
		if v := plan.Verdict; v.State != fit.Fits || *v.Spare != 2*gib {
			t.Errorf("%+v: %+v", asked, v)
		}
		if *plan.Total == *plan.Measured {
			t.Errorf("the plan itself is gone: %d", *plan.Total)
		}
	}
	// Twice the context is only a plan.
	plan, err := m.Plan(t.Context(), PlanRequest{Model: "8b", Context: 65536})
	if err != nil || plan.Context != 65536 || plan.Measured != nil || plan.Reported != nil || slices.Contains(plan.Notes, fit.NoteReported) {
		t.Fatalf("%+v, %v", plan, err)
	}
	if v := plan.Verdict; *v.Limit != 2*gib+11e9 {
		t.Errorf("limit %d, want what is left and what it holds", *v.Limit)
	}
	// Another cache at the same context as well.
	if plan, err = m.Plan(t.Context(), PlanRequest{Model: "8b", Cache: fit.Q8, Flash: fit.FlashOn}); err != nil || plan.Context != 32768 || plan.Measured != nil {
		t.Errorf("%d tokens, measured %v, %v", plan.Context, plan.Measured, err)
	}
	for _, p := range m.Plans() {
		if p.Model == "8b" && (p.Measured == nil || *p.Verdict.Spare != 2*gib) {
			t.Errorf("in the list: %+v", p)
		}
	}
}

func TestPlansAreSorted(t *testing.T) {
	m, server := planning(t, proMac())
	var got []string
	for _, p := range m.Plans() {
		got = append(got, p.Model+" "+string(p.Verdict.State))
	}
	if want := "[8b fits 70b does_not_fit new unknown cloud unknown]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if len(server.asked) != 0 {
		t.Errorf("a list asked for %q", server.asked)
	}
	if plans := New(Config{Local: newFakeMachine(), Clock: SystemClock()}).Plans(); plans == nil || len(plans) != 0 {
		t.Errorf("without a server: %+v", plans)
	}
}
