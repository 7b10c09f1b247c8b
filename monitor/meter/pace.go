package meter

import "time"

const (
	// A live rate is made of what came in the last paceTime, or of the last
	// paceSteps chunks where those took longer.
	paceTime  = 3 * time.Second
	paceSteps = 8
	// paceLeast is the shortest time that says anything.
	paceLeast = 100 * time.Millisecond
	// paceLate is how long the next chunk may be awaited before that says anything: a
	// busy machine passes on what is fast in lumps.
	paceLate = 250 * time.Millisecond
	// paceGrain is how close moments may lie that are remembered, paceMost how many
	// are: enough for paceTime.
	paceGrain = 30 * time.Millisecond
	paceMost  = int(paceTime/paceGrain) + 2*paceSteps
)

// pace makes the live rate of chunks as they come. It remembers few moments,
// however many chunks there are.
type pace struct {
	steps []paceStep
	// open: the newest step takes in what comes within paceGrain of since.
	since time.Time
}

// paceStep is how many chunks had come at a moment at which one came.
type paceStep struct {
	at     time.Time
	chunks int
}

func (p *pace) add(at time.Time, chunks int) {
	n := len(p.steps)
	// The first stays as it is: it is what a young answer is measured from.
	if n > 1 && at.Sub(p.since) < paceGrain {
		p.steps[n-1] = paceStep{at, chunks}
		return
	}
	if n == paceMost {
		p.steps = append(p.steps[:0], p.steps[1:]...)
	}
	p.steps = append(p.steps, paceStep{at, chunks})
	p.since = at
}

// live is the rate in chunks per second up to a moment. While the next chunk is
// late, the wait for it is the most that the rate can be.
func (p *pace) live(at time.Time) (rate float64, ok bool) {
	n := len(p.steps)
	if n < 2 {
		return 0, false
	}
	newest, i := p.steps[n-1], n-1
	for i > 0 && (newest.at.Sub(p.steps[i].at) < paceTime || newest.chunks-p.steps[i].chunks < paceSteps) {
		i--
	}
	span := newest.at.Sub(p.steps[i].at)
	chunks := newest.chunks - p.steps[i].chunks
	if span < paceLeast || chunks < paceSteps/2 && span < paceTime {
		return 0, false
	}
	rate = float64(chunks) / span.Seconds()
	if wait := at.Sub(newest.at); wait > paceLate {
		rate = min(rate, 1/wait.Seconds())
	}
	return rate, true
}
