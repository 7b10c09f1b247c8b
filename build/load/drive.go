package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is what is asked, and how.
type load struct {
	URL, Path, Model        string
	Clients, Requests       int
	Cancel, Slow            float64
	SlowRate, Words, Output int
	Seed                    uint64
}

func (l *load) check(flags *flag.FlagSet) error {
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q is one argument too many; see --help", flags.Arg(0))
	case l.Model == "":
		return errors.New("name a model with --model; see --help")
	case l.Clients < 1 || l.Words < 1 || l.SlowRate < 1 || l.Requests < 0 || l.Output < 1:
		return errors.New("--clients, --prompt-words, --output and --slow-rate take numbers from 1 on")
	case !(l.Cancel >= 0 && l.Cancel <= 1 && l.Slow >= 0 && l.Slow <= 1):
		return errors.New("--cancel and --slow take a part from 0 to 1")
	case bodies[l.Path] == nil:
		return fmt.Errorf("--path %s is none that is known; see --help", l.Path)
	}
	return nil
}

// bodies make the request of each path.
var bodies = map[string]func(l *load, prompt string) any{
	"/api/generate": func(l *load, prompt string) any {
		return map[string]any{"model": l.Model, "prompt": prompt, "options": map[string]int{"num_predict": l.Output}}
	},
	"/api/chat": func(l *load, prompt string) any {
		return map[string]any{"model": l.Model, "messages": message(prompt), "options": map[string]int{"num_predict": l.Output}}
	},
	"/v1/chat/completions": func(l *load, prompt string) any {
		return map[string]any{"model": l.Model, "messages": message(prompt), "max_tokens": l.Output, "stream": true, "stream_options": map[string]bool{"include_usage": true}}
	},
	"/v1/completions": func(l *load, prompt string) any {
		return map[string]any{"model": l.Model, "prompt": prompt, "max_tokens": l.Output, "stream": true, "stream_options": map[string]bool{"include_usage": true}}
	},
}

func message(prompt string) any {
	return []map[string]string{{"role": "user", "content": prompt}}
}

// run asks with all clients until the requests or ctx are at their end.
func (l *load) run(ctx context.Context) *sum {
	s := &sum{began: time.Now()}
	web := &http.Transport{MaxIdleConnsPerHost: l.Clients, DisableCompression: true} // no proxy, whatever the variables say
	defer web.CloseIdleConnections()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range l.Clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1)
				if l.Requests > 0 && i > int64(l.Requests) {
					return
				}
				a := l.ask(ctx, web, uint64(i))
				if ctx.Err() != nil && (!a.ended || a.problem != "") {
					return // it was given up because the time is over
				}
				s.add(a)
			}
		})
	}
	clients.Wait()
	s.Seconds = time.Since(s.began).Seconds()
	return s
}

// words make prompts that differ from their beginning on, so that no cache helps.
var words = strings.Fields("the harbour tide lifts every small boat and sets it down again while gulls count the hours of light")

func (l *load) prompt(r *rand.Rand) string {
	var b strings.Builder
	for range l.Words {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	return b.String()
}

// answer is what came of one request.
type answer struct {
	sent      time.Time
	first     time.Time // of its text
	newest    time.Time
	chunks    int
	tokens    int     // as the server counts, 0 when it does not
	rate      float64 // the server's own, 0 when it tells none
	cancelled bool
	ended     bool // it came to its end
	problem   string
}

// ask sends one request and reads its answer.
func (l *load) ask(ctx context.Context, web *http.Transport, i uint64) (a answer) {
	r := rand.New(rand.NewPCG(l.Seed, i))
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	a.sent = time.Now()
	body, err := json.Marshal(bodies[l.Path](l, l.prompt(r)))
	if err != nil {
		return a.failed(err)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(l.URL, "/")+l.Path, strings.NewReader(string(body)))
	if err != nil {
		return a.failed(err)
	}
	q.Header.Set("Content-Type", "application/json")
	got, err := web.RoundTrip(q)
	if err != nil {
		return a.failed(err)
	}
	defer got.Body.Close()
	from := io.Reader(got.Body)
	if r.Float64() < l.Slow {
		from = &slowReader{from: from, rate: l.SlowRate}
	}
	givesUp := 0
	if r.Float64() < l.Cancel {
		givesUp = 1 + r.IntN(8)
	}
	if got.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(got.Body, 300))
		return a.failed(fmt.Errorf("%s: %s", got.Status, strings.TrimSpace(string(text))))
	}
	return a.read(from, givesUp)
}

func (a answer) failed(err error) answer {
	a.problem = err.Error()
	a.ended = true
	return a
}

// read reads an answer to its end, or up to so many words.
func (a answer) read(from io.Reader, givesUp int) answer {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			a.take(line)
		}
		switch {
		case a.problem != "":
			a.ended = true
			return a
		case givesUp > 0 && a.chunks >= givesUp:
			a.cancelled, a.ended = true, true
			return a
		case err != nil && a.ended:
			return a
		case err != nil:
			if !errors.Is(err, io.EOF) {
				a.problem = err.Error()
			}
			return a
		}
	}
}

// take reads one line of Ollama's or OpenAI's streams.
func (a *answer) take(line []byte) {
	text := strings.TrimPrefix(strings.TrimSpace(string(line)), "data: ")
	if text == "[DONE]" {
		a.ended = true
		return
	}
	var r struct {
		Error    json.RawMessage
		Response string
		Thinking string
		Message  struct{ Content, Thinking string }
		Choices  []struct {
			Text  string
			Delta struct {
				Content, Reasoning string
				ReasoningContent   string `json:"reasoning_content"`
			}
		}
		Done  bool
		Count int   `json:"eval_count"`
		Took  int64 `json:"eval_duration"`
		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}
	if json.Unmarshal([]byte(text), &r) != nil {
		return
	}
	said := r.Response + r.Thinking + r.Message.Content + r.Message.Thinking
	for _, c := range r.Choices {
		said += c.Text + c.Delta.Content + c.Delta.Reasoning + c.Delta.ReasoningContent
	}
	if said != "" {
		if a.chunks++; a.chunks == 1 {
			a.first = time.Now()
		}
		a.newest = time.Now()
	}
	if len(r.Error) > 0 && string(r.Error) != "null" {
		a.problem = string(r.Error)
	}
	a.ended = a.ended || r.Done
	a.tokens = max(a.tokens, r.Count, r.Usage.Completion)
	if r.Count > 0 && r.Took > 0 {
		a.rate = float64(r.Count) / (float64(r.Took) / float64(time.Second))
	}
}

// slowReader reads a few bytes at a time.
type slowReader struct {
	from io.Reader
	rate int // bytes a second
}

func (s *slowReader) Read(p []byte) (int, error) {
	n, err := s.from.Read(p[:min(len(p), max(s.rate/20, 1))])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(s.rate))
	return n, err
}
