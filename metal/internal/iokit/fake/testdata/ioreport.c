/* libIOReport. A channel is a dictionary whose number is its place in the table; it
 * owns its labels, what the functions with Get hand out. */
#include "core.h"

typedef const void *CFTypeRef;
enum { GROUP, SUBGROUP, NAME, UNIT, STATES, SIMPLE = 1, STATE = 2, TAG = 0x10000 };

static const char key[] = "IOReportChannels";

static void own(struct object *o, const char *text) {
	struct object *name = fake_string("label"), *label = fake_string(text);
	fake_put_object(o, name, label);
	fake_release(name);
	fake_release(label);
}
static struct object *channel(int i, struct object *before, struct object *now) {
	struct channel *c = &fake_channels[i];
	struct object *o = fake_object(DICTIONARY);
	o->size = TAG + i;
	own(o, c->group); own(o, c->subgroup); own(o, c->name); own(o, c->unit);
	o->states = calloc(32, sizeof *o->states);
	for (int s = 0; s < c->count; s++) {
		own(o, c->states[s]);
		o->states[s] = now ? now->states[s] - (before ? before->states[s] : 0) : c->residency[s];
	}
	o->n = c->value;
	if (now) o->n = now->n == INT64_MIN || before->n == INT64_MIN ? INT64_MIN : now->n - before->n;
	return o;
}
static struct object *dictionary(struct object *array) {
	struct object *o = fake_object(DICTIONARY), *k = fake_string(key);
	o->mutable = 1;
	fake_put_object(o, k, array);
	fake_release(k);
	fake_release(array);
	return o;
}
static struct object *channels(const void *p, const char *who) {
	struct object *o = fake_check(p, DICTIONARY, who);
	for (int i = 0; o && i < o->count; i++)
		if (!strcmp(o->keys[i]->text, key)) return o->items[i];
	fake_bad_call(who, "a dictionary without channels");
	return NULL;
}
static struct object *is_channel(const void *p, const char *who) {
	struct object *o = fake_check(p, DICTIONARY, who);
	if (o && o->size >= TAG) return o;
	fake_bad_call(who, "no channel");
	return NULL;
}

