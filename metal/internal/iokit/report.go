package iokit

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

// report is what is needed of libIOReport. It has no public header; the functions,
// as declared here, are used by exelban/stats (Modules/CPU/bridge.h), macmon
// (platform/io_report.rs) and others, some of which declare an int * where the
// index of a simple value stands: 0 is right for both.
type report struct {
	part

	// CFMutableDictionaryRef IOReportCopyChannelsInGroup(CFStringRef group, CFStringRef subgroup,
	//     uint64_t, uint64_t, uint64_t);
	copyChannels function
	// void IOReportMergeChannels(CFMutableDictionaryRef into, CFDictionaryRef from, CFTypeRef);
	merge function
	// IOReportSubscriptionRef IOReportCreateSubscription(void *, CFMutableDictionaryRef desired,
	//     CFMutableDictionaryRef *subscribed, uint64_t, CFTypeRef);
	createSubscription function
	// CFDictionaryRef IOReportCreateSamples(IOReportSubscriptionRef, CFMutableDictionaryRef subscribed,
	//     CFTypeRef);
	createSamples function
	// CFDictionaryRef IOReportCreateSamplesDelta(CFDictionaryRef before, CFDictionaryRef now, CFTypeRef);
	createDelta function

	// CFStringRef IOReportChannelGetGroup(CFDictionaryRef channel);  and so on
	group, subgroup, name, unit function
	// int IOReportChannelGetFormat(CFDictionaryRef channel);
	format function
	// int64_t IOReportSimpleGetIntegerValue(CFDictionaryRef channel, int32_t index);
	simpleValue function
	// int32_t IOReportStateGetCount(CFDictionaryRef channel);
	stateCount function
	// CFStringRef IOReportStateGetNameForIndex(CFDictionaryRef channel, int32_t index);
	stateName function
	// int64_t IOReportStateGetResidency(CFDictionaryRef channel, int32_t index);
	stateResidency function
}

const (
	// kIOReportFormatSimple and kIOReportFormatState (XNU, iokit/IOKit/IOReportTypes.h).
	formatSimple, formatState = 1, 2
	// invalidValue is kIOReportInvalidIntValue, "used to indicate data errors" (same).
	invalidValue = math.MinInt64
	// statesMost is above what any channel has; a count beyond it is nonsense.
	statesMost = 1024
)

func (s *System) reports() (*report, error) {
	p := &s.report
	if !p.bound() {
		p.bind("libIOReport", s.paths.IOReport,
			binding{"IOReportCopyChannelsInGroup", &p.copyChannels},
			binding{"IOReportMergeChannels", &p.merge},
			binding{"IOReportCreateSubscription", &p.createSubscription},
			binding{"IOReportCreateSamples", &p.createSamples},
			binding{"IOReportCreateSamplesDelta", &p.createDelta},
			binding{"IOReportChannelGetGroup", &p.group},
			binding{"IOReportChannelGetSubGroup", &p.subgroup},
			binding{"IOReportChannelGetChannelName", &p.name},
			binding{"IOReportChannelGetUnitLabel", &p.unit},
			binding{"IOReportChannelGetFormat", &p.format},
			binding{"IOReportSimpleGetIntegerValue", &p.simpleValue},
			binding{"IOReportStateGetCount", &p.stateCount},
			binding{"IOReportStateGetNameForIndex", &p.stateName},
			binding{"IOReportStateGetResidency", &p.stateResidency})
	}
	return p, p.err
}

// Entry is what a channel counted between two samples.
type Entry struct {
	Group, Subgroup, Name string
	Unit                  string  // as the channel labels it, such as "mJ"; "" if it has none
	Value                 *int64  // of a simple channel; nil for others and where the driver tells an error
	States                []State // of a channel that counts how long it was in which state
}

// State is one state of a channel and how long it was in it, in the unit of the
// entry.
type State struct {
	Name      string
	Residency int64
}

