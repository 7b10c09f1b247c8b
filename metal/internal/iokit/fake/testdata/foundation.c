/* Foundation: only its classes are used, which are there when it is loaded. */
#include "core.h"
void fake_set_int(const char *name, int64_t n);
__attribute__((constructor)) static void loaded(void) { fake_set_int("Foundation", 1); }
