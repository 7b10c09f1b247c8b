/* libobjc: classes by name, pools, messages. */
#include "core.h"

typedef uintptr_t word;

/* Classes are there when their framework is loaded. */
static struct class { const char *name, *from; } classes[] = {
	{"NSProcessInfo", "Foundation"}, {"NSString", "Foundation"}, {"NSArray", "Foundation"}, {"MTLDevice", "Metal"},
};
enum { CLASSES = sizeof classes / sizeof *classes };
void *objc_getClass(const char *name) {
	for (int i = 0; i < CLASSES; i++)
		if (!strcmp(classes[i].name, name) && fake_int(classes[i].from, 0)) return &classes[i];
	return NULL;
}
static char *selectors[64];
const char *sel_registerName(const char *name) {
	fake_lock();
	int i = 0;
	while (i < 63 && selectors[i] && strcmp(selectors[i], name)) i++;
	if (!selectors[i]) selectors[i] = strdup(name);
	fake_unlock();
	return selectors[i];
}
static const char *selector(const char *name) { /* an address that was handed out */
	for (int i = 0; i < 64 && selectors[i]; i++)
		if (selectors[i] == name) return name;
	fake_bad_call("objc_msgSend", "a selector that was not registered");
	return "";
}

/* What nobody here needs of the runtime. */
static void *unused(const char *who) { fake_bad_call(who, "called"); return NULL; }
void *objc_allocateClassPair(void) { return unused("objc_allocateClassPair"); }
void objc_registerClassPair(void) { unused("objc_registerClassPair"); }
void *class_addMethod(void) { return unused("class_addMethod"); }
void *objc_getProtocol(void) { return unused("objc_getProtocol"); }
void *class_addProtocol(void) { return unused("class_addProtocol"); }

/* A pool is a thread's own. */
static __thread struct object *pooled[256];
static __thread int depth, filled;
void *objc_autoreleasePoolPush(void) {
	ENTER("objc_autoreleasePoolPush");
	depth++;
	fake_add("pools", 1);
	return &pooled[filled];
}
void objc_autoreleasePoolPop(void *mark) {
	struct object **from = mark;
	if (!depth || from < pooled || from > pooled + filled) { fake_bad_call("objc_autoreleasePoolPop", "a pool of another thread, or none"); return; }
	while (&pooled[filled] > from) fake_release(pooled[--filled]);
	depth--;
	fake_add("pools", -1);
}
static struct object *autorelease(struct object *o) {
	if (!depth || filled == 256) fake_bad_call("autorelease", "no pool");
	else pooled[filled++] = o;
	return o;
}

static int is(const char *a, const char *b) { return !strcmp(a, b); }
static struct object process = {.magic = 0x0b9ec7, .type = NSOBJECT, .refs = 1 << 20, .text = "NSProcessInfo"};
static _Thread_local double float_result;

word dispatch(struct object *self, const char *sel, word a) {
	sel = selector(sel);
	float_result = 1e300; /* who reads it expected a float */
	if (!self) return 0;
	if ((void *)self >= (void *)classes && (void *)self < (void *)(classes + CLASSES)) {
		if (is(((struct class *)self)->name, "NSProcessInfo") && is(sel, "processInfo")) return fake_int("process.none", 0) ? 0 : (word)&process;
		fake_bad_call("a class does not know", sel);
		return 0;
	}
	struct object *o = fake_check(self, 0, sel);
	if (!o) return 0;
	if (!depth) fake_bad_call(sel, "outside of a pool");
	if (o->type == STRING && is(sel, "UTF8String")) return (word)o->text;
	if (is(sel, "retain")) return (word)fake_retain(o);
	if (is(sel, "release")) { fake_release(o); return 0; }
	if (o->type == ARRAY && is(sel, "count")) return o->count;
	if (o->type == ARRAY && is(sel, "objectAtIndex:")) {
		if ((int)a < o->count) return (word)o->items[a];
		fake_bad_call(sel, "index");
		return 0;
	}
	if (o->type == NSOBJECT && is(o->text, "NSProcessInfo")) {
		if (is(sel, "thermalState")) return fake_int("thermal", 0);
		if (is(sel, "respondsToSelector:")) return 0x7700 | (is(selector((const char *)a), "isLowPowerModeEnabled") && fake_int("lowpower", 0) >= 0);
		if (is(sel, "isLowPowerModeEnabled")) return 0x7700 | fake_int("lowpower", 0);
	}
	if (o->type == NSOBJECT && is(o->text, "MTLDevice")) {
		if (is(sel, "name")) return (word)autorelease(fake_string(fake_text("device.name")));
		if (is(sel, "recommendedMaxWorkingSetSize")) return fake_int("device.working", 0);
		if (is(sel, "maxBufferLength")) return fake_int("device.buffer", 0);
		if (is(sel, "currentAllocatedSize")) return fake_int("device.allocated", 0);
		if (is(sel, "hasUnifiedMemory")) return 0x7700 | fake_int("device.unified", 1);
	}
	fake_bad_call("an object does not know", sel);
	return 0;
}

/* objc_msgSend gives each result in the integer and the floating point register. */
double fake_float(void) { return float_result; }
#if defined(__x86_64__)
__asm__(".globl objc_msgSend\n.type objc_msgSend,@function\nobjc_msgSend:\n"
	"sub $8,%rsp\ncall dispatch@PLT\nmov %rax,(%rsp)\ncall fake_float@PLT\nmov (%rsp),%rax\nadd $8,%rsp\nret\n");
#elif defined(__aarch64__)
__asm__(".globl objc_msgSend\n.type objc_msgSend,%function\nobjc_msgSend:\n"
	"stp x29,x30,[sp,#-32]!\nbl dispatch\nstr x0,[sp,#16]\nbl fake_float\nldr x0,[sp,#16]\nldp x29,x30,[sp],#32\nret\n");
#endif
