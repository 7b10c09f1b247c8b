package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// account makes the account of Activity Monitor from macOS's amounts, in bytes.
// It is used for what the kernel tells and for what vm_stat prints, so both
// give the same figures. free is without speculative pages.
//
// Used = App + Wired + Compressed with App = anonymous − purgeable: inactive
// pages are in use (Activity Monitor's own formula, inferred; it agrees with a
// real machine to 1 %). Available counts what the kernel calls available for its
// own decisions: free, speculative, purgeable and file-backed pages (XNU,
// doc/vm/memorystatus_notify.md); it is pessimistic and never counts busy pages.
func account(free, speculative, purgeable, fileBacked, anonymous, wired, compressor *uint64) *Memory {
	app := less(anonymous, purgeable)
	return &Memory{
		Used:       sum(app, wired, compressor),
		App:        app,
		Wired:      wired,
		Compressed: compressor,
		Cached:     sum(fileBacked, purgeable),
		Free:       free,
		Available:  sum(free, speculative, purgeable, fileBacked),
	}
}

// vmStatistics is what is used of struct vm_statistics64, in pages.
type vmStatistics struct {
	free        uint64 // speculative pages included
	active      uint64
	inactive    uint64
	wired       uint64
	purgeable   uint64
	speculative uint64
	swapIns     uint64 // since the system started
	swapOuts    uint64
	compressor  uint64 // pages that the compressor occupies
	external    uint64 // file-backed
	internal    uint64 // anonymous
}

// vmStatisticsBytes is the size of struct vm_statistics64 up to "added for rev1"
// (HOST_VM_INFO64_REV1_COUNT, 38 words). Later systems append to it; older ones
// than macOS 10.9 told less. XNU, osfmk/mach/vm_statistics.h.
const vmStatisticsBytes = 38 * 4

// decodeVMStatistics decodes what host_statistics64(HOST_VM_INFO64) fills in.
func decodeVMStatistics(b []byte) (*vmStatistics, error) {
	if len(b) < vmStatisticsBytes {
		return nil, fmt.Errorf("decoding vm_statistics64: %d bytes instead of %d", len(b), vmStatisticsBytes)
	}
	word := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) } // natural_t
	long := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }         // uint64_t
	v := &vmStatistics{
		free:     word(0),
		active:   word(4),
		inactive: word(8),
		wired:    word(12),
		// 16 to 87: zero_fill_count, reactivations, pageins, pageouts, faults,
		// cow_faults, lookups, hits, purges
		purgeable:   word(88),
		speculative: word(92),
		// 96, 104: decompressions, compressions
		swapIns:    long(112),
		swapOuts:   long(120),
		compressor: word(128),
		// 132: throttled_count
		external: word(136),
		internal: word(140),
		// 144: total_uncompressed_pages_in_compressor
	}
	if v.free+v.active+v.inactive+v.wired == 0 {
		// No running system has no memory at all: the call lied.
		return nil, errors.New("decoding vm_statistics64: all counts are zero")
	}
	return v, nil
}

// memory makes the account. free_count holds the speculative pages as well
// (vm_statistics.h says so; vm_stat subtracts them before it prints).
func (v *vmStatistics) memory(pageSize uint64) *Memory {
	bytes := func(pages uint64) *uint64 { return times(&pages, pageSize) }
	speculative := bytes(v.speculative)
	return account(less(bytes(v.free), speculative), speculative, bytes(v.purgeable),
		bytes(v.external), bytes(v.internal), bytes(v.wired), bytes(v.compressor))
}
