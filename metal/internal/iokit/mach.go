package iokit

import (
	"fmt"
	"unsafe"
)

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
	out := new(vmStatistics64)
	count := uint32(vmStatisticsWords)
	if r := s.hostStatistics64(s.host, hostVMInfo64, unsafe.Pointer(out), &count); r != 0 {
		return nil, fmt.Errorf("host_statistics64: kern_return_t %d", r)
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(out)), unsafe.Sizeof(*out))
	return bytes[:4*min(count, vmStatisticsWords)], nil
}

// PageSize is the size of the pages that the kernel counts, in bytes.
func (s *System) PageSize() (uint64, error) {
	var size uint64 // vm_size_t, uintptr_t of a 64-bit system
	if r := s.hostPageSize(s.host, &size); r != 0 {
		return 0, fmt.Errorf("host_page_size: kern_return_t %d", r)
	}
	return size, nil
}

// timebase is struct mach_timebase_info (XNU, osfmk/mach/mach_time.h).
type timebase struct {
	numer, denom uint32
}

// Timebase tells how mach time becomes nanoseconds: × numer ÷ denom. It is 125/3
// on Apple Silicon and 1/1 on Intel.
func (s *System) Timebase() (numer, denom uint32, err error) {
	info := new(timebase)
	if r := s.machTimebaseInfo(info); r != 0 {
		return 0, 0, fmt.Errorf("mach_timebase_info: kern_return_t %d", r)
	}
	return info.numer, info.denom, nil
}
