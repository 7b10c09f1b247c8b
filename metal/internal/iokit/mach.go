package iokit

import (
	"fmt"
	"sync"
	"unsafe"
)

// mach is what Mach tells about the host.
type mach struct {
	part

	// mach_port_t mach_host_self(void);  <mach/mach_init.h>
	// Each call adds a reference to the port, so it is called once.
	hostSelf func() uint32
	hostLock sync.Mutex
	host     uint32

	// kern_return_t host_statistics64(host_t host_priv, host_flavor_t flavor,
	//     host_info64_t host_info64_out, mach_msg_type_number_t *host_info64_outCnt);
	// <mach/mach_host.h>
	statistics64 func(host uint32, flavor int32, out unsafe.Pointer, count *uint32) int32

	// kern_return_t host_page_size(host_t host, vm_size_t *out_page_size);  <mach/mach_host.h>
	pageSize func(host uint32, out *uint64) int32

	// kern_return_t mach_timebase_info(mach_timebase_info_t info);  <mach/mach_time.h>
	timebaseInfo func(info *timebase) int32
}

func (s *System) hostCalls() (*mach, error) {
	m := &s.mach
	if !m.bound() {
		m.bind("libSystem", s.paths.System,
			binding{"mach_host_self", &m.hostSelf},
			binding{"host_statistics64", &m.statistics64},
			binding{"host_page_size", &m.pageSize},
			binding{"mach_timebase_info", &m.timebaseInfo})
	}
	if m.err != nil {
		return nil, m.err
	}
	m.hostLock.Lock()
	defer m.hostLock.Unlock()
	if m.host == 0 {
		m.host = m.hostSelf()
	}
	return m, nil
}

// hostVMInfo64 is HOST_VM_INFO64 (XNU, osfmk/mach/host_info.h).
const hostVMInfo64 = 4

// vmStatisticsWords is HOST_VM_INFO64_REV1_COUNT: struct vm_statistics64 up to
// total_uncompressed_pages_in_compressor, in words of 32 bits (XNU,
// osfmk/mach/vm_statistics.h). Later systems know longer forms and still fill in
// this one.
const vmStatisticsWords = 38

// vmStatistics64 is the space for it. The header asks for an alignment of 8.
type vmStatistics64 [vmStatisticsWords / 2]uint64

var _ = [1]struct{}{}[unsafe.Sizeof(vmStatistics64{})-152]

// VMStatistics is struct vm_statistics64 as far as the kernel filled it in.
func (s *System) VMStatistics() ([]byte, error) {
	m, err := s.hostCalls()
	if err != nil {
		return nil, err
	}
	out := new(vmStatistics64)
	count := uint32(vmStatisticsWords)
	if r := m.statistics64(m.host, hostVMInfo64, unsafe.Pointer(out), &count); r != 0 {
		return nil, fmt.Errorf("host_statistics64: kern_return_t %d", r)
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(out)), unsafe.Sizeof(*out))
	return bytes[:4*min(count, vmStatisticsWords)], nil
}

// PageSize is the size of the pages that the kernel counts, in bytes.
func (s *System) PageSize() (uint64, error) {
	m, err := s.hostCalls()
	if err != nil {
		return 0, err
	}
	var size uint64 // vm_size_t, uintptr_t of a 64-bit system
	if r := m.pageSize(m.host, &size); r != 0 {
		return 0, fmt.Errorf("host_page_size: kern_return_t %d", r)
	}
	return size, nil
}

// timebase is struct mach_timebase_info (XNU, osfmk/mach/mach_time.h).
type timebase struct {
	numer, denom uint32
}

var _ = [1]struct{}{}[unsafe.Sizeof(timebase{})-8]

// Timebase tells how mach time becomes nanoseconds: × numer ÷ denom. It is 125/3
// on Apple Silicon and 1/1 on Intel.
func (s *System) Timebase() (numer, denom uint32, err error) {
	m, err := s.hostCalls()
	if err != nil {
		return 0, 0, err
	}
	info := new(timebase)
	if r := m.timebaseInfo(info); r != 0 {
		return 0, 0, fmt.Errorf("mach_timebase_info: kern_return_t %d", r)
	}
	return info.numer, info.denom, nil
}
