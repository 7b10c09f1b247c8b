package sim

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What a monitor wants of a clock.
var _ interface {
	Now() time.Time
	Awake() time.Duration
	After(time.Duration) <-chan time.Time
} = (*Clock)(nil)

func TestClockRunsAtItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(noon, 10)
		c.SetSettle(synctest.Wait)
		time.Sleep(3 * time.Second)
		if d := c.Awake(); d != 30*time.Second || !c.Now().Equal(noon.Add(d)) {
			t.Errorf("after 3 s at speed 10: %v, %v", d, c.Now())
		}
		c.SetSpeed(2)
		time.Sleep(5 * time.Second)
		if d := c.Awake(); d != 40*time.Second || c.Speed() != 2 {
			t.Errorf("after 5 s more at speed 2: %v", d)
		}
		c.Freeze(true)
		late := c.After(time.Second)
		time.Sleep(time.Hour)
		if d := c.Awake(); d != 40*time.Second || c.Speed() != 0 {
			t.Errorf("frozen, and yet %v", d)
		}
		select {
		case <-late:
			t.Error("a timer fired on a frozen clock")
		default:
		}
		c.Freeze(false)
		began := time.Now()
		if at := <-late; !at.Equal(noon.Add(41*time.Second)) || time.Since(began).Round(time.Millisecond) != 500*time.Millisecond {
			t.Errorf("fired at %v after %v", at, time.Since(began))
		}
		c.SetSpeed(0)
		if c.Speed() != 2 {
			t.Error("a speed of zero was taken")
		}
	})
}

func TestClockTimersFireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(noon, 100)
		var got []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i, d := range []time.Duration{3, 1, 2, 0} {
			all.Go(func() {
				<-c.After(d * time.Minute)
				mu.Lock()
				got = append(got, i)
				mu.Unlock()
			})
		}
		all.Wait()
		if !slices.Equal(got, []int{3, 1, 2, 0}) {
			t.Errorf("order %v", got)
		}
	})
}

// TestAdvanceLetsDependentsRun: a goroutine that ticks each second sees every
// second, at its own time, within one long Advance.
func TestAdvanceLetsDependentsRun(t *testing.T) {
	for name, bubble := range map[string]bool{"in a bubble": true, "in real time": false} {
		t.Run(name, func(t *testing.T) {
			if bubble {
				synctest.Test(t, func(t *testing.T) { ticks(t, synctest.Wait) })
				return
			}
			ticks(t, nil)
		})
	}
}

func ticks(t *testing.T, settle func()) {
	c := NewClock(noon, 0)
	c.SetSettle(settle)
	var seen []time.Duration
	stopped := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(stopped)
		next := c.After(time.Second)
		close(ready)
		for len(seen) < 60 {
			<-next
			seen = append(seen, c.Awake())
			next = c.After(time.Second)
		}
	}()
	<-ready
	c.Advance(time.Minute)
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("the ticker did not keep up")
	}
	for i, at := range seen {
		if want := time.Duration(i+1) * time.Second; at != want {
			t.Fatalf("tick %d at %v", i, at)
		}
	}
	if d := c.Awake(); d != time.Minute {
		t.Errorf("advanced to %v", d)
	}
}

// TestAdvanceIgnoresTheAbandoned: a timer that nobody waits for costs little.
func TestAdvanceIgnoresTheAbandoned(t *testing.T) {
	c := NewClock(noon, 0)
	for range 5 {
		c.After(time.Second)
	}
	c.Advance(2 * time.Second)
	if c.Awake() != 2*time.Second {
		t.Error(c.Awake())
	}
}

func TestClockSleepAndJump(t *testing.T) {
	c := NewClock(noon, 0)
	timer := c.After(time.Minute)
	told := 0
	c.beforeShift(func() { told++ })
	c.Sleep(time.Hour)
	c.Jump(-20 * time.Minute)
	if c.Awake() != 0 || !c.Now().Equal(noon.Add(40*time.Minute)) || told != 2 {
		t.Errorf("awake %v, now %v, told %d times", c.Awake(), c.Now(), told)
	}
	select {
	case <-timer:
		t.Error("a timer ran in sleep")
	default:
	}
	c.Advance(time.Minute)
	if at := <-timer; !at.Equal(noon.Add(41 * time.Minute)) {
		t.Errorf("fired at %v", at)
	}
	if _, _, slept := c.moment(); slept != time.Hour {
		t.Errorf("slept %v", slept)
	}
}
