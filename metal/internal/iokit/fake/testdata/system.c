/* libSystem: Mach, libproc, notify.
 *
 * The structs are written down as the headers of XNU have them; their layout is
 * asserted. Every function checks its arguments: what the real system would not
 * take, or what only works by luck, is a bad call.
 */
#include "core.h"

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

enum { HOST = 0x703, TASK = 0x203, HOST_VM_INFO64 = 4, RUSAGE_INFO_V4 = 4, MAXPATH = 4096, KERN_FAILURE = 5 };

mach_port_t mach_task_self_ = TASK;
void *_NSConcreteGlobalBlock[32];

mach_port_t mach_host_self(void) { ENTER("mach_host_self"); fake_add("hosts", 1); return HOST; }

kern_return_t host_statistics64(mach_port_t host, int32_t flavor, int32_t *out, natural_t *count) {
	kern_return_t fails = ENTER("host_statistics64");
	if (host != HOST || flavor != HOST_VM_INFO64 || !out || !count || (uintptr_t)out % 8 || *count != 38) {
		fake_bad_call("host_statistics64", "arguments");
		return KERN_FAILURE;
	}
	if (fails) return fails;
	struct vm_statistics64 v = {
		.free_count = fake_int("free_count", 40000), .active_count = fake_int("active_count", 500000),
		.inactive_count = fake_int("inactive_count", 480000), .wire_count = fake_int("wire_count", 300000),
		.zero_fill_count = UINT64_MAX, .pageins = 1111, .pageouts = 2222, .purges = 3333,
		.purgeable_count = fake_int("purgeable_count", 20000), .speculative_count = fake_int("speculative_count", 10000),
		.decompressions = 4444, .compressions = 5555, .swapins = fake_int("swapins", 5000000000),
		.swapouts = fake_int("swapouts", 6000000000),
		.compressor_page_count = fake_int("compressor_page_count", 200000), .throttled_count = 7,
		.external_page_count = fake_int("external_page_count", 250000),
		.internal_page_count = fake_int("internal_page_count", 700000),
		.total_uncompressed_pages_in_compressor = 900000,
	};
	*count = fake_int("words", 38); /* an older kernel fills in less */
	memcpy(out, &v, *count * 4);
	return 0;
}

kern_return_t host_page_size(mach_port_t host, uintptr_t *out) {
	kern_return_t fails = ENTER("host_page_size");
	if (host != HOST || !out) { fake_bad_call("host_page_size", "arguments"); return KERN_FAILURE; }
	if (fails) return fails;
	*out = fake_int("page", 16384);
	return 0;
}

kern_return_t mach_timebase_info(struct mach_timebase_info *info) {
	kern_return_t fails = ENTER("mach_timebase_info");
	if (!info) { fake_bad_call("mach_timebase_info", "arguments"); return KERN_FAILURE; }
	if (fails) return fails;
	*info = (struct mach_timebase_info){fake_int("numer", 125), fake_int("denom", 3)};
	return 0;
}

static struct process *process(int pid) {
	for (int i = 0; i < PROCESSES; i++)
		if (fake_processes[i].used && fake_processes[i].pid == pid) return &fake_processes[i];
	return NULL;
}

int proc_pidpath(int pid, void *buffer, uint32_t size) {
	int fails = ENTER("proc_pidpath");
	if (!buffer || size > MAXPATH || size < 1024) { fake_bad_call("proc_pidpath", "arguments"); return 0; }
	struct process *p = process(pid);
	if (fails || !p) return 0;
	memset(buffer, 'x', size); /* the real one ends the text, and leaves what stood there before */
	strcpy(buffer, p->path);
	return strlen(p->path);
}

int proc_pid_rusage(int pid, int flavor, void *buffer) {
	int fails = ENTER("proc_pid_rusage");
	if (flavor != RUSAGE_INFO_V4 || !buffer || (uintptr_t)buffer % 8) { fake_bad_call("proc_pid_rusage", "arguments"); return -1; }
	struct process *p = process(pid);
	if (fails || !p) return -1;
	struct rusage_info_v4 r = {
		.ri_uuid = {0xff, 0xff}, .ri_user_time = p->user, .ri_system_time = p->system,
		.ri_resident_size = p->resident, .ri_phys_footprint = p->footprint, .ri_proc_start_abstime = 99,
		.ri_interval_max_phys_footprint = 1, .ri_runnable_time = UINT64_MAX,
	};
	memcpy(buffer, &r, sizeof r);
	return 0;
}

/* notify.h: NOTIFY_STATUS_OK 0, NOTIFY_STATUS_INVALID_NAME 1, NOTIFY_STATUS_INVALID_TOKEN 2 */
static struct { int open; char name[128]; } tokens[64];

uint32_t notify_register_check(const char *name, int *token) {
	uint32_t fails = ENTER("notify_register_check");
	if (!name || !token || !name[0] || strlen(name) > 127) { fake_bad_call("notify_register_check", "arguments"); return 1; }
	if (fails) return fails;
	fake_lock();
	int i = 1;
	while (i < 63 && tokens[i].open) i++;
	tokens[i].open = 1;
	strcpy(tokens[i].name, name);
	fake_unlock();
	fake_add("tokens", 1);
	*token = i;
	return 0;
}

uint32_t notify_get_state(int token, uint64_t *state) {
	uint32_t fails = ENTER("notify_get_state");
	if (token < 0 || token > 63 || !tokens[token].open || !state) { fake_bad_call("notify_get_state", "arguments"); return 2; }
	if (fails) return fails;
	*state = 0; /* also of a key that nobody knows */
	for (int i = 0; i < KEYS; i++)
		if (fake_keys[i].used && !strcmp(fake_keys[i].name, tokens[token].name)) *state = fake_keys[i].state;
	return 0;
}

uint32_t notify_cancel(int token) {
	ENTER("notify_cancel");
	if (token < 0 || token > 63 || !tokens[token].open) { fake_bad_call("notify_cancel", "a token that is not open"); return 2; }
	tokens[token].open = 0;
	fake_add("tokens", -1);
	return 0;
}
