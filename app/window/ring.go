package main

import (
	"math"
	"strconv"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

// span of time that the curves show, and the number of steps they are drawn in.
const (
	curveTime  = 10 * time.Minute
	curveSteps = 121
)

// point is what the curves are made of: bytes and tokens/s at one moment, NaN when
// absent.
type point struct {
	taken                  time.Time
	headroom, swap, decode float64
}

// ring keeps the points of the last minutes. It belongs to one goroutine.
type ring struct {
	points []point
	ram    float64 // the machine's memory in bytes, 0 while unknown
}

// add takes a snapshot in. One that is no newer than the last replaces it; one
// that is older by more than a breath begins anew: a replay, or another clock.
func (r *ring) add(s *monitor.Snapshot) {
	if s == nil || s.Taken.IsZero() {
		return
	}
	p := point{taken: s.Taken, headroom: math.NaN(), swap: math.NaN(), decode: decodeRate(s)}
	if s.Headroom != nil {
		p.headroom = float64(s.Headroom.Bytes)
	}
	if s.Swap != nil && s.Swap.Used != nil {
		p.swap = float64(*s.Swap.Used)
	}
	if s.Machine != nil && s.Machine.RAMBytes != nil {
		r.ram = float64(*s.Machine.RAMBytes)
	}
	if n := len(r.points); n > 0 {
		switch last := r.points[n-1].taken; {
		case s.Taken.Before(last.Add(-time.Minute)):
			r.points = nil
		case !s.Taken.After(last):
			r.points = r.points[:n-1]
		}
	}
	r.points = append(r.points, p)
	for len(r.points) > 1 && r.points[0].taken.Before(s.Taken.Add(-curveTime-time.Minute)) {
		r.points = r.points[1:]
	}
}

// curves are what the window shows of the ring: values from 0 to 1, NaN where
// nothing was measured.
type curves struct {
	headroom, swap, decode []float64
	// top is the highest decode rate shown, "" when there was none.
	top string
	// minutes is how long the curves reach back.
	minutes int
}

// swapFloor keeps a few megabytes of swap from looking like a mountain: the
// curve's top is at least this many bytes.
const swapFloor = 1 << 30

// curves draws the ring up to its newest point. Headroom is shown as a share of
// the machine's memory, swap as a share of the most there was.
func (r *ring) curves() curves {
	c := curves{minutes: int(curveTime / time.Minute)}
	if len(r.points) == 0 {
		return c
	}
	most := r.ram
	swap, decode := float64(swapFloor), 0.0
	for _, p := range r.points {
		if r.ram == 0 {
			most = math.Max(most, nothing(p.headroom))
		}
		swap = math.Max(swap, nothing(p.swap)*1.1)
		decode = math.Max(decode, nothing(p.decode))
	}
	c.headroom = r.steps(func(p point) float64 { return p.headroom / math.Max(most, 1) })
	c.swap = r.steps(func(p point) float64 { return p.swap / swap })
	c.decode = r.steps(func(p point) float64 { return p.decode / (1.05 * math.Max(decode, 1e-3)) })
	if decode > 0 {
		c.top = strconv.FormatFloat(decode, 'f', 1, 64)
	}
	return c
}

// decodeRate is the sum of the live rates of all requests in flight, NaN while no
// tokens are made.
func decodeRate(s *monitor.Snapshot) float64 {
	rate := math.NaN()
	for i := range s.Requests {
		if r := &s.Requests[i]; r.Phase == request.PhaseDecode && r.Live != nil && r.Live.Value > 0 {
			rate = nothing(rate) + r.Live.Value
		}
	}
	return rate
}

func nothing(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// hole is the time without a snapshot after which the curves show a gap: the
// slowest tick is well below it.
const hole = 45 * time.Second

// steps takes the ring at even steps of time: the mean of each step's points,
// or the last one before it if that is not too old.
func (r *ring) steps(value func(point) float64) []float64 {
	end := r.points[len(r.points)-1].taken
	step := curveTime / (curveSteps - 1)
	values := make([]float64, curveSteps)
	next := 0
	last, lastTaken := math.NaN(), time.Time{}
	for i := range values {
		until := end.Add(-curveTime + time.Duration(i)*step)
		sum, count := 0.0, 0
		for ; next < len(r.points) && !r.points[next].taken.After(until); next++ {
			last, lastTaken = value(r.points[next]), r.points[next].taken
			if !math.IsNaN(last) {
				sum, count = sum+last, count+1
			}
		}
		switch {
		case count > 0:
			values[i] = sum / float64(count)
		case !lastTaken.IsZero() && until.Sub(lastTaken) < hole:
			values[i] = last
		default:
			values[i] = math.NaN()
		}
	}
	return values
}
