package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"plimsoll/monitor/request"
)

const (
	// SlotsLimit is the most that one question to /slots takes. A server answers
	// between two batches of a prompt: after 5 s with two prompts on a slow machine,
	// so a time-out of seconds would take reading for silence.
	SlotsLimit = 30 * time.Second
	// slotsMost is how many slots of a server are read, slotsBytes the longest
	// reply. Each slot may hold a prompt of 128 Ki tokens and its answer.
	slotsMost  = 256
	slotsBytes = 256 << 20
	// totalsBytes is the longest reply of /metrics. It has 2 KB.
	totalsBytes = 1 << 20
)

// What asking for slots fails with, wrapped.
var (
	// ErrNoSlots: the server does not tell its slots (or totals), and will not.
	ErrNoSlots = errors.New("the server does not tell")
	// ErrLoading: it is still loading its model.
	ErrLoading = errors.New("the model is being loaded")
)

// Slots reads the counters of one llama-server: one that stands alone, or the
// child in which an Ollama since v0.30 runs a model. Prompts and answers in the
// replies are passed over unread.
type Slots struct {
	base *url.URL // without credentials
	user *url.Userinfo
	http *http.Client
}

// ChildSlots reads the slots of a server's child, which listens on this machine
// alone.
func ChildSlots(port int) *Slots {
	return newSlots(&url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}, nil)
}

func newSlots(base *url.URL, proxy func(*http.Request) (*url.URL, error)) *Slots {
	plain := *base
	plain.User = nil
	next := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: pollLimit, KeepAlive: 15 * time.Second}).DialContext,
		MaxConnsPerHost:        1, // one question at a time
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    pollLimit,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
	if !local(base.Hostname()) {
		next.Proxy = proxy
	}
	return &Slots{base: &plain, user: base.User, http: &http.Client{
		Transport:     next,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Address is where the slots are read.
func (s *Slots) Address() string { return strings.TrimSuffix(s.base.String(), "/") }

// Close drops the idle connection.
func (s *Slots) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// Read asks once. It ends with ctx, after SlotsLimit at the latest.
func (s *Slots) Read(ctx context.Context) ([]request.Slot, error) {
	var slots []request.Slot
	err := s.ask(ctx, "/slots", slotsBytes, func(body io.Reader) (err error) {
		slots, err = decodeSlots(body)
		return err
	})
	return slots, err
}

// Totals asks for the server's counters. Most servers do not tell them: they are
// asked for with --metrics.
func (s *Slots) Totals(ctx context.Context) (request.Totals, error) {
	var totals request.Totals
	err := s.ask(ctx, "/metrics", totalsBytes, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		if err == nil {
			totals = decodeTotals(string(text))
		}
		return err
	})
	return totals, err
}

// ask gets a path and hands its body, cut at a limit, to read.
func (s *Slots) ask(ctx context.Context, path string, limit int64, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, SlotsLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(path).String(), nil)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	if s.user != nil {
		password, _ := s.user.Password()
		req.SetBasicAuth(s.user.Username(), password)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		if request, ok := errors.AsType[*url.Error](err); ok {
			err = request.Err // the address is told elsewhere
		}
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("asking for %s: %w", path, ErrLoading)
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		return fmt.Errorf("asking for %s: %s", path, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("asking for %s: %w: %s", path, ErrNoSlots, resp.Status)
	}
	if err := read(io.LimitReader(resp.Body, limit)); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// slotNames are the names that are looked for in a reply of /slots.
var slotNames = []string{
	"id", "id_task", "n_ctx", "is_processing", "speculative", "n_prompt_tokens", "n_prompt_tokens_processed",
	"n_prompt_tokens_cache", "n_prompt_tokens_target", "next_token", "n_decoded",
}

// recordedSlot is a slot with what only a recording is asked for.
type recordedSlot struct {
	request.Slot
	id          *int
	speculative *bool
	target      *int
}

// decodeSlots reads a reply of /slots as it comes.
func decodeSlots(r io.Reader) ([]request.Slot, error) {
	var slots []request.Slot
	err := scanSlots(r, func(one recordedSlot) {
		one.ID = len(slots)
		if one.id != nil {
			one.ID = *one.id
		}
		slots = append(slots, one.Slot)
	})
	return slots, err
}

// scanSlots calls each for every slot of a reply, an array of them or a single one.
func scanSlots(r io.Reader, each func(recordedSlot)) error {
	s := &scanner{in: bufio.NewReaderSize(r, 4096)}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == '{' {
		one, err := s.slot()
		if err == nil {
			each(one)
		}
		return err
	}
	n := 0
	return s.list(func(string) error {
		one, err := s.slot()
		if err != nil {
			return err
		}
		if n++; n > slotsMost {
			return fmt.Errorf("more than %d slots", slotsMost)
		}
		each(one)
		return nil
	})
}

// slot reads one slot. next_token was an object before it became an array of one,
// and is not there on a slot that was never used.
func (s *scanner) slot() (one recordedSlot, err error) {
	if c, err := s.peek(); err != nil {
		return one, err
	} else if c != '{' {
		return one, unexpected(c, "a slot")
	}
	err = s.list(func(name string) (err error) {
		switch name {
		case "id":
			one.id, err = s.whole()
		case "id_task":
			one.Task, err = s.whole() // −1 where there was none
		case "n_ctx":
			one.Context, err = s.whole()
		case "is_processing":
			one.Processing, err = s.truth()
		case "speculative":
			var is bool
			is, err = s.truth()
			one.speculative = &is
		case "n_prompt_tokens":
			one.Tokens, err = s.whole()
		case "n_prompt_tokens_processed":
			one.Read, err = s.whole()
		case "n_prompt_tokens_cache":
			one.Cached, err = s.whole()
		case "n_prompt_tokens_target":
			one.target, err = s.whole()
		case "next_token":
			err = s.nextToken(&one.Slot)
		default:
			err = s.skip()
		}
		return err
	})
	return one, err
}

// nextToken takes n_decoded from the object, or from the first of an array.
func (s *scanner) nextToken(slot *request.Slot) error {
	c, err := s.peek()
	switch {
	case err != nil:
		return err
	case c == '[':
		return s.list(func(string) error { return s.nextToken(slot) })
	case c != '{':
		return s.skip()
	}
	return s.list(func(name string) (err error) {
		if name != "n_decoded" || slot.Decoded != nil {
			return s.skip()
		}
		slot.Decoded, err = s.whole()
		return err
	})
}

// decodeTotals reads the counters of /metrics. The gauges beside them are means
// over a while that nobody knows.
func decodeTotals(text string) request.Totals {
	var t request.Totals
	counters := map[string]**float64{
		"llamacpp:prompt_tokens_total": &t.PromptTokens, "llamacpp:prompt_seconds_total": &t.PromptSeconds,
		"llamacpp:tokens_predicted_total": &t.DecodeTokens, "llamacpp:tokens_predicted_seconds_total": &t.DecodeSeconds,
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(fields[0], "{")
		if to := counters[name]; to != nil {
			if v, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil && v >= 0 && v <= 1e15 {
				*to = &v
			}
		}
	}
	return t
}
