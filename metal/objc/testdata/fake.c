// A runtime for tests: enough of libobjc, of blocks and of the classes that
// package notify talks to, and a book of what was done wrong. Reference counts
// and autorelease pools are real.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uintptr_t word;

struct class {
	const char *name;
	struct class *super;
	struct { const char *sel; word imp; } methods[8];
	int count, registered;
	const char *protocol;
};

struct object {
	struct class *isa;
	int kind; // 1 while alive
	int refs;
	char *text;
	word field[8];
};

struct block {
	void *isa;
	int32_t flags, reserved;
	word (*invoke)(struct block *, word, word);
	struct { word reserved, size; const char *signature; } *descriptor;
};
_Static_assert(sizeof(struct block) == 32, "block");

void *_NSConcreteGlobalBlock[4];

// The book.
int live_objects, bad_calls, pool_depth_max, no_pool;
static __thread int depth;
static __thread struct object *pool[4096];
static __thread int pooled;
static char journal[1 << 16];
static char first_bad[256];

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static void note(const char *what, const char *text) {
	pthread_mutex_lock(&journal_lock);
	size_t n = strlen(journal);
	snprintf(journal + n, sizeof journal - n, "%s %s\n", what, text ? text : "");
	pthread_mutex_unlock(&journal_lock);
}
static void bad(const char *why, const char *what) {
	if (bad_calls++ == 0) snprintf(first_bad, sizeof first_bad, "%s: %s", why, what ? what : "");
}
const char *fake_journal(void) { return journal; }
const char *fake_bad(void) { return first_bad; }
int fake_bad_calls(void) { return bad_calls; }
int fake_live(void) { return live_objects; }
void fake_release_categories(void);
int fake_depth(void) { return depth; }
void fake_forget(void) { journal[0] = 0; }

// Classes that exist from the start.
static struct class classes[64] = {
	{"NSObject"}, {"NSString"}, {"NSBundle"}, {"NSArray"}, {"NSSet"}, {"NSProcessInfo"}, {"NSError"},
	{"UNUserNotificationCenter"}, {"UNNotificationAction"}, {"UNNotificationCategory"},
	{"UNMutableNotificationContent"}, {"UNNotificationRequest"}, {"UNNotificationSound"},
	{"UNNotificationResponse"}, {"UNNotification"}, {"NSMutableSet"},
	{"SystrayAppDelegate", &classes[0]},
};
enum { built_in = 17 };
static int class_count = built_in;

struct class *objc_getClass(const char *name) {
	for (int i = 0; i < class_count; i++)
		if (!strcmp(classes[i].name, name) && (i < built_in || classes[i].registered)) return &classes[i];
	return 0;
}
const char *sel_registerName(const char *name) {
	static char *names[512];
	static int n;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < n && strcmp(names[i], name)) i++;
	if (i == n) names[n++] = strdup(name);
	pthread_mutex_unlock(&lock);
	return names[i];
}
struct class *objc_allocateClassPair(struct class *super, const char *name, size_t extra) {
	for (int i = 0; i < class_count; i++)
		if (!strcmp(classes[i].name, name)) return 0;
	struct class *c = &classes[class_count++];
	c->name = strdup(name);
	c->super = super;
	return c;
}
void objc_registerClassPair(struct class *c) { c->registered = 1; }
int8_t class_addMethod(struct class *c, const char *sel, word imp, const char *types) {
	if (c->registered) bad("method added after registration", sel);
	for (int i = 0; i < c->count; i++)
		if (!strcmp(c->methods[i].sel, sel)) return 0; // as the real one: none is replaced
	if (!strchr("vBc", types[0]) || types[1] != '@' || types[2] != ':') bad("method types", types);
	int colons = 0;
	for (const char *s = sel; *s; s++) colons += *s == ':';
	int args = 0;
	for (const char *t = types + 3; *t; t++) args += *t != '?';
	if (colons != args) bad("types and selector disagree", sel);
	c->methods[c->count].sel = sel;
	c->methods[c->count++].imp = imp;
	return 1;
}
void *objc_getProtocol(const char *name) { return !strcmp(name, "UNUserNotificationCenterDelegate") ? "UNUserNotificationCenterDelegate" : 0; }
int8_t class_addProtocol(struct class *c, const char *p) { c->protocol = p; return 1; }

