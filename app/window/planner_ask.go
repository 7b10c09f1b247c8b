package main

import (
	"context"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// planPatience is how long the agent may take for a plan: it may have to ask a
// server how the model is built.
const planPatience = 10 * time.Second

// planQuestion is what the page of the planner wants to know, and in which words.
type planQuestion struct {
	words    *view.Renderer
	snapshot *monitor.Snapshot
	asked    monitor.PlanRequest
}

// planAnswer is what the agent says to it, in words.
type planAnswer struct {
	words *view.Renderer
	asked monitor.PlanRequest
	plan  view.Planner
	err   error // why there is no plan
	// list are the models on disk; listed says that they were told.
	list   []view.PlannedModel
	listed bool
	// first is the model to look at while nobody has chosen one.
	first view.PlannedModel
}

// plan asks the agent away from Fyne's goroutine, and brings the answer there.
func (w *window) plan(q planQuestion) {
	if w.agent == nil {
		return // a picture of a recording
	}
	ctx, cancel := context.WithTimeout(context.Background(), planPatience)
	defer cancel()
	a := planAnswer{words: q.words, asked: q.asked}
	if q.asked.Model != "" {
		plan, err := w.agent.Plan(ctx, q.asked)
		if a.err = err; err == nil {
			a.plan = q.words.Planner(plan, q.snapshot)
		}
	}
	plans, err := w.agent.Plans(ctx)
	if err == nil {
		a.list, a.listed = q.words.PlannedModels(plans), true
		a.first = firstPlanned(a.list, q.snapshot)
	} else if a.err == nil {
		a.err = err
	}
	w.do(func() { w.planner.take(a) })
}

// firstPlanned is what a person most likely wants to know of: the model in memory,
// else the biggest that fits, else the first.
func firstPlanned(list []view.PlannedModel, s *monitor.Snapshot) view.PlannedModel {
	if s != nil {
		for _, r := range s.Residents {
			for _, m := range list {
				if m.Model == r.Model && m.Backend == r.Backend && !r.Cloud {
					return m
				}
			}
		}
	}
	if len(list) > 0 {
		return list[0] // those come first that fit, the biggest of them first
	}
	return view.PlannedModel{}
}

// ask sends what the page looks at now to the agent.
func (w *window) ask(asked monitor.PlanRequest) {
	if w.shown.words != nil {
		w.planning.ask(planQuestion{w.shown.words, w.shown.snapshot, asked})
	}
}

// askBuilds asks how the models on disk are built, away from Fyne's goroutine. Who
// gets no answer sees a limit's dialog without what fits then.
func (w *window) askBuilds(struct{}) {
	if w.agent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), planPatience)
	defer cancel()
	builds, err := w.agent.Builds(ctx)
	if err != nil || len(builds) == 0 {
		return
	}
	w.do(func() {
		w.builds = builds
		w.limit.set(w.shown.words, w.shown.view.Limit)
	})
}

// openPlanner shows the planner, with a model where one is named.
func (w *window) openPlanner(server, model string) {
	w.planner.look(server, model)
	w.show(pagePlanner)
}
