package metal

import (
	"strconv"
	"strings"
)

// TextErrorKind names what is wrong with the output of a system tool.
type TextErrorKind string

// The kinds of TextError.
const (
	// PageSizeMissing: there are page counts and no size of a page, so no bytes.
	PageSizeMissing TextErrorKind = "page_size_missing"
	// Truncated: the text ends early. What stands before the cut was read.
	Truncated TextErrorKind = "truncated"
	// UnknownOID: sysctl was asked for a name that this system does not have.
	UnknownOID TextErrorKind = "unknown_oid"
	// LabelsNotRecognised: no line was known, as in a translated output.
	LabelsNotRecognised TextErrorKind = "labels_not_recognised"
	// PermissionDenied: the tool said that this user may not.
	PermissionDenied TextErrorKind = "permission_denied"
	// ReadOnly: sysctl refused to write ("oid … is read only").
	ReadOnly TextErrorKind = "read_only"
)

// TextError says what is wrong with a text. The decoders return it beside what
// they could read: the fields that the fault does not touch are still right.
type TextError struct {
	Kind TextErrorKind
	// Tool is the command whose output it is, "vm_stat".
	Tool string
	// Detail is the line or name at fault. It may be empty.
	Detail string
}

func (e *TextError) Error() string {
	s := "reading the output of " + e.Tool + ": " + strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.Detail != "" {
		s += ": " + strconv.Quote(e.Detail)
	}
	return s
}

// Unwrap lets errors.Is tell the two kinds that a direct read has as well.
func (e *TextError) Unwrap() error {
	switch e.Kind {
	case UnknownOID:
		return ErrUnsupported
	case PermissionDenied, ReadOnly:
		return ErrNotPermitted
	}
	return nil
}

// whole reads a decimal number without sign, separators or unit.
func whole(s string) *uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// lastLine is the last line that is not blank, for error texts.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "")
	}
	return text
}
