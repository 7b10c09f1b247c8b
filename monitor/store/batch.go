package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

// What waits to be written is bounded: a disk that stays full for a day costs
// the agent a few megabytes, and the oldest of what happened.
const (
	samplesBound  = 24 * 60
	eventsBound   = 2000
	requestsBound = 2000
)

// batch is what was told since the last write.
type batch struct {
	minute   *minute  // the present one
	full     []Sample // those before it
	events   []monitor.Event
	requests []request.Request
	newest   *monitor.Snapshot
	lost     int                  // events and requests that had no room
	seen     map[string]time.Time // finished requests of the newest snapshot: when they changed last
}

// add takes in an update.
func (b *batch) add(u monitor.Update) {
	s := u.Snapshot
	if start := s.Taken.Truncate(time.Minute); b.minute == nil || !start.Equal(b.minute.start) {
		if b.minute != nil {
			b.full = append(b.full, b.minute.sample())
			b.full = b.full[max(0, len(b.full)-samplesBound):]
		}
		b.minute = newMinute(start)
	}
	b.minute.add(u, b.newest)
	b.newest = s
	b.events = append(b.events, u.Events...)
	b.finished(s)
	b.bound()
}

// finished takes in the requests that have ended, again when more became known of
// one. What a server said when it failed may quote the prompt, so it is left out.
func (b *batch) finished(s *monitor.Snapshot) {
	there := make(map[string]time.Time, len(s.Requests))
	for _, r := range s.Requests {
		if r.Phase != request.PhaseDone || r.Ended == nil {
			continue
		}
		if was, ok := b.seen[r.ID]; !ok || r.Changed.After(was) {
			r.Error = ""
			b.requests = append(b.requests, r)
		}
		there[r.ID] = r.Changed
	}
	b.seen = there
}

func (b *batch) bound() {
	if over := len(b.events) - eventsBound; over > 0 {
		b.events, b.lost = slices.Clone(b.events[over:]), b.lost+over
	}
	if over := len(b.requests) - requestsBound; over > 0 {
		b.requests, b.lost = slices.Clone(b.requests[over:]), b.lost+over
	}
}

// written forgets what is on the disk now.
func (b *batch) written() { b.full, b.events, b.requests, b.lost = nil, nil, nil, 0 }

// write keeps the batch, with the present minute as far as it is.
func (b *batch) write(ctx context.Context, tx *sql.Tx, life int64) error {
	if b.minute == nil {
		return nil
	}
	for _, s := range append(slices.Clip(b.full), b.minute.sample()) {
		if _, err := tx.ExecContext(ctx, writeSample, s.args()...); err != nil {
			return err
		}
	}
	events := b.events
	if b.lost > 0 {
		events = append([]monitor.Event{{Time: b.newest.Taken, Kind: monitor.EventGap, Evidence: monitor.Evidence{Count: new(b.lost)}}}, events...)
	}
	for _, e := range events {
		if err := insert(ctx, tx, e, "INSERT INTO events (time, kind, event) VALUES (?, ?, ?)", e.Time.UnixMilli(), string(e.Kind)); err != nil {
			return err
		}
	}
	for _, r := range b.requests {
		if err := insert(ctx, tx, r, "INSERT OR REPLACE INTO requests (run, id, ended, backend, model, request) VALUES (?, ?, ?, ?, ?, ?)",
			life, r.ID, r.Ended.UnixMilli(), r.Backend, r.Model); err != nil {
			return err
		}
	}
	if err := writeSwapDay(ctx, tx, swapDay(b.newest)); err != nil {
		return err
	}
	if err := writeEfficiencies(ctx, tx, b.newest); err != nil {
		return err
	}
	return insert(ctx, tx, b.moment(), "INSERT OR REPLACE INTO moments (run, taken, snapshot) VALUES (?, ?, ?)", life, b.newest.Taken.UnixMilli())
}

// moment is the newest snapshot without what servers said in words.
func (b *batch) moment() *monitor.Snapshot {
	s := *b.newest
	s.Requests = slices.Clone(s.Requests)
	for i := range s.Requests {
		s.Requests[i].Error = ""
	}
	s.Problems = maps.Clone(s.Problems)
	return &s
}

// insert adds a row whose last column is value as JSON. What JSON cannot say, a
// number that is none, is left out: it must not keep the rest from the disk.
func insert(ctx context.Context, tx *sql.Tx, value any, query string, args ...any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	_, err = tx.ExecContext(ctx, query, append(args, string(text))...)
	return err
}
