package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// sum is what came of all requests. Its methods may be called from any goroutine
// until the run is over.
type sum struct {
	mu    sync.Mutex
	began time.Time
	ttfts []float64
	rates []float64

	Seconds   float64 `json:"seconds"`
	Finished  int     `json:"finished"`
	Cancelled int     `json:"cancelled"`
	Cut       int     `json:"cut"`
	Failed    int     `json:"failed"`
	// Tokens are those of finished answers, by the server's count; Approximate marks
	// a sum that counts the chunks of answers for which it had none.
	Tokens      int    `json:"tokens"`
	Approximate bool   `json:"tokens_approximate,omitzero"`
	TTFT        *span  `json:"ttft_seconds,omitempty"`
	Decode      *span  `json:"decode_tokens_per_second,omitempty"`
	First       string `json:"first_problem,omitzero"`
}

// span is where the values of many requests lie.
type span struct {
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	Most   float64 `json:"most"`
}

func spanOf(values []float64) *span {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[int(part*float64(len(values)-1)+0.5)] }
	return &span{at(0.5), at(0.1), at(0.9), at(1)}
}

func (s *sum) add(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	problem := a.problem
	switch {
	case a.cancelled:
		s.Cancelled++
	case a.problem != "" && a.chunks == 0:
		s.Failed++
	case a.problem != "" || !a.ended:
		s.Cut++
		if problem == "" {
			problem = "a stream ended without its end"
		}
	default:
		s.Finished++
		s.finished(a)
	}
	if s.First == "" {
		s.First = problem
	}
}

func (s *sum) finished(a answer) {
	if a.chunks > 0 {
		s.ttfts = append(s.ttfts, a.first.Sub(a.sent).Seconds())
	}
	tokens := a.tokens
	if tokens == 0 {
		tokens, s.Approximate = a.chunks, true
	}
	s.Tokens += tokens
	rate := a.rate
	if took := a.newest.Sub(a.first).Seconds(); rate == 0 && took > 0 && tokens > 1 {
		rate = float64(tokens-1) / took
	}
	if rate > 0 {
		s.rates = append(s.rates, rate)
	}
	s.TTFT, s.Decode = spanOf(s.ttfts), spanOf(s.rates)
}

func (s *sum) good() bool { return s.Cut == 0 && s.Failed == 0 }

func (s *sum) print(w io.Writer) {
	fmt.Fprintf(w, "%d finished, %d cancelled, %d cut, %d failed in %.1f s\n", s.Finished, s.Cancelled, s.Cut, s.Failed, s.Seconds)
	about := ""
	if s.Approximate {
		about = "~"
	}
	if s.Seconds > 0 {
		fmt.Fprintf(w, "tokens   %s%d, %s%.1f a second together\n", about, s.Tokens, about, float64(s.Tokens)/s.Seconds)
	}
	if t := s.TTFT; t != nil {
		fmt.Fprintf(w, "ttft     %.3f s [%.3f to %.3f], at most %.3f\n", t.Median, t.P10, t.P90, t.Most)
	}
	if d := s.Decode; d != nil {
		fmt.Fprintf(w, "decode   %s%.1f tokens/s [%.1f to %.1f]\n", about, d.Median, d.P10, d.P90)
	}
	if s.First != "" {
		fmt.Fprintf(w, "problem  %s\n", s.First)
	}
}
