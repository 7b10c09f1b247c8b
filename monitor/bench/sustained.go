package bench

import (
	"time"

	"plimsoll/monitor"
)

// pauseMost is the longest time between two tokens that counts as decoding: a GPU
// that cools stands still for longer, and that is what is to be seen.
const pauseMost = 2 * time.Minute

// rateOver is the time that the rate shown meanwhile is made of.
const rateOver = 5 * time.Second

// bucket is one minute in the making.
type bucket struct {
	chunks  float64 // scaled to tokens when a request ends
	pending float64 // of the request in flight
	decode  time.Duration
	looks   int
	slowed  int
	m       Minute
	clocks  []float64
	watts   []float64
}

// sustaining takes in the tokens of one request after another.
type sustaining struct {
	watch *watch
	limit time.Duration
	// scale is tokens per chunk, of the last request that ended.
	scale float64

	start   time.Time // of the first token
	last    time.Time // token of the request in flight
	elapsed time.Duration
	chunks  int // of the request in flight
	seen    int // looks taken in
	recent  []time.Time
	list    []*bucket
}

// begin is the beginning of a request.
func (s *sustaining) begin() { s.last, s.chunks = time.Time{}, 0 }

// token takes in a chunk at a moment, and reports that the time is up. own is the
// time on this program's clock, for a server that tells no moments.
func (s *sustaining) token(at time.Time, own time.Duration) (over bool) {
	if s.start.IsZero() {
		s.start = at
	}
	if at.IsZero() {
		at = s.start.Add(own)
	}
	s.elapsed = at.Sub(s.start)
	if s.elapsed >= s.limit {
		s.elapsed = s.limit
		return true
	}
	b := s.bucket()
	s.chunks++
	b.pending++
	if gap := at.Sub(s.last); !s.last.IsZero() && gap > 0 && gap <= pauseMost {
		b.decode += gap
	}
	s.last = at
	s.recent = append(s.recent, at)
	for at.Sub(s.recent[0]) > rateOver {
		s.recent = s.recent[1:]
	}
	s.machine(b)
	return false
}

// minute is the present one, from 0 on.
func (s *sustaining) minute() int { return int(s.elapsed / time.Minute) }

func (s *sustaining) bucket() *bucket {
	for len(s.list) <= s.minute() {
		s.list = append(s.list, &bucket{})
	}
	return s.list[s.minute()]
}

// rate is tokens per second over the last moments.
func (s *sustaining) rate() float64 {
	if len(s.recent) < 2 {
		return 0
	}
	return float64(len(s.recent)-1) / s.recent[len(s.recent)-1].Sub(s.recent[0]).Seconds() * s.scale
}

// end is the end of a request: its server says how many tokens its chunks were.
func (s *sustaining) end(a Answer) {
	if a.OutputTokens != nil && s.chunks > 0 && a.Reason != "" {
		s.scale = float64(*a.OutputTokens) / float64(s.chunks)
	}
	for _, b := range s.list {
		b.chunks += b.pending * s.scale
		b.pending = 0
	}
}

// machine writes down what has been told of the machine since the last token.
func (s *sustaining) machine(b *bucket) {
	s.watch.mu.Lock()
	looks := s.watch.looks
	s.watch.mu.Unlock()
	if s.seen == 0 {
		s.seen = max(0, len(looks)-1) // what was before does not belong to it
	}
	for _, l := range looks[min(s.seen, len(looks)):] {
		b.look(l.snapshot)
	}
	s.seen = len(looks)
}

func (b *bucket) look(s *monitor.Snapshot) {
	if g := s.GPU; g != nil {
		if g.Temperature != nil && (b.m.Temperature == nil || *b.m.Temperature < *g.Temperature) {
			b.m.Temperature = g.Temperature
		}
		if g.Clock != nil {
			b.clocks = append(b.clocks, *g.Clock)
		}
		if g.Power != nil {
			b.watts = append(b.watts, *g.Power)
		}
	}
	if s.Thermal != nil {
		b.m.Thermal = string(s.Thermal.Pressure)
	}
	if s.Throttle == nil {
		return
	}
	b.looks++
	if s.Throttle.Throttled {
		b.slowed++
		b.m.Cause = string(s.Throttle.Cause)
	}
}

// minutes are the minutes so far.
func (s *sustaining) minutes() []Minute {
	var all []Minute
	for i, b := range s.list {
		m := b.m
		m.Minute, m.Tokens = i+1, int(b.chunks+0.5)
		if b.decode > time.Second {
			m.Decode = new(b.chunks / b.decode.Seconds())
		}
		m.Clock, m.Power = mean(b.clocks), mean(b.watts)
		if b.looks > 0 {
			m.Throttled = new(float64(b.slowed) / float64(b.looks))
		}
		all = append(all, m)
	}
	return all
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return new(sum / float64(len(values)))
}

// kept is the median rate of the last third ÷ that of the first minute, nil when
// there are fewer than three minutes.
func kept(minutes []Minute) *float64 {
	var rates []float64
	for _, m := range minutes {
		if m.Decode != nil {
			rates = append(rates, *m.Decode)
		}
	}
	if len(rates) < 3 || rates[0] <= 0 {
		return nil
	}
	return new(spread(rates[len(rates)-len(rates)/3:]).Median / rates[0])
}
