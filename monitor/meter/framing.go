package meter

import (
	"bytes"
	"mime"
	"strings"
)

// framing is how an answer is divided into records.
type framing uint8

const (
	// framingNone: it is not read.
	framingNone framing = iota
	// framingValue: one JSON value, over as many lines as it likes.
	framingValue
	// framingLines: one JSON value a line.
	framingLines
	// framingEvents: server-sent events (WHATWG HTML, 9.2) whose data is JSON.
	framingEvents
)

// framingOf tells the framing of a content type.
func framingOf(contentType string) framing {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case kind == "text/event-stream":
		return framingEvents
	case kind == "application/x-ndjson", kind == "application/jsonl", kind == "application/json-seq":
		return framingLines
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return framingValue
	}
	return framingNone
}

// records divides an answer that comes in pieces of any size, and tells of each
// record once it is whole. It keeps nothing but what scan does.
type records struct {
	framing framing
	scan    scan
	// whole is told that the value which scan told of is whole, so that what it
	// said counts; broken that it was none, so that it does not.
	whole, broken func()
	// finished is told of the mark that ends a stream of events: data: [DONE].
	finished func()

	event eventLine
}

func newRecords(f framing, value func(path []byte, kind byte, text []byte, size int)) *records {
	r := &records{framing: f, event: eventLine{marking: true}}
	r.scan.value = value
	return r
}

// feed takes the next bytes.
func (r *records) feed(b []byte) {
	switch r.framing {
	case framingValue:
		if n := r.scan.feed(b); r.scan.state == scanDone {
			r.take()
			r.lines(b[n:])
		}
	case framingLines:
		r.lines(b)
	case framingEvents:
		r.events(b)
	}
}

// end tells that no more bytes come. A record that is not whole is dropped: it
// was cut.
func (r *records) end() {
	r.scan.end()
	if r.scan.state == scanDone {
		r.take()
	} else if r.scan.state == scanFailed {
		r.drop()
	}
}

// json takes bytes of a record. A value that follows another is the next record.
func (r *records) json(b []byte) {
	for len(b) > 0 {
		b = b[r.scan.feed(b):]
		if r.scan.state == scanDone {
			r.take()
		}
	}
}

// take counts a record. Where there may be more than one, each stands on a line
// of its own, whatever the content type says.
func (r *records) take() {
	r.whole()
	r.scan.reset()
	if r.framing == framingValue {
		r.framing = framingLines
	}
}

func (r *records) drop() {
	r.broken()
	r.scan.reset()
}

func (r *records) lines(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		line := b
		if end >= 0 {
			line = b[:end]
		}
		r.json(line)
		if end < 0 {
			return
		}
		b = b[end+1:]
		r.close()
	}
}

// close ends the record of a line or an event, however far it came.
func (r *records) close() {
	r.scan.end()
	switch {
	case r.scan.state == scanDone:
		r.take()
	case r.scan.begun():
		r.drop()
	}
}
