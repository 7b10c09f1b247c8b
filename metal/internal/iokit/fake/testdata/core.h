/* What the fake libraries share: the machine they tell about, the objects they
 * hand out, and the book on how they are called. */
#ifndef CORE_H
#define CORE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The widths that the prototypes of macOS are made of. */
_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8 && sizeof(size_t) == 8, "LP64");
_Static_assert(sizeof(int) == 4 && sizeof(unsigned char) == 1 && sizeof(double) == 8, "LP64");

/* value is what a property or an answer is, before it becomes an object. */
enum kind { NUMBER = 1, REAL, TEXT, BYTES, LIST, MAP, YES };
struct value {
	enum kind kind;
	int64_t n;
	double d;
	char *text; /* and bytes */
	size_t size;
	int count;
	struct value **items;
	char **keys;
};

/* object is all that is counted: CF types and Objective-C objects. The first are
 * numbered as CFGetTypeID does on macOS. */
enum type { STRING = 7, DICTIONARY = 18, ARRAY = 19, DATA = 20, BOOLEAN = 21, NUMERIC = 22,
	SUBSCRIPTION = 100, HIDCLIENT, HIDSERVICE, HIDEVENT, POWERINFO, NSOBJECT };
struct object {
	uint32_t magic;
	enum type type;
	_Atomic int refs;
	int mutable;
	int64_t n;     /* a number; which sensor or channel; a boolean */
	double d;
	int real;
	char *text;    /* a string, bytes, a class */
	size_t size;
	int count, room;
	struct object **items, **keys;
	int64_t *states; /* of a channel */
};
struct object *fake_object(enum type type);
struct object *fake_from(struct value *v);
struct object *fake_string(const char *text);
void fake_put_object(struct object *o, struct object *key, struct object *item); /* retains both */
void *fake_retain(void *o);
void fake_release(void *o);
struct object *fake_check(const void *o, enum type type, const char *who); /* NULL and a bad call if it is none */

/* The book. */
void fake_bad_call(const char *who, const char *what);
void fake_add(const char *counter, int by);
int64_t fake_count(const char *counter);
struct call { char name[64]; _Atomic long count; _Atomic int failing; _Atomic int32_t code; _Atomic long after; };
struct call *fake_call(const char *name);
int32_t fake_enter(struct call *c);
/* ENTER counts a call, and is what it is to fail with, or 0. */
#define ENTER(name) ({ static _Atomic(struct call *) known; struct call *c_ = known; if (!c_) known = c_ = fake_call(name); fake_enter(c_); })

void fake_lock(void);
void fake_unlock(void);

/* The machine. */
int64_t fake_int(const char *name, int64_t otherwise);
const char *fake_text(const char *name);

struct entry { int used; char class[128], ancestors[256], name[128]; int parent; int count; char *keys[32]; struct value *values[32]; };
enum { ENTRIES = 512 };
extern struct entry fake_entries[ENTRIES];

struct smc { int used; char key[5], kind[5]; uint32_t size; uint8_t bytes[32]; };
enum { SMCKEYS = 256 };
extern struct smc fake_smc_keys[SMCKEYS];

struct sensor { int used, told; char name[64]; double celsius; int32_t page, usage; };
enum { SENSORS = 64 };
extern struct sensor fake_sensors[SENSORS];

struct channel { int used; char group[64], subgroup[64], name[64], unit[64]; int format; int64_t value; int count; char states[32][32]; int64_t residency[32]; };
enum { CHANNELS = 256 };
extern struct channel fake_channels[CHANNELS];

struct key { int used; char name[128]; uint64_t state; };
enum { KEYS = 32 };
extern struct key fake_keys[KEYS];

struct process { int used; int32_t pid; char path[1024]; uint64_t footprint, resident, user, system; };
enum { PROCESSES = 64 };
extern struct process fake_processes[PROCESSES];

#endif
