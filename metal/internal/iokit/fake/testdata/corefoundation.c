/* CoreFoundation. Boolean results have a meaning in their lowest byte alone, so the
 * rest is filled with what may stand there. */
#include "core.h"

typedef const void *CFTypeRef;
enum { UTF8 = 0x08000100, SINT32 = 3, SINT64 = 4, DIRT = 0x5a5a00 };

/* Their layout is nobody's business; only their address is passed. */
const struct { long version; void *f[5]; } kCFTypeDictionaryKeyCallBacks, kCFTypeDictionaryValueCallBacks, kCFTypeArrayCallBacks;

void CFRelease(CFTypeRef o) { ENTER("CFRelease"); fake_release((void *)o); }
unsigned long CFGetTypeID(CFTypeRef p) {
	struct object *o = fake_check(p, 0, "CFGetTypeID");
	return o ? o->type : 0;
}
unsigned long CFStringGetTypeID(void) { return STRING; }
unsigned long CFNumberGetTypeID(void) { return NUMERIC; }
unsigned long CFDictionaryGetTypeID(void) { return DICTIONARY; }
unsigned long CFArrayGetTypeID(void) { return ARRAY; }
unsigned long CFDataGetTypeID(void) { return DATA; }

CFTypeRef CFStringCreateWithCString(CFTypeRef allocator, const char *text, uint32_t encoding) {
	int fails = ENTER("CFStringCreateWithCString");
	if (allocator || !text || encoding != UTF8) { fake_bad_call("CFStringCreateWithCString", "arguments"); return NULL; }
	return fails ? NULL : fake_string(text);
}

long CFStringGetCString(CFTypeRef p, char *buffer, long size, uint32_t encoding) {
	int fails = ENTER("CFStringGetCString");
	struct object *o = fake_check(p, STRING, "CFStringGetCString");
	if (!o || !buffer || size < 1 || encoding != UTF8) { fake_bad_call("CFStringGetCString", "arguments"); return DIRT; }
	if (fails || (long)o->size >= size) { memset(buffer, '?', size); return DIRT; }
	memset(buffer, '?', size < 256 ? size : 256);
	memcpy(buffer, o->text, o->size + 1);
	return DIRT | 1;
}

