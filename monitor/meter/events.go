package meter

import "bytes"

// eventLine is how far the line of an event stream has come that is being read.
type eventLine struct {
	name    []byte // up to the colon, at most nameLimit bytes
	value   bool   // behind the colon
	space   bool   // the one space behind it may still come
	data    bool   // the value is read
	marking bool   // the value may still become the mark of the end
	matched int    // bytes of the mark so far
	bom     int    // bytes of a byte-order mark at the stream's beginning
	begun   bool   // that beginning is past
	turned  bool   // the byte before was a carriage return, which ended a line
}

const (
	// nameLimit is more than the longest name of a field has.
	nameLimit = 8
	byteOrder = "\xef\xbb\xbf"
	// doneMark ends a stream of OpenAI's API.
	doneMark = "[DONE]"
)

// events takes bytes of an event stream. Its lines end with \n, \r or both.
func (r *records) events(b []byte) {
	b = r.event.start(b)
	for len(b) > 0 {
		e := &r.event
		if e.turned && b[0] == '\n' {
			e.turned, b = false, b[1:]
			continue
		}
		e.turned = false
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			end = len(b)
		}
		if turn := bytes.IndexByte(b[:end], '\r'); turn >= 0 {
			end = turn
		}
		r.eventPart(b[:end])
		if end == len(b) {
			return
		}
		e.turned = b[end] == '\r'
		b = b[end+1:]
		r.eventLineEnd()
	}
}

// start passes over a byte-order mark, which only the beginning may have.
func (e *eventLine) start(b []byte) []byte {
	for !e.begun && len(b) > 0 {
		if b[0] != byteOrder[e.bom] {
			e.begun = true
			break
		}
		e.bom++
		e.begun = e.bom == len(byteOrder)
		b = b[1:]
	}
	return b
}

// eventPart takes bytes of one line.
func (r *records) eventPart(part []byte) {
	e := &r.event
	if !e.value {
		colon := bytes.IndexByte(part, ':')
		name := part
		if colon >= 0 {
			name = part[:colon]
		}
		e.name = append(e.name, name[:min(len(name), nameLimit-len(e.name))]...)
		if colon < 0 {
			return
		}
		e.value, e.space = true, true
		// "error" is how llama-server reports one in a stream up to 2025.
		e.data = string(e.name) == "data" || string(e.name) == "error"
		part = part[colon+1:]
	}
	if e.space && len(part) > 0 {
		e.space = false
		part = bytes.TrimPrefix(part, []byte{' '})
	}
	if !e.data {
		return
	}
	for e.marking && len(part) > 0 {
		if part[0] != doneMark[e.matched] {
			r.unmark()
			break
		}
		e.matched++
		part = part[1:]
		if e.matched == len(doneMark) {
			r.finished()
			e.marking, e.data, e.matched = false, false, 0
			return
		}
	}
	r.json(part)
}

// unmark gives back what looked like the beginning of the mark.
func (r *records) unmark() {
	e := &r.event
	r.json([]byte(doneMark[:e.matched]))
	e.marking, e.matched = false, 0
}

// eventLineEnd ends a line. An empty one ends the event.
func (r *records) eventLineEnd() {
	e := &r.event
	if len(e.name) == 0 && !e.value {
		r.close()
	} else if e.data {
		if e.matched > 0 {
			r.unmark()
		}
		r.json([]byte{'\n'})
	}
	e.name, e.value, e.space, e.data, e.marking, e.matched = e.name[:0], false, false, false, true, 0
}
