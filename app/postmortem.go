package main

import (
	"context"
	"log/slog"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/store"
)

// panicReports is where macOS keeps the reports of its panics.
const panicReports = "/Library/Logs/DiagnosticReports"

// panicKept is how old a panic may be that is still worth a word.
const panicKept = 30 * 24 * time.Hour

// postMortem reads the newest panic report, and what was kept of the minute before
// it. It is nil when there is none, when it was told before, or when it is old:
// it is told once, which the history remembers. Without a history it is not told at
// all, for it would be told at every start.
func postMortem(ctx context.Context, folder string, history *store.History, now time.Time, log *slog.Logger) *monitor.PostMortem {
	if folder == "" || history == nil {
		return nil
	}
	report, err := metal.NewestPanic(folder)
	if err != nil {
		log.Info("no panic report can be read", "error", err)
	}
	if report == nil || now.Sub(report.At) > panicKept {
		return nil
	}
	mark := "panic " + report.Name
	told, err := history.Marked(ctx, mark)
	if err == nil && !told {
		err = history.Mark(ctx, mark, now)
	}
	if err != nil || told {
		if err != nil {
			log.Warn("a panic report is not told", "report", report.Name, "error", err)
		}
		return nil
	}
	p := &monitor.PostMortem{Report: *report}
	moment, err := history.Before(ctx, report.At)
	switch {
	case err != nil:
		log.Warn("the minute before a panic is not readable", "error", err)
	case moment != nil && report.At.Sub(moment.Snapshot.Taken) < minuteBefore:
		p.Last = &moment.Snapshot
	}
	return p
}

// minuteBefore is how long before a panic the last kept moment may lie to say
// something about it: the history is written once a minute.
const minuteBefore = 5 * time.Minute
