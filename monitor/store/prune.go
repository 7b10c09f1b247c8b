package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	// pruneEvery is the time between two looks for what is old.
	pruneEvery = time.Hour
	// sizeBound is the most that the file keeps, in bytes: about half a year of
	// an agent that works all day. Benchmarks and what was learned are never
	// dropped for it.
	sizeBound = 64 << 20
	// momentsKept is how many lives' last moments are kept.
	momentsKept = 10
)

const day = 24 * time.Hour

// ages are how long rows are kept: table, its column of time, unit and age.
var ages = []struct {
	table, column string
	unit          time.Duration
	age           time.Duration
}{
	{"minutes", "start", time.Second, 90 * day},
	{"events", "time", time.Millisecond, 180 * day},
	{"requests", "ended", time.Millisecond, 180 * day},
	{"swap_days", "at", time.Millisecond, 400 * day},
	{"efficiencies", "at", time.Millisecond, 400 * day},
	{"marks", "at", time.Millisecond, 400 * day},
}

// prune drops what is too old, then the oldest while there is too much, and
// gives the room back to the file system.
func (h *History) prune(ctx context.Context, now time.Time, bound int64) error {
	err := h.change(ctx, func(tx *sql.Tx) error {
		for _, a := range ages {
			_, err := tx.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s < ?", a.table, a.column), now.Add(-a.age).UnixNano()/int64(a.unit))
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM moments WHERE run NOT IN (SELECT run FROM moments ORDER BY taken DESC LIMIT ?)", momentsKept)
		return err
	})
	for err == nil {
		var used int64
		if used, err = h.used(ctx); err != nil || used <= bound {
			break
		}
		var dropped int64
		if dropped, err = h.dropOldest(ctx); dropped == 0 {
			break
		}
	}
	if err == nil {
		_, err = h.db.ExecContext(ctx, "PRAGMA incremental_vacuum")
	}
	return judge(h.path, err)
}

// used is the size of what is kept, in bytes.
func (h *History) used(ctx context.Context) (int64, error) {
	var used int64
	err := h.db.QueryRowContext(ctx, `SELECT (c.page_count - f.freelist_count) * s.page_size
		FROM pragma_page_count() c, pragma_freelist_count() f, pragma_page_size() s`).Scan(&used)
	return used, err
}

// dropOldest drops a tenth of the rows of each table that grows, and tells how
// many those were.
func (h *History) dropOldest(ctx context.Context) (dropped int64, err error) {
	err = h.change(ctx, func(tx *sql.Tx) error {
		for _, a := range ages[:3] {
			result, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %[1]s WHERE %[2]s <= (
				SELECT %[2]s FROM %[1]s ORDER BY %[2]s LIMIT 1 OFFSET (SELECT count(*) / 10 FROM %[1]s))`, a.table, a.column))
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			dropped += n
		}
		return nil
	})
	return dropped, err
}