// Objects and pools.
static struct object *make(const char *class) {
	struct object *o = calloc(1, sizeof *o);
	o->isa = objc_getClass(class);
	o->kind = 1;
	o->refs = 1;
	__atomic_add_fetch(&live_objects, 1, __ATOMIC_SEQ_CST);
	return o;
}
// forever makes an object that the system keeps and the count leaves out.
static struct object *forever(const char *class) {
	struct object *o = make(class);
	o->refs = 1 << 20;
	__atomic_sub_fetch(&live_objects, 1, __ATOMIC_SEQ_CST);
	return o;
}
static struct object *retain(struct object *o) { if (o) __atomic_add_fetch(&o->refs, 1, __ATOMIC_SEQ_CST); return o; }
static void release(struct object *o) {
	if (!o) return;
	if (o->kind != 1) { bad("released too often", ""); return; }
	if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST)) return;
	for (int i = 0; i < 8; i++)
		if (o->field[i] && o->kind == 1) release((struct object *)o->field[i]);
	free(o->text);
	o->text = 0;
	o->kind = 2; // stays as a tombstone
	__atomic_sub_fetch(&live_objects, 1, __ATOMIC_SEQ_CST);
}
static struct object *autorelease(struct object *o) {
	if (depth == 0) { no_pool++; bad("autoreleased without a pool", o->isa->name); return o; }
	pool[pooled++] = o;
	return o;
}
void *objc_autoreleasePoolPush(void) { depth++; return (void *)(word)(pooled + 1); }
void objc_autoreleasePoolPop(void *mark) {
	if (--depth < 0) bad("pool popped twice", "");
	while (pooled > (int)(word)mark - 1) release(pool[--pooled]);
}
static struct object *string(const char *text) {
	struct object *o = make("NSString");
	o->text = strdup(text);
	return o;
}
static const char *text(word o) { return o ? ((struct object *)o)->text : "(nil)"; }
static void check(word o, const char *class, const char *sel) {
	if (!o || ((struct object *)o)->kind != 1 || strcmp(((struct object *)o)->isa->name, class)) bad(sel, class);
}
static void check_block(word b, const char *signature, const char *sel) {
	struct block *x = (struct block *)b;
	if (!x || x->isa != _NSConcreteGlobalBlock || !(x->flags & (1 << 28)) || !(x->flags & (1 << 30)) ||
	    x->descriptor->size != sizeof *x || strcmp(x->descriptor->signature, signature)) bad(sel, "block");
}

// What a test sets.
static const char *bundle_id = 0;
static int authorized = 1, authorize_error;
void fake_bundle(const char *id) { bundle_id = id ? strdup(id) : 0; }
void fake_authorize(int yes, int error) { authorized = yes; authorize_error = error; }

static struct object *center, *bundle, *process;
static struct object *categories, *delegate;

// Blocks are called on other threads, as the real ones are.
struct job { word block, a, b; };
static int jobs; // blocks on their way
int fake_jobs(void) { return __atomic_load_n(&jobs, __ATOMIC_SEQ_CST); }
static void *later(void *p) {
	struct job *j = p;
	struct block *b = (struct block *)j->block;
	void *mark = objc_autoreleasePoolPush();
	b->invoke(b, j->a, j->b ? (word)autorelease(string("not allowed")) : 0);
	objc_autoreleasePoolPop(mark);
	free(j);
	__atomic_sub_fetch(&jobs, 1, __ATOMIC_SEQ_CST);
	return 0;
}
static void call_later(word block, word a, int error) {
	struct job *j = malloc(sizeof *j);
	*j = (struct job){block, a, error};
	pthread_t t;
	__atomic_add_fetch(&jobs, 1, __ATOMIC_SEQ_CST);
	pthread_create(&t, 0, later, j);
	pthread_detach(t);
}

static word is(const char *sel, const char *name) { return !strcmp(sel, name); }

static double float_result;

