package store

import (
	"testing"
	"time"

	"plimsoll/monitor"
)

// What slowed a model is in the history, with its numbers.
func TestDiagnosesAreKept(t *testing.T) {
	r := recording(t, file(t), quiet())
	w := &writer{recorder: r}
	for i := range 100 {
		u := snapshot(time.Duration(i)*time.Second, func(*monitor.Snapshot) {})
		if i == 10 {
			u.Events = []monitor.Event{{Time: u.Snapshot.Taken, Kind: monitor.EventDiagnosis,
				Evidence: monitor.Evidence{Model: "a", State: string(monitor.SlowSpill), GPUShare: new(0.8)}}}
		}
		feed(t, w, u)
	}
	events, err := r.History().Events(t.Context(), noon, noon.Add(time.Hour), 0)
	if err != nil || len(events) != 1 || events[0].Kind != monitor.EventDiagnosis || *events[0].Evidence.GPUShare != 0.8 {
		t.Errorf("%+v, %v", events, err)
	}
}
