/* IOKit: the registry, connections to drivers, the SMC, power sources. */
#include "core.h"

typedef const void *CFTypeRef;
typedef int32_t kern_return_t;
enum { TASK = 0x203, UNSUPPORTED = (int)0xe00002c7, BAD_ARGUMENT = (int)0xe00002c2, INVALID = 0x10000003 };

/* Handles are ports: a slot and how often it was used, so that a stale one is
 * noticed. */
enum { SLOTS = 4096 };
static struct slot { int kind, entry, generation, at, count; int16_t *list; } slots[SLOTS];
enum { ENTRY = 1, ITERATOR, CONNECTION };

static uint32_t open_handle(int kind, int entry) { /* locked */
	for (int i = 1; i < SLOTS; i++)
		if (!slots[i].kind) {
			slots[i] = (struct slot){.kind = kind, .entry = entry, .generation = (slots[i].generation + 1) % 0x7fff};
			fake_add(kind == CONNECTION ? "connections" : "handles", 1);
			return slots[i].generation << 12 | i;
		}
	abort();
}
static struct slot *handle(uint32_t h, int kind, const char *who) { /* locked */
	struct slot *s = &slots[h % SLOTS];
	if (s->kind == kind && s->generation == (int)(h >> 12)) return s;
	fake_bad_call(who, "a handle that is not open");
	return NULL;
}
static void close_handle(struct slot *s) { /* locked */
	fake_add(s->kind == CONNECTION ? "connections" : "handles", -1);
	free(s->list);
	s->kind = 0;
	s->list = NULL;
}
static uint32_t iterate(int (*matches)(struct entry *, const void *), const void *what) { /* locked */
	uint32_t h = open_handle(ITERATOR, 0);
	struct slot *s = &slots[h % SLOTS];
	s->list = calloc(ENTRIES, sizeof *s->list);
	for (int i = 0; i < ENTRIES; i++)
		if (fake_entries[i].used && matches(&fake_entries[i], what)) s->list[s->count++] = i;
	return h;
}

kern_return_t IOObjectRelease(uint32_t h) {
	ENTER("IOObjectRelease");
	fake_lock();
	struct slot *s = &slots[h % SLOTS];
	int ok = s->kind && s->kind != CONNECTION && s->generation == (int)(h >> 12);
	if (ok) close_handle(s);
	fake_unlock();
	if (!ok) fake_bad_call("IOObjectRelease", "a handle that is not open");
	return ok ? 0 : INVALID;
}

CFTypeRef IOServiceMatching(const char *name) {
	int fails = ENTER("IOServiceMatching");
	if (!name || !name[0]) { fake_bad_call("IOServiceMatching", "no name"); return NULL; }
	if (fails) return NULL;
	struct object *o = fake_object(DICTIONARY), *key = fake_string("IOProviderClass"), *class = fake_string(name);
	fake_put_object(o, key, class);
	fake_release(key);
	fake_release(class);
	return o;
}

static int of_class(struct entry *e, const void *class) {
	char padded[300], wanted[132];
	if (e->parent >= 0) return 0; /* a user client is no registered service */
	snprintf(padded, sizeof padded, " %s ", e->ancestors);
	snprintf(wanted, sizeof wanted, " %s ", (const char *)class);
	return !strcmp(e->class, class) || strstr(padded, wanted);
}
kern_return_t IOServiceGetMatchingServices(uint32_t port, CFTypeRef matching, uint32_t *existing) {
	kern_return_t fails = ENTER("IOServiceGetMatchingServices");
	struct object *o = fake_check(matching, DICTIONARY, "IOServiceGetMatchingServices");
	if (port || !o || !existing || o->count != 1) { fake_bad_call("IOServiceGetMatchingServices", "arguments"); return BAD_ARGUMENT; }
	if (!fails) {
		fake_lock();
		*existing = iterate(of_class, o->items[0]->text);
		struct slot *s = &slots[*existing % SLOTS];
		if (!s->count && fake_int("iterator.none", 0)) { close_handle(s); *existing = 0; }
		fake_unlock();
	}
	fake_release(o); /* it takes the dictionary */
	return fails;
}

