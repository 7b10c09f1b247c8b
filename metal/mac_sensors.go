package metal

import (
	"slices"
	"strings"
	"time"

	"plimsoll/metal/internal/iokit"
)

// macSensors are the sensors that tell the GPU's temperature. Which keys a Mac has
// is found once; after that only those are read, for reading all keys costs ten
// times as much energy as all the rest (exelban/stats#2554).
type macSensors struct {
	opened bool
	smc    smcKeys
	keys   []watchedSensor

	search keySearch
	hid    []watchedSensor
	hidAt  time.Duration
	hidSet bool
}

// hidSpacing is the time between two readings of the HID sensors, of which all
// have to be read to read one.
const hidSpacing = 5 * time.Second

// read gives the sensor that counts, nil when none has a plausible reading.
func (s *macSensors) read(hw macHardware, generation string, load *float64, awake time.Duration) *watchedSensor {
	if !s.opened {
		s.opened = true
		if s.smc, _ = hw.Keys(); s.smc != nil {
			s.add(gpuKeys[generation])
			s.search.done = generation == withoutPrefix
		}
	}
	if s.smc != nil {
		s.readKeys(load)
		best := hottestOf(s.keys)
		if best == nil && !s.search.done {
			// The table knows nothing of this chip, or what it knows does not work.
			s.add(s.search.more(s.smc))
			s.readKeys(load)
			best = hottestOf(s.keys)
		}
		if best != nil {
			return best
		}
	}
	if !s.hidSet || awake-s.hidAt >= hidSpacing {
		s.hidSet, s.hidAt = true, awake
		sensors, _ := hw.HIDTemperatures()
		s.readHID(sensors, load)
	}
	return hottestOf(s.hid)
}

// add watches those of the keys that this Mac has as temperatures.
func (s *macSensors) add(keys []string) {
	for _, key := range keys {
		if slices.ContainsFunc(s.keys, func(w watchedSensor) bool { return w.name == key }) {
			continue
		}
		if kind, _, err := s.smc.Info(key); err == nil && kind == temperatureType {
			s.keys = append(s.keys, watchedSensor{name: key})
		}
	}
}

func (s *macSensors) readKeys(load *float64) {
	for i := range s.keys {
		w := &s.keys[i]
		celsius, ok := 0.0, false
		if kind, b, err := s.smc.Read(w.name); err == nil {
			celsius, ok = decodeSMC(kind, b)
		}
		if !ok {
			celsius = 0
		}
		w.see(celsius, load)
	}
}

// readHID takes the sensors of the first kind that has a plausible reading.
func (s *macSensors) readHID(sensors []iokit.Sensor, load *float64) {
	kind := 0
	if !slices.ContainsFunc(sensors, func(t iokit.Sensor) bool { return hidKind(t.Name) == 0 && plausible(t.Celsius) }) {
		kind = 1
	}
	for i := range s.hid {
		s.hid[i].read = false
	}
	if len(s.hid) > 2*len(sensors) {
		s.hid = nil // others than before
	}
	next := 0 // several may have one name; their order stays
	for _, t := range sensors {
		if hidKind(t.Name) != kind {
			continue
		}
		for next < len(s.hid) && s.hid[next].name != t.Name {
			next++
		}
		if next == len(s.hid) {
			s.hid = append(s.hid, watchedSensor{name: t.Name})
		}
		s.hid[next].see(t.Celsius, load)
		next++
	}
}

// keySearch finds the keys that start with gpuPrefix, once per start. The keys are
// in order (Linux's macsmc driver relies on it), so they are found by halving; if
// that finds none, all are looked at, some at each call.
type keySearch struct {
	done    bool
	halved  bool
	next    int // of the keys that are looked at one by one
	visited int
}

const (
	mostKeys   = 1 << 14 // Macs have about 2000
	keysAtOnce = 128
)

// more gives keys that were found in this call.
func (k *keySearch) more(smc smcKeys) []string {
	count, err := smc.Count()
	if err != nil || count <= 0 || count > mostKeys {
		k.done = true
		return nil
	}
	if !k.halved {
		k.halved = true
		if found := k.halve(smc, count); len(found) > 0 {
			k.done = true
			return found
		}
	}
	var found []string
	for end := min(count, k.next+keysAtOnce); k.next < end; k.next++ {
		if key := k.at(smc, k.next); strings.HasPrefix(key, gpuPrefix) {
			found = append(found, key)
		}
	}
	k.done = k.next >= count
	return found
}

// halve looks for the first key with the prefix in a list that is in order.
func (k *keySearch) halve(smc smcKeys, count int) (found []string) {
	low, high := 0, count
	for low < high {
		middle := low + (high-low)/2
		if k.at(smc, middle) < gpuPrefix {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for ; low < count; low++ {
		key := k.at(smc, low)
		if !strings.HasPrefix(key, gpuPrefix) {
			break
		}
		found = append(found, key)
	}
	return found
}

func (k *keySearch) at(smc smcKeys, i int) string {
	k.visited++
	key, err := smc.KeyAt(i)
	if err != nil {
		return ""
	}
	return key
}
