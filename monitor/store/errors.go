package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error is why a history cannot be used. A screen translates its Code.
type Error struct {
	Kind  string // one of the Code constants
	Path  string
	cause error
}

// The kinds of an Error.
const (
	// CodeNone: there is no history yet.
	CodeNone = "history_none"
	// CodeNewer: a newer Plimsoll wrote it.
	CodeNewer = "history_newer"
	// CodeForeign: the file is something else.
	CodeForeign = "history_foreign"
	// CodeDamaged: it cannot be read any more.
	CodeDamaged = "history_damaged"
	// CodeLocked: another agent writes it.
	CodeLocked = "history_locked"
)

var sayings = map[string]string{
	CodeNone: "there is none", CodeNewer: "a newer version wrote it", CodeForeign: "it is something else",
	CodeDamaged: "it is damaged", CodeLocked: "another agent writes it",
}

func (e *Error) Error() string {
	text := fmt.Sprintf("using the history %s: %s", e.Path, sayings[e.Kind])
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Code is the kind of the error.
func (e *Error) Code() string  { return e.Kind }
func (e *Error) Unwrap() error { return e.cause }

// IsKind reports an Error of one kind.
func IsKind(err error, kind string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

// judge makes an Error of what SQLite says of a file that it cannot read.
func judge(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case damaged(err):
		return &Error{Kind: CodeDamaged, Path: path, cause: err}
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return fmt.Errorf("using the history %s: %w", path, err)
}

// damaged reports an error that another try does not mend.
func damaged(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return IsKind(err, CodeDamaged)
}

// code is SQLite's primary result code, 0 for other errors.
func code(err error) int {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return e.Code() & 0xff
}
