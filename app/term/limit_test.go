package term

import (
	"strings"
	"testing"
	"time"

	"plimsoll/app/view"
	"plimsoll/monitor"
)

// status shows the limit in force, and what is left of a trial.
func TestStatusShowsTheLimit(t *testing.T) {
	u := example(t)
	s := *u.Snapshot
	s.Limit = &monitor.Limit{Set: 26000 << 20, Effective: new(uint64(26000 << 20)),
		Lease: &monitor.LimitLease{Value: 26000 << 20, Until: s.Taken.Add(103 * time.Second)}}
	u.Snapshot = &s
	for language, want := range map[string]string{
		"en": "GPU limit        25.4 GiB set · on trial, 1:43 left\n",
		"zh": "GPU 内存上限  已设为 25.4 GiB · 试用中，剩余 1:43\n",
	} {
		words := view.In(language)
		if got := (Page{Words: words, Width: 80}).Status(render(words, u)); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", language, want, got)
		}
	}
	if got := (Page{Words: view.In("en"), Width: 80}).Status(render(view.In("en"), example(t))); strings.Contains(got, "GPU limit        ") {
		t.Errorf("a system without a limit has a row of it:\n%s", got)
	}
}
