package serverlog

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	// startTail is how much of a log's end is read at first, for the models in
	// memory; startHead how much behind the beginning of the server's run.
	startTail = 1 << 20
	startHead = 64 << 10
	// startSearch is how far back the beginning of the run is looked for: some weeks
	// of an ordinary log.
	startSearch = 64 << 20
)

// Places are where the log of a server on this machine is, by how it was
// installed: Ollama's own program and Homebrew's service. home is "" where there
// is none.
func Places(goos, home string) []string {
	var places []string
	if home != "" {
		places = append(places, filepath.Join(home, ".ollama", "logs", "server.log"))
	}
	if goos == "darwin" {
		places = append(places, "/opt/homebrew/var/log/ollama.log", "/usr/local/var/log/ollama.log")
	}
	return places
}

// HasJournal tells whether services of this machine log to the journal (sd_booted(3)).
func HasJournal() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	info, err := os.Stat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// openLog opens a file without waiting for a writer, should it be a pipe.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// begin reads what a file has when it is opened. At first that is the past: the
// settings and the models in memory are learnt from it, and what happened is no
// news. A file that came while one looked for it is all news.
func (f *Follower) begin(past bool, now time.Time) {
	size := f.info.Size()
	if !past && size <= mostBehind {
		return
	}
	f.parser = Parser{}
	from := max(size-startTail, 0)
	if run, ok := f.findRun(size); ok && run < from {
		f.restart(run)
		f.readTo(min(run+startHead, from), now)
	}
	f.restart(from)
	f.long = from > 0
	f.readTo(size, now)
	f.events = nil
}

// findRun looks for the newest line with a server's settings, from the end back.
func (f *Follower) findRun(size int64) (int64, bool) {
	const step = 1 << 20
	mark := []byte(configMark)
	chunk := make([]byte, step+mostLine)
	for end := size; end > 0 && size-end < startSearch; {
		start := max(end-step, 0)
		part := chunk[:min(end+mostLine, size)-start]
		n, err := f.file.ReadAt(part, start)
		if err != nil && err != io.EOF {
			return 0, false
		}
		for part = part[:n]; ; {
			at := bytes.LastIndex(part, mark)
			if at < 0 {
				break
			}
			line := start + int64(bytes.LastIndexByte(part[:at], '\n')+1)
			if isRun(part[line-start:]) {
				return line, true
			}
			part = part[:at]
		}
		end = start
	}
	return 0, false
}

// isRun tells the line that a server's run begins with from one that only has the
// words in it.
func isRun(text []byte) bool {
	text, _, _ = bytes.Cut(text[:min(len(text), mostLine)], []byte("\n"))
	return split(string(text)).msg == configMark
}
