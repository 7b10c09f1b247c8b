package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/store"
)

// Cases 51 and 52: after a panic the report is told once, and then no more.
func TestPostMortemOnce(t *testing.T) {
	folder, log := t.TempDir(), slog.New(slog.DiscardHandler)
	h, err := store.Open(filepath.Join(folder, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	read := func() *metal.PanicReport {
		if p := postMortem(context.Background(), folder, h, now, log); p != nil {
			return &p.Report
		}
		return nil
	}
	write := func(name, text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(folder, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(); got != nil {
		t.Errorf("no report: %+v", got)
	}
	write("panic-old.panic", "panic(cpu 0): old", now.Add(-31*24*time.Hour))
	if got := read(); got != nil {
		t.Errorf("a report of last month: %+v", got)
	}
	write("panic-new.panic", "panic(cpu 6 caller 0x0): \"completeMemory() prepare count underflow\" @IOGPUMemory.cpp:550", now.Add(-time.Hour))
	if got := read(); got == nil || got.Kind != metal.PanicGPUMemory || got.Name != "panic-new.panic" {
		t.Errorf("%+v", got)
	}
	if got := read(); got != nil {
		t.Errorf("told twice: %+v", got)
	}
	write("panic-newer.panic", "panic(cpu 1): watchdog timeout: no checkins from watchdogd", now)
	if got := read(); got == nil || got.Kind != metal.PanicWatchdog {
		t.Errorf("another panic: %+v", got)
	}
	if p := postMortem(context.Background(), folder, nil, now, log); p != nil {
		t.Errorf("without a history: %+v", p)
	}
}
