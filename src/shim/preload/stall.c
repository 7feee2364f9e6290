/*
 * A thread that stands still while the others run. It is the one that last told that it has the lock; in a process that
 * tells nothing, the one that had written last when the stall began, to a connection, a pipe or a file; and in one that
 * has not written either, the first that comes here.
 *
 * It stands still where it enters or leaves a function that waits, reads or writes. There it has none of the locks
 * that the others need: neither those of the C library, nor Python's interpreter, nor a safepoint of Java. Until it
 * comes there it does nothing that anybody could see.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <sys/syscall.h>

/* How long it stands still without looking whether the stall is over. */
static const long LOOK_AGAIN_NS = 1000000;

/* The thread that wrote last, of this process. */
static int writer;

/* The thread that last told, with a line of docs/attack.md, that it has the lock, below the number of its process: a
 * process that was forked has another one. */
static uint64_t holder;

/* How much of what is written is looked at. */
static const size_t LOOKED_AT = 64;

/* The last stall that a thread has met, above the number of the thread that it strikes. */
static uint64_t struck;

static int own_number(void) { return (int)shim_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0); }

static int own_process(void) { return (int)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0); }

static int thread_to_strike(void) {
    uint64_t told = __atomic_load_n(&holder, __ATOMIC_RELAXED);
    if (told != 0 && told >> 32 == (uint32_t)own_process()) {
        return (int)(uint32_t)told;
    }
    int last = __atomic_load_n(&writer, __ATOMIC_RELAXED);
    return last != 0 ? last : own_number();
}

void shim_tells(const void *bytes, size_t length) {
    size_t looked_at = length < LOOKED_AT ? length : LOOKED_AT;
    if (shim_is_wrong() && memmem(bytes, looked_at, "\"locklab\"", 9) != NULL &&
        memmem(bytes, looked_at, "\"acquired\"", 10) != NULL) {
        uint64_t told = (uint64_t)own_process() << 32 | (uint32_t)own_number();
        __atomic_store_n(&holder, told, __ATOMIC_RELAXED);
    }
}

/* Whether the stall of this number strikes this thread. The first thread that meets it settles which one that is. */
static int is_struck(uint64_t stall) {
    uint64_t known = __atomic_load_n(&struck, __ATOMIC_ACQUIRE);
    if (known >> 32 != (stall & UINT32_MAX)) {
        uint64_t next = stall << 32 | (uint32_t)thread_to_strike();
        int is_first = __atomic_compare_exchange_n(&struck, &known, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        known = is_first ? next : known;
    }
    return (uint32_t)known == (uint32_t)own_number();
}

static void stand_still(void) {
    int error = errno;
    uint64_t stall;
    while ((stall = shim_stalls()) % 2 == 1 && is_struck(stall)) {
        struct timespec nap = {0, LOOK_AGAIN_NS};
        shim_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
    }
    errno = error;
}

int shim_enters(int writes) {
    stand_still();
    if (writes && shim_is_wrong()) {
        __atomic_store_n(&writer, own_number(), __ATOMIC_RELAXED);
    }
    return writes;
}

void shim_leaves(const int *entered) {
    (void)entered;
    stand_still();
}
