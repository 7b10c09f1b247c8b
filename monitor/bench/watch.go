package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"plimsoll/monitor"
	"plimsoll/monitor/request"
)

// Watcher tells what else the machine does: a running agent, or a monitor of the
// program's own.
type Watcher interface {
	Watch(context.Context, monitor.Options, func(monitor.Update) error) error
}

const (
	// swapMost is how much may be swapped out during a run, in bytes: systems in
	// use write a little now and then.
	swapMost = 16 << 20
	// backgroundMost is how many cores another program may keep busy.
	backgroundMost = 0.5
	// togetherMost is the same for all other programs together.
	togetherMost = 1
	// gpuMost is the share of the GPU that another program may use: a desktop's
	// windows take less.
	gpuMost = 0.25
	// updateWait is how long an update may be waited for: the slowest ticks are six
	// seconds apart.
	updateWait = 15 * time.Second
)

// look is what one update says of the time since the one before.
type look struct {
	snapshot *monitor.Snapshot
	swapOut  float64
	reasons  []Reason
	power    [2]bool // on battery, low power mode
}

// watch follows the updates while a benchmark runs.
type watch struct {
	model string
	stop  func()
	ended chan struct{} // closed when no more updates come

	mu       sync.Mutex
	looks    []look
	crowded  bool // more than our own request was in flight at the last look
	arrived  chan struct{}
	previous *monitor.Snapshot
}

// observe begins to watch. With no Watcher nothing ever comes.
func observe(ctx context.Context, w Watcher, model string) *watch {
	o := &watch{model: model, ended: make(chan struct{}), arrived: make(chan struct{}, 1), stop: func() {}}
	if w == nil {
		close(o.ended)
		return o
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(o.ended)
		w.Watch(ctx, monitor.Options{Watch: true}, func(u monitor.Update) error {
			o.take(u)
			return nil
		})
	}()
	o.stop = func() { cancel(); <-o.ended }
	return o
}

func (o *watch) take(u monitor.Update) {
	s := u.Snapshot
	if s == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	l := look{snapshot: s, power: powerOf(s)}
	if p := o.previous; p != nil && p.Swap != nil && s.Swap != nil && p.Swap.Out != nil && s.Swap.Out != nil && *s.Swap.Out > *p.Swap.Out {
		l.swapOut = float64(*s.Swap.Out - *p.Swap.Out)
	}
	if t := s.Throttle; t != nil && t.Throttled {
		l.reasons = append(l.reasons, Reason{Kind: ReasonThrottled, Name: string(t.Cause)})
	}
	l.reasons = append(l.reasons, o.others(u)...)
	for _, b := range s.Background {
		if b.Cores >= backgroundMost {
			l.reasons = append(l.reasons, Reason{Kind: ReasonBackground, Name: b.Name, Value: new(b.Cores)})
		}
	}
	o.previous = s
	o.looks = append(o.looks, l)
	select {
	case o.arrived <- struct{}{}:
	default:
	}
}

// others finds what other people's requests and models do.
func (o *watch) others(u monitor.Update) (found []Reason) {
	mine := 0
	for _, r := range u.Snapshot.Requests {
		switch {
		case r.Phase == request.PhaseDone:
		case sameModel(r.Model, o.model):
			mine++
		default:
			found = append(found, Reason{Kind: ReasonOtherModel, Name: r.Model})
		}
	}
	if mine > 1 && o.crowded { // one that just ended may still be listed once
		found = append(found, Reason{Kind: ReasonOtherRequest})
	}
	o.crowded = mine > 1
	for _, r := range u.Snapshot.Residents {
		if !r.Cloud && r.Activity == monitor.ActivityBusy && !sameModel(r.Model, o.model) {
			found = append(found, Reason{Kind: ReasonOtherModel, Name: r.Model})
		}
	}
	for _, e := range u.Events {
		switch {
		case e.Kind == monitor.EventSlept:
			found = append(found, Reason{Kind: ReasonSlept, Value: e.Evidence.Seconds})
		case e.Kind == monitor.EventModelLoaded && !sameModel(e.Evidence.Model, o.model):
			found = append(found, Reason{Kind: ReasonOtherModel, Name: e.Evidence.Model})
		}
	}
	return found
}

