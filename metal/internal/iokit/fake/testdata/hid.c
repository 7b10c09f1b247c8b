/* IOKit's HID event system: temperature sensors. */
#include "core.h"

typedef const void *CFTypeRef;
enum { TEMPERATURE = 15 };

CFTypeRef IOHIDEventSystemClientCreate(CFTypeRef allocator) {
	int fails = ENTER("IOHIDEventSystemClientCreate");
	if (allocator) { fake_bad_call("IOHIDEventSystemClientCreate", "allocator"); return NULL; }
	return fails ? NULL : fake_object(HIDCLIENT);
}

static int64_t number(struct object *dictionary, const char *key) {
	for (int i = 0; i < dictionary->count; i++)
		if (!strcmp(dictionary->keys[i]->text, key) && dictionary->items[i]->type == NUMERIC) return dictionary->items[i]->n;
	fake_bad_call("IOHIDEventSystemClientSetMatching", key);
	return 0;
}
int IOHIDEventSystemClientSetMatching(CFTypeRef client, CFTypeRef match) {
	ENTER("IOHIDEventSystemClientSetMatching");
	struct object *c = fake_check(client, HIDCLIENT, "IOHIDEventSystemClientSetMatching");
	struct object *m = fake_check(match, DICTIONARY, "IOHIDEventSystemClientSetMatching");
	if (c && m) c->n = number(m, "PrimaryUsagePage") << 32 | number(m, "PrimaryUsage");
	return 0;
}

CFTypeRef IOHIDEventSystemClientCopyServices(CFTypeRef client) {
	int fails = ENTER("IOHIDEventSystemClientCopyServices");
	struct object *c = fake_check(client, HIDCLIENT, "IOHIDEventSystemClientCopyServices");
	if (!c || fails) return NULL;
	struct object *all = fake_object(ARRAY);
	for (int i = 0; i < SENSORS; i++) {
		struct sensor *s = &fake_sensors[i];
		if (!s->used || (c->n && c->n != ((int64_t)s->page << 32 | s->usage))) continue;
		struct object *o = fake_object(HIDSERVICE);
		o->n = i;
		fake_put_object(all, NULL, o);
		fake_release(o);
	}
	return all;
}

CFTypeRef IOHIDServiceClientCopyProperty(CFTypeRef service, CFTypeRef key) {
	int fails = ENTER("IOHIDServiceClientCopyProperty");
	struct object *s = fake_check(service, HIDSERVICE, "IOHIDServiceClientCopyProperty");
	struct object *k = fake_check(key, STRING, "IOHIDServiceClientCopyProperty");
	if (!s || !k || strcmp(k->text, "Product")) { fake_bad_call("IOHIDServiceClientCopyProperty", "key"); return NULL; }
	return fails || !fake_sensors[s->n].name[0] ? NULL : fake_string(fake_sensors[s->n].name);
}

CFTypeRef IOHIDServiceClientCopyEvent(CFTypeRef service, int64_t type, int32_t options, int64_t timestamp) {
	int fails = ENTER("IOHIDServiceClientCopyEvent");
	struct object *s = fake_check(service, HIDSERVICE, "IOHIDServiceClientCopyEvent");
	if (!s || type != TEMPERATURE || options || timestamp) { fake_bad_call("IOHIDServiceClientCopyEvent", "arguments"); return NULL; }
	if (fails || !fake_sensors[s->n].told) return NULL;
	struct object *o = fake_object(HIDEVENT);
	o->d = fake_sensors[s->n].celsius;
	return o;
}

double IOHIDEventGetFloatValue(CFTypeRef event, int32_t field) {
	ENTER("IOHIDEventGetFloatValue");
	struct object *o = fake_check(event, HIDEVENT, "IOHIDEventGetFloatValue");
	if (!o || field != TEMPERATURE << 16) { fake_bad_call("IOHIDEventGetFloatValue", "field"); return 0; }
	return o->d;
}
