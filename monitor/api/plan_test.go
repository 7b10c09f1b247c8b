package api

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// planningAgent has one model on disk.
type planningAgent struct {
	*fakeAgent
	asked []monitor.PlanRequest
}

func (a *planningAgent) Plan(_ context.Context, r monitor.PlanRequest) (monitor.Plan, error) {
	a.asked = append(a.asked, r)
	if r.Model != "tiny" {
		return monitor.Plan{}, fmt.Errorf("planning %s: %w", r.Model, monitor.ErrNotInstalled)
	}
	return a.plan(r.Context), nil
}

func (a *planningAgent) Plans() []monitor.Plan { return []monitor.Plan{a.plan(0)} }

func (a *planningAgent) plan(tokens int) monitor.Plan {
	place := monitor.DescribedPlace("chip", 16<<30, new(uint64(10<<30)), new(100e9))
	return place.Plan(monitor.Subject{Name: "tiny", Model: a.Builds()[0].Build, Options: fit.Options{Context: tokens}})
}

func TestAPlanCrossesTheSocketWhole(t *testing.T) {
	a := &planningAgent{fakeAgent: newFakeAgent(t, "chip")}
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	client, ctx := Dial(path), context.Background()

	asked := monitor.PlanRequest{Backend: "ollama", Model: "tiny", Context: 3000, Cache: fit.Q8, Flash: fit.FlashOn, Slots: 2}
	got, err := client.Plan(ctx, asked)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.asked) != 1 || a.asked[0] != asked {
		t.Errorf("asked for %+v", a.asked)
	}
	want := a.plan(3000)
	if *got.Total != *want.Total || *got.KV != *want.KV || got.Verdict.State != fit.Fits || *got.Spare != *want.Spare || got.Binding != want.Binding ||
		len(got.Steps) != len(want.Steps) || len(got.ByType) != len(want.ByType) || len(got.Rates) != len(want.Rates) || *got.Place.GPU != *want.Place.GPU {
		t.Errorf("it came as %+v, want %+v", got, want)
	}
	if plans, err := client.Plans(ctx); err != nil || len(plans) != 1 || plans[0].Model != "tiny" {
		t.Errorf("%+v, %v", plans, err)
	}
	if _, err := client.Plan(ctx, monitor.PlanRequest{Model: "big"}); !errors.Is(err, monitor.ErrNotInstalled) || code(err) != "not_installed" {
		t.Errorf("%v (code %q)", err, code(err))
	}
}

// The monitor itself refuses what is no plan, with a code.
func TestWhatIsNoPlanIsRefused(t *testing.T) {
	a := newFakeAgent(t, "chip")
	path := agentPath(t)
	start(t, a, path, stuckAfter)
	if plans, err := Dial(path).Plans(t.Context()); err != nil || plans == nil || len(plans) != 0 {
		t.Errorf("without models: %v, %v", plans, err)
	}
	for _, c := range []struct {
		method, target, body string
		status               int
		code                 string
	}{
		{"GET", "/v1/plan", "", 405, "bad_method"},
		{"POST", "/v1/plans", "{}", 405, "bad_method"},
		{"POST", "/v1/plan", "", 400, "bad_request"},
		{"POST", "/v1/plan", `{"model":"tiny","context":4096}`, 400, "bad_request"},
		{"POST", "/v1/plan", `{"model":"tiny","context_tokens":1e99}`, 400, "bad_request"},
		{"POST", "/v1/plan", `{}`, 400, "bad_plan"},
		{"POST", "/v1/plan", `{"model":"tiny","context_tokens":-1}`, 400, "bad_plan"},
		{"POST", "/v1/plan", `{"model":"tiny","cache_type":"q3"}`, 400, "bad_plan"},
		{"POST", "/v1/plan", `{"model":"tiny"}`, 404, "not_installed"},
		{"POST", "/v1/plan", `{"model":"` + long(bodyLimit) + `"}`, 413, "too_large"},
	} {
		status, refused := raw(t, path, c.method, c.target, c.body, nil)
		if status != c.status || refused.Code != c.code || refused.Error == "" {
			t.Errorf("%s %s %.40s: %d %+v, want %d with code %q", c.method, c.target, c.body, status, refused, c.status, c.code)
		}
	}
}