static int child_of(struct entry *e, const void *parent) { return e->parent == *(const int *)parent; }
kern_return_t IORegistryEntryGetChildIterator(uint32_t h, const char *plane, uint32_t *iterator) {
	kern_return_t fails = ENTER("IORegistryEntryGetChildIterator");
	if (!plane || strcmp(plane, "IOService") || !iterator) { fake_bad_call("IORegistryEntryGetChildIterator", "arguments"); return BAD_ARGUMENT; }
	fake_lock();
	struct slot *s = handle(h, ENTRY, "IORegistryEntryGetChildIterator");
	if (s && !fails) *iterator = iterate(child_of, &s->entry);
	fake_unlock();
	return s ? fails : INVALID;
}

uint32_t IOIteratorNext(uint32_t h) {
	int fails = ENTER("IOIteratorNext");
	fake_lock();
	struct slot *s = handle(h, ITERATOR, "IOIteratorNext");
	uint32_t next = s && !fails && s->at < s->count ? open_handle(ENTRY, s->list[s->at++]) : 0;
	fake_unlock();
	return next;
}

static kern_return_t copy_name(uint32_t h, char *name, int class, const char *who) {
	fake_lock();
	struct slot *s = handle(h, ENTRY, who);
	if (s && name) {
		memset(name, 'x', 128); /* io_name_t */
		strcpy(name, class ? fake_entries[s->entry].class : fake_entries[s->entry].name);
	}
	fake_unlock();
	return s && name ? 0 : INVALID;
}
kern_return_t IOObjectGetClass(uint32_t h, char *name) {
	kern_return_t fails = ENTER("IOObjectGetClass");
	return fails ? fails : copy_name(h, name, 1, "IOObjectGetClass");
}
kern_return_t IORegistryEntryGetName(uint32_t h, char *name) {
	kern_return_t fails = ENTER("IORegistryEntryGetName");
	return fails ? fails : copy_name(h, name, 0, "IORegistryEntryGetName");
}

CFTypeRef IORegistryEntryCreateCFProperty(uint32_t h, CFTypeRef key, CFTypeRef allocator, uint32_t options) {
	int fails = ENTER("IORegistryEntryCreateCFProperty");
	struct object *k = fake_check(key, STRING, "IORegistryEntryCreateCFProperty"), *o = NULL;
	if (!k || allocator || options) { fake_bad_call("IORegistryEntryCreateCFProperty", "arguments"); return NULL; }
	struct value *v = NULL;
	fake_lock();
	struct slot *s = handle(h, ENTRY, "IORegistryEntryCreateCFProperty");
	struct entry *e = s ? &fake_entries[s->entry] : NULL;
	for (int i = 0; e && e->used && i < e->count; i++)
		if (!strcmp(e->keys[i], k->text)) v = e->values[i];
	fake_unlock();
	if (v && !fails) o = fake_from(v);
	return o;
}

kern_return_t IOServiceOpen(uint32_t service, uint32_t task, uint32_t type, uint32_t *connect) {
	kern_return_t fails = ENTER("IOServiceOpen");
	if (task != TASK || type || !connect) { fake_bad_call("IOServiceOpen", "arguments"); return BAD_ARGUMENT; }
	fake_lock();
	struct slot *s = handle(service, ENTRY, "IOServiceOpen");
	int is = 0;
	for (int i = 0; s && i < fake_entries[s->entry].count; i++) is |= !strcmp(fake_entries[s->entry].keys[i], "opens");
	if (is && !fails) *connect = open_handle(CONNECTION, s->entry);
	fake_unlock();
	return fails ? fails : is ? 0 : UNSUPPORTED;
}
kern_return_t IOServiceClose(uint32_t h) {
	ENTER("IOServiceClose");
	fake_lock();
	struct slot *s = handle(h, CONNECTION, "IOServiceClose");
	if (s) close_handle(s);
	fake_unlock();
	return s ? 0 : INVALID;
}

/* The SMC driver's struct, as exelban/stats and macmon have it. */
struct smc_version { uint8_t major, minor, build, reserved; uint16_t release; };
struct smc_limits { uint16_t version, length; uint32_t cpu, gpu, memory; };
struct smc_info { uint32_t size, kind; uint8_t attributes; };
struct smc_param {
	uint32_t key;
	struct smc_version version;
	struct smc_limits limits;
	struct smc_info info;
	uint8_t result, status, command;
	uint32_t index;
	uint8_t bytes[32];
};
_Static_assert(sizeof(struct smc_param) == 80, "size");
_Static_assert(offsetof(struct smc_param, version) == 4, "version");
_Static_assert(offsetof(struct smc_param, limits) == 12, "limits");
_Static_assert(offsetof(struct smc_param, info) == 28, "info");
_Static_assert(sizeof(struct smc_info) == 12, "info");
_Static_assert(offsetof(struct smc_param, result) == 40, "result");
_Static_assert(offsetof(struct smc_param, status) == 41, "status");
_Static_assert(offsetof(struct smc_param, command) == 42, "command");
_Static_assert(offsetof(struct smc_param, index) == 44, "index");
_Static_assert(offsetof(struct smc_param, bytes) == 48, "bytes");

