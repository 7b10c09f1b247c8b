package view

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"syscall"

	"plimsoll/metal"
)

// errorLength is the most characters of an error's own text in a sentence.
const errorLength = 300

// Error is a sentence for a person: what failed, and what to do next. An error
// that tells a Code (monitor's and the API's do) has a sentence of its own under
// "error.CODE"; of others the text is shown. "" for no error.
func (r *Renderer) Error(err error) string {
	if err == nil {
		return ""
	}
	args := Args{"Detail": cleanTo(err.Error(), errorLength)}
	if id := "error." + errorCode(err); r.has(id) {
		return r.Text(id, args)
	}
	return r.Text("error.other", args)
}

// errorCode names the kind of an error, "other" when it has none. The code that
// an error tells goes before what the system said below it.
func errorCode(err error) string {
	coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err)
	if ok && coded.Code() != "" && coded.Code() != "failed" {
		return coded.Code()
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, metal.ErrNotPermitted):
		return "permission"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, fs.ErrNotExist):
		return "no_file"
	}
	return "other"
}
