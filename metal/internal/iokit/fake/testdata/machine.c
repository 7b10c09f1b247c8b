/* The machine that the libraries tell about, and how the test changes it. */
#include "core.h"

/* Values, made by the test. They are few and never freed. */

static struct value *value(enum kind kind) {
	struct value *v = calloc(1, sizeof *v);
	v->kind = kind;
	return v;
}
struct value *fake_value_number(int64_t n) { struct value *v = value(NUMBER); v->n = n; v->d = n; return v; }
struct value *fake_value_real(double d) { struct value *v = value(REAL); v->n = d; v->d = d; return v; }
struct value *fake_value_yes(int32_t n) { struct value *v = value(YES); v->n = n; return v; }
struct value *fake_value_bytes(const void *p, int64_t n) {
	struct value *v = value(BYTES);
	v->text = malloc(n + 1);
	memcpy(v->text, p, n);
	v->size = n;
	return v;
}
struct value *fake_value_text(const char *text) { struct value *v = value(TEXT); v->text = strdup(text); return v; }
struct value *fake_value_list(void) { return value(LIST); }
struct value *fake_value_map(void) { return value(MAP); }
void fake_value_add(struct value *v, const char *key, struct value *item) {
	v->items = realloc(v->items, (v->count + 1) * sizeof *v->items);
	v->keys = realloc(v->keys, (v->count + 1) * sizeof *v->keys);
	v->items[v->count] = item;
	v->keys[v->count++] = strdup(key);
}

/* Single settings by name. */

static struct { char name[48]; _Atomic int64_t n; } ints[96];
void fake_set_int(const char *name, int64_t n) {
	fake_lock();
	int i = 0;
	while (i < 95 && ints[i].name[0] && strcmp(ints[i].name, name)) i++;
	ints[i].n = n;
	snprintf(ints[i].name, sizeof ints[i].name, "%s", name);
	fake_unlock();
}
int64_t fake_int(const char *name, int64_t otherwise) {
	for (int i = 0; i < 96 && ints[i].name[0]; i++)
		if (!strcmp(ints[i].name, name)) return ints[i].n;
	return otherwise;
}

static struct { char name[48]; char *text; } texts[16];
void fake_set_text(const char *name, const char *text) {
	fake_lock();
	int i = 0;
	while (i < 15 && texts[i].name[0] && strcmp(texts[i].name, name)) i++;
	texts[i].text = strdup(text); /* the one before may be in use */
	snprintf(texts[i].name, sizeof texts[i].name, "%s", name);
	fake_unlock();
}
const char *fake_text(const char *name) {
	for (int i = 0; i < 16 && texts[i].name[0]; i++)
		if (!strcmp(texts[i].name, name)) return texts[i].text;
	return "";
}

/* Tables. A free place has used 0. */

#define PLACE(table, most, same) ({ \
	int at = -1, free_ = -1; \
	for (int i_ = 0; i_ < most && at < 0; i_++) { \
		__typeof__(&table[0]) x = &table[i_]; \
		if (x->used && (same)) at = i_; \
		else if (!x->used && free_ < 0) free_ = i_; \
	} \
	if (at < 0) at = free_; \
	if (at < 0) abort(); \
	at; })

struct entry fake_entries[ENTRIES];
int32_t fake_entry(const char *class, const char *ancestors, const char *name, int32_t parent) {
	fake_lock();
	int i = PLACE(fake_entries, ENTRIES, x && 0);
	struct entry *e = &fake_entries[i];
	memset(e, 0, sizeof *e);
	snprintf(e->class, sizeof e->class, "%s", class);
	snprintf(e->ancestors, sizeof e->ancestors, "%s", ancestors);
	snprintf(e->name, sizeof e->name, "%s", name);
	e->parent = parent;
	e->used = 1;
	fake_unlock();
	return i;
}
void fake_remove_entry(int32_t i) { fake_lock(); fake_entries[i].used = 0; fake_unlock(); }
void fake_property(int32_t entry, const char *key, struct value *v) { /* NULL takes it away */
	struct entry *e = &fake_entries[entry];
	fake_lock();
	int i = 0;
	while (i < e->count && strcmp(e->keys[i], key)) i++;
	if (i == e->count && i < 32) { e->keys[i] = strdup(key); e->count++; }
	e->values[i] = v;
	fake_unlock();
}

