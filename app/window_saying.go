package main

import (
	"io"
	"os"
)

// saying keeps what the window program writes to standard error, so that whoever
// asked for the window is told why there is none. It is a file without a name and
// no pipe: the window may outlive this process, and a write to a pipe that nobody
// reads would end it.
type saying struct {
	file  *os.File
	plain bool // it is this process's own standard error, and nothing is kept
}

// newSaying falls back on standard error where no file can be made.
func newSaying() *saying {
	file, err := os.CreateTemp("", "plimsoll-window-*")
	if err != nil {
		return &saying{file: os.Stderr, plain: true}
	}
	os.Remove(file.Name())
	return &saying{file: file}
}

// sayingLength is the most bytes that are read back: the end of what was said.
const sayingLength = 1 << 16

// end returns what was said, "" for nothing, and forgets it.
func (s *saying) end() string {
	if s.plain {
		return ""
	}
	defer s.file.Close()
	size, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, sayingLength))
	n, _ := s.file.ReadAt(text, size-int64(len(text)))
	return string(text[:n])
}
