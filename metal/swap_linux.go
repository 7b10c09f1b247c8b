package metal

import (
	"bytes"
	"errors"
	"os"
	"strconv"
)

// Swap reads amounts from /proc/meminfo and counters from /proc/vmstat. One that
// cannot be read leaves its own fields absent.
func (l *linux) Swap() (*Swap, error) {
	s := &Swap{}
	text, err := l.meminfo.read()
	if err == nil {
		i := parseMeminfo(text)
		s.Total = i.swapTotal
		s.Used = less(i.swapTotal, i.swapFree)
	}
	counters, counterErr := l.vmstat.read()
	if counterErr == nil {
		// vmstat counts pages of the kernel that this program runs on.
		page := uint64(os.Getpagesize())
		s.In = times(vmstatCount(counters, "pswpin"), page)
		s.Out = times(vmstatCount(counters, "pswpout"), page)
	}
	if *s == (Swap{}) {
		return nil, errors.Join(errors.New("reading swap"), err, counterErr)
	}
	return s, nil
}

// vmstatCount finds a line "pswpin 1234" of /proc/vmstat.
func vmstatCount(text []byte, name string) *uint64 {
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(line) <= len(name) || line[len(name)] != ' ' || string(line[:len(name)]) != name {
			continue
		}
		n, err := strconv.ParseUint(string(line[len(name)+1:]), 10, 64)
		if err != nil {
			return nil
		}
		return &n
	}
	return nil
}
