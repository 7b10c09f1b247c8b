package view

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/monitor/request"
)

// Request is one request to a model server, in flight or recent. A number that
// nobody told is "".
type Request struct {
	// Key is stable while the request is listed.
	Key      string
	InFlight bool
	Model    string
	// When is the time it came, "12:03:22".
	When string
	// State is what it does or how it ended: "reading 12k", "decoding", "finished",
	// "cancelled".
	State string
	// Prompt, Cached and Output are tokens: "1,801", "1,200", "~200".
	Prompt, Cached, Output string
	// TTFT, Prefill, Decode and Session with their units: "~1.4 s ±0.5",
	// "640 tokens/s". Decode is the live rate while it is in flight.
	TTFT, Prefill, Decode, Session string
	// Live is the live estimate as it was last, with its difference from the
	// server's final rate: "11.3 tokens/s (+0.9 %)".
	Live string
	// Source says who told it: "meter, slots".
	Source string
	// Notes are facts worth a word, "cached · over your boundary".
	Notes string
	// Detail has all of it with the source and age of every number, one fact a line.
	Detail string
	Level  Level
}

// requestsShown is how many requests a screen lists at most.
const requestsShown = 50

// requests are those in flight and the recent ones, in the snapshot's order.
func (sc *scene) requests() []Request {
	var list []Request
	for i := range sc.s.Requests[:min(len(sc.s.Requests), requestsShown)] {
		list = append(list, sc.request(&sc.s.Requests[i]))
	}
	return list
}

func (sc *scene) request(r *request.Request) Request {
	v := Request{
		Key: r.ID, InFlight: r.Phase != request.PhaseDone, Model: clean(r.Model), State: sc.doing(r),
		Prompt: count(r.PromptTokens), Cached: count(r.CachedTokens), Output: count(r.OutputTokens),
		TTFT: sc.time(r.TTFT), Prefill: sc.pace(r.Prefill), Decode: sc.pace(r.Decode), Session: sc.pace(r.Session),
		Level: Normal,
	}
	if !r.Began.IsZero() {
		v.When = r.Began.Local().Format("15:04:05")
	}
	if v.Output != "" && r.OutputApproximate {
		v.Output = "~" + v.Output
	}
	if v.InFlight && r.Decode == nil {
		v.Decode = sc.pace(r.Live)
	} else {
		v.Live = sc.liveAgainst(r)
	}
	switch {
	case r.Outcome == request.OutcomeFailed, r.Outcome == request.OutcomeCut:
		v.Level = Warning
	case r.Outcome == request.OutcomeCancelled, r.Outcome == request.OutcomeUnknown:
		v.Level = Unknown
	}
	var sources, notes []string
	for _, s := range r.Sources {
		sources = append(sources, sc.told(s))
	}
	for _, n := range r.Notes {
		if id := "request.note." + string(n); sc.has(id) {
			notes = append(notes, sc.Text(id))
		}
	}
	v.Source, v.Notes = joined(", ", sources), line(notes...)
	v.Detail = sc.requestDetail(r, &v)
	return v
}

// doing is what a request does, or how it ended.
func (sc *scene) doing(r *request.Request) string {
	if r.Phase == request.PhaseDone {
		if id := "request.outcome." + string(r.Outcome); sc.has(id) {
			return sc.Text(id)
		}
		return sc.Text("request.outcome.unknown")
	}
	if r.Phase == request.PhasePrefill {
		if so := soFar(r); so > 0 {
			return sc.Text("request.reading", Args{"Tokens": thousands(so)})
		}
	}
	id := "request.phase." + string(r.Phase)
	if !sc.has(id) {
		return clean(string(r.Phase))
	}
	waited := ""
	if r.Phase != request.PhaseDecode && !r.Began.IsZero() && sc.now.Sub(r.Began) >= 2*time.Second {
		waited = sc.duration(sc.now.Sub(r.Began))
	}
	return line(sc.Text(id), waited)
}

// soFar is how much of a prompt is known to be read, or else how long it is; 0
// when neither is told.
func soFar(r *request.Request) int {
	for _, n := range []*int{r.ReadTokens, r.PromptTokens} {
		if n != nil && *n > 0 {
			return *n
		}
	}
	return 0
}

// liveAgainst is the last live estimate beside the whole answer's own rate.
func (sc *scene) liveAgainst(r *request.Request) string {
	live := sc.pace(r.Live)
	if live == "" || r.Decode == nil || !(r.Decode.Value > 0) {
		return live
	}
	off := 100 * (r.Live.Value/r.Decode.Value - 1)
	if math.IsNaN(off) || math.Abs(off) >= 1000 {
		return live
	}
	return sc.Text("request.against", Args{"Rate": live, "Off": fmt.Sprintf("%+.1f %%", off)})
}

