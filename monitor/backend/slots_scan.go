package backend

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// scanner reads JSON piece by piece and keeps none of what is passed over: replies
// of /slots hold whole prompts, which are nobody's business here. A library's
// decoder would hold each text in memory to skip it.
type scanner struct {
	in    *bufio.Reader
	depth int
}

const (
	// scanDepth is how deep values may be nested. /slots has six levels.
	scanDepth = 64
	// nameMost is the longest name or number that is kept, in bytes.
	nameMost = 64
)

var errDeep = errors.New("values nested too deep")

// next is the first byte after white space.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return 0, ended(err)
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, nil
		}
	}
}

// peek is next, left in place.
func (s *scanner) peek() (byte, error) {
	c, err := s.next()
	if err == nil {
		err = s.in.UnreadByte()
	}
	return c, err
}

// ended tells an end in the middle of a value.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func unexpected(c byte, want string) error { return fmt.Errorf("%q where %s belongs", c, want) }

// list calls each for every part of an object or array, which is left to each to
// read. In an array the name is "".
func (s *scanner) list(each func(name string) error) error {
	if s.depth++; s.depth > scanDepth {
		return errDeep
	}
	defer func() { s.depth-- }()
	open, err := s.next()
	if err != nil {
		return err
	}
	shut := byte(']')
	if open == '{' {
		shut = '}'
	} else if open != '[' {
		return unexpected(open, "a list")
	}
	if c, err := s.peek(); err != nil {
		return err
	} else if c == shut {
		_, err = s.next()
		return err
	}
	for {
		name := ""
		if open == '{' {
			if name, err = s.name(); err != nil {
				return err
			}
		}
		if err := each(name); err != nil {
			return err
		}
		switch c, err := s.next(); {
		case err != nil:
			return err
		case c == shut:
			return nil
		case c != ',':
			return unexpected(c, "a comma")
		}
	}
}

// name reads a name and its colon. One that is too long to be known is "".
func (s *scanner) name() (string, error) {
	if c, err := s.next(); err != nil {
		return "", err
	} else if c != '"' {
		return "", unexpected(c, "a name")
	}
	var kept [nameMost]byte
	n, err := s.text(kept[:])
	if err != nil {
		return "", err
	}
	if c, err := s.next(); err != nil {
		return "", err
	} else if c != ':' {
		return "", unexpected(c, "a colon")
	}
	return known64(kept[:n]), nil
}

// known64 turns the names that are looked for into texts without an allocation.
func known64(name []byte) string {
	for _, known := range slotNames {
		if string(name) == known {
			return known
		}
	}
	return ""
}

// text reads the rest of a text after its first quote and keeps it, as it is
// written, in keep. It tells how much, 0 when the text is longer or has escapes, as
// no name that is looked for has.
func (s *scanner) text(keep []byte) (int, error) {
	n, fits, escaped := 0, true, false
	for {
		part, err := s.in.Peek(max(1, s.in.Buffered()))
		if err != nil {
			return 0, ended(err)
		}
		end := 0
		for ; end < len(part); end++ {
			if escaped {
				escaped = false
			} else if c := part[end]; c == '\\' {
				escaped, fits = true, false
			} else if c == '"' {
				break
			}
		}
		if fits = fits && n+end <= len(keep); fits {
			n += copy(keep[n:], part[:end])
		}
		shut := end < len(part)
		if _, err := s.in.Discard(min(end+1, len(part))); err != nil {
			return 0, err
		}
		if shut && fits {
			return n, nil
		} else if shut {
			return 0, nil
		}
	}
}

// skip passes over a value.
func (s *scanner) skip() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{', '[':
		return s.list(func(string) error { return s.skip() })
	case '"':
		if _, err := s.next(); err != nil {
			return err
		}
		_, err = s.text(nil)
		return err
	}
	_, err = s.word()
	return err
}

// word reads a number, true, false or null.
func (s *scanner) word() (string, error) {
	var kept [nameMost]byte
	n := 0
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) && n > 0 {
			break
		} else if err != nil {
			return "", ended(err)
		}
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			if n == len(kept) {
				return "", errors.New("a number that does not end")
			}
			kept[n] = c
			n++
			continue
		}
		if err := s.in.UnreadByte(); err != nil {
			return "", err
		}
		if n == 0 {
			return "", unexpected(c, "a value")
		}
		break
	}
	switch word := string(kept[:n]); word {
	case "true", "false", "null":
		return word, nil
	default:
		if _, err := strconv.ParseFloat(word, 64); err != nil {
			return "", fmt.Errorf("%q is no value", word)
		}
		return word, nil
	}
}

// whole reads a number that counts something, nil when the value is none: null,
// below zero, not whole or of another type.
func (s *scanner) whole() (*int, error) {
	if c, err := s.peek(); err != nil {
		return nil, err
	} else if c == '{' || c == '[' || c == '"' {
		return nil, s.skip()
	}
	word, err := s.word()
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return nil, nil
	}
	return new(int(n)), nil
}

// truth reads true or false, false for any other value.
func (s *scanner) truth() (bool, error) {
	if c, err := s.peek(); err != nil {
		return false, err
	} else if c == '{' || c == '[' || c == '"' {
		return false, s.skip()
	}
	word, err := s.word()
	return word == "true", err
}
