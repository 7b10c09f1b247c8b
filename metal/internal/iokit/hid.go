package iokit

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// hid is what is needed of the IOHID event system. Only the reference types are in
// public headers (<IOKit/hidsystem/IOHIDEventSystemClient.h>); the functions, as
// declared here, are used by exelban/stats (Modules/Sensors/bridge.h), macmon
// (platform/io_hid.rs) and gopsutil.
type hid struct {
	part

	// IOHIDEventSystemClientRef IOHIDEventSystemClientCreate(CFAllocatorRef allocator);
	create function
	// int IOHIDEventSystemClientSetMatching(IOHIDEventSystemClientRef client, CFDictionaryRef match);
	setMatching function
	// CFArrayRef IOHIDEventSystemClientCopyServices(IOHIDEventSystemClientRef client);
	copyServices function
	// CFTypeRef IOHIDServiceClientCopyProperty(IOHIDServiceClientRef service, CFStringRef key);
	copyProperty function
	// IOHIDEventRef IOHIDServiceClientCopyEvent(IOHIDServiceClientRef service, int64_t type,
	//     int32_t options, int64_t timestamp);
	copyEvent function
	// double IOHIDEventGetFloatValue(IOHIDEventRef event, int32_t field);
	floatValue func(event uintptr, field int32) float64

	lock     sync.Mutex
	client   uintptr  // kept
	services uintptr  // kept: the CFArray of the sensors
	sensors  []string // their names, in its order
}

const (
	// The sensors' usage, kHIDPage_AppleVendor and
	// kHIDUsage_AppleVendor_TemperatureSensor (IOHIDFamily, AppleHIDUsageTables.h).
	hidPage, hidUsage = 0xff00, 5
	// hidTemperature is kIOHIDEventTypeTemperature, and hidTemperatureLevel the
	// event's field, IOHIDEventFieldBase of it (IOHIDFamily, IOHIDEventTypes.h).
	hidTemperature      = 15
	hidTemperatureLevel = hidTemperature << 16
)

func (s *System) hidCalls() (*hid, error) {
	h := &s.hid
	if !h.bound() {
		h.bind("IOKit", s.paths.IOKit,
			binding{"IOHIDEventSystemClientCreate", &h.create},
			binding{"IOHIDEventSystemClientSetMatching", &h.setMatching},
			binding{"IOHIDEventSystemClientCopyServices", &h.copyServices},
			binding{"IOHIDServiceClientCopyProperty", &h.copyProperty},
			binding{"IOHIDServiceClientCopyEvent", &h.copyEvent},
			binding{"IOHIDEventGetFloatValue", &h.floatValue})
	}
	return h, h.err
}

// Sensor is a temperature as the HID system tells it.
type Sensor struct {
	Name    string // such as "PMU tdie1"; several may have the same
	Celsius float64
}

// HIDTemperatures reads all sensors that tell a temperature now. The sensors are
// kept open; they are looked for again when none of them tells one. The error
// wraps ErrMissing when there is none.
func (s *System) HIDTemperatures() ([]Sensor, error) {
	h, err := s.hidCalls()
	if err != nil {
		return nil, err
	}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer r.done()
	h.lock.Lock()
	defer h.lock.Unlock()
	kept := h.client != 0
	if err := h.find(r); err != nil {
		return nil, err
	}
	all := h.read(r)
	if len(all) == 0 && kept {
		h.forget(r)
		if err := h.find(r); err != nil {
			return nil, err
		}
		all = h.read(r)
	}
	return all, nil
}

func (h *hid) read(r reader) []Sensor {
	all := make([]Sensor, 0, len(h.sensors))
	for i, name := range h.sensors {
		event := r.call(h.copyEvent, r.element(h.services, i), hidTemperature, 0, 0)
		if event == 0 {
			continue
		}
		all = append(all, Sensor{name, h.floatValue(event, hidTemperatureLevel)})
		r.release(event)
	}
	return all
}

// find opens the sensors, if they are not open.
func (h *hid) find(r reader) error {
	if h.client != 0 {
		return nil
	}
	match, err := hidMatch(r)
	if err != nil {
		return err
	}
	defer r.release(match)
	product, err := r.s.key("Product") // kIOHIDProductKey <IOKit/hid/IOHIDKeys.h>
	if err != nil {
		return err
	}
	if h.client = r.call(h.create, 0); h.client == 0 {
		return errors.New("IOHIDEventSystemClientCreate: no client")
	}
	r.call(h.setMatching, h.client, match)
	if h.services = r.call(h.copyServices, h.client); h.services == 0 {
		h.forget(r)
		return fmt.Errorf("looking for temperature sensors of HID: %w", ErrMissing)
	}
	for i := range r.length(h.services) {
		name := r.call(h.copyProperty, r.element(h.services, i), product)
		h.sensors = append(h.sensors, r.text(name))
		r.release(name)
	}
	if len(h.sensors) == 0 {
		h.forget(r)
		return fmt.Errorf("looking for temperature sensors of HID: %w", ErrMissing)
	}
	return nil
}

// hidMatch is the dictionary that chooses temperature sensors, to be released.
func hidMatch(r reader) (uintptr, error) {
	match := r.call(r.cf.createDictionary, 0, 0, uintptr(r.cf.keyCallbacks), uintptr(r.cf.valueCallbacks))
	if match == 0 {
		return 0, errors.New("CFDictionaryCreateMutable: no dictionary")
	}
	for _, entry := range []struct {
		key   string
		value int32
	}{{"PrimaryUsagePage", hidPage}, {"PrimaryUsage", hidUsage}} { // <IOKit/hid/IOHIDKeys.h>
		key, err := r.s.key(entry.key)
		if err != nil {
			r.release(match)
			return 0, err
		}
		number := r.cf.createNumber(0, numberSInt32, unsafe.Pointer(&entry.value))
		if number == 0 {
			r.release(match)
			return 0, errors.New("CFNumberCreate: no number")
		}
		r.call(r.cf.set, match, key, number)
		r.release(number)
	}
	return match, nil
}

func (h *hid) forget(r reader) {
	r.release(h.services)
	r.release(h.client)
	h.client, h.services, h.sensors = 0, 0, nil
}

func (s *System) releaseSensors() {
	if !s.hid.bound() {
		return
	}
	r, err := s.reader()
	if err != nil {
		return
	}
	defer r.done()
	s.hid.lock.Lock()
	defer s.hid.lock.Unlock()
	s.hid.forget(r)
}
