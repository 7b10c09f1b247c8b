package request

import (
	"math"
	"time"
)

const (
	// A live rate is made of the last liveTime, or of the last liveSteps increments
	// where those took longer…
	liveTime  = 3 * time.Second
	liveSteps = 8
	// …and of more, up to liveMost, as long as what is counted in steps of a poll is
	// not known to within exactly, and the earlier part agrees with the later.
	liveMost = 30 * time.Second
	exactly  = 0.03
	// vague is how far off a rate may be, as a part of itself, and still be shown.
	vague = 0.25
	// promptness is how soon a server that was busy answers when it is not.
	promptness = 20 * time.Millisecond
	// windowMost is how many increments are remembered: two minutes of a fast slot
	// at two polls a second.
	windowMost = 256
)

// step is a reading at which a counter had moved on. The move itself happened
// within slack before.
type step struct {
	at    time.Duration
	n     int
	slack time.Duration
}

// window makes rates of a counter that is read now and then. The first reading is
// a baseline: when its count was reached is not known.
type window struct {
	begun bool
	last  step // the newest reading, moved or not
	// first is the first increment that was seen, steps the newest ones.
	first *step
	steps []step
}

// add takes a reading. at once says that a reading came the moment the counter could
// move. A counter never goes back: that is another request.
func (w *window) add(at time.Duration, n int, atOnce bool) {
	switch {
	case !w.begun:
		w.begun, w.last = true, step{at: at, n: n}
		return
	case n < w.last.n, at <= w.last.at:
		return
	}
	moved := step{at: at, n: n, slack: at - w.last.at}
	if atOnce {
		moved.slack = min(moved.slack, promptness)
	}
	if n > w.last.n {
		if w.first == nil {
			w.first = &moved
		}
		if len(w.steps) == windowMost {
			w.steps = append(w.steps[:0], w.steps[1:]...)
		}
		w.steps = append(w.steps, moved)
	}
	w.last = moved
}

// between is the rate from one increment to a later one, and how far off it may
// be as a part of itself: each end is known to within its slack, or to within the
// next token where several came in that time.
func between(from, to step) (rate, off float64) {
	n, d := float64(to.n-from.n), (to.at - from.at).Seconds()
	if n <= 0 || d <= 0 {
		return 0, math.Inf(1)
	}
	rate, off = n/d, 1/n
	if slack := max(from.slack, to.slack).Seconds(); slack < d {
		off = min(off, slack/(d-slack))
	}
	if n < LeastTokens-1 {
		off = max(off, 1/(2*n)) // tokens are not all alike
	}
	return rate, off
}

// live is the rate over the last seconds up to a moment, how far off it may be as
// a part of itself, and whether there is one to show. Between increments the
// counter says that the next has not come: until is the time up to which that is
// known.
func (w *window) live(until time.Duration) (rate, off float64, ok bool) {
	n := len(w.steps)
	if n == 0 {
		return 0, 0, false
	}
	newest := w.steps[n-1]
	rate, off = w.recent(newest)
	if wait := (until - newest.at).Seconds(); wait > 0 {
		rate = min(rate, 1/wait)
	}
	return rate, off, off <= vague
}

// recent chooses the increments that a live rate is made of.
func (w *window) recent(newest step) (rate, off float64) {
	i := len(w.steps) - 1
	for i > 0 && (newest.at-w.steps[i].at < liveTime || len(w.steps)-i < liveSteps) {
		i--
	}
	rate, off = between(w.steps[i], newest)
	for i > 0 && off > exactly && newest.at-w.steps[i-1].at <= liveMost {
		i--
		longer, error := between(w.steps[i], newest)
		if math.Abs(longer-rate) > off*rate {
			break // it went at another pace then
		}
		rate, off = longer, error
	}
	return rate, off
}

// pace is the rate over the very last increments, as live tells it.
func (w *window) pace() (rate, off float64, ok bool) {
	n := len(w.steps)
	if n < 2 {
		return 0, 0, false
	}
	rate, off = between(w.steps[max(0, n-1-liveSteps/2)], w.steps[n-1])
	return rate, off, off <= vague
}

// whole is the rate from the first increment that was seen to the newest, and how
// far off it may be as a part of itself.
func (w *window) whole() (rate, off float64, ok bool) {
	if w.first == nil || len(w.steps) == 0 {
		return 0, 0, false
	}
	newest := w.steps[len(w.steps)-1]
	rate, off = between(*w.first, newest)
	return rate, off, newest.n-w.first.n >= LeastTokens-1 && newest.at-w.first.at >= LeastTime && off <= vague
}
