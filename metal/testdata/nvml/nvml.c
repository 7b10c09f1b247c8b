/* What package metal calls of NVIDIA's libnvidia-ml, as a library for tests.
 *
 * Types and prototypes are those of nvml.h. Calls before nvmlInit_v2, with a device
 * that was not handed out or without a place for the answer are counted in fake_bad.
 */
#include <stdint.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct device *nvmlDevice_t;
struct device { const char *name; unsigned long long total, used; unsigned busy, celsius, milliwatts, mhz, top; };

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned gpu, memory; } nvmlUtilization_t;
_Static_assert(sizeof(nvmlMemory_t) == 24, "nvmlMemory_t");
_Static_assert(sizeof(nvmlUtilization_t) == 8, "nvmlUtilization_t");

static struct device devices[2] = {
	{"Quadro P400", 2147483648ull, 1073741824ull, 1, 40, 10000, 139, 1252},
	{"NVIDIA GeForce RTX 4090", 25757220864ull, 21474836480ull, 94, 71, 432100, 2520, 3105},
};
static int bad, initialised, failing, silent;

int fake_bad(void) { return bad; }
int fake_inits(void) { return initialised; }
void fake_fail(int with) { failing = with; }   /* every call returns this */
void fake_silent(int on) { silent = on; }      /* every sensor says 0 */

static nvmlReturn_t check(nvmlDevice_t d, const void *out) {
	if (!initialised || (d != &devices[0] && d != &devices[1]) || !out) { bad++; return INVALID_ARGUMENT; }
	return failing;
}

#define TELL(d, out, value) do { nvmlReturn_t r = check(d, out); if (r) return r; *(out) = silent ? 0 : (value); return SUCCESS; } while (0)

nvmlReturn_t nvmlInit_v2(void) { if (failing) return failing; initialised++; return SUCCESS; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
	if (!initialised || !count) { bad++; return INVALID_ARGUMENT; }
	if (failing) return failing;
	*count = 2;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
	if (!initialised || !device || index > 1) { bad++; return INVALID_ARGUMENT; }
	if (failing) return failing;
	*device = &devices[index];
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned length) {
	nvmlReturn_t r = check(d, name);
	if (r) return r;
	if (length != 96) { bad++; return INVALID_ARGUMENT; }
	memset(name, 'x', length); /* what stood there before */
	strcpy(name, d->name);
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
	nvmlReturn_t r = check(d, m);
	if (r) return r;
#ifdef SHARED_MEMORY /* a device without memory of its own, GB10 */
	return NOT_SUPPORTED;
#endif
	*m = (nvmlMemory_t){d->total, d->total - d->used, d->used};
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
	nvmlReturn_t r = check(d, u);
	if (r) return r;
	*u = (nvmlUtilization_t){d->busy, 77};
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *celsius) {
	if (sensor != 0) { bad++; return INVALID_ARGUMENT; }
	TELL(d, celsius, d->celsius);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *milliwatts) { TELL(d, milliwatts, d->milliwatts); }

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *mhz) {
	if (type != 0) { bad++; return INVALID_ARGUMENT; }
	TELL(d, mhz, d->mhz);
}

#ifndef WITHOUT_TOP
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned *mhz) {
	if (type != 0) { bad++; return INVALID_ARGUMENT; }
	TELL(d, mhz, d->top);
}
#endif