CFTypeRef IOReportCopyChannelsInGroup(CFTypeRef group, CFTypeRef subgroup, uint64_t a, uint64_t b, uint64_t c) {
	int fails = ENTER("IOReportCopyChannelsInGroup");
	struct object *g = fake_check(group, STRING, "IOReportCopyChannelsInGroup");
	struct object *s = subgroup ? fake_check(subgroup, STRING, "IOReportCopyChannelsInGroup") : NULL;
	if (!g || a || b || c) { fake_bad_call("IOReportCopyChannelsInGroup", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *array = fake_object(ARRAY);
	array->mutable = 1;
	for (int i = 0; i < CHANNELS; i++)
		if (fake_channels[i].used && !strcmp(fake_channels[i].group, g->text) && (!s || !strcmp(fake_channels[i].subgroup, s->text))) {
			struct object *o = channel(i, NULL, NULL);
			fake_put_object(array, NULL, o);
			fake_release(o);
		}
	if (array->count) return dictionary(array);
	fake_release(array);
	return NULL;
}

void IOReportMergeChannels(CFTypeRef into, CFTypeRef from, CFTypeRef none) {
	ENTER("IOReportMergeChannels");
	struct object *a = channels(into, "IOReportMergeChannels"), *b = channels(from, "IOReportMergeChannels");
	if (none || !a || !b || !((struct object *)into)->mutable) { fake_bad_call("IOReportMergeChannels", "arguments"); return; }
	for (int i = 0; i < b->count; i++) fake_put_object(a, NULL, b->items[i]);
}

CFTypeRef IOReportCreateSubscription(void *none, CFTypeRef desired, CFTypeRef *subscribed, uint64_t id, CFTypeRef nothing) {
	int fails = ENTER("IOReportCreateSubscription");
	struct object *wanted = channels(desired, "IOReportCreateSubscription");
	if (none || !wanted || !subscribed || id || nothing || !((struct object *)desired)->mutable) {
		fake_bad_call("IOReportCreateSubscription", "arguments");
		return NULL;
	}
	if (fails) return NULL;
	struct object *o = fake_object(SUBSCRIPTION), *array = fake_object(ARRAY);
	for (int i = 0; i < wanted->count; i++) fake_put_object(array, NULL, wanted->items[i]);
	*subscribed = dictionary(array);
	fake_put_object(o, NULL, wanted);
	fake_add("subscriptions", 1);
	return o;
}

CFTypeRef IOReportCreateSamples(CFTypeRef subscription, CFTypeRef subscribed, CFTypeRef none) {
	int fails = ENTER("IOReportCreateSamples");
	struct object *s = fake_check(subscription, SUBSCRIPTION, "IOReportCreateSamples");
	struct object *wanted = channels(subscribed, "IOReportCreateSamples");
	if (!s || !wanted || none || s->items[0]->count != wanted->count) { fake_bad_call("IOReportCreateSamples", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *array = fake_object(ARRAY);
	fake_add("channels sampled", wanted->count);
	for (int i = 0; i < wanted->count; i++) {
		struct object *o = channel(wanted->items[i]->size - TAG, NULL, NULL);
		fake_put_object(array, NULL, o);
		fake_release(o);
	}
	return dictionary(array);
}

CFTypeRef IOReportCreateSamplesDelta(CFTypeRef before, CFTypeRef now, CFTypeRef none) {
	int fails = ENTER("IOReportCreateSamplesDelta");
	struct object *a = channels(before, "IOReportCreateSamplesDelta"), *b = channels(now, "IOReportCreateSamplesDelta");
	if (!a || !b || none || a == b || a->count != b->count) { fake_bad_call("IOReportCreateSamplesDelta", "arguments"); return NULL; }
	if (fails) return NULL;
	struct object *array = fake_object(ARRAY);
	for (int i = 0; i < b->count; i++) {
		struct object *o = channel(b->items[i]->size - TAG, a->items[i], b->items[i]);
		fake_put_object(array, NULL, o);
		fake_release(o);
	}
	return dictionary(array);
}

static CFTypeRef label(CFTypeRef p, int which, const char *who) {
	struct object *o = is_channel(p, who);
	return o && o->items[which]->text[0] ? o->items[which] : NULL; /* none is NULL */
}
CFTypeRef IOReportChannelGetGroup(CFTypeRef c) { return label(c, GROUP, "IOReportChannelGetGroup"); }
CFTypeRef IOReportChannelGetSubGroup(CFTypeRef c) { return label(c, SUBGROUP, "IOReportChannelGetSubGroup"); }
CFTypeRef IOReportChannelGetChannelName(CFTypeRef c) { return label(c, NAME, "IOReportChannelGetChannelName"); }
CFTypeRef IOReportChannelGetUnitLabel(CFTypeRef c) { return label(c, UNIT, "IOReportChannelGetUnitLabel"); }

static int format(CFTypeRef c, int wanted, const char *who) {
	struct object *o = is_channel(c, who);
	if (!o) return 0;
	int format = fake_channels[o->size - TAG].format;
	if (wanted && format != wanted) fake_bad_call(who, "a channel of another format");
	return format;
}
int IOReportChannelGetFormat(CFTypeRef c) { ENTER("IOReportChannelGetFormat"); return format(c, 0, "IOReportChannelGetFormat"); }
int64_t IOReportSimpleGetIntegerValue(CFTypeRef c, int32_t index) {
	ENTER("IOReportSimpleGetIntegerValue");
	if (index || format(c, SIMPLE, "IOReportSimpleGetIntegerValue") != SIMPLE) { fake_bad_call("IOReportSimpleGetIntegerValue", "index"); return 0; }
	return ((struct object *)c)->n;
}
int32_t IOReportStateGetCount(CFTypeRef c) {
	int fails = ENTER("IOReportStateGetCount");
	return format(c, STATE, "IOReportStateGetCount") != STATE ? 0 : fails ? fails : ((struct object *)c)->count - STATES;
}
CFTypeRef IOReportStateGetNameForIndex(CFTypeRef c, int32_t i) {
	ENTER("IOReportStateGetNameForIndex");
	struct object *o = is_channel(c, "IOReportStateGetNameForIndex");
	if (!o || i < 0 || i >= o->count - STATES) { fake_bad_call("IOReportStateGetNameForIndex", "index"); return NULL; }
	return o->items[STATES + i];
}
int64_t IOReportStateGetResidency(CFTypeRef c, int32_t i) {
	ENTER("IOReportStateGetResidency");
	struct object *o = is_channel(c, "IOReportStateGetResidency");
	if (!o || i < 0 || i >= o->count - STATES) { fake_bad_call("IOReportStateGetResidency", "index"); return 0; }
	return o->states[i];
}