static uint32_t code(const char *t) {
	const uint8_t *u = (const uint8_t *)t;
	return (uint32_t)u[0] << 24 | u[1] << 16 | u[2] << 8 | u[3];
}
static struct smc *smc_key(uint32_t key) {
	for (int i = 0; i < SMCKEYS; i++)
		if (fake_smc_keys[i].used && code(fake_smc_keys[i].key) == key) return &fake_smc_keys[i];
	return NULL;
}
static void smc_answer(const struct smc_param *in, struct smc_param *out) { /* locked */
	struct smc *k = smc_key(in->key);
	int n = 0;
	switch (in->command) {
	case 8: /* key by index */
		for (int i = 0; i < SMCKEYS; i++)
			if (fake_smc_keys[i].used && n++ == (int)in->index) { out->key = code(fake_smc_keys[i].key); return; }
		out->result = 132;
		return;
	case 9: /* key info */
		if (!k) { out->result = 132; return; }
		out->info = (struct smc_info){k->size, code(k->kind), 0x85};
		return;
	case 5: /* read */
		if (!k) { out->result = 132; return; }
		if (in->info.size != k->size) { fake_bad_call("SMC", "a read without the key's size"); out->result = 137; return; }
		memcpy(out->bytes, k->bytes, 32);
		memset(out->bytes + (k->size < 32 ? k->size : 32), 0xee, k->size < 32 ? 32 - k->size : 0);
		return;
	}
	fake_bad_call("SMC", in->command == 6 ? "a write" : "an unknown command");
	out->result = 130;
}
kern_return_t IOConnectCallStructMethod(uint32_t h, uint32_t selector, const void *in, size_t in_size, void *out, size_t *out_size) {
	kern_return_t fails = ENTER("IOConnectCallStructMethod");
	static const uint8_t zero[24];
	/* The machine can be made to want something else than it does: as if the binding
	 * were wrong by that much. */
	uint32_t wanted = fake_int("twist.selector", 2);
	size_t size = fake_int("twist.width", 80);
	fake_lock();
	struct slot *s = handle(h, CONNECTION, "IOConnectCallStructMethod");
	fake_unlock();
	if (!s) return INVALID;
	if (selector != wanted) { fake_bad_call("IOConnectCallStructMethod", "selector"); return BAD_ARGUMENT; }
	if (!in || !out || !out_size || in_size != size || *out_size != size) { fake_bad_call("IOConnectCallStructMethod", "size"); return BAD_ARGUMENT; }
	const struct smc_param *question = in;
	if ((uintptr_t)in % 4 || (uintptr_t)out % 4 || memcmp(&question->version, zero, 24)) { fake_bad_call("IOConnectCallStructMethod", "the struct"); return BAD_ARGUMENT; }
	if (fails) return fails;
	struct smc_param answer = {0};
	fake_lock();
	smc_answer(question, &answer);
	fake_unlock();
	if (fake_int("smc.result", 0)) answer.result = fake_int("smc.result", 0);
	memcpy(out, &answer, sizeof answer);
	*out_size = fake_int("smc.answer", sizeof answer);
	return 0;
}

/* ps/IOPowerSources.h */
CFTypeRef IOPSCopyPowerSourcesInfo(void) {
	int fails = ENTER("IOPSCopyPowerSourcesInfo");
	if (fails) return NULL;
	struct object *o = fake_object(POWERINFO);
	const char *source = fake_text("power");
	if (source[0]) {
		struct object *text = fake_string(source);
		fake_put_object(o, NULL, text);
		fake_release(text);
	}
	return o;
}
CFTypeRef IOPSGetProvidingPowerSourceType(CFTypeRef info) {
	int fails = ENTER("IOPSGetProvidingPowerSourceType");
	struct object *o = fake_check(info, POWERINFO, "IOPSGetProvidingPowerSourceType");
	return o && o->count && !fails ? o->items[0] : NULL;
}