// dispatch is every method of every class.
word dispatch(struct object *self, const char *sel, word a, word b, word c, word d) {
	float_result = 0;
	struct class *class = (struct class *)self;
	int of_class = class >= classes && class < classes + 64;
	if (of_class) {
		const char *n = class->name;
		if (is(sel, "new") || is(sel, "alloc")) {
			struct object *o = make(n);
			o->isa = class;
			return (word)o;
		}
		if (is(sel, "stringWithUTF8String:")) return (word)autorelease(string((char *)a));
		if (is(sel, "mainBundle")) { if (!bundle) bundle = forever("NSBundle"); return (word)bundle; }
		if (is(sel, "processInfo")) { if (!process) process = forever("NSProcessInfo"); return (word)process; }
		if (is(sel, "currentNotificationCenter")) {
			if (!bundle_id) bad("notification center without a bundle: the program would have been aborted", "");
			if (!center) center = forever("UNUserNotificationCenter");
			return (word)center;
		}
		if (is(sel, "arrayWithObjects:count:")) { bad("array from Go memory", sel); return 0; }
		if (is(sel, "array") || is(sel, "set") || is(sel, "defaultSound")) return (word)autorelease(make(is(sel, "defaultSound") ? "UNNotificationSound" : n));
		if (is(sel, "arrayWithObject:") || is(sel, "setWithObject:")) {
			struct object *o = autorelease(make(n));
			o->field[0] = (word)retain((struct object *)a);
			return (word)o;
		}
		if (is(sel, "actionWithIdentifier:title:options:")) {
			check(a, "NSString", sel); check(b, "NSString", sel);
			struct object *o = autorelease(make("UNNotificationAction"));
			o->field[0] = (word)retain((struct object *)a);
			o->field[1] = (word)retain((struct object *)b);
			return (word)o;
		}
		if (is(sel, "categoryWithIdentifier:actions:intentIdentifiers:options:")) {
			check(a, "NSString", sel); check(b, "NSArray", sel); check(c, "NSArray", sel);
			struct object *o = autorelease(make("UNNotificationCategory"));
			o->field[0] = (word)retain((struct object *)a);
			o->field[1] = (word)retain((struct object *)b);
			return (word)o;
		}
		if (is(sel, "requestWithIdentifier:content:trigger:")) {
			check(a, "NSString", sel); check(b, "UNMutableNotificationContent", sel);
			if (c) bad(sel, "a trigger");
			struct object *o = autorelease(make("UNNotificationRequest"));
			o->field[0] = (word)retain((struct object *)a);
			o->field[1] = (word)retain((struct object *)b);
			return (word)o;
		}
		bad("class does not know", sel);
		return 0;
	}
	if (self->kind != 1) { bad("message to a dead object", sel); return 0; }
	const char *n = self->isa->name;
	for (struct class *k = self->isa; k; k = k->super)
		for (int i = 0; i < k->count; i++)
			if (!strcmp(k->methods[i].sel, sel))
				return ((word (*)(void *, const char *, word, word, word))k->methods[i].imp)(self, sel, a, b, c);
	if (is(sel, "retain")) return (word)retain(self);
	if (is(sel, "release")) { release(self); return 0; }
	if (is(sel, "autorelease")) return (word)autorelease(self);
	if (is(sel, "init")) return (word)self;
	if (is(sel, "UTF8String")) return (word)self->text;
	if (is(sel, "localizedDescription")) return (word)self;
	if (is(sel, "bundleIdentifier")) return bundle_id ? (word)autorelease(string(bundle_id)) : 0;
	if (is(sel, "thermalState")) return 2;
	if (is(sel, "systemUptime")) { float_result = 1234.5; return 77; }
	if (is(sel, "isLowPowerModeEnabled")) return 0xabcd00; // BOOL is the low byte
	if (!strcmp(n, "UNMutableNotificationContent")) {
		int i = is(sel, "setTitle:") ? 1 : is(sel, "setBody:") ? 2 : is(sel, "setCategoryIdentifier:") ? 3 : is(sel, "setSound:") ? 4 : is(sel, "setThreadIdentifier:") ? 5 : 0;
		if (i) {
			check(a, i == 4 ? "UNNotificationSound" : "NSString", sel);
			self->field[i] = (word)retain((struct object *)a);
			return 0;
		}
	}
	if (!strcmp(n, "UNUserNotificationCenter")) {
		if (is(sel, "setDelegate:")) { delegate = (struct object *)a; return 0; } // weak, as the real one
		if (is(sel, "requestAuthorizationWithOptions:completionHandler:")) {
			check_block(b, "v@?B@", sel);
			char t[32];
			snprintf(t, sizeof t, "options %ld", (long)a);
			note("authorize", t);
			call_later(b, authorized | 0x5500, authorize_error); // above a BOOL's low byte is anything
			return 0;
		}
		if (is(sel, "setNotificationCategories:")) {
			check(a, "NSMutableSet", sel);
			release(categories);
			categories = make("NSSet"); // a copy, as the real one makes
			char t[2048] = "";
			for (int i = 0; i < 8; i++) {
				struct object *category = (struct object *)((struct object *)a)->field[i];
				if (!category) continue;
				categories->field[i] = (word)retain(category);
				check((word)category, "UNNotificationCategory", sel);
				struct object *action = (struct object *)((struct object *)category->field[1])->field[0];
				size_t n = strlen(t);
				snprintf(t + n, sizeof t - n, "[%s %s %s]", text(category->field[0]), text(action->field[0]), text(action->field[1]));
			}
			note("categories", t);
			return 0;
		}
		if (is(sel, "addNotificationRequest:withCompletionHandler:")) {
			check(a, "UNNotificationRequest", sel);
			check_block(b, "v@?@", sel);
			struct object *r = (struct object *)a, *content = (struct object *)r->field[1];
			char t[2048];
			snprintf(t, sizeof t, "%s|%s|%s|%s|%s", text(r->field[0]), text(content->field[1]), text(content->field[2]),
				content->field[3] ? text(content->field[3]) : "", content->field[4] ? "sound" : "");
			note("add", t);
			call_later(b, 0, 0);
			return 0;
		}
		if (is(sel, "removeDeliveredNotificationsWithIdentifiers:") || is(sel, "removePendingNotificationRequestsWithIdentifiers:")) {
			check(a, "NSArray", sel);
			note(is(sel, "removeDeliveredNotificationsWithIdentifiers:") ? "remove" : "cancel", text(((struct object *)a)->field[0]));
			return 0;
		}
	}
	if (!strcmp(n, "NSMutableSet") && is(sel, "addObject:")) {
		int i = 0;
		while (self->field[i]) i++;
		self->field[i] = (word)retain((struct object *)a);
		return 0;
	}
	if (!strcmp(n, "UNNotificationResponse")) {
		if (is(sel, "actionIdentifier")) return self->field[0];
		if (is(sel, "notification")) return self->field[1];
	}
	if (!strcmp(n, "UNNotification") && is(sel, "request")) return self->field[0];
	if (!strcmp(n, "UNNotificationRequest") && is(sel, "identifier")) return self->field[0];
	bad("object does not know", sel);
	return 0;
}