// Report is a subscription. It may be used by several goroutines, but they share
// its last sample.
type Report struct {
	s    *System
	io   *report
	lock sync.Mutex

	subscription uintptr // 0 when closed
	channels     uintptr
	last         uintptr // the last sample, 0 before the first
}

// Subscribe subscribes to channels, only to those named: sampling others costs
// time. The error wraps ErrMissing if there is none of them; some may be missing.
func (s *System) Subscribe(only ...Channel) (*Report, error) {
	p, err := s.reports()
	if err != nil {
		return nil, err
	}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer r.done()
	desired, err := p.desired(r, only)
	if err != nil {
		return nil, fmt.Errorf("subscribing to IOReport: %w", err)
	}
	defer r.release(desired)
	*at[uintptr](r.address) = 0
	subscription := r.call(p.createSubscription, 0, desired, r.address, 0, 0)
	subscribed := *at[uintptr](r.address)
	if subscription == 0 || subscribed == 0 {
		r.release(subscription)
		r.release(subscribed)
		return nil, errors.New("subscribing to IOReport: the kernel gives no subscription")
	}
	return &Report{s: s, io: p, subscription: subscription, channels: subscribed}, nil
}

// Close ends the subscription. Closing again does nothing.
func (p *Report) Close() {
	r, err := p.s.reader()
	if err != nil {
		return
	}
	defer r.done()
	p.lock.Lock()
	defer p.lock.Unlock()
	r.release(p.last)
	r.release(p.channels)
	r.release(p.subscription)
	p.last, p.channels, p.subscription = 0, 0, 0
}

// Delta samples, and tells what was counted since the sample before. At the first
// call there is none, and both results are nil.
func (p *Report) Delta() ([]Entry, error) {
	r, err := p.s.reader()
	if err != nil {
		return nil, err
	}
	defer r.done()
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.subscription == 0 {
		return nil, fmt.Errorf("sampling IOReport: %w", errClosed)
	}
	sample := r.call(p.io.createSamples, p.subscription, p.channels, 0)
	if sample == 0 {
		return nil, errors.New("sampling IOReport: no sample")
	}
	before := p.last
	p.last = sample
	if before == 0 {
		return nil, nil
	}
	defer r.release(before)
	delta := r.call(p.io.createDelta, before, sample, 0)
	if delta == 0 {
		return nil, errors.New("sampling IOReport: no difference to the sample before")
	}
	defer r.release(delta)
	return p.io.entries(r, delta)
}

// channelsKey is under which a dictionary of channels or samples has them.
const channelsKey = "IOReportChannels"

// entries reads what a difference of samples has.
func (p *report) entries(r reader, delta uintptr) ([]Entry, error) {
	key, err := r.s.key(channelsKey)
	if err != nil {
		return nil, err
	}
	channels := r.value(delta, key)
	n := r.length(channels)
	entries := make([]Entry, 0, n)
	values := make([]int64, 0, n)
	for i := range n {
		channel := r.element(channels, i)
		e := p.labels(r, channel)
		e.Unit = strings.TrimSpace(r.text(r.call(p.unit, channel)))
		switch int32(r.call(p.format, channel)) {
		case formatSimple:
			if v := int64(r.call(p.simpleValue, channel, 0)); v != invalidValue {
				values = append(values, v)
				e.Value = &values[len(values)-1]
			}
		case formatState:
			e.States = p.states(r, channel)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (p *report) labels(r reader, channel uintptr) Entry {
	return Entry{
		Group:    r.text(r.call(p.group, channel)),
		Subgroup: r.text(r.call(p.subgroup, channel)),
		Name:     r.text(r.call(p.name, channel)),
	}
}

// states leaves out those whose time the driver does not know.
func (p *report) states(r reader, channel uintptr) []State {
	n := int32(r.call(p.stateCount, channel))
	if n <= 0 || n > statesMost {
		return nil
	}
	states := make([]State, 0, n)
	for i := range uintptr(n) {
		if t := int64(r.call(p.stateResidency, channel, i)); t != invalidValue {
			states = append(states, State{r.text(r.call(p.stateName, channel, i)), t})
		}
	}
	return states
}
