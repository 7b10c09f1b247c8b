package monitor_test

import (
	"testing"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

// Ten minutes of a day in which models come and go, swap and grow hot: a person who
// reads what happened is told of each cause once, not of every flicker.
func TestDiagnosesDoNotFlood(t *testing.T) {
	m := watchedMac(t, sim.Config{Seed: 5, Auto: true, Slots: 1})
	told := map[string]int{}
	var all int
	m.each = func(u monitor.Update) {
		for _, e := range u.Events {
			if e.Kind == monitor.EventDiagnosis {
				all++
				told[e.Evidence.Model+" "+e.Evidence.State]++
				t.Logf("%s %s %s", e.Time.Format(time.TimeOnly), e.Evidence.Model, e.Evidence.State)
			}
		}
	}
	m.pass(10 * time.Minute)
	if all == 0 || all > 12 {
		t.Errorf("%d were told: %v", all, told)
	}
	for what, n := range told {
		if n > 2 {
			t.Errorf("%s was told %d times in ten minutes", what, n)
		}
	}
}