// objc_msgSend gives each result in the integer and the floating point register.
double fake_float(void) { return float_result; }
#if defined(__x86_64__)
__asm__(".globl objc_msgSend\n.type objc_msgSend,@function\nobjc_msgSend:\n"
        "sub $8,%rsp\ncall dispatch@PLT\nmov %rax,(%rsp)\ncall fake_float@PLT\nmov (%rsp),%rax\nadd $8,%rsp\nret\n");
#elif defined(__aarch64__)
__asm__(".globl objc_msgSend\n.type objc_msgSend,%function\nobjc_msgSend:\n"
        "stp x29,x30,[sp,#-32]!\nbl dispatch\nstr x0,[sp,#16]\nbl fake_float\nldr x0,[sp,#16]\nldp x29,x30,[sp],#32\nret\n");
#endif

void fake_release_categories(void) { release(categories); categories = 0; }

// Someone answers a notification, on a thread of the system.
static int completed;
static word completion(struct block *b, word a, word c) { __atomic_add_fetch(&completed, 1, __ATOMIC_SEQ_CST); return 0; }
static word presentation(struct block *b, word options, word c) { __atomic_store_n(&completed, 1000 + (int)options, __ATOMIC_SEQ_CST); return 0; }
int fake_completed(void) { return __atomic_load_n(&completed, __ATOMIC_SEQ_CST); }
static void *answer(void *p) {
	char **ids = p;
	struct block done = {_NSConcreteGlobalBlock, 1 << 28, 0, ids[0] ? completion : presentation, 0};
	void *mark = objc_autoreleasePoolPush();
	struct object *request = autorelease(make("UNNotificationRequest"));
	request->field[0] = (word)string(ids[1]);
	struct object *notification = autorelease(make("UNNotification"));
	notification->field[0] = (word)retain(request);
	if (ids[0]) {
		struct object *response = autorelease(make("UNNotificationResponse"));
		response->field[0] = (word)string(ids[0]);
		response->field[1] = (word)retain(notification);
		dispatch(delegate, sel_registerName("userNotificationCenter:didReceiveNotificationResponse:withCompletionHandler:"), (word)center, (word)response, (word)&done, 0);
	} else {
		dispatch(delegate, sel_registerName("userNotificationCenter:willPresentNotification:withCompletionHandler:"), (word)center, (word)notification, (word)&done, 0);
	}
	objc_autoreleasePoolPop(mark);
	return 0;
}
void fake_answer(const char *action, const char *id) {
	char *ids[2] = {action && *action ? strdup(action) : 0, strdup(id)};
	pthread_t t;
	pthread_create(&t, 0, answer, ids);
	pthread_join(t, 0);
}
void fake_call(word object, const char *sel, word a) { dispatch((struct object *)object, sel_registerName(sel), a, 0, 0, 0); }
word fake_invoke(struct block *b, word x, word y) { return b->invoke(b, x, y); }
