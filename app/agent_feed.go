package main

import (
	"context"
	"log/slog"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// feed renders each update for the tray and announces what its events are worth.
// Without a tray nothing is rendered; alerts then go to the log.
func (a *agent) feed(ctx context.Context, box *monitor.Mailbox, views chan view.View) error {
	defer box.Close()
	var latest monitor.Update
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.changed:
			latest.Events = nil
		case <-box.Ready():
			update, ok := box.Take()
			if !ok {
				continue
			}
			latest = update
		}
		if latest.Snapshot == nil {
			continue
		}
		words := a.words.Load()
		if a.inTray.Load() {
			replace(views, words.Render(latest, a.config.clock.Now()))
		}
		if len(latest.Events) > 0 {
			a.announce(words.Notices(latest))
		}
	}
}

// replace leaves v as the only value in a channel of one place that feed alone
// sends to: an unread older view is of no use to anybody.
func replace(views chan view.View, v view.View) {
	select {
	case <-views:
	default:
	}
	views <- v
}

func (a *agent) announce(notices []view.Notice) {
	for _, n := range notices {
		if a.notifier == nil {
			if !n.Withdraw {
				level := slog.LevelWarn
				if n.Severity == monitor.SeverityInfo { // an unload that worked is no warning
					level = slog.LevelInfo
				}
				a.log.Log(context.Background(), level, "alert", "id", n.ID, "severity", n.Severity, "title", n.Title, "text", n.Text)
			}
			continue
		}
		if a.config.settings.get().Quiet && !n.Withdraw {
			continue
		}
		if err := a.notifier.Show(n); err != nil {
			a.log.Warn("notification not shown", "id", n.ID, "error", err)
		}
	}
}

// click carries out what a menu row or a notification's button asks for. It
// returns at once, as a server may take seconds to refuse.
func (a *agent) click(ctx context.Context, c monitor.Command) {
	go func() { a.tell(a.monitor.Do(ctx, c)) }()
}

// tell shows a person at the tray why a click did nothing.
func (a *agent) tell(err error) {
	if err == nil || a.notifier == nil {
		return
	}
	a.log.Warn("click failed", "error", err)
	words := a.words.Load()
	if err := a.notifier.Show(view.Notice{ID: "click", Title: words.Text("cli.click.failed"), Text: words.Error(err), Severity: monitor.SeverityInfo}); err != nil {
		a.log.Warn("notification not shown", "error", err)
	}
}
