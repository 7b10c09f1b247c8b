package api

import (
	"errors"
	"fmt"
	"net/http"

	"plimsoll/monitor"
	"plimsoll/monitor/backend"
)

// Error is a failure of the API with a code that a program can act on. A screen
// makes its sentence from the code; Error is for logs.
type Error struct {
	code  string
	text  string
	cause error
}

// Error is the text, then the cause.
func (e *Error) Error() string {
	switch {
	case e.cause == nil:
		return e.text
	case e.text == "":
		return e.cause.Error()
	}
	return e.text + ": " + e.cause.Error()
}

// Code names the failure: "no_agent", "agent_gone", "agent_running",
// "unsafe_socket", "path_too_long", "no_model", "cloud", "fixed_model", "no_backend",
// "bad_command", "in_flight", "bad_plan", "not_installed", "bad_request", "bad_settings", "bad_hot" (the
// temperature of the settings), "no_window", "not_running" or
// "timeout" (the model server) or "failed".
func (e *Error) Code() string { return e.code }

// Unwrap is the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// Is holds for every Error of the same code, so that an error keeps its
// identity over the wire.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.code == e.code
}

var (
	// ErrNoAgent says that nobody listens at the socket.
	ErrNoAgent = &Error{code: "no_agent", text: "no agent is running"}
	// ErrGone says that the agent ended, or hung up, during a stream.
	ErrGone = &Error{code: "agent_gone", text: "the agent has gone"}
	// ErrAgentRunning says that another agent holds the socket.
	ErrAgentRunning = &Error{code: "agent_running", text: "another agent is running"}
)

// Failure makes an error with a code for the other side of the API, and for
// everybody who asks an error for its Code. text may be "".
func Failure(code, text string, cause error) error {
	return &Error{code: code, text: text, cause: cause}
}

func failuref(code, format string, args ...any) error {
	return &Error{code: code, text: fmt.Sprintf(format, args...)}
}

// wireErrors are the errors of other packages that have a code on the wire.
var wireErrors = []struct {
	err    error
	code   string
	status int
}{
	{monitor.ErrNoModel, "no_model", http.StatusNotFound},
	{monitor.ErrCloud, "cloud", http.StatusConflict},
	{backend.ErrCloud, "cloud", http.StatusConflict},
	{backend.ErrFixed, "fixed_model", http.StatusConflict},
	{monitor.ErrNoBackend, "no_backend", http.StatusBadGateway},
	{monitor.ErrBadCommand, "bad_command", http.StatusBadRequest},
	{monitor.ErrBadPlan, "bad_plan", http.StatusBadRequest},
	{monitor.ErrNotInstalled, "not_installed", http.StatusNotFound},
	{monitor.ErrInFlight, "in_flight", http.StatusConflict},
}

// classify finds the code and HTTP status of any error.
func classify(err error) (code string, status int) {
	for _, known := range wireErrors {
		if errors.Is(err, known.err) {
			return known.code, known.status
		}
	}
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		if status, ok := codeStatus[coded.Code()]; ok {
			return coded.Code(), status
		}
		return coded.Code(), http.StatusInternalServerError
	}
	return "failed", http.StatusInternalServerError
}

// codeStatus is the HTTP status of codes that are not 500.
var codeStatus = map[string]int{
	"bad_request":  http.StatusBadRequest,
	"bad_settings": http.StatusBadRequest,
	"bad_hot":      http.StatusBadRequest,
	"not_found":    http.StatusNotFound,
	"bad_method":   http.StatusMethodNotAllowed,
	"too_large":    http.StatusRequestEntityTooLarge,
	"forbidden":    http.StatusForbidden,
	"not_running":  http.StatusBadGateway,
	"timeout":      http.StatusGatewayTimeout,
}

// received rebuilds an error from the wire, so that errors.Is finds what the
// agent's side meant.
func received(code, text string) error {
	for _, known := range wireErrors {
		if known.code == code {
			return &Error{code: code, text: text, cause: known.err}
		}
	}
	return &Error{code: code, text: text}
}
