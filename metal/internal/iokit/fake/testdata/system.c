/* What package iokit calls of macOS's libSystem, as a library for tests.
 *
 * The structs are written down as the headers of XNU have them; their layout is
 * asserted. Every function checks its arguments: what the real kernel would not
 * take, or what only works by luck, is counted in fake_bad.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t natural_t;
typedef int32_t kern_return_t;
typedef uint32_t mach_port_t;

/* osfmk/mach/vm_statistics.h */
struct vm_statistics64 {
	natural_t free_count, active_count, inactive_count, wire_count;
	uint64_t zero_fill_count, reactivations, pageins, pageouts, faults, cow_faults, lookups, hits, purges;
	natural_t purgeable_count, speculative_count;
	uint64_t decompressions, compressions, swapins, swapouts;
	natural_t compressor_page_count, throttled_count, external_page_count, internal_page_count;
	uint64_t total_uncompressed_pages_in_compressor;
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct vm_statistics64) == 152, "size");
_Static_assert(sizeof(struct vm_statistics64) / sizeof(int32_t) == 38, "HOST_VM_INFO64_REV1_COUNT");
_Static_assert(offsetof(struct vm_statistics64, wire_count) == 12, "wire_count");
_Static_assert(offsetof(struct vm_statistics64, purgeable_count) == 88, "purgeable_count");
_Static_assert(offsetof(struct vm_statistics64, speculative_count) == 92, "speculative_count");
_Static_assert(offsetof(struct vm_statistics64, swapins) == 112, "swapins");
_Static_assert(offsetof(struct vm_statistics64, swapouts) == 120, "swapouts");
_Static_assert(offsetof(struct vm_statistics64, compressor_page_count) == 128, "compressor_page_count");
_Static_assert(offsetof(struct vm_statistics64, external_page_count) == 136, "external_page_count");
_Static_assert(offsetof(struct vm_statistics64, internal_page_count) == 140, "internal_page_count");

/* bsd/sys/resource.h */
struct rusage_info_v4 {
	uint8_t ri_uuid[16];
	uint64_t ri_user_time, ri_system_time, ri_pkg_idle_wkups, ri_interrupt_wkups, ri_pageins, ri_wired_size,
		ri_resident_size, ri_phys_footprint, ri_proc_start_abstime, ri_proc_exit_abstime, ri_child_user_time,
		ri_child_system_time, ri_child_pkg_idle_wkups, ri_child_interrupt_wkups, ri_child_pageins,
		ri_child_elapsed_abstime, ri_diskio_bytesread, ri_diskio_byteswritten, ri_cpu_time_qos_default,
		ri_cpu_time_qos_maintenance, ri_cpu_time_qos_background, ri_cpu_time_qos_utility, ri_cpu_time_qos_legacy,
		ri_cpu_time_qos_user_initiated, ri_cpu_time_qos_user_interactive, ri_billed_system_time,
		ri_serviced_system_time, ri_logical_writes, ri_lifetime_max_phys_footprint, ri_instructions, ri_cycles,
		ri_billed_energy, ri_serviced_energy, ri_interval_max_phys_footprint, ri_runnable_time;
};

_Static_assert(sizeof(struct rusage_info_v4) == 296, "size");
_Static_assert(offsetof(struct rusage_info_v4, ri_user_time) == 16, "ri_user_time");
_Static_assert(offsetof(struct rusage_info_v4, ri_system_time) == 24, "ri_system_time");
_Static_assert(offsetof(struct rusage_info_v4, ri_phys_footprint) == 72, "ri_phys_footprint");

/* osfmk/mach/mach_time.h */
struct mach_timebase_info { uint32_t numer, denom; };
_Static_assert(sizeof(struct mach_timebase_info) == 8, "size");

enum { HOST = 0x703, HOST_VM_INFO64 = 4, RUSAGE_INFO_V4 = 4, MAXPATH = 4096, PID = 4242, KERN_FAILURE = 5 };

static _Atomic int32_t bad, hosts, failing, words = 38;

int32_t fake_bad(void) { return bad; }
int32_t fake_hosts(void) { return hosts; }        /* references to the host port that were handed out */
void fake_fail(int32_t on) { failing = on; }      /* every call fails */
void fake_words(int32_t n) { words = n; }         /* an older kernel fills in less */

mach_port_t mach_host_self(void) { hosts++; return HOST; }

kern_return_t host_statistics64(mach_port_t host, int32_t flavor, int32_t *out, natural_t *count) {
	if (host != HOST || flavor != HOST_VM_INFO64 || !out || !count || (uintptr_t)out % 8 || *count != 38) {
		bad++;
		return KERN_FAILURE;
	}
	if (failing) return KERN_FAILURE;
	struct vm_statistics64 v = {
		.free_count = 40000, .active_count = 500000, .inactive_count = 480000, .wire_count = 300000,
		.zero_fill_count = UINT64_MAX, .pageins = 1111, .pageouts = 2222, .purges = 3333,
		.purgeable_count = 20000, .speculative_count = 10000,
		.decompressions = 4444, .compressions = 5555, .swapins = 5000000000, .swapouts = 6000000000,
		.compressor_page_count = 200000, .throttled_count = 7, .external_page_count = 250000,
		.internal_page_count = 700000, .total_uncompressed_pages_in_compressor = 900000,
	};
	memcpy(out, &v, words * 4);
	*count = words;
	return 0;
}

kern_return_t host_page_size(mach_port_t host, uintptr_t *out) {
	if (host != HOST || !out) { bad++; return KERN_FAILURE; }
	if (failing) return KERN_FAILURE;
	*out = 16384;
	return 0;
}

kern_return_t mach_timebase_info(struct mach_timebase_info *info) {
	if (!info) { bad++; return KERN_FAILURE; }
	if (failing) return KERN_FAILURE;
	*info = (struct mach_timebase_info){125, 3};
	return 0;
}

int proc_pidpath(int pid, void *buffer, uint32_t size) {
	static const char path[] = "/Applications/Ollama.app/Contents/Resources/ollama";
	if (!buffer || size > MAXPATH || size < 1024) { bad++; return 0; }
	if (failing || pid != PID) return 0;
	memset(buffer, 'x', size); /* the real one ends the text, and leaves what stood there before */
	memcpy(buffer, path, sizeof path);
	return sizeof path - 1;
}

#ifndef WITHOUT_RUSAGE
int proc_pid_rusage(int pid, int flavor, void *buffer) {
	if (flavor != RUSAGE_INFO_V4 || !buffer || (uintptr_t)buffer % 8) { bad++; return -1; }
	if (failing || pid != PID) return -1;
	struct rusage_info_v4 r = {
		.ri_uuid = {0xff, 0xff}, .ri_user_time = 24000000, .ri_system_time = 12000000,
		.ri_resident_size = 5107000000, .ri_phys_footprint = 13795000000, .ri_proc_start_abstime = 99,
		.ri_interval_max_phys_footprint = 1, .ri_runnable_time = UINT64_MAX,
	};
	memcpy(buffer, &r, sizeof r);
	return 0;
}
#endif
