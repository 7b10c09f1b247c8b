package meter

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/monitor/request"
)

// waiting is a server that answers when it is let.
func waiting(let chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-let
		says(ndjson, `{"model":"m","response":"x","done":true,"eval_count":1}`+"\n")(w, r)
	}
}

func TestRequestsOverTheBoundaryAreMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		b := newBench(t, waiting(let), func(c *Config) { c.Boundary = Boundary{Context: 8192, Requests: 2} })
		for range 3 {
			b.start(asks)
			synctest.Wait()
		}
		close(let)
		over := 0
		for range 3 {
			if f := b.next(t); len(f.Notes) == 1 && f.Notes[0] == request.NoteOverQueue || len(f.Notes) == 2 {
				over++
			} else if f.Outcome != request.OutcomeFinished {
				t.Errorf("told as %+v", f)
			}
		}
		if over != 1 {
			t.Errorf("%d of three are over a boundary of two", over)
		}
		for body, want := range map[string]bool{
			`{"model":"m","prompt":"x","options":{"num_ctx":8193}}`:                      true,
			`{"model":"m","prompt":"x","options":{"num_ctx":8192}}`:                      false,
			`{"model":"m","prompt":"` + strings.Repeat("word ", 8000) + `"}`:             true,
			`{"model":"m","prompt":"x","images":["` + strings.Repeat("A", 99999) + `"]}`: false,
			`{"model":"m","prompt":"x","stream":false,"options":{"num_predict":5}}`:      false,
		} {
			f := b.metered(t, "/api/generate", body)
			if got := strings.Contains(noted(f), "over_context"); got != want || f.Status != 200 {
				t.Errorf("%.60s…: marked %v, want %v (status %d)", body, got, want, f.Status)
			}
		}
	})
}

// start posts a body to /api/generate and leaves the status of the answer.
func (b *bench) start(body string) <-chan int {
	status := make(chan int, 1)
	go func() {
		answer, err := b.client.Post(b.url+"/api/generate", "", strings.NewReader(body))
		if err != nil {
			status <- 0
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		status <- answer.StatusCode
	}()
	return status
}

func noted(f Finished) string {
	var all []string
	for _, n := range f.Notes {
		all = append(all, string(n))
	}
	return strings.Join(all, " ")
}

func TestRequestsOverTheBoundaryAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		b := newBench(t, waiting(let), func(c *Config) { c.Boundary = Boundary{Context: 8192, Requests: 1, Refuse: true} })
		b.start(asks)
		synctest.Wait()
		for path, want := range map[string]string{
			"/api/generate":        `{"error":"plimsoll meter: 1 requests are under way`,
			"/v1/chat/completions": `{"error":{"code":"over_queue","message":"plimsoll meter: `,
			"/v1/messages":         `{"error":{"message":"plimsoll meter: 1 requests`,
		} {
			answer, text := b.ask(t, path, asks)
			if answer.StatusCode != http.StatusTooManyRequests || !strings.HasPrefix(text, want) || answer.Header.Get("Retry-After") != "1" || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s: %d %v %s", path, answer.StatusCode, answer.Header, text)
			}
			f := b.next(t)
			has(t, f.Request, request.NoteOverQueue, request.NoteRefused)
			if f.Outcome != request.OutcomeFailed || f.Status != http.StatusTooManyRequests || !strings.HasPrefix(f.Error, "refused: ") {
				t.Errorf("told as %+v", f)
			}
		}
		// An unload is no work, and must pass a meter that is full.
		unload := b.start(`{"model":"m","keep_alive":0}`)
		close(let)
		if status := <-unload; status != http.StatusOK {
			t.Errorf("an unload was answered with %d", status)
		}
		b.next(t)
		answer, text := b.ask(t, "/api/generate", `{"model":"m","prompt":"`+strings.Repeat("word ", 20000)+`"}`)
		if answer.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "the boundary here is 8192") || answer.Header.Get("Retry-After") != "" {
			t.Errorf("a long prompt: %d %s", answer.StatusCode, text)
		}
		has(t, b.next(t).Request, request.NoteOverContext, request.NoteRefused)
		if answer, _ := b.ask(t, "/api/generate", asks); answer.StatusCode != http.StatusOK {
			t.Errorf("the next one: %d", answer.StatusCode)
		}
	})
}

func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(ndjson, `{"model":"m","response":"x","done":true,"eval_count":1}`+"\n"), func(c *Config) { c.Pace = time.Minute })
		took := func() time.Duration {
			began := time.Now()
			b.ask(t, "/api/generate", asks)
			return time.Since(began)
		}
		if d := took(); d != 0 {
			t.Errorf("with a GPU at its pace a request waited %v", d)
		}
		has(t, b.next(t).Request, request.NoteTiny)
		b.meter.SetThrottled(true)
		if d := took(); d != time.Minute {
			t.Errorf("with a slowed GPU a request waited %v, want the bound", d)
		}
		has(t, b.next(t).Request, request.NotePaced, request.NoteTiny)
		if !slices.ContainsFunc(b.reports, func(r request.Request) bool { return r.Phase == request.PhaseQueued && len(r.Notes) == 1 }) {
			t.Errorf("while it waits it is told as %+v", b.reports)
		}
		time.AfterFunc(7*time.Second, func() { b.meter.SetThrottled(false) })
		if d := took(); d != 7*time.Second {
			t.Errorf("with a GPU that recovers after 7 s a request waited %v", d)
		}
		b.next(t)
		b.meter.SetThrottled(true)
		began := time.Now()
		b.ask(t, "/api/generate", `{"model":"m","keep_alive":0}`) // an unload helps
		b.ask(t, "/api/tags", "")
		if d := time.Since(began); d != 0 {
			t.Errorf("what is no work for the GPU waited %v", d)
		}
	})
}

func TestAPacedClientMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }, func(c *Config) { c.Pace = time.Hour })
		b.meter.SetThrottled(true)
		b.client.Timeout = 5 * time.Second
		began := time.Now()
		if _, err := b.client.Post(b.url+"/api/generate", "", strings.NewReader(asks)); err == nil {
			t.Error("it was answered")
		}
		f := b.next(t)
		if f.Outcome != request.OutcomeCancelled || time.Since(began) > 6*time.Second {
			t.Errorf("after %v it is told as %+v", time.Since(began), f)
		}
	})
}
