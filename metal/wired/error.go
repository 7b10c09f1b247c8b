package wired

// The codes of errors, on the wire and for everybody who asks an error for its
// Code. A screen makes its sentence from the code.
const (
	CodeNotPermitted = "limit_not_permitted" // the caller is not among the users recorded at install
	CodeBadRequest   = "limit_bad_request"   // not a request of this protocol
	CodeBounds       = "limit_out_of_bounds"
	CodeNeedsLease   = "limit_needs_lease" // raising takes a lease of 30 to 600 s
	CodeNoLease      = "limit_no_lease"    // nothing waits to be confirmed
	CodeChanged      = "limit_changed"     // somebody else changed the limit meanwhile
	CodeBusy         = "limit_busy"        // too many requests
	CodeNoKey        = "limit_no_key"      // ErrNoKey
	CodeRefused      = "limit_refused"     // the system does not take the value, as on machines where the key is read-only
	CodeFile         = "limit_file"        // the helper's file is not the helper's alone
	CodeFailed       = "limit_failed"      // something else went wrong
	// CodeProtocol: the helper speaks another version of the protocol.
	CodeProtocol = "limit_protocol"
	// CodeSilent: there is no helper, or it does not answer.
	CodeSilent = "limit_silent"
)

// Error is a failure with a code that a program can act on.
type Error struct {
	code  string
	text  string
	cause error
}

func failure(code, text string, cause error) *Error { return &Error{code, text, cause} }

// Error is the text, then the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.text
	}
	return e.text + ": " + e.cause.Error()
}

// Code is one of the Code constants.
func (e *Error) Code() string { return e.code }

// Unwrap is the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// Is holds for every Error of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.code == e.code
}

// ErrNoKey says that this system has no adjustable limit.
var ErrNoKey error = failure(CodeNoKey, "this system has no adjustable GPU limit", nil)
