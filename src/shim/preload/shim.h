/* Shared by the parts of the preloaded library. */

#ifndef LOCKLAB_SHIM_H
#define LOCKLAB_SHIM_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* These functions take the place of those of the C library. */
#define OVERRIDE __attribute__((visibility("default")))

/*
 * Ends the process: it was asked for a fault that it cannot suffer. To go on without the fault
 * would be to measure something else.
 */
static inline void shim_give_up(const char *what, const char *which) {
    const char *parts[] = {"locklab-shim: ", what, ": ", which, "\n"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0) {
            break;
        }
    }
    _exit(127);
}

/* Whether this process has been given wrong clocks; clock.c. */
int shim_is_wrong(void);

/* Reads a clock of the machine, as clock_gettime does without this library; clock.c. */
int shim_true_clock(clockid_t id, struct timespec *at);

/* The value of an environment variable; NULL if it is absent or empty. */
static inline const char *shim_setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The function of this name that would be called without this library. */
static inline void *shim_real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        shim_give_up("the C library lacks a function", name);
    }
    return found;
}

#endif
