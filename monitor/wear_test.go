package monitor

import (
	"testing"
	"time"

	"plimsoll/metal"
)

// What is written to swap today goes on after a restart of the agent.
func TestSwapDayGoesOn(t *testing.T) {
	midnight := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	at := midnight.Add(9 * time.Hour)
	before := SwapDay{Day: midnight, Since: midnight, Bytes: 500, Counter: 2000, At: at, Boot: "a"}
	for _, row := range []struct {
		name   string
		change func(d *SwapDay, m *metal.Machine)
		out    uint64
		want   uint64
		since  time.Duration // after midnight
	}{
		{"the same life of the system", nil, 2300, 800, 0},
		{"nothing since", nil, 2000, 500, 0},
		{"the system started again", func(d *SwapDay, m *metal.Machine) { m.BootID, m.Uptime = "b", new(600.0) }, 70, 570, 0},
		{"started again, and the count is past the old one", func(d *SwapDay, m *metal.Machine) { m.BootID, m.Uptime = "b", new(600.0) }, 2100, 2600, 0},
		{"a system that does not tell its life, counter back", func(d *SwapDay, m *metal.Machine) { d.Boot, m.BootID = "", "" }, 70, 570, 0},
		{"yesterday's", func(d *SwapDay, m *metal.Machine) { d.Day = midnight.AddDate(0, 0, -1) }, 2300, 0, 10 * time.Hour},
		{"from the future", func(d *SwapDay, m *metal.Machine) { d.At = midnight.Add(20 * time.Hour) }, 2300, 0, 10 * time.Hour},
		{"none", func(d *SwapDay, m *metal.Machine) { *d = SwapDay{} }, 2300, 0, 10 * time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			day := before
			s := &Snapshot{Taken: midnight.Add(10 * time.Hour), Machine: &metal.Machine{BootID: "a", Uptime: new(5 * 86400.0)}, Swap: &Swap{Swap: metal.Swap{Out: &row.out}}}
			if row.change != nil {
				row.change(&day, s.Machine)
			}
			w := wear{before: &day}
			w.note(s)
			if *s.Swap.OutToday != row.want || !s.Swap.OutSince.Equal(midnight.Add(row.since)) {
				t.Errorf("%d since %v, want %d since %v after midnight", *s.Swap.OutToday, *s.Swap.OutSince, row.want, row.since)
			}
			next := &Snapshot{Taken: s.Taken.Add(time.Minute), Machine: s.Machine, Swap: &Swap{Swap: metal.Swap{Out: new(row.out + 5)}}}
			w.note(next)
			if *next.Swap.OutToday != row.want+5 {
				t.Errorf("then %d, want 5 more", *next.Swap.OutToday)
			}
		})
	}
}
