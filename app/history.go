package main

import (
	"context"
	"log/slog"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
	"plimsoll/monitor/store"
)

// past is the history on disk, and what the last agent left in it. Without a
// history all of it is nil, and the agent goes on without.
type past struct {
	recorder     *store.Recorder
	swapDay      *monitor.SwapDay
	postMortem   *monitor.PostMortem
	efficiencies []fit.Learned
}

// openPast opens an agent's history. What keeps it from being used is told to the
// person; it keeps no agent from starting.
func (p *program) openPast(c agentConfig, log *slog.Logger) past {
	if c.history == "" {
		return past{}
	}
	recorder, err := store.Record(c.history, log)
	if err != nil {
		log.Warn("going on without a history", "error", err)
		if !c.silent {
			p.complain(p.words.Error(err))
		}
		return past{}
	}
	ctx, h := context.Background(), recorder.History()
	o := past{recorder: recorder}
	if o.swapDay, err = h.SwapDay(ctx); err != nil {
		log.Warn("the day's swap-out so far is not readable", "error", err)
	}
	if o.efficiencies, err = h.Efficiencies(ctx); err != nil {
		log.Warn("what was learned of engines is not readable", "error", err)
	}
	if p.goos == "darwin" && !c.simulated {
		o.postMortem = postMortem(ctx, panicReports, h, c.clock.Now(), log)
	}
	return o
}

// record keeps what a monitor tells until ctx ends, and closes the history.
func (o past) record(ctx context.Context, box *monitor.Mailbox, log *slog.Logger) {
	if err := o.recorder.Run(ctx, box); err != nil {
		log.Error("the last minute is not in the history", "error", err)
	}
	if err := o.recorder.Close(); err != nil {
		log.Warn("closing the history failed", "error", err)
	}
}
