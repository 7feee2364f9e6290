/*
 * Looking functions up by name, as Python's ctypes and other bridges do: a lookup in the C library itself would find the
 * functions whose place this library takes.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <sys/times.h>

#include "waits.h"

/* Functions that no header declares. */
long syscall(long, ...);

struct replaced {
    const char *name;
    void *ours;
};

#define REPLACED(name) {#name, (void *)name},

static const struct replaced replaced[] = {
    WAITS(REPLACED) WAKES(REPLACED) TIMERS(REPLACED) CLOCKS(REPLACED) REPLACED(syscall)
};

typedef void *lookup(void *, const char *);

static lookup *real_dlsym;

/* dlsym, of which this library has another. */
static lookup *find(void) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        if (found != NULL) {
            return (lookup *)found;
        }
    }
    shim_end("the C library lacks a function", "dlsym");
}

/* The last call is a jump: what is next depends on who asks, which the real function sees by its return address. */
OVERRIDE void *dlsym(void *restrict library, const char *restrict name) {
    if (real_dlsym == NULL) {
        real_dlsym = find();
    }
    if (library != RTLD_NEXT && library != RTLD_DEFAULT) {
        for (unsigned i = 0; i < sizeof replaced / sizeof *replaced; i++) {
            if (strcmp(name, replaced[i].name) == 0) {
                void *found = real_dlsym(library, name);
                int is_real = found != NULL && found == real_dlsym(RTLD_NEXT, name);
                return is_real ? replaced[i].ours : found;
            }
        }
    }
    return real_dlsym(library, name);
}
