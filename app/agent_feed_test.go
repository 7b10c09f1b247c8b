package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// Without a tray the log's level says whether a notice is good news.
func TestNoticesInTheLog(t *testing.T) {
	for severity, level := range map[monitor.Severity]string{
		monitor.SeverityInfo: "INFO", monitor.SeverityWarning: "WARN", monitor.SeverityCritical: "WARN",
	} {
		var log bytes.Buffer
		a := &agent{log: slog.New(slog.NewTextHandler(&log, nil))}
		a.announce([]view.Notice{{ID: "n", Severity: severity, Title: "told"}, {ID: "gone", Severity: severity, Withdraw: true}})
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level="+level+" ") || !strings.Contains(got, "told") {
			t.Errorf("%s: %q, want one line of level %s", severity, got, level)
		}
	}
}
