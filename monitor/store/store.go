// Package store keeps the history on disk: what every minute was like, what
// happened, how requests went, what benchmarks measured and what was learned. It
// is one SQLite file, which other programs may read while the agent writes.
//
//	monitor ─► lossless mailbox ─► Recorder ─► batch, once a minute ─► history.db
//	                                                                     ▲   │
//	                                     plimsoll bench ─► History ──────┘   └─► History ─► the next agent, screens
//
// A Recorder is the agent's; there is one per file. A History reads, and adds the
// few things that other programs have to add. Nothing here holds a word of a
// prompt or an answer.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// History is a history on disk, open for reading and for adding to. Its methods
// may be called from several goroutines, while other processes have it open too.
type History struct {
	path string
	db   *sql.DB
}

// Path is where the history is kept: in the application's folder on macOS
// ("darwin"), else in the user's state folder (XDG Base Directory).
func Path(goos, home string, getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	switch {
	case goos == "darwin" && home != "":
		return filepath.Join(home, "Library", "Application Support", "Plimsoll", "history.db"), nil
	case goos != "darwin" && filepath.IsAbs(state): // a relative one is to be ignored
		return filepath.Join(state, "plimsoll", "history.db"), nil
	case goos != "darwin" && home != "":
		return filepath.Join(home, ".local", "state", "plimsoll", "history.db"), nil
	}
	return "", errors.New("finding the history: HOME is not set")
}

// Open opens the history at path, and begins one where there is none. It fails
// with an Error of CodeForeign, CodeNewer or CodeDamaged for a file that it must
// not write to, which it leaves as it is.
func Open(path string) (*History, error) {
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	h, err := connect(path, "rwc")
	if err != nil {
		return nil, err
	}
	if err := h.migrate(context.Background()); err != nil {
		h.Close()
		return nil, judge(path, err)
	}
	return h, nil
}

// Read opens the history at path for reading alone. It fails with an Error of
// CodeNone where there is none.
func Read(path string) (*History, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Kind: CodeNone, Path: path}
	case err != nil:
		return nil, fmt.Errorf("opening the history: %w", err)
	case !info.Mode().IsRegular():
		return nil, &Error{Kind: CodeForeign, Path: path}
	}
	h, err := connect(path, "ro")
	if err != nil {
		return nil, err
	}
	version, err := h.check(context.Background())
	if err == nil && version == 0 {
		err = &Error{Kind: CodeNone, Path: path}
	}
	if err != nil {
		h.Close()
		return nil, judge(path, err)
	}
	return h, nil
}

// Close ends the use of the history.
func (h *History) Close() error { return h.db.Close() }

// prepare makes the folder and an empty file, both for this user alone whatever
// the umask is. SQLite gives its own files the mode of the file.
func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &Error{Kind: CodeForeign, Path: path} // a pipe would wait for its writer
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// busyFor is how long a write waits for another process's, which takes
// milliseconds.
const busyFor = 5 * time.Second

// pragmas are set on every connection. A commit is on the disk before it counts
// (synchronous FULL): the last minute before a crash of the system is what a
// post-mortem needs most, and there is one commit a minute. The cache is small
// for an agent that is never to be noticed.
var pragmas = []string{
	"busy_timeout(" + strconv.Itoa(int(busyFor.Milliseconds())) + ")",
	"synchronous(FULL)", "cache_size(-256)", "foreign_keys(0)", "trusted_schema(0)",
}

// connect opens the file without looking into it.
func connect(path, mode string) (*History, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"}, "_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Path: absolute, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	db.SetMaxOpenConns(2) // a reader does not hold up the writer
	db.SetMaxIdleConns(1)
	return &History{path: path, db: db}, nil
}
