package serverlog

import (
	"bytes"
	"time"
)

// take cuts bytes into lines. What has no end yet waits for it.
func (f *Follower) take(chunk []byte, now time.Time) {
	for len(chunk) > 0 {
		end := bytes.IndexByte(chunk, '\n')
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		if room := mostLine - len(f.line); !f.long || len(f.line) > 0 {
			f.line = append(f.line, part[:min(len(part), room)]...)
			f.long = f.long || len(part) > room
		}
		if end < 0 {
			return
		}
		if len(f.line) > 0 {
			f.note(f.parser.Line(string(f.line), now))
		}
		clear(f.line)
		f.line, f.long, chunk = f.line[:0], false, chunk[end+1:]
	}
}

// note keeps events until they are taken: of one request the newest figures.
func (f *Follower) note(events []Event) {
	for _, e := range events {
		if last := len(f.events) - 1; e.Kind == Worked && e.Cause == "" && last >= 0 {
			if o := &f.events[last]; o.Kind == Worked && o.Cause == "" && o.Work.Engine == e.Work.Engine && o.Work.Task == e.Work.Task &&
				o.Work.Slot == e.Work.Slot && !o.Work.Done {
				*o = e
				continue
			}
		}
		if len(f.events) == mostEvents {
			f.events = f.events[1:]
		}
		f.events = append(f.events, e)
	}
}

// Take hands out the events since the last Take.
func (f *Follower) Take() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// Known is what the log has told so far.
type Known struct {
	Status   Status
	Settings *Settings
	Loads    []Load
}

// Known tells what is known now.
func (f *Follower) Known() Known {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Known{Status: f.status, Settings: f.parser.Settings(), Loads: f.parser.Loads()}
}
