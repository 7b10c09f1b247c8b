package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFitTable holds the planner against every row, without the other library.
func TestFitTable(t *testing.T) {
	rows := make([]fitted, len(fitRows))
	for at, row := range fitRows {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := row.write(path); err != nil {
			t.Fatal(err)
		}
		ours, err := row.plan(path)
		if err != nil {
			t.Errorf("%s: %v", row.model, err)
			continue
		}
		rows[at] = fitted{fitRow: row, ours: ours}
		if off := row.off(ours); off > mostOff {
			t.Errorf("%s, %s of %d tokens: %.0f, off %.0f by %.2f %%", row.model, row.part, row.tokens, ours, row.truth, off)
		}
		if row.source == "" || row.kind != logged && row.kind != published && row.kind != derived {
			t.Errorf("%s: known by %q, from %q", row.model, row.kind, row.source)
		}
	}
	if !judgeFit(rows).good() {
		t.Error("the table is not good")
	}
	var text strings.Builder
	printFit(&text, rows)
	if got := strings.Count(text.String(), "\n"); got != len(rows)+1 {
		t.Errorf("%d lines for %d rows", got, len(rows))
	}
}
