/*
 * Wrong clocks. LOCKLAB_CLOCK names a file with a record of how wrong they are, which may change
 * at any time. The layout and the formula are those of clock_record.rs; a test compares the two.
 *
 * The coarse clocks and CLOCK_MONOTONIC_RAW are answered from the precise clocks, so that none
 * of them runs backwards. All clock ids that are not named here are the machine's own.
 */

#define _GNU_SOURCE
#include "shim.h"

/* Not <sys/time.h>: it says that the first argument of gettimeofday is never null. */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/types.h>
#include <time.h>

/* The bytes "LLCLOCK3", as a number of this machine. */
static const char MAGIC[8] = {'L', 'L', 'C', 'L', 'O', 'C', 'K', '3'};

struct record {
    char magic[8];
    uint64_t version; /* odd while the rest changes */
    int64_t base_mono_ns;
    int64_t wall_offset_ns;
    int64_t mono_offset_ns;
    int64_t drift_ppm;
    int64_t frozen;
    uint64_t stalls;
    uint64_t disk_full;
};

static const int64_t NS_PER_S = 1000000000;
static const int64_t NS_PER_US = 1000;
static const int64_t MILLION = 1000000;

/* A writer that died in the middle of a change must not hang its readers. */
static const int64_t MAX_WAIT_NS = 100000000;

typedef int gettime(clockid_t, struct timespec *);

static int prepared;
static gettime *real_clock_gettime; /* NULL before the constructor has run */
static const struct record *record; /* NULL: the clocks are right */

/* Whether this thread is in prepare. A library that is there from the start has this kind of
 * variable without an allocation. */
static __thread int is_preparing __attribute__((tls_model("initial-exec")));

/* The clocks stay right, and the run counts for nothing. */
static const struct record *fails(const char *what, const char *path) {
    shim_give_up(what, path);
    return NULL;
}

