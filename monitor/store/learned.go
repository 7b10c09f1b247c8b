package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/fit"
)

// Efficiencies are what was learned of engines, as the newest snapshots had it.
func (h *History) Efficiencies(ctx context.Context) ([]fit.Learned, error) {
	var all []fit.Learned
	err := h.each(ctx, func(scan scanner) error {
		var text string
		var one fit.Learned
		if err := scan(&text); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(text), &one)
		all = append(all, one)
		return err
	}, "SELECT learned FROM efficiencies ORDER BY engine, version, class")
	return all, judge(h.path, err)
}

// writeEfficiencies keeps what is new of a snapshot's.
func writeEfficiencies(ctx context.Context, tx *sql.Tx, s *monitor.Snapshot) error {
	for _, e := range s.Efficiencies {
		err := insert(ctx, tx, e, "INSERT OR REPLACE INTO efficiencies (engine, version, class, at, learned) VALUES (?, ?, ?, ?, ?)",
			e.Engine, e.Version, string(e.Class), s.Taken.UnixMilli())
		if err != nil {
			return err
		}
	}
	return nil
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
