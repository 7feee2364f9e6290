/* Shared by the parts of the preloaded library. */

#ifndef LOCKLAB_SHIM_H
#define LOCKLAB_SHIM_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* These functions take the place of those of the C library. */
#define OVERRIDE __attribute__((visibility("default")))

/* Ends the process: to go on would be to measure something else. syscall.c. */
void shim_end(const char *what, const char *which) __attribute__((noreturn));

/*
 * Says that the process cannot suffer a fault that it was asked for. If LOCKLAB_FAILED names a file, the process is somebody
 * else's: the file gets a line, so that its run counts for nothing, and it goes on. Otherwise, or if the file cannot be
 * written, it ends. syscall.c.
 */
void shim_give_up(const char *what, const char *which);

/* Whether this process has been given wrong clocks; clock.c. */
int shim_is_wrong(void);

/* Reads a clock of the machine, as clock_gettime does without this library; clock.c. */
int shim_true_clock(clockid_t id, struct timespec *at);

/* Whether the host has a wrong clock of this kind: CLOCK_REALTIME and CLOCK_MONOTONIC; clock.c. */
int shim_bends(clockid_t id);

/* What such a clock shows, in nanoseconds; clock.c. */
int64_t shim_now_ns(clockid_t id);

/* How much true time passes until such a clock shows this, if it goes on as it goes now: 0 if it does already,
 * INT64_MAX if it stands still; clock.c. */
int64_t shim_true_left_ns(clockid_t id, int64_t until_ns);

/* How often a stall of a thread of this process has begun or ended: odd while one lasts; clock.c. */
uint64_t shim_stalls(void);

/* Whether the disk of the host is full; clock.c. */
int shim_disk_is_full(void);

/* The same, for a write to this descriptor: if it is a file, errno says that there is no space; disk.c. */
int shim_refuses(int fd);

/* This thread enters or leaves a function: if it is the one that a stall strikes, it stands still; stall.c. */
int shim_enters(int writes);
void shim_leaves(const int *entered);

/* This thread writes so many bytes, perhaps that it has the lock; stall.c. */
void shim_tells(const void *bytes, size_t length);

/* The first line of a function in which a thread may stand still: when it enters it, and when it leaves. It must not
 * have a lock then that others wait for, of the C library or of the program's runtime. */
#define MAY_STAND_STILL(writes)                                                                    \
    __attribute__((cleanup(shim_leaves), unused)) const int entered = shim_enters(writes)

/* A system call without the C library, whose functions are replaced: the result, or -1 with errno; syscall.c. */
long shim_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The value of an environment variable; NULL if it is absent or empty. */
static inline const char *shim_setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The function of this name that would be called without this library; NULL if there is none. What is next depends on
 * where the call returns to, so it must not become a jump. */
static inline void *shim_next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    __asm__ volatile("" ::: "memory");
    return found;
}

/* The same, which has to exist. */
static inline void *shim_real(const char *name) {
    void *found = shim_next(name);
    if (found == NULL) {
        shim_end("the C library lacks a function", name);
    }
    return found;
}

#endif
