package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

// scanner reads one row.
type scanner func(into ...any) error

// each calls do for every row of a query.
func (h *History) each(ctx context.Context, do func(scanner) error, query string, args ...any) error {
	rows, err := h.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Samples are the minutes that begin in [from, to), oldest first.
func (h *History) Samples(ctx context.Context, from, to time.Time) ([]Sample, error) {
	var all []Sample
	err := h.each(ctx, func(scan scanner) error {
		s, err := scanSample(scan)
		all = append(all, s)
		return err
	}, "SELECT start, snapshots, pressure, thermal_pressure, alerts, "+names()+" FROM minutes WHERE start >= ? AND start < ? ORDER BY start",
		from.Unix(), to.Unix())
	return all, judge(h.path, err)
}

func scanSample(scan scanner) (Sample, error) {
	var s Sample
	var start int64
	var pressure, thermal, alerts sql.NullString
	values := make([]sql.NullFloat64, len(columns))
	into := []any{&start, &s.Snapshots, &pressure, &thermal, &alerts}
	for i := range values {
		into = append(into, &values[i])
	}
	if err := scan(into...); err != nil {
		return s, err
	}
	s.Start, s.Pressure, s.Thermal = time.Unix(start, 0), metal.Pressure(pressure.String), metal.ThermalPressure(thermal.String)
	if alerts.String != "" {
		s.Alerts = strings.Split(alerts.String, ",")
	}
	for i, c := range columns {
		if values[i].Valid {
			put(c.field(&s), &values[i].Float64)
		}
	}
	return s, nil
}

// Moment is the last that an agent kept in its life: what a post-mortem looks at.
type Moment struct {
	Snapshot monitor.Snapshot
	// Samples are the minute of the snapshot and the one before it, as far as
	// they are there, oldest first.
	Samples []Sample
}

// Before is the last moment kept before a time, nil when there is none.
func (h *History) Before(ctx context.Context, at time.Time) (*Moment, error) {
	var text string
	err := h.db.QueryRowContext(ctx, "SELECT snapshot FROM moments WHERE taken < ? ORDER BY taken DESC LIMIT 1", at.UnixMilli()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var m Moment
	if err == nil {
		err = json.Unmarshal([]byte(text), &m.Snapshot)
	}
	if err != nil {
		return nil, judge(h.path, err)
	}
	taken := m.Snapshot.Taken
	m.Samples, err = h.Samples(ctx, taken.Truncate(time.Minute).Add(-time.Minute), taken)
	return &m, err
}

// Events are those in [from, to), oldest first; of more than most the newest,
// if most is not 0.
func (h *History) Events(ctx context.Context, from, to time.Time, most int) ([]monitor.Event, error) {
	return newestOf[monitor.Event](ctx, h, "SELECT event FROM events WHERE time >= ? AND time < ? ORDER BY time DESC, id DESC", from, to, most)
}

// Requests are those that ended in [from, to), as Events.
func (h *History) Requests(ctx context.Context, from, to time.Time, most int) ([]request.Request, error) {
	return newestOf[request.Request](ctx, h, "SELECT request FROM requests WHERE ended >= ? AND ended < ? ORDER BY ended DESC, run DESC, id DESC", from, to, most)
}

// newestOf decodes the rows of a query that lists the newest first, and turns
// them round.
func newestOf[T any](ctx context.Context, h *History, query string, from, to time.Time, most int) ([]T, error) {
	if most > 0 {
		query += fmt.Sprintf(" LIMIT %d", most)
	}
	var all []T
	err := h.each(ctx, func(scan scanner) error {
		var text string
		var one T
		if err := scan(&text); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(text), &one)
		all = append(all, one)
		return err
	}, query, from.UnixMilli(), to.UnixMilli())
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all, judge(h.path, err)
}

// Marked reports whether a thing that is to happen once has happened.
func (h *History) Marked(ctx context.Context, name string) (bool, error) {
	var n int
	err := h.db.QueryRowContext(ctx, "SELECT count(*) FROM marks WHERE name = ?", name).Scan(&n)
	return n > 0, judge(h.path, err)
}

// Mark notes that it has.
func (h *History) Mark(ctx context.Context, name string, at time.Time) error {
	_, err := h.db.ExecContext(ctx, "INSERT OR IGNORE INTO marks (name, at) VALUES (?, ?)", name, at.UnixMilli())
	return judge(h.path, err)
}
