// Package iokit calls what a Mac has to tell about itself from pure Go: Mach and
// libproc, the IORegistry, the SMC, IOHID sensors, IOReport, Metal, NSProcessInfo,
// Darwin notify and power sources. It hands out what the system answers; package
// metal gives it a meaning.
//
// It is not bound to an operating system: each library is found by a path that is
// given, so the bindings run on Linux against libraries built from C. Each binding
// stands beside its C prototype and the header it is from; for the private ones it
// is named which public programs use them so.
//
// The rules that hold for all of them: A library is opened when it is first
// needed, once, and never closed. A symbol is looked up before it is bound, so one
// that is missing is an error and not a panic. What a function with Create or Copy
// in its name returns is released, what a Get returns is not. Objective-C runs
// inside an autorelease pool on one thread. Memory of Go is passed as a pointer
// and never as a number, because a stack that grows moves it; calls that are made
// often write into memory of C, see scratch.
//
// What is slow to open (a connection, a subscription, a service, a token) stays
// open between reads. Release gives it back.
package iokit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"
)

// LibSystem is where macOS has Mach, libproc, notify and memory. Like all system
// libraries it is in the shared cache and not on disk; only dlopen finds it.
const LibSystem = "/usr/lib/libSystem.B.dylib"

// Paths says where the libraries are. One that is "" or not there takes only its
// own functions away; System is needed by all.
type Paths struct {
	System         string
	CoreFoundation string
	IOKit          string // with power sources and IOHID
	IOReport       string
	ObjC           string
	Foundation     string // for its classes
	Metal          string
}

// MacPaths is where macOS has its libraries.
func MacPaths() Paths {
	framework := func(name string) string {
		return "/System/Library/Frameworks/" + name + ".framework/" + name
	}
	return Paths{
		System:         LibSystem,
		CoreFoundation: framework("CoreFoundation"),
		IOKit:          framework("IOKit"),
		IOReport:       "/usr/lib/libIOReport.dylib",
		ObjC:           "/usr/lib/libobjc.A.dylib",
		Foundation:     framework("Foundation"),
		Metal:          framework("Metal"),
	}
}

// ErrMissing is what errors wrap when this machine does not have what was asked: a
// library, a symbol, a service, a property or a channel. Asking again is no use.
var ErrMissing = errors.New("not on this machine")

// System is what was opened. It may be used by several goroutines.
type System struct {
	paths Paths

	mach           mach
	proc           libproc
	notify         notify
	memory         memory
	coreFoundation coreFoundation
	registry       registry
	connect        connect
	hid            hid
	report         report
	power          power
	runtime        runtime
	metal          metal

	scratches scratches
	names     names
}

var (
	opening sync.Mutex
	opened  = map[Paths]*System{}
)

// Open gives the system of these paths; asked again, the same. Libraries are
// opened when they are needed, so only a path for none of them is an error here.
func Open(p Paths) (*System, error) {
	if p == (Paths{}) {
		return nil, errors.New("opening system libraries: no path is given")
	}
	opening.Lock()
	defer opening.Unlock()
	s := opened[p]
	if s == nil {
		s = &System{paths: p}
		opened[p] = s
	}
	return s, nil
}

// Release gives back what reads keep open: services, sensors, notify tokens and
// constant strings. The next read opens it again; none may be under way. SMC and
// Report are closed by who opened them.
func (s *System) Release() {
	s.releaseAccelerators()
	s.releaseSensors()
	s.releaseTokens()
	s.releaseKeys()
}

// part is a group of functions that are of use only together.
type part struct {
	opening sync.Mutex
	done    atomic.Bool
	err     error
}

// binding is a symbol and where it goes: a pointer to a function variable, to a
// function, or to an address of data.
type binding struct {
	symbol string
	to     any
}

// function is the address of a C function that scratch.call calls.
type function uintptr

// data is the address of a C variable.
type data uintptr

// bound tells whether the part was bound before, successfully or not.
func (p *part) bound() bool { return p.done.Load() }

// bind opens a library and binds its functions, once.
func (p *part) bind(library, path string, bindings ...binding) error {
	p.opening.Lock()
	defer p.opening.Unlock()
	if !p.done.Load() {
		p.err = bind(library, path, bindings)
		p.done.Store(true)
	}
	return p.err
}

func bind(library, path string, bindings []binding) error {
	if path == "" {
		return fmt.Errorf("opening %s: no path is given: %w", library, ErrMissing)
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("opening %s: %w: %w", path, err, ErrMissing)
	}
	for _, b := range bindings {
		address, err := purego.Dlsym(lib, b.symbol)
		if err != nil {
			return fmt.Errorf("finding %s in %s: %w: %w", b.symbol, path, err, ErrMissing)
		}
		switch to := b.to.(type) {
		case *function:
			*to = function(address)
		case *data:
			*to = data(address)
		default:
			purego.RegisterFunc(b.to, address)
		}
	}
	return nil
}
