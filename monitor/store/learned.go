package store

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"plimsoll/monitor"
)

// learnedRuns is how many runs are kept of a model under an engine: the newest.
const learnedRuns = 50

// run is one efficiency that was measured.
type run struct {
	of    monitor.EngineModel
	at    time.Time
	value float64
}

// learned is the median of values, nil when there are none.
func learned(values []float64) *monitor.Learned {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return &monitor.Learned{Median: median, Least: sorted[0], Most: sorted[len(sorted)-1], Runs: len(sorted)}
}

// plausibleRun reports an efficiency worth keeping. More than the bandwidth
// allows is a wrong bandwidth or a wrong size, by a factor at most.
func plausibleRun(r run) bool {
	return r.of.Digest != "" && r.of.Engine != "" && r.of.Version != "" && r.value > 0 && r.value <= 4 && !math.IsNaN(r.value)
}

// Efficiencies is what was learned of every model under every engine.
func (h *History) Efficiencies(ctx context.Context) (map[monitor.EngineModel]*monitor.Learned, error) {
	values, err := h.efficiencies(ctx)
	if err != nil {
		return nil, judge(h.path, err)
	}
	all := map[monitor.EngineModel]*monitor.Learned{}
	for of, list := range values {
		all[of] = learned(list)
	}
	return all, nil
}

// efficiencies are the newest runs of each, oldest first.
func (h *History) efficiencies(ctx context.Context) (map[monitor.EngineModel][]float64, error) {
	values := map[monitor.EngineModel][]float64{}
	err := h.each(ctx, func(scan scanner) error {
		var of monitor.EngineModel
		var value float64
		if err := scan(&of.Digest, &of.Engine, &of.Version, &value); err != nil {
			return err
		}
		values[of] = newest(append(values[of], value))
		return nil
	}, "SELECT digest, engine, version, value FROM efficiencies ORDER BY id")
	return values, err
}

func newest(values []float64) []float64 { return values[max(0, len(values)-learnedRuns):] }

// writeRuns keeps runs and forgets the oldest of their models.
func writeRuns(ctx context.Context, tx *sql.Tx, runs []run) error {
	touched := map[monitor.EngineModel]bool{}
	for _, r := range runs {
		_, err := tx.ExecContext(ctx, "INSERT INTO efficiencies (digest, engine, version, taken, value) VALUES (?, ?, ?, ?, ?)",
			r.of.Digest, r.of.Engine, r.of.Version, r.at.UnixMilli(), r.value)
		if err != nil {
			return err
		}
		touched[r.of] = true
	}
	for of := range touched {
		_, err := tx.ExecContext(ctx, `DELETE FROM efficiencies WHERE digest = ?1 AND engine = ?2 AND version = ?3 AND id <= (
			SELECT id FROM efficiencies WHERE digest = ?1 AND engine = ?2 AND version = ?3 ORDER BY id DESC LIMIT 1 OFFSET ?4)`,
			of.Digest, of.Engine, of.Version, learnedRuns)
		if err != nil {
			return err
		}
	}
	return nil
}

// AddRuns learns efficiencies that a benchmark measured.
func (h *History) AddRuns(ctx context.Context, of monitor.EngineModel, at time.Time, values ...float64) error {
	var runs []run
	for _, v := range values {
		if r := (run{of, at, v}); plausibleRun(r) {
			runs = append(runs, r)
		}
	}
	return judge(h.path, h.change(ctx, func(tx *sql.Tx) error { return writeRuns(ctx, tx, runs) }))
}

// SwapDay is the newest day on which swap-out was counted, nil when there is none.
func (h *History) SwapDay(ctx context.Context) (*monitor.SwapDay, error) {
	var newest *monitor.SwapDay
	err := h.each(ctx, func(scan scanner) error {
		var d monitor.SwapDay
		var day string
		var since, bytes, counter, at int64
		if err := scan(&day, &since, &bytes, &counter, &at, &d.Boot); err != nil {
			return err
		}
		d.Since, d.At = time.UnixMilli(since), time.UnixMilli(at)
		d.Bytes, d.Counter = uint64(max(0, bytes)), uint64(max(0, counter))
		midnight, err := time.ParseInLocation(time.DateOnly, day, time.Local)
		d.Day, newest = midnight, &d
		return err
	}, "SELECT day, since, bytes, counter, at, boot FROM swap_days ORDER BY at DESC LIMIT 1")
	return newest, judge(h.path, err)
}

// swapDay is what a snapshot says of its day's swap-out, nil when it says nothing.
func swapDay(s *monitor.Snapshot) *monitor.SwapDay {
	if s.Swap == nil || s.Swap.Out == nil || s.Swap.OutToday == nil || s.Swap.OutSince == nil {
		return nil
	}
	y, m, d := s.Taken.Date()
	day := &monitor.SwapDay{
		Day: time.Date(y, m, d, 0, 0, 0, 0, s.Taken.Location()), Since: *s.Swap.OutSince,
		Bytes: *s.Swap.OutToday, Counter: *s.Swap.Out, At: s.Taken,
	}
	if s.Machine != nil {
		day.Boot = s.Machine.BootID
	}
	return day
}

func writeSwapDay(ctx context.Context, tx *sql.Tx, d *monitor.SwapDay) error {
	if d == nil {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO swap_days (day, since, bytes, counter, at, boot) VALUES (?, ?, ?, ?, ?, ?)",
		d.Day.Format(time.DateOnly), d.Since.UnixMilli(), int64(min(d.Bytes, math.MaxInt64)), int64(min(d.Counter, math.MaxInt64)), d.At.UnixMilli(), d.Boot)
	return err
}
