/* Metal. It brings Foundation along. */
#include "core.h"
void fake_set_int(const char *name, int64_t n);
__attribute__((constructor)) static void loaded(void) { fake_set_int("Metal", 1); fake_set_int("Foundation", 1); }

static struct object *device(void) {
	struct object *o = fake_object(NSOBJECT);
	o->text = strdup("MTLDevice");
	return o;
}
struct object *MTLCreateSystemDefaultDevice(void) {
	int fails = ENTER("MTLCreateSystemDefaultDevice");
	return fails || !fake_int("device", 1) ? NULL : device();
}
struct object *MTLCopyAllDevices(void) {
	int fails = ENTER("MTLCopyAllDevices");
	if (fails) return NULL;
	struct object *all = fake_object(ARRAY);
	if (fake_int("device", 1)) {
		struct object *o = device();
		fake_put_object(all, NULL, o);
		fake_release(o);
	}
	return all;
}