// requestDetail is every number with who told it and when.
func (sc *scene) requestDetail(r *request.Request, v *Request) string {
	number := func(id, text string, n *request.Number) string {
		if text == "" {
			return ""
		}
		return sc.Text("request.fact", Args{"Name": sc.Text(id), "Value": text, "Source": sc.told(n.Source), "Age": sc.ageOf(n.At)})
	}
	queue, load := "", ""
	if d := seconds(r.Queue); d >= 100*time.Millisecond {
		queue = sc.short(d.Seconds())
	}
	if d := seconds(r.Load); d >= 100*time.Millisecond {
		load = sc.short(d.Seconds())
	}
	output := v.Output
	if output != "" {
		output = sc.Text("request.generated", Args{"Tokens": output})
	}
	final := number("request.decode", sc.pace(r.Decode), r.Decode)
	return lines(
		sc.fact("request.endpoint", clean(r.Endpoint)), sc.fact("request.prompt", v.Prompt), sc.fact("request.cached", v.Cached), output,
		sc.fact("request.queue", queue), sc.fact("request.load", load),
		number("request.ttft", v.TTFT, r.TTFT), number("request.prefill", v.Prefill, r.Prefill), final,
		number("request.live", sc.pace(r.Live), r.Live), number("request.session", v.Session, r.Session),
		v.Notes, clean(r.Error))
}

// told names a source of numbers.
func (r *Renderer) told(s request.Source) string {
	if id := "request.source." + string(s); r.has(id) {
		return r.Text(id)
	}
	return clean(string(s))
}

// ageOf is how old a number is, "" for one of the last tick.
func (sc *scene) ageOf(at time.Time) string {
	age := sc.now.Sub(at)
	if at.IsZero() || age < staleAfter(sc.s.Interval) {
		return ""
	}
	return sc.duration(age)
}

// pace is tokens per second with its unit, "" when it is absent.
func (sc *scene) pace(n *request.Number) string {
	text := plainRate(n)
	if text == "" {
		return ""
	}
	return sc.Text("view.token_rate", Args{"Value": text})
}

// plainRate is a rate without its unit: one decimal, two below a tenth, none from
// a thousand on. An estimate has its mark.
func plainRate(n *request.Number) string {
	if n == nil {
		return ""
	}
	f, ok := finite(&n.Value)
	text := ""
	switch {
	case !ok || f <= 0 || f > 1e6:
		return ""
	case f >= 1000:
		text = fmt.Sprintf("%.0f", f)
	case f < 0.1:
		text = fmt.Sprintf("%.2f", f)
	default:
		text = fmt.Sprintf("%.1f", f)
	}
	if n.Approximate {
		text = "~" + text
	}
	return text
}

// time is a number of seconds: "1.42 s", "~1.4 s ±0.5".
func (sc *scene) time(n *request.Number) string {
	if n == nil {
		return ""
	}
	f, ok := finite(&n.Value)
	if !ok || f < 0 || f > 1e6 {
		return ""
	}
	text := sc.short(f)
	if n.Approximate {
		text = "~" + text
	}
	if spread, ok := finite(n.Spread); ok && spread > 0 {
		text += fmt.Sprintf(" ±%.1f", spread)
	}
	return text
}

// short is seconds with the digits that say something.
func (r *Renderer) short(f float64) string {
	digits := 2
	if f >= 10 {
		digits = 1
	}
	if f >= 100 {
		digits = 0
	}
	return r.Text("request.seconds", Args{"Value": fmt.Sprintf("%.*f", digits, f)})
}

// count is tokens with a separator at thousands, "" when absent.
func count(n *int) string {
	if n == nil || *n < 0 {
		return ""
	}
	return grouped(*n)
}

// thousands is a number of tokens in few letters: "840", "12k", "1.2M".
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// speed is one row on the request that matters now: the one in flight, or the last.
func (sc *scene) speed() Row {
	r := sc.leading()
	if r == nil {
		return Row{Share: -1}
	}
	v := sc.request(r)
	row := sc.row("request.label", line(v.Decode, sc.fact("request.ttft_short", v.TTFT), v.Model))
	if v.InFlight {
		row.Text = line(v.State, v.Decode, v.Model)
	} else if age := sc.ageOf(ended(r)); age != "" {
		row.Text = line(row.Text, sc.Text("request.ago", Args{"Age": age}))
	}
	over := []request.Note{request.NoteOverContext, request.NoteOverQueue}
	if slices.ContainsFunc(r.Notes, func(n request.Note) bool { return slices.Contains(over, n) }) {
		row.Text = line(row.Text, sc.Text("request.over", Args{"Boundary": boundary(r.Boundary)}))
	}
	row.Detail = v.Detail
	return row
}

// leading is the request that a title is about: one that makes tokens, one that
// reads its prompt, any in flight, else the last that has a rate. nil when there is none.
func (sc *scene) leading() *request.Request {
	for _, phase := range []request.Phase{request.PhaseDecode, request.PhasePrefill, request.PhaseLoading, request.PhaseQueued} {
		for i := range sc.s.Requests {
			if sc.s.Requests[i].Phase == phase {
				return &sc.s.Requests[i]
			}
		}
	}
	for i := range sc.s.Requests {
		if r := &sc.s.Requests[i]; r.Phase == request.PhaseDone && plainRate(r.Decode) != "" {
			return r
		}
	}
	return nil
}

// boundary is "8K/2": tokens of context and requests at once.
func boundary(b *request.Boundary) string {
	if b == nil {
		return ""
	}
	context, queue := "–", "–"
	if b.Context != nil && *b.Context > 0 {
		context = tokens(*b.Context)
	}
	if b.Queue != nil && *b.Queue > 0 {
		queue = fmt.Sprint(*b.Queue)
	}
	return context + "/" + queue
}

func ended(r *request.Request) time.Time {
	if r.Ended != nil {
		return *r.Ended
	}
	return r.Changed
}
