package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"plimsoll/metal"
	"plimsoll/monitor"
)

const (
	// writeEvery is the time between two writes: one commit, which waits for the disk.
	writeEvery = time.Minute
	// writeInDanger is the same while an alert stands or memory is short: what a
	// crash would take with it.
	writeInDanger = 10 * time.Second
	// lastWrite is how long the write at the end may take.
	lastWrite = 5 * time.Second
)

// Run records what comes into a mailbox, which must be lossless, until ctx ends;
// then it writes the rest and closes the mailbox. A disk that takes nothing is
// logged once when that begins and once when it is over.
func (r *Recorder) Run(ctx context.Context, box *monitor.Mailbox) error {
	defer box.Close()
	w := &writer{recorder: r}
	for {
		select {
		case <-ctx.Done():
			w.drain(ctx, box)
			final, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			return w.write(final)
		case <-box.Ready():
			w.drain(ctx, box)
		}
	}
}

// writer is the recording of one life of an agent.
type writer struct {
	recorder *Recorder
	batch    batch
	life     int64     // names it, in microseconds since 1970
	written  time.Time // by the snapshots' clock
	pruned   time.Time
	failing  bool
}

// drain takes what is in the mailbox.
func (w *writer) drain(ctx context.Context, box interface {
	Take() (monitor.Update, bool)
}) {
	for u, ok := box.Take(); ok; u, ok = box.Take() {
		if u.Snapshot == nil {
			continue
		}
		w.batch.add(u)
		taken := u.Snapshot.Taken
		if w.life == 0 {
			w.life, w.written = taken.UnixMicro(), taken
		}
		every := writeEvery
		if endangered(u) {
			every = writeInDanger
		}
		if since := taken.Sub(w.written); since >= every || since < 0 {
			w.written = taken
			w.note(w.write(ctx))
		}
	}
}

// endangered reports a machine that may not live for another minute.
func endangered(u monitor.Update) bool {
	for _, a := range u.Alerts {
		if a.Severity != monitor.SeverityInfo {
			return true
		}
	}
	m := u.Snapshot.Memory
	return m != nil && m.Pressure != "" && m.Pressure != metal.PressureNormal
}

// note logs what came of a write, where that is news.
func (w *writer) note(err error) {
	log := w.recorder.log
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil && !w.failing:
		log.Error("the history is not being written", "file", w.recorder.path, "error", err)
		w.failing = true
	case err == nil && w.failing:
		log.Info("the history is being written again", "file", w.recorder.path)
		w.failing = false
	}
}

// write keeps all that waits, in one transaction, once more in a fresh file
// if this one proves damaged.
func (w *writer) write(ctx context.Context) error {
	if w.batch.minute == nil {
		return nil
	}
	keep := func() error {
		return w.recorder.History().change(ctx, func(tx *sql.Tx) error { return w.batch.write(ctx, tx, w.life) })
	}
	err := keep()
	if damaged(err) {
		if err = w.recorder.replace(err); err == nil {
			err = keep()
		}
	}
	if err != nil {
		return judge(w.recorder.path, err)
	}
	w.batch.written()
	if taken := w.batch.newest.Taken; taken.Sub(w.pruned) >= pruneEvery || taken.Before(w.pruned) {
		w.pruned = taken
		return w.recorder.History().prune(ctx, taken, sizeBound)
	}
	return nil
}
