package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/gofrs/flock"
)

// Recorder writes what an agent's monitor tells. There is one per file: a lock
// beside it (path + ".lock") says whose.
type Recorder struct {
	path string
	log  *slog.Logger
	lock *flock.Flock

	mu      sync.Mutex
	history *History // another one after damage
}

// Record opens the history at path for an agent. A file that is damaged is moved
// aside and a fresh one begun, which is logged. It fails with an Error of
// CodeLocked while another agent records, and of CodeNewer or CodeForeign for a
// file that it must not write to.
func Record(path string, log *slog.Logger) (*Recorder, error) {
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the history: %w", err)
	}
	if !held {
		return nil, &Error{Kind: CodeLocked, Path: path}
	}
	r := &Recorder{path: path, log: log, lock: lock}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return r, nil
}

// open opens the file, or a fresh one in place of a damaged one.
func (r *Recorder) open() error {
	h, err := sound(r.path)
	if damaged(err) {
		if err := r.putAside(err); err != nil {
			return err
		}
		h, err = sound(r.path)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = h
	return nil
}

// sound opens a file and looks through it for damage: 10 ms for a month.
func sound(path string) (*History, error) {
	h, err := Open(path)
	if err != nil {
		return nil, err
	}
	var said string
	err = h.db.QueryRow("PRAGMA quick_check(1)").Scan(&said)
	if err == nil && said != "ok" {
		err = &Error{Kind: CodeDamaged, Path: path, cause: errors.New(said)}
	}
	if err != nil {
		h.Close()
		return nil, judge(path, err)
	}
	return h, nil
}

// putAside gives a damaged file, and what SQLite has beside it, the first free
// name with ".bad" at its end, so that it can still be salvaged.
func (r *Recorder) putAside(cause error) error {
	aside := r.path + ".bad"
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s.bad%d", r.path, n)
	}
	if err := os.Rename(r.path, aside); err != nil {
		return fmt.Errorf("moving a damaged history aside: %w", err)
	}
	for _, with := range []string{"-wal", "-shm"} {
		if err := os.Rename(r.path+with, aside+with); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("moving a damaged history aside: %w", err)
		}
	}
	r.log.Error("the history was damaged: it is moved aside and begun afresh", "file", r.path, "aside", aside, "error", cause)
	return nil
}

// replace begins a fresh file after damage that showed while it was written.
func (r *Recorder) replace(cause error) error {
	r.History().Close()
	if err := r.putAside(cause); err != nil {
		return err
	}
	h, err := Open(r.path)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = h
	return nil
}

// History is for reading what is recorded. After damage it is another one, so it
// is not to be kept.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history
}

// Close ends the recording and gives the file free.
func (r *Recorder) Close() error {
	return errors.Join(r.History().Close(), r.lock.Close())
}
