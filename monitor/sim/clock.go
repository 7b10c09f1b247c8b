package sim

import (
	"container/heap"
	"math"
	"runtime"
	"sync"
	"time"
)

// Clock is the one source of time of a simulation: the simulated Mac, its model
// server and the monitor that looks at them all share one. It runs at a speed
// against real time, stands still when frozen, and can be stepped.
//
// It tells two times. Now is the wall clock. Awake is the time that passed while
// the machine was awake; timers run on it, as they do on a Mac, whose monotonic
// clock stands still in sleep.
type Clock struct {
	mu     sync.Mutex
	speed  float64
	frozen bool
	start  time.Time     // the wall clock at awake zero
	awake  time.Duration // at the moment real
	real   time.Time     // when awake was last made exact
	slept  time.Duration
	jumped time.Duration // by setting the wall clock

	timers timers
	order  uint64
	alarm  *time.Timer // the real timer of the earliest of timers
	asked  uint64      // calls of After so far
	settle func()
	hooks  []func()
}

// timer is one entry of the queue: a channel to deliver to, or a function to call.
type timer struct {
	at    time.Duration
	order uint64
	ch    chan time.Time
	call  func()
}

// NewClock starts a clock that shows start and runs speed times as fast as real
// time. With a speed of zero it is frozen, and runs at real speed once it is not.
func NewClock(start time.Time, speed float64) *Clock {
	c := &Clock{speed: speed, frozen: speed <= 0, start: start.Round(0), real: time.Now()}
	if c.frozen {
		c.speed = 1
	}
	return c
}

// Now is the simulated wall clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall(c.awakeNow())
}

// Awake is the simulated time that the machine was awake since the clock started.
func (c *Clock) Awake() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awakeNow()
}

// Speed is how fast the clock runs against real time; 0 while it is frozen.
func (c *Clock) Speed() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		return 0
	}
	return c.speed
}

// After delivers the wall clock once, when d of awake time has passed.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	ch := make(chan time.Time, 1)
	c.add(&timer{at: c.awakeNow() + max(d, 0), ch: ch})
	return ch
}

// SetSpeed changes how fast the clock runs from now on. A speed of zero or less
// is ignored; Freeze stops the clock.
func (c *Clock) SetSpeed(speed float64) {
	if speed <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebase()
	c.speed = speed
	c.arm()
}

// Freeze stops the clock, or lets it run again at the speed it had.
func (c *Clock) Freeze(frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebase()
	c.frozen = frozen
	c.arm()
}

// Advance moves the clock on by d at once. What was due in between happens at
// its own moment and in order: the simulation steps, and each After delivers.
// After a delivery the goroutine that waits for it is given the chance to act
// before time moves on (see SetSettle). What the simulated Mac does in the time
// depends on the course of events alone, never on real time, when the clock is
// frozen.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.rebase()
	end := c.awake + max(d, 0)
	for len(c.timers) > 0 && c.timers[0].at <= end {
		t := heap.Pop(&c.timers).(*timer)
		c.awake, c.real = max(c.awake, t.at), time.Now()
		now, asked, settle := c.wall(c.awake), c.asked, c.settle
		c.mu.Unlock()
		t.fire(now)
		if t.ch != nil {
			c.rest(t.ch, asked, settle)
		}
		c.mu.Lock()
	}
	c.awake, c.real = max(c.awake, end), time.Now()
	c.arm()
	c.mu.Unlock()
}

// SetSettle sets what Advance calls after each delivery, so that goroutines which
// wait on the clock come to rest before time moves on; in a synctest bubble that
// is synctest.Wait. Without one Advance waits up to a few milliseconds of real
// time for the delivery to be taken and a new After to be asked for.
func (c *Clock) SetSettle(settle func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle = settle
}

// Sleep lets the machine sleep for d: the wall clock moves on, Awake does not.
func (c *Clock) Sleep(d time.Duration) { c.shift(max(d, 0), &c.slept) }

// Jump sets the wall clock forwards or backwards by d without any time passing.
func (c *Clock) Jump(d time.Duration) { c.shift(d, &c.jumped) }

// shift adds d to one part of the wall clock, after those who integrate over
// time have caught up with the time before.
func (c *Clock) shift(d time.Duration, part *time.Duration) {
	c.mu.Lock()
	hooks := c.hooks
	c.mu.Unlock()
	for _, hook := range hooks {
		hook()
	}
	c.mu.Lock()
	*part += d
	c.mu.Unlock()
}

// beforeShift registers what runs before the wall clock and Awake part.
func (c *Clock) beforeShift(hook func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = append(c.hooks, hook)
}

// moment tells awake time, the wall clock less awake time, and time slept.
func (c *Clock) moment() (awake time.Duration, base time.Time, slept time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awakeNow(), c.wall(0), c.slept
}

// call runs f at the awake time at, or at once when that is past, without the
// clock's lock held.
func (c *Clock) call(at time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(&timer{at: at, call: f})
}

// awakeNow is Awake with the lock held.
func (c *Clock) awakeNow() time.Duration {
	if c.frozen {
		return c.awake
	}
	return c.awake + time.Duration(float64(time.Since(c.real))*c.speed)
}

func (c *Clock) wall(awake time.Duration) time.Time {
	return c.start.Add(awake + c.slept + c.jumped)
}

func (c *Clock) rebase() { c.awake, c.real = c.awakeNow(), time.Now() }

func (c *Clock) add(t *timer) {
	c.order++
	t.order = c.order
	heap.Push(&c.timers, t)
	if c.timers[0] == t {
		c.arm()
	}
}

// arm sets the real timer for the earliest entry; a frozen clock has none.
func (c *Clock) arm() {
	if c.alarm != nil {
		c.alarm.Stop()
		c.alarm = nil
	}
	if c.frozen || len(c.timers) == 0 {
		return
	}
	wait := float64(c.timers[0].at-c.awakeNow()) / c.speed
	c.alarm = time.AfterFunc(time.Duration(math.Ceil(max(wait, 0))), c.due)
}

// due fires what is due on a running clock.
func (c *Clock) due() {
	c.mu.Lock()
	for len(c.timers) > 0 && !c.frozen && c.timers[0].at <= c.awakeNow() {
		t := heap.Pop(&c.timers).(*timer)
		now := c.wall(c.awakeNow())
		c.mu.Unlock()
		t.fire(now)
		c.mu.Lock()
	}
	c.arm()
	c.mu.Unlock()
}

func (t *timer) fire(now time.Time) {
	if t.call != nil {
		t.call()
		return
	}
	t.ch <- now // has room for the one value it ever gets
}

// rest waits until whoever waits on ch took its value and asked for the next, at
// most a few milliseconds of real time: a timer that nobody waits for any more is
// never taken.
func (c *Clock) rest(ch chan time.Time, asked uint64, settle func()) {
	if settle != nil {
		settle()
		return
	}
	const patience = 3 * time.Millisecond
	for began := time.Now(); time.Since(began) < patience; runtime.Gosched() {
		c.mu.Lock()
		again := c.asked != asked
		c.mu.Unlock()
		if again && len(ch) == 0 {
			return
		}
	}
}

// timers is a heap by time, then by the order in which they were asked for.
type timers []*timer

func (q timers) Len() int { return len(q) }
func (q timers) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}
func (q timers) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timers) Push(x any)   { *q = append(*q, x.(*timer)) }
func (q *timers) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
