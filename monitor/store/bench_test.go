package store

import (
	"testing"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// full is a snapshot with all sections, as a Mac at work has them.
func full(n int) monitor.Update {
	return snapshot(time.Duration(n)*time.Second, func(s *monitor.Snapshot) {
		s.GPU = &metal.GPU{InUse: new(uint64(9e9)), WorkingSet: new(uint64(21e9)), Utilisation: new(0.9), Power: new(20.0), Clock: new(1500.0), Temperature: new(70.0)}
		s.Thermal, s.Throttle = &metal.Thermal{Pressure: metal.ThermalNominal}, &monitor.Throttle{}
		s.Headroom = &monitor.Headroom{Bytes: 5 << 30}
		s.Backends = []backend.Status{{Name: "ollama", State: backend.Running}}
		s.Residents = []monitor.Resident{{Resident: backend.Resident{Model: "qwen3:14b", Size: new(uint64(9e9))}, Activity: monitor.ActivityBusy}}
		s.Swap.OutToday, s.Swap.OutSince = new(uint64(0)), &noon
	})
}

// BenchmarkUpdate is what the recorder costs at each tick, BenchmarkWrite once a
// minute.
func BenchmarkUpdate(b *testing.B) {
	var batch batch
	u := full(0)
	for b.Loop() {
		batch.add(u)
	}
}

func BenchmarkWrite(b *testing.B) {
	r, err := Record(b.TempDir()+"/history.db", quiet())
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	w := &writer{recorder: r, life: 1}
	n := 0
	for b.Loop() {
		w.batch.add(full(60 * n))
		if err := w.write(b.Context()); err != nil {
			b.Fatal(err)
		}
		n++
	}
	used, err := r.History().used(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(used)/float64(n), "kept-B/op")
}
