package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"plimsoll/monitor"
)

// badLine is what is wrong with a line of a recording, and where.
type badLine struct {
	id     string // of the message
	column int    // from 1, in characters
	reason string
}

// parseLine reads one line of a recording: an Update, or a Snapshot alone as
// people write it by hand. Both results are nil for a line that says nothing:
// an empty one or a comment. unknown is the first field, if any, that the line
// has and this version does not.
func parseLine(text []byte, first bool) (update *monitor.Update, unknown string, bad *badLine) {
	if first {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	ended := bytes.HasSuffix(text, []byte("\n"))
	line := bytes.TrimRight(text, "\r\n")
	if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] == '#' {
		return nil, "", nil
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		bad := locate(line, err)
		if bad.reason == "unexpected end of JSON input" && !ended {
			bad.id = "cli.replay.cut"
		}
		return nil, "", bad
	}
	if parts == nil {
		return nil, "", &badLine{id: "cli.replay.not_object", column: 1}
	}
	update = &monitor.Update{}
	var into any = update
	if !hasAny(parts, "snapshot", "alerts", "events") {
		update.Snapshot = &monitor.Snapshot{}
		into = update.Snapshot
	}
	if json.Unmarshal(line, into) != nil {
		// 40.9e9 and 40900000000.0 are whole numbers too, as many tools write them.
		line = wholeNumbers(line)
		if err := json.Unmarshal(line, into); err != nil {
			return nil, "", locate(line, err)
		}
	}
	return update, unknownField(line, into), nil
}

// number is a JSON number with a point or an exponent; the first alternative
// keeps the inside of texts out of it.
var number = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE][+-]?\d{1,3}|-?\d+\.\d+`)

// wholeNumbers writes every number of a line that is whole without point and
// exponent: package json takes only that for a count of bytes.
func wholeNumbers(line []byte) []byte {
	return number.ReplaceAllFunc(line, func(word []byte) []byte {
		if word[0] == '"' {
			return word
		}
		n, ok := new(big.Rat).SetString(string(word))
		if !ok || !n.IsInt() || n.Sign() < 0 || n.Num().BitLen() > 64 {
			return word
		}
		return []byte(n.Num().String())
	})
}

func hasAny(parts map[string]json.RawMessage, names ...string) bool {
	for _, name := range names {
		if _, ok := parts[name]; ok {
			return true
		}
	}
	return false
}

// locate finds the column that an error of package json means.
func locate(line []byte, err error) *badLine {
	bad := &badLine{id: "cli.replay.bad_line", column: 1, reason: err.Error()}
	at := 0
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset) - 1
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = int(kind.Offset) - 1
		if kind.Field == "" {
			bad.id = "cli.replay.not_object"
		} else {
			bad.reason = fieldName(kind.Field) + ": " + kind.Value + ", not " + kind.Type.String()
		}
	} else if moment, ok := errors.AsType[*time.ParseError](err); ok {
		at = max(strings.Index(string(line), strings.Trim(moment.Value, `"`)), 0)
	}
	at = min(max(at, 0), len(line))
	bad.column = utf8.RuneCount(line[:at]) + 1
	return bad
}

// fieldName is a field as it is written: package json counts embedded structs as
// part of the path, under their Go names.
func fieldName(path string) string {
	parts := strings.Split(path, ".")
	parts = slices.DeleteFunc(parts, func(part string) bool { return part != strings.ToLower(part) })
	return strings.Join(parts, ".")
}

// unknownField is the first field of line that has no place in a value of into's
// type.
func unknownField(line []byte, into any) string {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var err error
	switch into.(type) {
	case *monitor.Update:
		err = decoder.Decode(new(monitor.Update))
	default:
		err = decoder.Decode(new(monitor.Snapshot))
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	// Package json has no type for this error (encoding/json/decode.go, "json: unknown field %q").
	_, name, found := strings.Cut(err.Error(), "unknown field ")
	if !found {
		return ""
	}
	return strings.Trim(name, `"`)
}
