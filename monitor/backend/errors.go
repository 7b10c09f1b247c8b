package backend

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// What commands are refused with, wrapped; nothing was sent then that could load,
// keep or drop a model.
var (
	// ErrCloud: the model runs elsewhere.
	ErrCloud = errors.New("a cloud model")
	// ErrNotFound: the server has no model of that name.
	ErrNotFound = errors.New("no such model")
	// ErrNotResident: the model is on disk, not in memory. To keep it would load it.
	ErrNotResident = errors.New("the model is not in memory")
)

// StateError is the error of a command that failed because of what the server is
// to us now: away, silent, closed or something else.
type StateError struct {
	Status // of which State, Cause and Detail are set, beside who it is
}

func (e *StateError) Error() string {
	text := strings.ReplaceAll(string(e.State), "_", " ")
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return fmt.Sprintf("%s at %s is %s", e.Name, e.Address, text)
}

// Code names the error for clients and for the sentence a person reads.
func (e *StateError) Code() string {
	switch e.State {
	case NotRunning:
		return "not_running"
	case NotAnswering:
		return "timeout"
	}
	return "failed"
}

// reply is an error about what a server answered: an HTTP status, or content that
// is not what was asked for.
type reply struct {
	*exchange
	problem string
}

func (e *reply) Error() string {
	if e.problem != "" {
		return e.problem
	}
	text := fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))
	if said := message(e.body); said != "" {
		text += ": " + said
	}
	return text
}

// message is what a reply says in words: the error of a JSON body, else the
// body's beginning on one line, nothing of a page.
func message(body []byte) string {
	var said struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil {
		switch e := said.Error.(type) {
		case string:
			return clip(e)
		case map[string]any:
			text, _ := e["message"].(string)
			return clip(text)
		}
		return ""
	}
	if page(body) {
		return ""
	}
	return clip(string(body))
}

func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if runes := []rune(s); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return s
}

func page(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body)), "<")
}

// judge tells what a failed call says about the server.
func judge(err error, base *url.URL) (State, string, string) {
	var answer *reply
	if errors.As(err, &answer) {
		state, cause := judgeReply(answer, base)
		return state, cause, answer.Error()
	}
	state, cause := judgeConnection(err)
	if cause == "unreachable" && loopback(base.Hostname()) {
		cause = "" // this machine is there: whoever listens does not accept
	}
	return state, cause, detail(err)
}

// unreached is the error of a call that found no one to talk to in time.
type unreached struct{ error }

func (e *unreached) Unwrap() error { return e.error }

// timedOut reports that a call took longer than it may.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// detail is an error's text without the request that it belongs to, which is in
// Status.Address already.
func detail(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return clip(err.Error())
}

// judgeConnection is for a call that ended without a whole reply.
func judgeConnection(err error) (State, string) {
	var (
		nobody *unreached
		dns    *net.DNSError
		op     *net.OpError
		record tls.RecordHeaderError
		verify *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return Failed, "proxy"
	case errors.As(err, &nobody):
		return NotAnswering, "unreachable"
	case timedOut(err):
		return NotAnswering, ""
	case errors.As(err, &dns) && dns.IsNotFound:
		return NotRunning, "no_such_host"
	case errors.As(err, &dns), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		return NotAnswering, "unreachable" // what runs there cannot be told from here
	case errors.Is(err, syscall.ECONNREFUSED):
		return NotRunning, ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return Failed, "tls_to_plain"
	case errors.As(err, &verify):
		return Failed, "bad_certificate"
	// net/http has no type for these two. A TLS server answers a plain request
	// with an alert record, whose first byte is 0x15 (RFC 8446, 5.1).
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`):
		return Failed, "plain_to_tls"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return Failed, "not_this_server"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Failed, "closed"
	}
	return Failed, ""
}

// judgeReply is for a reply other than the one asked for.
func judgeReply(r *reply, base *url.URL) (State, string) {
	body := strings.ToLower(string(r.body[:min(len(r.body), 4096)]))
	switch {
	case r.status == http.StatusUnauthorized:
		return LoginNeeded, ""
	case r.status == http.StatusProxyAuthRequired:
		return Failed, "proxy"
	// Ollama refuses a Host it does not know with a bare 403 (gin's AbortWithStatus):
	// no body, no type. Whatever wants a login says something.
	case r.status == http.StatusForbidden && len(r.body) == 0 && r.header.Get("Content-Type") == "" && r.header.Get("WWW-Authenticate") == "":
		return Failed, "forbidden_host"
	case r.status == http.StatusForbidden:
		return LoginNeeded, ""
	case r.status >= 300 && r.status < 400:
		return judgeRedirect(r.header.Get("Location"), base)
	// nginx, Go's net/http and Apache, in this order, on a plain request to their TLS port.
	case r.status == http.StatusBadRequest && (strings.Contains(body, "sent to https port") ||
		strings.Contains(body, "http request to an https server") || strings.Contains(body, "speaking plain http to an ssl-enabled")):
		return Failed, "plain_to_tls"
	case r.problem != "" && !strings.HasPrefix(strings.TrimSpace(body), "{"), r.problem == problemForeign:
		return Failed, "not_this_server"
	case r.status == http.StatusNotFound, r.status == http.StatusMethodNotAllowed:
		return Failed, "not_this_server"
	}
	return Failed, ""
}

// judgeRedirect is for a server that sends its clients elsewhere.
func judgeRedirect(location string, base *url.URL) (State, string) {
	to, err := base.Parse(location)
	if err != nil || location == "" {
		return Failed, "not_this_server"
	}
	if base.Scheme == "http" && to.Scheme == "https" && to.Hostname() == base.Hostname() {
		return Failed, "plain_to_tls"
	}
	where := strings.ToLower(to.Host + to.Path)
	for _, word := range []string{"login", "signin", "sign-in", "sign_in", "auth", "sso", "access"} {
		if strings.Contains(where, word) {
			return LoginNeeded, ""
		}
	}
	return Failed, "not_this_server"
}

// problemForeign: JSON, but not the object that was asked for.
const problemForeign = "the reply is not one of this kind of server"

// check turns a call's outcome into an error: the library takes any status below
// 400 and an empty body for success.
func (x *exchange) check(err error) error {
	var syntax *json.SyntaxError
	switch {
	case x.status == 0 && timedOut(err) && !x.connected.Load():
		return &unreached{err}
	case x.status == 0:
		return err
	case errors.Is(err, errTooLong):
		return &reply{x, errTooLong.Error()}
	case err != nil && (errors.Is(err, io.ErrUnexpectedEOF) && x.status < 400 || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return err // cut off
	case x.status >= 300 && x.status < 400:
		return &reply{x, errRedirect.Error()}
	case x.status != http.StatusOK:
		return &reply{x, ""}
	case page(x.body):
		return &reply{x, "the reply is a web page"}
	case errors.As(err, &syntax):
		return &reply{x, "the reply is not JSON: " + syntax.Error()}
	case err != nil:
		return &reply{x, "the reply cannot be read: " + err.Error()}
	case len(x.body) == 0:
		return &reply{x, "the reply is empty"}
	}
	return nil
}