CFTypeRef CFNumberCreate(CFTypeRef allocator, long kind, const void *value) {
	int fails = ENTER("CFNumberCreate");
	if (allocator || !value || (kind != SINT32 && kind != SINT64)) { fake_bad_call("CFNumberCreate", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *o = fake_object(NUMERIC);
	o->n = kind == SINT32 ? *(const int32_t *)value : *(const int64_t *)value;
	o->d = o->n;
	return o;
}

long CFNumberGetValue(CFTypeRef p, long kind, void *value) {
	int fails = ENTER("CFNumberGetValue");
	struct object *o = fake_check(p, NUMERIC, "CFNumberGetValue");
	if (!o || !value || kind != SINT64 || (uintptr_t)value % 8) { fake_bad_call("CFNumberGetValue", "arguments"); return DIRT; }
	*(int64_t *)value = o->n;
	return fails || (o->real && (double)o->n != o->d) ? DIRT : DIRT | 1;
}

const uint8_t *CFDataGetBytePtr(CFTypeRef p) {
	struct object *o = fake_check(p, DATA, "CFDataGetBytePtr");
	return o ? (const uint8_t *)o->text : NULL;
}
long CFDataGetLength(CFTypeRef p) {
	struct object *o = fake_check(p, DATA, "CFDataGetLength");
	return o ? o->size : 0;
}

long CFArrayGetCount(CFTypeRef p) {
	struct object *o = fake_check(p, ARRAY, "CFArrayGetCount");
	return o ? o->count : 0;
}
CFTypeRef CFArrayGetValueAtIndex(CFTypeRef p, long i) {
	struct object *o = fake_check(p, ARRAY, "CFArrayGetValueAtIndex");
	if (!o || i < 0 || i >= o->count) { fake_bad_call("CFArrayGetValueAtIndex", "index"); return NULL; }
	return o->items[i];
}
CFTypeRef CFArrayCreateMutable(CFTypeRef allocator, long capacity, const void *callbacks) {
	int fails = ENTER("CFArrayCreateMutable");
	if (allocator || capacity || callbacks != &kCFTypeArrayCallBacks) { fake_bad_call("CFArrayCreateMutable", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *o = fake_object(ARRAY);
	o->mutable = 1;
	return o;
}
void CFArrayAppendValue(CFTypeRef p, CFTypeRef item) {
	struct object *o = fake_check(p, ARRAY, "CFArrayAppendValue");
	if (!o || !o->mutable || !fake_check(item, 0, "CFArrayAppendValue")) { fake_bad_call("CFArrayAppendValue", "arguments"); return; }
	fake_put_object(o, NULL, (struct object *)item);
}

long CFDictionaryGetCount(CFTypeRef p) {
	struct object *o = fake_check(p, DICTIONARY, "CFDictionaryGetCount");
	return o ? o->count : 0;
}
static int find(struct object *o, CFTypeRef key) {
	struct object *k = fake_check(key, STRING, "a dictionary's key");
	for (int i = 0; k && i < o->count; i++)
		if (!strcmp(o->keys[i]->text, k->text)) return i;
	return -1;
}
CFTypeRef CFDictionaryGetValue(CFTypeRef p, CFTypeRef key) {
	struct object *o = fake_check(p, DICTIONARY, "CFDictionaryGetValue");
	int i = o ? find(o, key) : -1;
	return i < 0 ? NULL : o->items[i];
}
void CFDictionaryGetKeysAndValues(CFTypeRef p, CFTypeRef *keys, CFTypeRef *values) {
	struct object *o = fake_check(p, DICTIONARY, "CFDictionaryGetKeysAndValues");
	for (int i = 0; o && i < o->count; i++) {
		keys[i] = o->keys[i];
		values[i] = o->items[i];
	}
}
CFTypeRef CFDictionaryCreateMutable(CFTypeRef allocator, long capacity, const void *keys, const void *values) {
	int fails = ENTER("CFDictionaryCreateMutable");
	if (allocator || capacity || keys != &kCFTypeDictionaryKeyCallBacks || values != &kCFTypeDictionaryValueCallBacks) {
		fake_bad_call("CFDictionaryCreateMutable", "arguments");
		return NULL;
	}
	if (fails) return NULL;
	struct object *o = fake_object(DICTIONARY);
	o->mutable = 1;
	return o;
}
CFTypeRef CFDictionaryCreateMutableCopy(CFTypeRef allocator, long capacity, CFTypeRef p) {
	int fails = ENTER("CFDictionaryCreateMutableCopy");
	struct object *o = fake_check(p, DICTIONARY, "CFDictionaryCreateMutableCopy");
	if (allocator || capacity || !o) { fake_bad_call("CFDictionaryCreateMutableCopy", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *copy = fake_object(DICTIONARY);
	copy->mutable = 1;
	for (int i = 0; i < o->count; i++) fake_put_object(copy, o->keys[i], o->items[i]);
	return copy;
}
void CFDictionarySetValue(CFTypeRef p, CFTypeRef key, CFTypeRef item) {
	struct object *o = fake_check(p, DICTIONARY, "CFDictionarySetValue");
	if (!o || !o->mutable || !fake_check(item, 0, "CFDictionarySetValue")) { fake_bad_call("CFDictionarySetValue", "arguments"); return; }
	int i = find(o, key);
	if (i < 0) { fake_put_object(o, (struct object *)key, (struct object *)item); return; }
	struct object *before = o->items[i];
	o->items[i] = fake_retain((void *)item);
	fake_release(before);
}
