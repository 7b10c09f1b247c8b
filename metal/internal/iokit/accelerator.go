package iokit

import (
	"fmt"
	"strconv"
	"strings"
)

// Accelerator is a GPU's driver as the IORegistry has it.
type Accelerator struct {
	Class string // such as AGXAcceleratorG13X
	Model string // such as "Apple M1 Max"; "" if it tells none
	Cores *int64 // gpu-core-count; nil if it tells none
	// Statistics are the whole numbers of PerformanceStatistics by their whole keys,
	// such as "Device Utilization %". It is nil where there are none.
	Statistics map[string]int64
}

// accelerator is one whose service is kept open.
type accelerator struct {
	Accelerator
	entry uint32
	told  bool // it had statistics before
}

// Accelerators reads the statistics of all GPUs. The services are kept open; they
// are looked for again when one does not tell any more what it told before. The
// error wraps ErrMissing when there is none.
func (s *System) Accelerators() ([]Accelerator, error) {
	w, err := s.walker()
	if err != nil {
		return nil, err
	}
	defer w.done()
	w.io.lock.Lock()
	defer w.io.lock.Unlock()
	kept := len(w.io.accelerators) > 0
	if err := w.findAccelerators(); err != nil {
		return nil, err
	}
	all, lost, err := w.readAccelerators()
	if lost && kept {
		w.forgetAccelerators()
		if err := w.findAccelerators(); err != nil {
			return nil, err
		}
		all, _, err = w.readAccelerators()
	}
	return all, err
}

// readAccelerators also tells whether one lost what it had.
func (w walker) readAccelerators() (all []Accelerator, lost bool, err error) {
	all = make([]Accelerator, 0, len(w.io.accelerators))
	for i := range w.io.accelerators {
		a := &w.io.accelerators[i]
		ref, err := w.property(a.entry, "PerformanceStatistics")
		if err != nil {
			return nil, false, err
		}
		one := a.Accelerator
		if ref != 0 {
			one.Statistics, err = w.numbers(ref)
			w.release(ref)
			if err != nil {
				return nil, false, fmt.Errorf("reading the statistics of %s: %w", a.Class, err)
			}
		}
		lost = lost || a.told && ref == 0
		a.told = a.told || ref != 0
		all = append(all, one)
	}
	return all, lost, nil
}

// findAccelerators opens the services, if none is open.
func (w walker) findAccelerators() error {
	if len(w.io.accelerators) > 0 {
		return nil
	}
	err := w.services("IOAccelerator", func(entry uint32) (taken, more bool) {
		w.io.accelerators = append(w.io.accelerators, accelerator{
			Accelerator: Accelerator{
				Class: w.class(entry),
				Model: w.propertyText(entry, "model"),
				Cores: w.propertyNumber(entry, "gpu-core-count"),
			},
			entry: entry,
		})
		return true, true
	})
	if err == nil && len(w.io.accelerators) == 0 {
		err = fmt.Errorf("looking for an IOAccelerator: %w", ErrMissing)
	}
	return err
}

func (w walker) forgetAccelerators() {
	for _, a := range w.io.accelerators {
		w.releaseEntry(a.entry)
	}
	w.io.accelerators = nil
}

func (s *System) releaseAccelerators() {
	if !s.registry.bound() {
		return
	}
	w, err := s.walker()
	if err != nil {
		return
	}
	defer w.done()
	w.io.lock.Lock()
	defer w.io.lock.Unlock()
	w.forgetAccelerators()
}

// GPUTimes is the GPU time that each process ever used, in nanoseconds by pid, as
// the accelerators' user clients tell it. A process without a client is not in it,
// and a client that ends takes its time with it. It walks all clients, some
// hundred on a desktop, and costs milliseconds.
//
// User clients are not found by matching; they are children of the accelerator. On
// Apple Silicon each has a list AppUsage, on Intel the number itself.
func (s *System) GPUTimes() (map[int]uint64, error) {
	w, err := s.walker()
	if err != nil {
		return nil, err
	}
	defer w.done()
	w.io.lock.Lock()
	defer w.io.lock.Unlock()
	if err := w.findAccelerators(); err != nil {
		return nil, err
	}
	times := map[int]uint64{}
	for _, a := range w.io.accelerators {
		err := w.childrenOf(a.entry, func(client uint32) (taken, more bool) {
			if pid, ok := creator(w.propertyText(client, "IOUserClientCreator")); ok {
				if t, ok := w.gpuTime(client); ok {
					times[pid] += t
				}
			}
			return false, true
		})
		if err != nil {
			w.forgetAccelerators()
			return nil, fmt.Errorf("reading the clients of %s: %w", a.Class, err)
		}
	}
	return times, nil
}

// gpuTime is one client's; absent if it tells none.
func (w walker) gpuTime(client uint32) (total uint64, ok bool) {
	const field = "accumulatedGPUTime"
	if n := w.propertyNumber(client, field); n != nil && *n >= 0 {
		return uint64(*n), true
	}
	usage, err := w.property(client, "AppUsage")
	if err != nil || usage == 0 {
		return 0, false
	}
	defer w.release(usage)
	key, err := w.s.key(field)
	if err != nil {
		return 0, false
	}
	for i := range w.length(usage) {
		if n, told := w.number(w.value(w.element(usage, i), key)); told && n >= 0 {
			total, ok = total+uint64(n), true
		}
	}
	return total, ok
}

// creator reads "pid 123, name". The name is cut by the kernel and not used.
func creator(text string) (pid int, ok bool) {
	text, ok = strings.CutPrefix(text, "pid ")
	text, _, _ = strings.Cut(text, ",")
	pid, err := strconv.Atoi(text)
	return pid, ok && err == nil && pid >= 0
}
