package meter

// The bounds of what a scan keeps of the JSON that passes through it.
const (
	// textLimit is the most bytes kept of a string or number. Names of models
	// and errors fit; of prompts and answers only whether they are empty counts.
	textLimit = 512
	// pathLimit and keyLimit bound the path of keys, nestLimit the depth. What is
	// deeper than nestLimit is no JSON to us.
	pathLimit = 256
	keyLimit  = 48
	nestLimit = 512
)

// scan reads JSON in pieces of any size and keeps next to nothing of it, so that
// a line of 16 MiB costs no more memory than one of a hundred bytes. It tells of
// every string, number and literal under its path: the keys that lead to it,
// joined by dots, with arrays left out ("choices.delta.content").
//
// It accepts what encoding/json does, save that numbers are checked by their
// letters alone.
type scan struct {
	// value is told of each scalar: its kind ('"', '0', 't', 'f' or 'n'), the
	// first bytes of a string or number as they stand, and for a string its length
	// unescaped.
	value func(path []byte, kind byte, text []byte, size int)
	// text, if it is set, says for each string whether it wants all of it, which
	// is then handed to piece as it stands, in parts.
	wants func(path []byte) bool
	piece func(part []byte)

	state scanState
	nest  []byte // '{' or '[' for each level that is open
	bases []int  // for each level: the length of path before its own key
	path  []byte
	text  []byte
	size  int
	hex   int    // digits of \u still to come
	rest  string // of a literal
	// handing: the string at hand goes to piece
	handing bool
}

type scanState uint8

const (
	scanValue      scanState = iota // a value must come
	scanFirst                       // a value or ]
	scanFirstKey                    // a key or }
	scanKey                         // a key must come
	scanColon                       // a colon must come
	scanNext                        // a comma or the end of the level
	scanInKey                       // in a key
	scanInString                    // in a string
	scanKeyEscape                   // after a backslash in a key
	scanTextEscape                  // after a backslash in a string
	scanNumber                      // in a number
	scanLiteral                     // in true, false or null
	scanDone                        // a whole value has been read
	scanFailed                      // this is not JSON
)

// reset makes the scan ready for the next value.
func (s *scan) reset() {
	s.state, s.nest, s.bases, s.path, s.text, s.size = scanValue, s.nest[:0], s.bases[:0], s.path[:0], s.text[:0], 0
}

// begun reports whether anything of a value has been read.
func (s *scan) begun() bool { return s.state != scanValue || len(s.nest) > 0 }

// feed reads on until the value is whole or the bytes are at their end, and
// returns how many it took. After a failure it takes all and does nothing.
func (s *scan) feed(b []byte) int {
	for i := 0; i < len(b); {
		switch s.state {
		case scanDone:
			return i
		case scanFailed:
			return len(b)
		case scanInKey, scanInString:
			i += s.inText(b[i:])
		case scanKeyEscape, scanTextEscape:
			s.escape(b[i : i+1])
			i++
		case scanNumber:
			if c := b[i]; c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-' {
				s.keep(b[i : i+1])
				i++
			} else {
				s.scalar('0') // and the byte is looked at again
			}
		case scanLiteral:
			s.literal(b[i])
			i++
		default:
			s.between(b[i])
			i++
		}
	}
	return len(b)
}

// end tells that nothing follows: a number at the top has no other end.
func (s *scan) end() {
	if s.state == scanNumber {
		s.scalar('0')
	}
}

// between takes a byte that is in no scalar.
func (s *scan) between(c byte) {
	if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
		return
	}
	switch {
	case s.state == scanColon && c == ':':
		s.state = scanValue
	case s.state == scanNext && c == ',':
		s.state = scanValue
		if s.nest[len(s.nest)-1] == '{' {
			s.state = scanKey
		}
	case (s.state == scanNext || s.state == scanFirstKey) && c == '}', (s.state == scanNext || s.state == scanFirst) && c == ']':
		s.closeLevel(c)
	case (s.state == scanFirstKey || s.state == scanKey) && c == '"':
		s.state, s.text, s.size = scanInKey, s.text[:0], 0
	case s.state == scanValue || s.state == scanFirst:
		s.open(c)
	default:
		s.state = scanFailed
	}
}

