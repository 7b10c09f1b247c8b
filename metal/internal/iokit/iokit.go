// Package iokit calls Mach and libproc functions of macOS from pure Go: each
// binding stands beside its C prototype and the header it is from. It hands out
// the bytes that the system fills in; package metal decodes them.
//
// It is not bound to an operating system: the library is found by a path that is
// given, so the bindings run on Linux against a library built from C. A library
// is opened once and never closed. A symbol is looked up before it is bound, so
// one that is missing is an error and not a panic.
//
// Memory of Go is passed as a pointer and never as a number: a stack that grows
// moves it.
package iokit

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LibSystem is where macOS has all functions of this package. The file is in the
// system's shared cache and not on disk; only dlopen finds it.
const LibSystem = "/usr/lib/libSystem.B.dylib"

// Paths says where the libraries are.
type Paths struct {
	System string
}

// System is an opened library. It may be used by several goroutines.
type System struct {
	// mach_port_t mach_host_self(void);  <mach/mach_init.h>
	// Each call adds a reference to the port, so it is called once.
	machHostSelf func() uint32
	host         uint32

	// kern_return_t host_statistics64(host_t host_priv, host_flavor_t flavor,
	//     host_info64_t host_info64_out, mach_msg_type_number_t *host_info64_outCnt);
	// <mach/mach_host.h>
	hostStatistics64 func(host uint32, flavor int32, out unsafe.Pointer, count *uint32) int32

	// kern_return_t host_page_size(host_t host, vm_size_t *out_page_size);  <mach/mach_host.h>
	hostPageSize func(host uint32, out *uint64) int32

	// kern_return_t mach_timebase_info(mach_timebase_info_t info);  <mach/mach_time.h>
	machTimebaseInfo func(info *timebase) int32

	// int proc_pidpath(int pid, void *buffer, uint32_t buffersize);  <libproc.h>
	procPidpath func(pid int32, buffer unsafe.Pointer, size uint32) int32

	// int proc_pid_rusage(int pid, int flavor, rusage_info_t *buffer);  <libproc.h>
	procPidRusage func(pid, flavor int32, buffer unsafe.Pointer) int32
}

var (
	opening sync.Mutex
	opened  = map[Paths]*System{}
)

// Open opens the libraries, or returns what an earlier call opened.
func Open(p Paths) (*System, error) {
	opening.Lock()
	defer opening.Unlock()
	if s := opened[p]; s != nil {
		return s, nil
	}
	s, err := open(p)
	if err != nil {
		return nil, err
	}
	s.host = s.machHostSelf()
	opened[p] = s
	return s, nil
}

func open(p Paths) (*System, error) {
	lib, err := purego.Dlopen(p.System, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", p.System, err)
	}
	s := &System{}
	for _, b := range []struct {
		symbol string
		call   any
	}{
		{"mach_host_self", &s.machHostSelf},
		{"host_statistics64", &s.hostStatistics64},
		{"host_page_size", &s.hostPageSize},
		{"mach_timebase_info", &s.machTimebaseInfo},
		{"proc_pidpath", &s.procPidpath},
		{"proc_pid_rusage", &s.procPidRusage},
	} {
		address, err := purego.Dlsym(lib, b.symbol)
		if err != nil {
			return nil, fmt.Errorf("finding %s in %s: %w", b.symbol, p.System, err)
		}
		purego.RegisterFunc(b.call, address)
	}
	return s, nil
}