struct smc fake_smc_keys[SMCKEYS];
void fake_set_smc(const char *key, const char *kind, const void *bytes, int32_t size) { /* size -1 takes it away */
	fake_lock();
	struct smc *k = &fake_smc_keys[PLACE(fake_smc_keys, SMCKEYS, !strcmp(x->key, key))];
	memset(k, 0, sizeof *k);
	if (size >= 0) {
		k->used = 1;
		snprintf(k->key, 5, "%s", key);
		snprintf(k->kind, 5, "%s", kind);
		k->size = size;
		memcpy(k->bytes, bytes, size > 32 ? 32 : size);
	}
	int n = 0;
	for (int i = 0; i < SMCKEYS; i++) n += fake_smc_keys[i].used;
	fake_unlock();
	fake_add("smc keys", n - fake_count("smc keys"));
}

struct sensor fake_sensors[SENSORS];
void fake_set_sensor(const char *name, double celsius, int32_t told, int32_t page, int32_t usage) {
	fake_lock();
	struct sensor *s = &fake_sensors[PLACE(fake_sensors, SENSORS, !strcmp(x->name, name))];
	snprintf(s->name, sizeof s->name, "%s", name);
	s->celsius = celsius;
	s->told = told;
	s->page = page;
	s->usage = usage;
	s->used = 1;
	fake_unlock();
}

struct channel fake_channels[CHANNELS];
int32_t fake_channel(const char *group, const char *subgroup, const char *name, const char *unit, int32_t format) {
	fake_lock();
	int i = PLACE(fake_channels, CHANNELS, !strcmp(x->group, group) && !strcmp(x->subgroup, subgroup) && !strcmp(x->name, name));
	struct channel *c = &fake_channels[i];
	snprintf(c->group, sizeof c->group, "%s", group);
	snprintf(c->subgroup, sizeof c->subgroup, "%s", subgroup);
	snprintf(c->name, sizeof c->name, "%s", name);
	snprintf(c->unit, sizeof c->unit, "%s", unit);
	c->format = format;
	c->used = 1;
	fake_unlock();
	return i;
}
void fake_channel_value(int32_t channel, int64_t add, int64_t set) {
	fake_lock();
	struct channel *c = &fake_channels[channel];
	c->value = set ? set : c->value + add;
	fake_unlock();
}
void fake_channel_state(int32_t channel, const char *state, int64_t add) {
	fake_lock();
	struct channel *c = &fake_channels[channel];
	int i = 0;
	while (i < c->count && strcmp(c->states[i], state)) i++;
	if (i == c->count && i < 32) snprintf(c->states[c->count++], 32, "%s", state);
	c->residency[i] += add;
	fake_unlock();
}

struct key fake_keys[KEYS];
void fake_set_key(const char *name, uint64_t state) {
	fake_lock();
	struct key *k = &fake_keys[PLACE(fake_keys, KEYS, !strcmp(x->name, name))];
	snprintf(k->name, sizeof k->name, "%s", name);
	k->state = state;
	k->used = 1;
	fake_unlock();
}

struct process fake_processes[PROCESSES];
void fake_set_process(int32_t pid, const char *path, uint64_t footprint, uint64_t user, uint64_t system) {
	fake_lock();
	struct process *p = &fake_processes[PLACE(fake_processes, PROCESSES, x->pid == pid)];
	memset(p, 0, sizeof *p);
	p->pid = pid;
	snprintf(p->path, sizeof p->path, "%s", path);
	p->footprint = footprint;
	p->resident = footprint / 3;
	p->user = user;
	p->system = system;
	p->used = footprint || path[0];
	fake_unlock();
}
