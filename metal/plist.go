package metal

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A property list as the system's tools print it: XML, of which encoding/xml
// reads all that is needed. (A library would bring the binary and the old text
// form, which no tool here prints, and would stop at the first odd character of
// a program's name.)
//
// Values are plistDict, []any, string, bool and plistNumber.

type plistDict map[string]any

// plistNumber is an integer or a real as it is written.
type plistNumber string

// maxPlistDepth bounds how deep values stand in each other; powermetrics needs 7.
const maxPlistDepth = 64

var errPlistDeep = errors.New("values stand too deep in each other")

// isPlist tells a property list from text. A complaint of the tool may stand
// before it.
func isPlist(data []byte) bool {
	head := data[:min(len(data), 4096)]
	return bytes.HasPrefix(bytes.TrimLeft(head, "\x00 \t\r\n\ufeff"), []byte("<?xml")) ||
		bytes.Contains(head, []byte("<!DOCTYPE plist")) || bytes.Contains(head, []byte("<plist"))
}

// plistPieces are the finished property lists of a stream in which each stands
// after the other, with or without NULs around them. What is cut at the end is
// not among them; cut tells that there was such a rest.
func plistPieces(data []byte) (pieces [][]byte, cut bool) {
	const open, end = "<plist", "</plist>"
	for {
		start := bytes.Index(data, []byte(open))
		if start < 0 {
			return pieces, bytes.Contains(data, []byte("<?xml"))
		}
		data = data[start:]
		n := bytes.Index(data, []byte(end))
		if n < 0 {
			return pieces, true
		}
		n += len(end)
		pieces, data = append(pieces, data[:n:n]), data[n:]
	}
}

// parsePlist reads one property list, from its tag plist to the end of that.
func parsePlist(piece []byte) (any, error) {
	d := xml.NewDecoder(bytes.NewReader(plistText(piece)))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if start, ok := t.(xml.StartElement); ok && start.Name.Local != "plist" {
			return plistValue(d, start, 0)
		}
	}
}

// plistText mends what the names of programs may hold and XML does not allow:
// control characters, odd bytes, a bare &.
func plistText(piece []byte) []byte {
	piece = bytes.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff {
			return -1
		}
		return c
	}, bytes.ToValidUTF8(piece, []byte("\ufffd")))
	return ampersand.ReplaceAllFunc(piece, func(m []byte) []byte {
		if len(m) == 1 {
			return []byte("&amp;")
		}
		return m
	})
}

// ampersand finds an & with the rest of the name when it begins one of XML's own.
var ampersand = regexp.MustCompile(`&(?:(?:amp|lt|gt|quot|apos);)?`)

func plistValue(d *xml.Decoder, start xml.StartElement, depth int) (any, error) {
	if depth > maxPlistDepth {
		return nil, errPlistDeep
	}
	switch start.Name.Local {
	case "dict":
		return plistDictionary(d, depth)
	case "array":
		return plistArray(d, depth)
	case "true", "false":
		return start.Name.Local == "true", d.Skip()
	}
	text, err := plistChars(d)
	if err != nil {
		return nil, err
	}
	switch start.Name.Local {
	case "integer", "real":
		return plistNumber(strings.TrimSpace(text)), nil
	}
	return text, nil // string, date, data
}

func plistDictionary(d *xml.Decoder, depth int) (any, error) {
	dict, key := plistDict{}, ""
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return dict, nil
		case xml.StartElement:
			if t.Name.Local == "key" {
				if key, err = plistChars(d); err != nil {
					return nil, err
				}
				continue
			}
			if dict[key], err = plistValue(d, t, depth+1); err != nil {
				return nil, err
			}
		}
	}
}

func plistArray(d *xml.Decoder, depth int) (any, error) {
	var list []any
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return list, nil
		case xml.StartElement:
			v, err := plistValue(d, t, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
}

// plistChars reads the text up to the end of the element.
func plistChars(d *xml.Decoder) (string, error) {
	var text strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.StartElement:
			if err := d.Skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return text.String(), nil
		}
	}
}

// The accessors give nothing where a key is missing or holds another type.

func (d plistDict) dict(key string) plistDict { v, _ := d[key].(plistDict); return v }
func (d plistDict) list(key string) []any     { v, _ := d[key].([]any); return v }

func (d plistDict) word(key string) *string {
	s, _ := d[key].(string)
	return word(s)
}

func (d plistDict) number(key string) *float64 {
	n, _ := d[key].(plistNumber)
	return number(string(n))
}

func (d plistDict) whole(key string) *uint64 {
	n, _ := d[key].(plistNumber)
	return whole(string(n))
}

// integer reads a number that may be negative, such as the pid of all tasks.
func (d plistDict) integer(key string) *int {
	n, _ := d[key].(plistNumber)
	i, err := strconv.Atoi(string(n))
	if err != nil {
		return nil
	}
	return &i
}

// dicts are the members of a list that are dictionaries.
func (d plistDict) dicts(key string) []plistDict {
	var dicts []plistDict
	for _, v := range d.list(key) {
		if m, ok := v.(plistDict); ok {
			dicts = append(dicts, m)
		}
	}
	return dicts
}
