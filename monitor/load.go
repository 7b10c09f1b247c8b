package monitor

import (
	"slices"
	"strings"
	"time"

	"plimsoll/monitor/request"
)

const (
	// loadSamples is how many readings at full load a median is made of, most of
	// ten minutes of work. They stay while the machine idles.
	loadSamples = 600
	// loadLeast is how long full load must have been seen before its median says
	// anything, as long as slowShare must last: a median holds the present too, so
	// nothing is called slow that was never fast for longer.
	loadLeast = usualHold
	// loadKinds is how many sets of models are remembered.
	loadKinds = 32
)

// loads remembers what this machine draws and clocks at full load, apart for
// each set of models at work: another model may take fewer watts by its nature.
type loads struct{ by map[string]*load }

// load is the latest readings of one kind of work, in a ring.
type load struct {
	powers, clocks []float64
	nextP, nextC   int
	seen           time.Duration
	medianP        *float64
	medianC        *float64
}

// of finds what is remembered of the work in a snapshot; nil when nothing is.
func (l *loads) of(s *Snapshot) *load { return l.by[kindOfWork(s)] }

// add learns from the newest snapshot, which is at full load.
func (l *loads) add(h *History) {
	now, before := h.back(0), h.back(1)
	key := kindOfWork(now)
	one := l.by[key]
	if one == nil {
		if l.by == nil || len(l.by) >= loadKinds {
			l.by = map[string]*load{}
		}
		one = &load{}
		l.by[key] = one
	}
	if before != nil {
		dt := elapsed(before, now)
		if dt < shortest {
			return // twice the same reading
		}
		one.seen += min(dt, longest)
	}
	if watts := positive(now.GPU.Power); watts != nil {
		one.powers, one.nextP, one.medianP = ring(one.powers, one.nextP, *watts), (one.nextP+1)%loadSamples, nil
	}
	if clock := positive(now.GPU.Clock); clock != nil {
		one.clocks, one.nextC, one.medianC = ring(one.clocks, one.nextC, *clock), (one.nextC+1)%loadSamples, nil
	}
}

func ring(list []float64, at int, x float64) []float64 {
	if len(list) < loadSamples {
		return append(list, x)
	}
	list[at] = x
	return list
}

// power and clock are the medians, nil as long as they say nothing.
func (l *load) power() *float64 {
	if l == nil || l.seen < loadLeast {
		return nil
	}
	if l.medianP == nil {
		l.medianP = median(l.powers)
	}
	return l.medianP
}

func (l *load) clock() *float64 {
	if l == nil || l.seen < loadLeast {
		return nil
	}
	if l.medianC == nil {
		l.medianC = median(l.clocks)
	}
	return l.medianC
}

// median is nil of nothing.
func median(list []float64) *float64 {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(list))
	return &sorted[len(sorted)/2]
}

// kindOfWork names the models at work, and whether the machine saves power.
func kindOfWork(s *Snapshot) string {
	var names []string
	for i := range s.Residents {
		if r := &s.Residents[i]; r.Activity == ActivityBusy && !r.Cloud {
			name := residentKey(r)
			if reading(s, r) { // takes other watts than decoding
				name += "\n" + string(request.PhasePrefill)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if lowPower(s) {
		names = append(names, string(CauseLowPower))
	}
	return strings.Join(names, "\n")
}