static const struct record *map_record(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat file;
    if (fd < 0) {
        return fails("the clock file cannot be opened", path);
    }
    int is_short = fstat(fd, &file) != 0 || file.st_size < (off_t)sizeof(struct record);
    void *mapped = is_short ? MAP_FAILED
                            : mmap(NULL, sizeof(struct record), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (is_short) {
        return fails("the clock file is too short", path);
    }
    if (mapped == MAP_FAILED) {
        return fails("the clock file cannot be mapped", path);
    }
    if (memcmp(mapped, MAGIC, sizeof MAGIC) != 0) {
        return fails("no clock file of this version", path);
    }
    return mapped;
}

static int is_prepared(void) {
    return __atomic_load_n(&prepared, __ATOMIC_ACQUIRE);
}

/*
 * Happens at the first reading, which may come before our constructor: allocators read clocks
 * when they are loaded, and start threads. A thread that comes before another has finished does the
 * same work: so none reads the right time, and none waits for another. All map the same file, so it
 * does not matter whose mapping stays. What this calls may read a clock in turn, and gets the right
 * time.
 */
static void prepare(void) {
    if (is_preparing) {
        return;
    }
    is_preparing = 1;
    const char *path = shim_setting("LOCKLAB_CLOCK");
    const struct record *mapped = path != NULL ? map_record(path) : NULL;
    __atomic_store_n(&record, mapped, __ATOMIC_RELAXED);
    __atomic_store_n(&prepared, 1, __ATOMIC_RELEASE);
    is_preparing = 0;
}

/* The lookup of a function takes the loader's lock, and no reading of a clock may wait for that. */
__attribute__((constructor)) static void begin(void) {
    gettime *real = (gettime *)shim_real("clock_gettime");
    __atomic_store_n(&real_clock_gettime, real, __ATOMIC_RELEASE);
    if (!is_prepared()) {
        prepare();
    }
}

int shim_true_clock(clockid_t id, struct timespec *at) {
    gettime *real = __atomic_load_n(&real_clock_gettime, __ATOMIC_ACQUIRE);
    return real == NULL ? (int)shim_syscall(SYS_clock_gettime, id, (long)at, 0, 0, 0, 0) : real(id, at);
}

static int64_t true_ns(clockid_t id) {
    struct timespec at = {0, 0};
    shim_true_clock(id, &at);
    return at.tv_sec * NS_PER_S + at.tv_nsec;
}

/* How far the clocks have run ahead since the base; as (elapsed * ppm) / MILLION, exactly. */
static __int128 drift_ns(const struct record *now, int64_t mono_ns) {
    int64_t elapsed_ns = mono_ns - now->base_mono_ns;
    return (__int128)(elapsed_ns / MILLION) * now->drift_ppm +
           elapsed_ns % MILLION * now->drift_ppm / MILLION;
}

static int64_t clamp(__int128 ns) {
    return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* A consistent record, and the machine's monotonic time while it was valid; if asked for, also
 * its time of day then. */
static struct record read_record(int64_t *mono_ns, int64_t *wall_ns) {
    int64_t first_ns = INT64_MAX;
    for (;;) {
        struct record now = {.version = __atomic_load_n(&record->version, __ATOMIC_ACQUIRE)};
        now.base_mono_ns = __atomic_load_n(&record->base_mono_ns, __ATOMIC_RELAXED);
        now.wall_offset_ns = __atomic_load_n(&record->wall_offset_ns, __ATOMIC_RELAXED);
        now.mono_offset_ns = __atomic_load_n(&record->mono_offset_ns, __ATOMIC_RELAXED);
        now.drift_ppm = __atomic_load_n(&record->drift_ppm, __ATOMIC_RELAXED);
        now.frozen = __atomic_load_n(&record->frozen, __ATOMIC_RELAXED);
        /* In between, so that no reading follows an old rate beyond the change of it, or a new
         * one before. */
        if (wall_ns != NULL) {
            *wall_ns = true_ns(CLOCK_REALTIME);
        }
        *mono_ns = true_ns(CLOCK_MONOTONIC);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        uint64_t after = __atomic_load_n(&record->version, __ATOMIC_RELAXED);
        if (now.version == after && after % 2 == 0) {
            return now;
        }
        if (first_ns == INT64_MAX) {
            first_ns = *mono_ns;
        } else if (*mono_ns - first_ns > MAX_WAIT_NS) {
            return now;
        }
        sched_yield();
    }
}

static __int128 mono_shown_ns(const struct record *now, int64_t mono_ns) {
    if (now->frozen) {
        return (__int128)now->base_mono_ns + now->mono_offset_ns;
    }
    return (__int128)mono_ns + now->mono_offset_ns + drift_ns(now, mono_ns);
}

static int64_t mono_now_ns(void) {
    int64_t mono_ns;
    struct record now = read_record(&mono_ns, NULL);
    return clamp(mono_shown_ns(&now, mono_ns));
}

static __int128 wall_shown_ns(const struct record *now, int64_t mono_ns, int64_t wall_ns) {
    return (__int128)wall_ns + now->wall_offset_ns + drift_ns(now, mono_ns);
}

static int64_t wall_now_ns(void) {
    int64_t mono_ns, wall_ns;
    struct record now = read_record(&mono_ns, &wall_ns);
    return clamp(wall_shown_ns(&now, mono_ns, wall_ns));
}

int shim_is_wrong(void) {
    if (!is_prepared()) {
        prepare();
    }
    return is_prepared() && record != NULL;
}

uint64_t shim_stalls(void) {
    return shim_is_wrong() ? __atomic_load_n(&record->stalls, __ATOMIC_RELAXED) : 0;
}

int shim_disk_is_full(void) {
    return shim_is_wrong() && __atomic_load_n(&record->disk_full, __ATOMIC_RELAXED) != 0;
}

int shim_bends(clockid_t id) { return id == CLOCK_REALTIME || id == CLOCK_MONOTONIC; }

int64_t shim_now_ns(clockid_t id) { return id == CLOCK_REALTIME ? wall_now_ns() : mono_now_ns(); }

int64_t shim_true_left_ns(clockid_t id, int64_t until_ns) {
    int64_t mono_ns, wall_ns;
    struct record now = read_record(&mono_ns, &wall_ns);
    __int128 left_ns = until_ns - (id == CLOCK_REALTIME ? wall_shown_ns(&now, mono_ns, wall_ns)
                                                        : mono_shown_ns(&now, mono_ns));
    if (left_ns <= 0) {
        return 0;
    }
    if (id == CLOCK_MONOTONIC && now.frozen) {
        return INT64_MAX;
    }
    /* Rounded up: when so much has passed, the clock shows it. */
    int64_t rate = MILLION + now.drift_ppm;
    return clamp((left_ns * MILLION + rate - 1) / rate);
}

OVERRIDE int clock_gettime(clockid_t id, struct timespec *at) {
    int64_t now_ns;
    if (!shim_is_wrong()) {
        return shim_true_clock(id, at);
    }
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        now_ns = wall_now_ns();
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
        now_ns = mono_now_ns();
        break;
    default:
        return shim_true_clock(id, at);
    }
    at->tv_sec = now_ns / NS_PER_S;
    at->tv_nsec = now_ns % NS_PER_S;
    return 0;
}

OVERRIDE int gettimeofday(struct timeval *at, void *zone) {
    if (at != NULL) {
        int64_t now_ns = shim_is_wrong() ? wall_now_ns() : true_ns(CLOCK_REALTIME);
        at->tv_sec = now_ns / NS_PER_S;
        at->tv_usec = now_ns % NS_PER_S / NS_PER_US;
    }
    /* Only the kernel knows the zone, which hardly anyone asks for. */
    return zone != NULL ? (int)shim_syscall(SYS_gettimeofday, 0, (long)zone, 0, 0, 0, 0) : 0;
}

OVERRIDE time_t time(time_t *at) {
    int64_t now_ns = shim_is_wrong() ? wall_now_ns() : true_ns(CLOCK_REALTIME);
    time_t now = now_ns / NS_PER_S;
    if (at != NULL) {
        *at = now;
    }
    return now;
}

OVERRIDE int timespec_get(struct timespec *at, int base) {
    if (base != TIME_UTC) {
        return 0;
    }
    clock_gettime(CLOCK_REALTIME, at);
    return base;
}

/* The processor times are true. */
OVERRIDE clock_t times(struct tms *used) {
    static clock_t (*real)(struct tms *);
    if (real == NULL) {
        real = (clock_t (*)(struct tms *))shim_real("times");
    }
    clock_t right = real(used);
    if (right == (clock_t)-1 || !shim_is_wrong()) {
        return right;
    }
    return mono_now_ns() / (NS_PER_S / sysconf(_SC_CLK_TCK));
}