// open begins a value.
func (s *scan) open(c byte) {
	s.text, s.size = s.text[:0], 0
	switch c {
	case '{', '[':
		if len(s.nest) == nestLimit {
			s.state = scanFailed
			return
		}
		s.nest, s.bases = append(s.nest, c), append(s.bases, len(s.path))
		s.state = scanFirst
		if c == '{' {
			s.state = scanFirstKey
		}
	case '"':
		s.state = scanInString
		s.handing = s.wants != nil && s.wants(s.path)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s.state = scanNumber
		s.text = append(s.text, c)
	case 't', 'f', 'n':
		s.state, s.text = scanLiteral, append(s.text, c)
		switch c {
		case 't':
			s.rest = "rue"
		case 'f':
			s.rest = "alse"
		default:
			s.rest = "ull"
		}
	default:
		s.state = scanFailed
	}
}

func (s *scan) closeLevel(c byte) {
	last := len(s.nest) - 1
	if s.nest[last] == '{' != (c == '}') {
		s.state = scanFailed
		return
	}
	s.path = s.path[:s.bases[last]]
	s.nest, s.bases = s.nest[:last], s.bases[:last]
	s.after()
}

// after is the state behind a value.
func (s *scan) after() {
	s.state = scanNext
	if len(s.nest) == 0 {
		s.state = scanDone
	}
}

// inText takes bytes of a string or key up to its end, to an escape or to the
// last one there is.
func (s *scan) inText(b []byte) int {
	n := 0
	for n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= 0x20 {
		n++
	}
	s.keep(b[:n])
	s.size += n
	if n == len(b) {
		return n
	}
	switch key := s.state == scanInKey; {
	case b[n] == '"' && key:
		s.keyed()
	case b[n] == '"':
		s.scalar('"')
	case b[n] == '\\':
		s.keep(b[n : n+1])
		s.state, s.hex = scanTextEscape, 0
		if key {
			s.state = scanKeyEscape
		}
	default: // a control character has no place in a string
		s.state = scanFailed
	}
	return n + 1
}

// escape takes a byte after a backslash, and the four digits after \u.
func (s *scan) escape(b []byte) {
	s.keep(b)
	switch c := b[0]; {
	case s.hex > 0:
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			s.state = scanFailed
			return
		}
		if s.hex--; s.hex > 0 {
			return
		}
		s.size += 3 // most of what is written so takes three bytes
	case c == 'u':
		s.hex = 4
		return
	case c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' || c == 't':
		s.size++
	default:
		s.state = scanFailed
		return
	}
	if s.state == scanKeyEscape {
		s.state = scanInKey
		return
	}
	s.state = scanInString
}

// keep remembers bytes of the scalar at hand, up to the limit, and hands them on.
func (s *scan) keep(b []byte) {
	if room := textLimit - len(s.text); room > 0 {
		s.text = append(s.text, b[:min(len(b), room)]...)
	}
	if s.handing && (s.state == scanInString || s.state == scanTextEscape) {
		s.piece(b)
	}
}

// keyed puts the key that was read at the end of the path.
func (s *scan) keyed() {
	base := s.bases[len(s.bases)-1]
	s.path = s.path[:base]
	if base > 0 {
		s.path = append(s.path, '.')
	}
	key := s.text[:min(len(s.text), keyLimit)]
	if len(s.path)+len(key) > pathLimit {
		key = nil // nothing of interest lies so deep
	}
	s.path = append(s.path, key...)
	s.state = scanColon
}

func (s *scan) scalar(kind byte) {
	s.handing = false
	s.value(s.path, kind, s.text, s.size)
	s.after()
}

func (s *scan) literal(c byte) {
	if c != s.rest[0] {
		s.state = scanFailed
		return
	}
	if s.rest = s.rest[1:]; s.rest == "" {
		s.scalar(s.text[0])
	}
}
