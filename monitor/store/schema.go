package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// applicationID marks the file as ours (PRAGMA application_id): "PLIM".
const applicationID = 0x504c494d

// steps lead from each version of the schema to the next. A step that was
// released is never changed. Times are milliseconds since 1970, but a minute's
// start, which is seconds.
var steps = []string{
	`CREATE TABLE minutes (start INTEGER PRIMARY KEY, snapshots INTEGER NOT NULL, ` + minuteColumns + `);
	CREATE TABLE moments (run INTEGER PRIMARY KEY, taken INTEGER NOT NULL, snapshot TEXT NOT NULL);
	CREATE TABLE events (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, event TEXT NOT NULL);
	CREATE INDEX events_time ON events (time);
	CREATE TABLE requests (run INTEGER NOT NULL, id TEXT NOT NULL, ended INTEGER NOT NULL, backend TEXT NOT NULL,
		model TEXT NOT NULL, request TEXT NOT NULL, PRIMARY KEY (run, id)) WITHOUT ROWID;
	CREATE INDEX requests_ended ON requests (ended);
	CREATE TABLE benchmarks (id INTEGER PRIMARY KEY AUTOINCREMENT, taken INTEGER NOT NULL, backend TEXT NOT NULL,
		model TEXT NOT NULL, digest TEXT NOT NULL, engine TEXT NOT NULL, version TEXT NOT NULL, result TEXT NOT NULL);
	CREATE TABLE efficiencies (engine TEXT NOT NULL, version TEXT NOT NULL, class TEXT NOT NULL, at INTEGER NOT NULL,
		learned TEXT NOT NULL, PRIMARY KEY (engine, version, class)) WITHOUT ROWID;
	CREATE TABLE swap_days (day TEXT PRIMARY KEY, since INTEGER NOT NULL, bytes INTEGER NOT NULL,
		counter INTEGER NOT NULL, at INTEGER NOT NULL, boot TEXT NOT NULL) WITHOUT ROWID;
	CREATE TABLE marks (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
}

// minuteColumns are those of the first schema. A column that a later version
// adds comes by a step of its own.
const minuteColumns = `
	memory_used_bytes INTEGER, memory_used_most_bytes INTEGER, memory_available_least_bytes INTEGER, pressure TEXT,
	swap_used_bytes INTEGER, swap_out_bytes INTEGER, swap_in_bytes INTEGER,
	gpu_in_use_bytes INTEGER, gpu_limit_bytes INTEGER, gpu_utilisation_ratio REAL, gpu_power_watts REAL,
	gpu_clock_mhz REAL, gpu_temperature_celsius REAL, thermal_pressure TEXT, throttled_ratio REAL,
	headroom_bytes INTEGER, residents INTEGER, resident_bytes INTEGER, busy_ratio REAL,
	decode_tokens_per_second REAL, alerts TEXT`

// check tells the version of the schema, 0 for an empty file.
func (h *History) check(ctx context.Context) (version int, err error) {
	var id, tables int
	for _, ask := range []struct {
		query string
		into  *int
	}{
		{"PRAGMA application_id", &id}, {"PRAGMA user_version", &version}, {"SELECT count(*) FROM sqlite_schema", &tables},
	} {
		if err := h.db.QueryRowContext(ctx, ask.query).Scan(ask.into); err != nil {
			return 0, err
		}
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, &Error{Kind: CodeForeign, Path: h.path}
	case version > len(steps):
		return 0, &Error{Kind: CodeNewer, Path: h.path}
	}
	return version, nil
}

// migrate brings the file to the newest schema. Of several programs that do so
// at once, one does it and the others find it done.
func (h *History) migrate(ctx context.Context) error {
	version, err := h.check(ctx)
	if err != nil || version == len(steps) {
		return err
	}
	if version == 0 { // both must stand before the first table
		for _, pragma := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"} {
			if _, err := h.db.ExecContext(ctx, pragma); err != nil {
				return err
			}
		}
	}
	return h.change(ctx, func(tx *sql.Tx) error {
		var version int
		err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
		if err != nil {
			return err
		}
		for _, step := range steps[min(version, len(steps)):] {
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, max(version, len(steps))))
		return err
	})
}

// change carries out what must be there as a whole or not at all.
func (h *History) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// places is "?, ?, ?" for n values.
func places(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
