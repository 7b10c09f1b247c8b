package monitor_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/sim"
)

// Ten minutes of a day in which models come and go, and swap: a person who reads what
// happened is told of each cause once, not of every flicker. A recording of it comes
// to the same, whether it holds the diagnoses or not.
func TestDiagnosesDoNotFlood(t *testing.T) {
	m := watchedMac(t, sim.Config{Seed: 5, Auto: true, Slots: 1})
	replay, bare := monitor.NewPlayer(), monitor.NewPlayer()
	told := map[string]int{}
	all := 0
	m.each = func(u monitor.Update) {
		events := diagnosesOf(u)
		for _, e := range events {
			all++
			told[e.Evidence.Model+" "+e.Evidence.State]++
		}
		for name, p := range map[string]*monitor.Player{"as recorded": replay, "without diagnoses": bare} {
			line := *u.Snapshot
			if p == bare {
				line.Diagnosis = nil
			}
			again := p.Step(recorded(t, monitor.Update{Snapshot: &line}))
			if !reflect.DeepEqual(cause(again), cause(u)) || len(diagnosesOf(again)) != len(events) {
				t.Fatalf("%s, played %s: %+v and %v, was %+v and %v", u.Snapshot.Taken, name, cause(again), diagnosesOf(again), cause(u), events)
			}
		}
	}
	m.pass(10 * time.Minute)
	if all == 0 || all > 12 {
		t.Errorf("%d were told: %v", all, told)
	}
	for what, n := range told {
		if n > 1 {
			t.Errorf("%s was told %d times in ten minutes", what, n)
		}
	}
}

// recorded is an update as a recording brings it back.
func recorded(t *testing.T, u monitor.Update) (again monitor.Update) {
	t.Helper()
	line, err := json.Marshal(u)
	if err == nil {
		err = json.Unmarshal(line, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// cause is what an update says of the pace, in words.
func cause(u monitor.Update) []monitor.DiagnosisCause {
	if u.Snapshot.Diagnosis == nil {
		return nil
	}
	return append([]monitor.DiagnosisCause{u.Snapshot.Diagnosis.Cause}, u.Snapshot.Diagnosis.Also...)
}

func diagnosesOf(u monitor.Update) (list []monitor.Event) {
	for _, e := range u.Events {
		if e.Kind == monitor.EventDiagnosis {
			list = append(list, e)
		}
	}
	return list
}
