package monitor

import (
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor/backend"
)

func TestPace(t *testing.T) {
	battery := &metal.Power{OnBattery: new(true)}
	idle := []Resident{{Resident: backend.Resident{Model: "m"}, Activity: ActivityIdle}}
	busy := []Resident{{Resident: backend.Resident{Model: "m"}, Activity: ActivityBusy}}
	cloud := []Resident{{Resident: backend.Resident{Model: "m", Cloud: true}}}
	swap := `{"swap":{"swap_out_bytes_per_second":9000000}}`
	down := `{"backends":[{"name":"o","state":"not_answering"}]}`
	for _, test := range []struct {
		name     string
		snapshot Snapshot
		watch    bool
		alert    string // a snapshot that raises one
		want     time.Duration
	}{
		{"nothing resident", Snapshot{}, false, "", tickIdle},
		{"only a cloud model", Snapshot{Residents: cloud}, false, "", tickIdle},
		{"an idle model", Snapshot{Residents: idle}, false, "", tickUsual},
		{"a busy one", Snapshot{Residents: busy}, false, "", tickBusy},
		{"on battery", Snapshot{Residents: idle, Power: battery}, false, "", tickSaving},
		{"busy on battery", Snapshot{Residents: busy, Power: battery}, false, "", tickBusy},
		{"somebody looks", Snapshot{}, true, "", tickBusy},
		{"memory is short", Snapshot{}, false, swap, tickBusy},
		{"a server is down", Snapshot{}, false, down, tickIdle},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := New(Config{Local: newFakeMachine(), Clock: SystemClock()})
			m.Subscribe(Options{Watch: test.watch})
			if test.alert != "" {
				p := NewPlayer()
				out := Update{}
				for range 8 {
					out = p.Step(Update{Snapshot: snapshotOf(t, test.alert)})
				}
				if len(out.Alerts) == 0 {
					t.Fatal("the course raised no alert")
				}
				m.engine = p.engine
			}
			if got := m.pace(&test.snapshot); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
