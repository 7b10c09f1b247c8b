package serverlog

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	// mostLine is what is read of one line: the server's settings have 2 KiB. The
	// rest of a longer one, a prompt in a log of debugging, is passed over.
	mostLine = 16 << 10
	// mostBehind is how much is read at once. A server that writes more between two
	// looks is followed from its end again.
	mostBehind = 4 << 20
	// mostEvents bounds what waits to be taken.
	mostEvents = 1024
	// markLength is how many bytes before the place reached are remembered, to tell
	// a file that was emptied and filled again behind them.
	markLength = 64
	// switchAfter is how much newer another file's last line must be.
	switchAfter = 10 * time.Second
)

// FileState is how a log can be followed.
type FileState string

const (
	// Following: the file is there and is read.
	Following FileState = "following"
	// Missing: there is no such file, so far.
	Missing FileState = "missing"
	// Journal: there is none, and the system's services, Ollama's among them, log
	// to the journal, which Plimsoll does not read: it starts no program for it.
	Journal FileState = "journal"
	// NotPermitted: the file is another user's.
	NotPermitted FileState = "not_permitted"
	// Unreadable: it is no file, or reading it fails.
	Unreadable FileState = "unreadable"
)

// Status is how the following goes.
type Status struct {
	State FileState
	// Path is the file that is followed, or the first place that was looked at.
	Path string
	// Detail is the error in the words of the system.
	Detail string
	// Skipped are the bytes that were passed over because they came too fast.
	Skipped uint64
}

// Follower reads what is new in a log whenever Poll is called; it starts nothing.
// It lives through rotation (the file gets another name and a new one its own),
// emptying in place, a file that comes later, and one that a server is in the middle
// of a line in. Its methods may be called from several goroutines.
type Follower struct {
	paths   []string
	journal bool

	mu     sync.Mutex
	file   *os.File
	info   fs.FileInfo
	path   string
	offset int64
	mark   []byte // the bytes before offset
	line   []byte // the beginning of a line that has no end yet
	long   bool   // more of that line than is kept was read
	parser Parser
	status Status
	events []Event
	began  bool // a first look was taken
	closed bool
}

// NewFollower follows the newest of the files at paths, of which any may be
// missing. journal says that without one the log is in the system's journal.
func NewFollower(paths []string, journal bool) *Follower {
	f := &Follower{paths: paths, journal: journal}
	f.status = Status{State: Missing}
	if len(paths) > 0 {
		f.status.Path = paths[0]
	}
	return f
}

// Poll reads what came since the last time. Without news it costs a stat a file.
func (f *Follower) Poll(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	defer func() { f.began = true }()
	path, info, err := f.newest()
	same := err == nil && path == f.path && f.file != nil && os.SameFile(info, f.info)
	if f.file != nil {
		f.more(now) // of a file that was moved away, its end
	}
	switch {
	case err != nil: // or its successor is about to come
		f.missing(err)
		return
	case same:
		f.status.State, f.status.Detail, f.info = Following, "", info
		return
	}
	past := !f.began || f.path != "" && path != f.path
	f.close()
	if err := f.open(path); err != nil {
		f.missing(err)
		return
	}
	f.begin(past, now)
	f.more(now)
}

// newest finds the file to follow: the one followed so far, unless another has a
// line that is clearly newer. While that one is away its last line still counts.
func (f *Follower) newest() (path string, info fs.FileInfo, err error) {
	err = fs.ErrNotExist
	var last time.Time
	if f.info != nil {
		last = f.info.ModTime().Add(switchAfter)
	}
	for _, p := range f.paths {
		i, failed := os.Stat(p)
		if failed == nil && !i.Mode().IsRegular() {
			failed = errNoFile
		}
		if failed != nil {
			if info == nil && !errors.Is(failed, fs.ErrNotExist) {
				err = failed
			}
			continue
		}
		at := i.ModTime()
		if p == f.path {
			at = at.Add(switchAfter)
		}
		if p == f.path || !at.Before(last) {
			path, info, last = p, i, at
		}
	}
	if info == nil {
		return "", nil, err
	}
	return path, info, nil
}

var errNoFile = errors.New("it is not a file")

func (f *Follower) missing(err error) {
	state, detail := Unreadable, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.journal:
		state, detail = Journal, ""
	case errors.Is(err, fs.ErrNotExist):
		state, detail = Missing, ""
	case errors.Is(err, fs.ErrPermission):
		state = NotPermitted
	}
	f.status.State, f.status.Detail = state, detail
}

func (f *Follower) open(path string) error {
	file, err := openLog(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		file.Close()
		return err
	}
	f.file, f.info, f.path = file, info, path
	f.status.State, f.status.Path, f.status.Detail = Following, path, ""
	f.restart(0)
	return nil
}

// restart goes on at an offset, with nothing read of the line there.
func (f *Follower) restart(offset int64) {
	f.offset, f.line, f.long, f.mark = offset, f.line[:0], false, f.mark[:0]
}

func (f *Follower) close() {
	if f.file != nil {
		f.file.Close()
	}
	f.file = nil
}

// Close ends the following. A Poll afterwards does nothing.
func (f *Follower) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
	f.line, f.closed = nil, true
	return nil
}

// more reads from the offset to the end of the file. What cannot be read now is
// tried again the next time.
func (f *Follower) more(now time.Time) {
	info, err := f.file.Stat()
	if err != nil {
		return
	}
	size := info.Size()
	if size < f.offset || size > f.offset && !f.follows() {
		f.restart(0) // emptied in place
	}
	if size-f.offset > mostBehind {
		f.status.Skipped += uint64(size - mostBehind/2 - f.offset)
		f.restart(size - mostBehind/2)
		f.long = true // up to the next beginning of a line
	}
	f.readTo(size, now)
}

// readTo reads lines up to an offset.
func (f *Follower) readTo(end int64, now time.Time) {
	chunk := make([]byte, min(64<<10, max(end-f.offset, 0)))
	for f.offset < end {
		n, err := f.file.ReadAt(chunk[:min(int64(len(chunk)), end-f.offset)], f.offset)
		f.take(chunk[:n], now)
		f.offset += int64(n)
		f.remember(chunk[:n])
		if n == 0 || err != nil {
			return
		}
	}
}

// follows tells whether the bytes before the offset still are those that were read.
func (f *Follower) follows() bool {
	if len(f.mark) == 0 {
		return true
	}
	there := make([]byte, len(f.mark))
	_, err := f.file.ReadAt(there, f.offset-int64(len(f.mark)))
	return err == nil && bytes.Equal(there, f.mark)
}

func (f *Follower) remember(chunk []byte) {
	f.mark = append(f.mark, chunk[max(len(chunk)-markLength, 0):]...)
	f.mark = append(f.mark[:0], f.mark[max(len(f.mark)-markLength, 0):]...)
}
