package limit

import (
	"errors"
	"fmt"

	"plimsoll/metal/wired"
)

// failure is an error with a code, for which package view has a sentence.
type failure struct {
	code   string
	detail string
	cause  error
}

func (f *failure) Error() string {
	switch {
	case f.cause == nil:
		return f.detail
	case f.detail == "":
		return f.cause.Error()
	}
	return fmt.Sprintf("%s: %v", f.detail, f.cause)
}

// Code names the failure for screens and for clients of the API.
func (f *failure) Code() string { return f.code }

func (f *failure) Unwrap() error { return f.cause }

// Is holds for every failure of the same code.
func (f *failure) Is(target error) bool {
	other, ok := target.(*failure)
	return ok && other.code == f.code
}

// Why nothing was changed. Each wraps what the system said.
var (
	// ErrCancelled: the person did not want to give a password.
	ErrCancelled error = &failure{code: "limit_cancelled", detail: "cancelled"}
	// ErrNoSession: nobody sits before a screen on which macOS could ask.
	ErrNoSession error = &failure{code: "limit_no_session", detail: "nobody can be asked for a password here"}
	// ErrDenied: name or password of the administrator were wrong.
	ErrDenied error = &failure{code: "limit_denied", detail: "no administrator"}
	// ErrAsking: macOS is asking already.
	ErrAsking error = &failure{code: "limit_asking", detail: "the question is open already"}
	// ErrNoTrial: without the helper a limit is never on trial.
	ErrNoTrial error = &failure{code: wired.CodeNoLease, detail: "without the helper nothing waits to be confirmed"}
	// ErrPlace: Plimsoll runs from where macOS put a download.
	ErrPlace error = &failure{code: "limit_place", detail: "this program is not installed yet"}
	// ErrNoUser: root asked, and on whose behalf is not known.
	ErrNoUser error = &failure{code: "limit_no_user", detail: "SUDO_UID names nobody"}
	// ErrNoHelper: this build of Plimsoll has no helper.
	ErrNoHelper error = &failure{code: "limit_no_helper", detail: "this build has no helper"}
	// ErrChanged: the helper in the application is not the one that belongs to it.
	ErrChanged error = &failure{code: "limit_changed_helper", detail: "the helper is not this build's"}
	// ErrUnsafe: what is at the helper's place is not root's alone.
	ErrUnsafe error = &failure{code: "limit_unsafe", detail: "not root's alone"}
	// ErrKept: the helper is gone, and the limit did not go back to the default.
	ErrKept error = &failure{code: "limit_kept", detail: "the limit stays"}
	// ErrLaunchd: launchd refused.
	ErrLaunchd error = &failure{code: "limit_launchd", detail: "launchd refused"}
)

// detailed is one of the failures above with what it is about.
func detailed(failed error, detail string) error {
	return &failure{code: codeOf(failed), detail: detail}
}

// codeOf is the code of an error, "" when it has none.
func codeOf(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return coded.Code()
	}
	return ""
}
