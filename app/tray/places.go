package tray

import "time"

// rest is how long a row that lost its thing stays empty if another is free.
const rest = 5 * time.Second

// places keeps each thing in one place for as long as it is there. A place is
// an index; others never move when one becomes free.
type places struct {
	keys  []string    // "" is free
	freed []time.Time // zero: never used
}

func newPlaces(n int) *places {
	return &places{keys: make([]string, n), freed: make([]time.Time, n)}
}

// arrange finds a place for each key, keeping those that have one. Only as
// many keys as there are places are looked at. The answer holds for each place
// the index of its key, or −1.
func (p *places) arrange(keys []string, now time.Time) []int {
	keys = keys[:min(len(keys), len(p.keys))]
	wanted := make(map[string]int, len(keys))
	for i, key := range keys {
		wanted[key] = i
	}
	held := make([]int, len(p.keys))
	for place, key := range p.keys {
		held[place] = -1
		if key == "" {
			continue
		}
		if i, ok := wanted[key]; ok {
			held[place] = i
			delete(wanted, key)
		} else {
			p.keys[place], p.freed[place] = "", now
		}
	}
	for i, key := range keys {
		if j, ok := wanted[key]; !ok || j != i {
			continue // has its place, or is named twice
		}
		place := p.free(now)
		p.keys[place], held[place] = key, i
	}
	return held
}

// free is the first place that has rested, else the one that is free longest.
// There is always one: no more keys are placed than there are places.
func (p *places) free(now time.Time) int {
	best := -1
	for place, key := range p.keys {
		if key != "" {
			continue
		}
		if now.Sub(p.freed[place]) >= rest {
			return place
		}
		if best < 0 || p.freed[place].Before(p.freed[best]) {
			best = place
		}
	}
	return best
}
