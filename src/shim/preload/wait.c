/*
 * Waiting until a time of a wrong clock. The allocator of Redis does so in a thread of its own
 * (jemalloc, background_thread): it adds 100 ms to its time of day and waits until then. The
 * kernel knows only the right time. Without this, the thread would not wait at all once the clock
 * was stepped back, and keep a processor busy.
 *
 * Nothing else in Redis waits until a time; all other waits are for a length of time.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

typedef int timed_wait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static const long NS_PER_S = 1000000000;

static timed_wait *real_wait;

__attribute__((constructor)) static void prepare(void) {
    real_wait = (timed_wait *)shim_real("pthread_cond_timedwait");
}

static __int128 ns(const struct timespec *at) {
    return (__int128)at->tv_sec * NS_PER_S + at->tv_nsec;
}

static __int128 distance(__int128 one, __int128 other) {
    return one < other ? other - one : one - other;
}

/* What the machine's clock will show when as much time has passed as the wrong one lacks. */
static struct timespec true_deadline(const struct timespec *wrong) {
    struct timespec wall, mono, now;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    /* A condition does not tell its clock, but the two show times that are decades apart. */
    int is_wall = distance(ns(wrong), ns(&wall)) < distance(ns(wrong), ns(&mono));
    shim_true_clock(is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
    __int128 due_ns = ns(&now) + ns(wrong) - ns(is_wall ? &wall : &mono);
    if (due_ns < 0) {
        due_ns = 0;
    } else if (due_ns > INT64_MAX) {
        due_ns = INT64_MAX;
    }
    struct timespec due = {(int64_t)due_ns / NS_PER_S, (int64_t)due_ns % NS_PER_S};
    return due;
}

OVERRIDE int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    const struct timespec *deadline) {
    timed_wait *wait = real_wait;
    if (wait == NULL) {
        wait = (timed_wait *)shim_real("pthread_cond_timedwait");
    }
    /* A malformed deadline is for the real function to refuse. */
    if (!shim_is_wrong() || deadline->tv_nsec < 0 || deadline->tv_nsec >= NS_PER_S) {
        return wait(condition, mutex, deadline);
    }
    struct timespec due = true_deadline(deadline);
    return wait(condition, mutex, &due);
}
