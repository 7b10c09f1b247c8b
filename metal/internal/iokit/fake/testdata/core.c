#include "core.h"
#include <pthread.h>


/* The book. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void fake_lock(void) { pthread_mutex_lock(&lock); }
void fake_unlock(void) { pthread_mutex_unlock(&lock); }

static _Atomic int bad;
static char first_bad[256];
void fake_bad_call(const char *who, const char *what) {
	if (atomic_fetch_add(&bad, 1) == 0) snprintf(first_bad, sizeof first_bad, "%s: %s", who, what);
}
int32_t fake_bad(void) { return bad; }
const char *fake_first_bad(void) { return first_bad; }
void fake_forgive(void) { bad = 0; first_bad[0] = 0; }

static struct { char name[32]; _Atomic int64_t n; } counters[16];
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t *counter(const char *name) {
	for (int i = 0; i < 16; i++) {
		if (!strcmp(counters[i].name, name)) return &counters[i].n;
		if (!counters[i].name[0]) {
			pthread_mutex_lock(&naming);
			if (!counters[i].name[0]) strcpy(counters[i].name, name);
			pthread_mutex_unlock(&naming);
			if (!strcmp(counters[i].name, name)) return &counters[i].n;
		}
	}
	abort();
}
void fake_add(const char *name, int by) { atomic_fetch_add(counter(name), by); }
int64_t fake_count(const char *name) { return *counter(name); }

static struct call calls[256];
struct call *fake_call(const char *name) {
	fake_lock();
	int i = 0;
	while (i < 255 && calls[i].name[0] && strcmp(calls[i].name, name)) i++;
	snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
	fake_unlock();
	return &calls[i];
}
int32_t fake_enter(struct call *c) {
	c->count++;
	if (!c->failing) return 0;
	return atomic_fetch_sub(&c->after, 1) <= 0 ? c->code : 0;
}
/* From the call after the next `after` ones on, a function fails: with code, or
 * with NULL where its result is a pointer. Code 0 mends it. */
void fake_fail(const char *name, int32_t code, int64_t after) {
	struct call *c = fake_call(name);
	c->after = after;
	c->code = code;
	c->failing = code != 0;
}
int64_t fake_calls(const char *name) { return fake_call(name)->count; }

/* Objects. A freed one lies around for a while, so that its use is noticed. */

enum { ALIVE = 0x0b9ec7, DEAD = 0xdead, GRAVES = 1 << 14 };
static struct object *graves[GRAVES];
static _Atomic unsigned grave;

struct object *fake_object(enum type type) {
	struct object *o = calloc(1, sizeof *o);
	o->magic = ALIVE;
	o->type = type;
	/* What is created is one reference too much: as if a release were missing. */
	o->refs = fake_int("twist.leak", 0) ? 2 : 1;
	fake_add("objects", 1);
	return o;
}

void *fake_retain(void *p) {
	struct object *o = p;
	if (o) o->refs++;
	return o;
}

void fake_release(void *p) {
	struct object *o = p;
	if (!o || o->magic != ALIVE) { fake_bad_call("release", o ? "of an object that is no more" : "of NULL"); return; }
	if (atomic_fetch_sub(&o->refs, 1) > 1) return;
	for (int i = 0; i < o->count; i++) {
		if (o->items && o->items[i]) fake_release(o->items[i]);
		if (o->keys && o->keys[i]) fake_release(o->keys[i]);
	}
	free(o->items); free(o->keys); free(o->text); free(o->states);
	o->items = o->keys = NULL;
	o->text = NULL;
	o->states = NULL;
	o->magic = DEAD;
	fake_add("objects", -1);
	fake_lock();
	unsigned i = grave++ % GRAVES;
	free(graves[i]);
	graves[i] = o;
	fake_unlock();
}

struct object *fake_check(const void *p, enum type type, const char *who) {
	const struct object *o = p;
	if (!o) { fake_bad_call(who, "NULL"); return NULL; }
	if (o->magic != ALIVE) { fake_bad_call(who, "an object that is no more"); return NULL; }
	if (type && o->type != type) { fake_bad_call(who, "an object of another type"); return NULL; }
	return (struct object *)o;
}

void fake_put_object(struct object *o, struct object *key, struct object *item) {
	if (o->count == o->room) {
		o->room = o->room ? 2 * o->room : 8;
		o->items = realloc(o->items, o->room * sizeof *o->items);
		if (o->type == DICTIONARY) o->keys = realloc(o->keys, o->room * sizeof *o->keys);
	}
	o->items[o->count] = fake_retain(item);
	if (o->type == DICTIONARY) o->keys[o->count] = fake_retain(key);
	o->count++;
}

struct object *fake_string(const char *text) {
	struct object *o = fake_object(STRING);
	o->text = strdup(text);
	o->size = strlen(text);
	return o;
}

struct object *fake_from(struct value *v) {
	struct object *o;
	switch (v->kind) {
	case TEXT: return fake_string(v->text);
	case NUMBER: case REAL:
		o = fake_object(NUMERIC);
		o->n = v->n;
		o->d = v->d;
		o->real = v->kind == REAL;
		return o;
	case YES:
		o = fake_object(BOOLEAN);
		o->n = v->n;
		return o;
	case BYTES:
		o = fake_object(DATA);
		o->text = malloc(v->size + 1);
		memcpy(o->text, v->text, v->size);
		o->size = v->size;
		return o;
	case LIST: case MAP:
		o = fake_object(v->kind == LIST ? ARRAY : DICTIONARY);
		for (int i = 0; i < v->count; i++) {
			struct object *key = v->kind == MAP ? fake_string(v->keys[i]) : NULL, *item = fake_from(v->items[i]);
			fake_put_object(o, key, item);
			if (key) fake_release(key);
			fake_release(item);
		}
		return o;
	}
	abort();
}
