package iokit

import (
	"errors"
	"fmt"
	"sync"

	"plimsoll/metal/objc"
)

// runtime is the Objective-C runtime with the classes of Foundation.
type runtime struct {
	lock sync.Mutex
	done bool
	objc *objc.Runtime
	err  error
}

func (s *System) objectiveC() (*objc.Runtime, error) {
	r := &s.runtime
	r.lock.Lock()
	defer r.lock.Unlock()
	if !r.done {
		r.done = true
		p := objc.Paths{ObjC: s.paths.ObjC, System: s.paths.System}
		if s.paths.Foundation != "" {
			p.Frameworks = []string{s.paths.Foundation}
		}
		if p.ObjC == "" || p.System == "" {
			r.err = fmt.Errorf("opening libobjc: no path is given: %w", ErrMissing)
		} else if r.objc, r.err = objc.Open(p); r.err != nil {
			r.err = fmt.Errorf("%w: %w", r.err, ErrMissing)
		}
	}
	return r.objc, r.err
}

// metal is what is needed of Metal.
type metal struct {
	part

	// id<MTLDevice> MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;  <Metal/MTLDevice.h>
	createDefault func() objc.ID
	// NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) NS_RETURNS_RETAINED;  <Metal/MTLDevice.h>
	copyAll func() objc.ID
}

func (s *System) metalCalls() (*metal, error) {
	m := &s.metal
	if !m.bound() {
		m.bind("Metal", s.paths.Metal,
			binding{"MTLCreateSystemDefaultDevice", &m.createDefault},
			binding{"MTLCopyAllDevices", &m.copyAll})
	}
	return m, m.err
}

// Device is the GPU as Metal has it. Sizes are in bytes.
type Device struct {
	Name       string
	WorkingSet uint64 // recommendedMaxWorkingSetSize: it follows the wired limit
	MaxBuffer  uint64 // maxBufferLength
	Allocated  uint64 // currentAllocatedSize: of this process alone
	Unified    bool   // hasUnifiedMemory
}

// Device asks Metal for the GPU. The device is not kept, so that the working set
// is the one of now. The first call of a process loads the GPU's driver and costs
// milliseconds.
func (s *System) Device() (*Device, error) {
	m, err := s.metalCalls()
	if err != nil {
		return nil, err
	}
	r, err := s.objectiveC()
	if err != nil {
		return nil, err
	}
	var d *Device
	r.Pool(func() {
		device := m.createDefault()
		if device == 0 {
			// A program that does not link CoreGraphics has no default device
			// (documentation of MTLCreateSystemDefaultDevice).
			all := m.copyAll()
			defer r.Release(all)
			if r.Send(all, "count") != 0 {
				device = r.Send(r.Send(all, "objectAtIndex:", 0), "retain")
			}
		}
		if device == 0 {
			return
		}
		defer r.Release(device)
		d = &Device{
			Name:       r.Text(r.Send(device, "name")),
			WorkingSet: uint64(r.Send(device, "recommendedMaxWorkingSetSize")),
			MaxBuffer:  uint64(r.Send(device, "maxBufferLength")),
			Allocated:  uint64(r.Send(device, "currentAllocatedSize")),
			Unified:    r.SendBool(device, "hasUnifiedMemory"),
		}
	})
	if d == nil {
		return nil, fmt.Errorf("asking Metal for a device: %w", ErrMissing)
	}
	return d, nil
}

// ThermalState is NSProcessInfo's thermalState: 0 nominal, 1 fair, 2 serious, 3
// critical (NSProcessInfoThermalState, <Foundation/NSProcessInfo.h>).
func (s *System) ThermalState() (state int64, err error) {
	err = s.processInfo(func(r *objc.Runtime, info objc.ID) error {
		state = int64(r.Send(info, "thermalState"))
		return nil
	})
	return state, err
}

// LowPowerMode is NSProcessInfo's lowPowerModeEnabled, which macOS has since 12.
func (s *System) LowPowerMode() (on bool, err error) {
	err = s.processInfo(func(r *objc.Runtime, info objc.ID) error {
		const method = "isLowPowerModeEnabled"
		if !r.SendBool(info, "respondsToSelector:", objc.ID(r.Selector(method))) {
			return fmt.Errorf("NSProcessInfo has no %s: %w", method, ErrMissing)
		}
		on = r.SendBool(info, method)
		return nil
	})
	return on, err
}

func (s *System) processInfo(ask func(r *objc.Runtime, info objc.ID) error) error {
	r, err := s.objectiveC()
	if err != nil {
		return err
	}
	r.Pool(func() {
		class := r.Class("NSProcessInfo")
		if class == 0 {
			err = fmt.Errorf("finding NSProcessInfo: %w", ErrMissing)
			return
		}
		info := r.Send(class, "processInfo")
		if info == 0 {
			err = errors.New("NSProcessInfo: no processInfo")
			return
		}
		err = ask(r, info)
	})
	return err
}