func sameModel(a, b string) bool { return tagged(a) == tagged(b) }

func powerOf(s *monitor.Snapshot) (p [2]bool) {
	if s.Power != nil {
		p[0] = s.Power.OnBattery != nil && *s.Power.OnBattery
		p[1] = s.Power.LowPower != nil && *s.Power.LowPower
	}
	return p
}

// mark is a moment among the updates.
func (o *watch) mark() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.looks)
}

// latest is the newest snapshot, nil when there is none.
func (o *watch) latest() *monitor.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.previous
}

// after waits until an update has come since a mark, and reports whether one has.
func (o *watch) after(ctx context.Context, clock monitor.Clock, mark int) bool {
	limit := clock.After(updateWait)
	for o.mark() <= mark {
		select {
		case <-o.arrived:
		case <-o.ended:
			return o.mark() > mark
		case <-limit:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// between is what interfered from one mark to the first update after another.
func (o *watch) between(from, to int) []Reason {
	o.mu.Lock()
	defer o.mu.Unlock()
	looks := o.looks[min(from, len(o.looks)):min(to+1, len(o.looks))]
	var found []Reason
	swapped := 0.0
	for i, l := range looks {
		swapped += l.swapOut
		for _, r := range l.reasons {
			add(&found, r)
		}
		if i > 0 && l.power != looks[i-1].power {
			add(&found, Reason{Kind: ReasonPower})
		}
	}
	if swapped > swapMost {
		found = append([]Reason{{Kind: ReasonSwapping, Value: new(swapped)}}, found...)
	}
	return found
}

// add adds a reason that is not there yet; of two alike the larger number stays.
func add(list *[]Reason, r Reason) {
	i := slices.IndexFunc(*list, func(o Reason) bool { return o.Kind == r.Kind && o.Name == r.Name })
	switch {
	case i < 0:
		*list = append(*list, r)
	case r.Value != nil && ((*list)[i].Value == nil || *(*list)[i].Value < *r.Value):
		(*list)[i] = r
	}
}

// conditions are the state of the machine now.
func (o *watch) conditions() Conditions {
	var c Conditions
	s := o.latest()
	if s == nil {
		return c
	}
	if s.Power != nil {
		c.OnBattery, c.LowPower = s.Power.OnBattery, s.Power.LowPower
	}
	if s.Thermal != nil {
		c.Thermal = string(s.Thermal.Pressure)
	}
	if s.Throttle != nil {
		c.Throttled = new(s.Throttle.Throttled)
	}
	if s.GPU != nil {
		c.Temperature, c.Clock = s.GPU.Temperature, s.GPU.Clock
	}
	if s.Swap != nil {
		c.SwapUsed = s.Swap.Used
	}
	if s.Memory != nil {
		c.Pressure = string(s.Memory.Pressure)
	}
	if s.Headroom != nil {
		c.Headroom = new(s.Headroom.Bytes)
	}
	for _, r := range s.Residents {
		switch {
		case r.Cloud:
		case !sameModel(r.Model, o.model):
			c.Others = append(c.Others, r.Model)
		case r.Size != nil && r.GPU != nil && *r.Size > 0:
			c.GPUShare = new(min(1, float64(*r.GPU)/float64(*r.Size)))
		}
	}
	return c
}

func (o *watch) machine() (m Machine) {
	s := o.latest()
	if s == nil || s.Machine == nil {
		return m
	}
	return Machine{Chip: s.Machine.Chip, Model: s.Machine.Model, OS: s.Machine.OS, RAMBytes: s.Machine.RAMBytes}
}

// volume is the kind of volume that the measured model's file is on, "" where that
// is not known.
func (o *watch) volume() string {
	s := o.latest()
	if s == nil {
		return ""
	}
	for _, r := range s.Residents {
		if sameModel(r.Model, o.model) && r.Volume != nil {
			return string(r.Volume.Kind)
		}
	}
	return ""
}
