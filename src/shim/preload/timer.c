/*
 * Timers of a wrong clock, which run while the program does something else: alarm(), setitimer(), timer_settime() and
 * timerfd_settime(). The kernel would let them run by the right time, also while the host is suspended. So they are kept
 * here, and a thread waits for them as every other wait does: in slices, by the host's clock. When one is due, the
 * thread sets the kernel's timer to expire at once, which then does what the program has asked it to do.
 *
 * The thread is started with the first timer that is set.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <sys/syscall.h>

#include "waits.h"

static const int64_t NS_PER_S = 1000000000;
static const int64_t NS_PER_US = 1000;

/* How long the thread waits where no timer is set. */
static const int64_t FOR_EVER_NS = 3600000000000;

TIMERS(DECLARE_REAL)

enum kind { NONE, OF_PROCESS, BY_ID, BY_FILE };

struct timer {
    enum kind kind;
    uintptr_t id; /* of the kind */
    clockid_t clock;
    int is_set;
    clockid_t runs_by; /* the clock of `next_ns`: for a length of time it is the monotonic one */
    int64_t next_ns;
    int64_t every_ns; /* 0: once */
};

/* More than a program has. Further ones go by the right time. */
enum { MOST_TIMERS = 256 };

static struct timer timers[MOST_TIMERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t changes;
static int has_thread;

static void forget_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    has_thread = 0;
    for (int i = 0; i < MOST_TIMERS; i++) {
        /* The others are the parent's alone. */
        if (timers[i].kind != BY_FILE) {
            timers[i].kind = NONE;
        }
        timers[i].is_set = 0;
    }
}

__attribute__((constructor)) static void prepare(void) {
    TIMERS(FIND_REAL)
    pthread_atfork(NULL, NULL, forget_after_fork);
}

/* No handler of a signal may set a timer meanwhile. */
static void take_lock(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    pthread_mutex_lock(&lock);
}

static void leave_lock(const sigset_t *before) {
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static struct timer *find(enum kind kind, uintptr_t id) {
    for (int i = 0; i < MOST_TIMERS; i++) {
        if (timers[i].kind == kind && (kind == NONE || timers[i].id == id)) {
            return &timers[i];
        }
    }
    return NULL;
}

/* A new one, or that which had its number before; NULL if there are too many. */
static struct timer *add(enum kind kind, uintptr_t id, clockid_t clock) {
    struct timer *timer = find(kind, id);
    timer = timer != NULL ? timer : find(NONE, 0);
    if (timer != NULL) {
        struct timer added = {.kind = kind, .id = id, .clock = clock};
        *timer = added;
    }
    return timer;
}

static int64_t ns(const struct timespec *time) {
    int64_t whole, sum;
    return __builtin_mul_overflow((int64_t)time->tv_sec, NS_PER_S, &whole) ||
                   __builtin_add_overflow(whole, (int64_t)time->tv_nsec, &sum)
               ? INT64_MAX
               : sum;
}

static struct timespec time_of(int64_t ns) {
    struct timespec time = {ns / NS_PER_S, ns % NS_PER_S};
    return time;
}

static int is_valid(const struct timespec *time) {
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < NS_PER_S;
}

/* Sets the kernel's own: to expire at once, or never. */
static int set_kernel(const struct timer *timer, int at_once) {
    struct itimerspec now = {.it_value = {0, at_once}};
    struct itimerval now_us = {.it_value = {0, at_once}};
    switch (timer->kind) {
    case OF_PROCESS:
        return REAL(setitimer)(ITIMER_REAL, &now_us, NULL);
    case BY_ID:
        return REAL(timer_settime)((timer_t)timer->id, 0, &now, NULL);
    case BY_FILE:
        return REAL(timerfd_settime)((int)timer->id, 0, &now, NULL);
    default:
        return 0;
    }
}

static void let_expire(struct timer *timer) {
    set_kernel(timer, 1);
    timer->is_set = timer->every_ns > 0;
    if (timer->is_set) {
        int64_t late_ns = shim_now_ns(timer->runs_by) - timer->next_ns;
        int64_t missed = late_ns > 0 ? late_ns / timer->every_ns : 0;
        timer->next_ns += (missed + 1) * timer->every_ns;
    }
}

/* Lets expire what is due, and returns how much true time passes until another one is. */
static int64_t look(void) {
    int64_t least_ns = FOR_EVER_NS;
    for (int i = 0; i < MOST_TIMERS; i++) {
        struct timer *timer = &timers[i];
        if (timer->kind != NONE && timer->is_set) {
            int64_t left_ns = shim_true_left_ns(timer->runs_by, timer->next_ns);
            if (left_ns == 0) {
                let_expire(timer);
                left_ns = timer->is_set ? shim_true_left_ns(timer->runs_by, timer->next_ns)
                                        : FOR_EVER_NS;
            }
            if (left_ns > SHIM_LOOK_AGAIN_NS) {
                left_ns = SHIM_LOOK_AGAIN_NS;
            }
            least_ns = left_ns < least_ns ? left_ns : least_ns;
        }
    }
    return least_ns;
}

static void *keep(void *unused) {
    for (;;) {
        uint32_t seen = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
        sigset_t before;
        take_lock(&before);
        struct timespec length = time_of(look());
        leave_lock(&before);
        shim_syscall(SYS_futex, (long)&changes, FUTEX_WAIT_PRIVATE, seen, (long)&length, 0, 0);
    }
    return unused;
}

/* With the lock, and so with all signals blocked, also for the thread. */
static void wake_thread(void) {
    __atomic_fetch_add(&changes, 1, __ATOMIC_RELEASE);
    shim_syscall(SYS_futex, (long)&changes, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
    if (has_thread) {
        return;
    }
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &detached, keep, NULL);
    pthread_attr_destroy(&detached);
    has_thread = error == 0;
    if (!has_thread) {
        shim_give_up("no thread can wait for the timers of a wrong clock", strerror(error));
    }
}

static struct itimerspec setting(const struct timer *timer) {
    struct itimerspec setting = {{0, 0}, {0, 0}};
    if (timer->is_set) {
        int64_t left_ns = timer->next_ns - shim_now_ns(timer->runs_by);
        setting.it_value = time_of(left_ns > 0 ? left_ns : 1);
        setting.it_interval = time_of(timer->every_ns);
    }
    return setting;
}

static void set(struct timer *timer, int is_until, const struct itimerspec *new) {
    set_kernel(timer, 0);
    int64_t value_ns = ns(&new->it_value);
    timer->is_set = value_ns > 0;
    timer->every_ns = ns(&new->it_interval);
    timer->runs_by = is_until ? timer->clock : CLOCK_MONOTONIC;
    int64_t from_ns = is_until ? 0 : shim_now_ns(CLOCK_MONOTONIC);
    if (__builtin_add_overflow(from_ns, value_ns, &timer->next_ns)) {
        timer->next_ns = INT64_MAX;
    }
    if (timer->is_set) {
        wake_thread();
    }
}

/* Sets a timer that is kept here; 0 if it is not. */
static int set_kept(enum kind kind, uintptr_t id, int is_until, const struct itimerspec *new,
                    struct itimerspec *old) {
    if (!shim_is_wrong() || new == NULL || !is_valid(&new->it_value) ||
        !is_valid(&new->it_interval)) {
        return 0;
    }
    sigset_t before;
    take_lock(&before);
    struct timer *timer = kind == OF_PROCESS && find(kind, id) == NULL
                              ? add(kind, id, CLOCK_MONOTONIC)
                              : find(kind, id);
    if (timer != NULL) {
        struct itimerspec was = setting(timer);
        set(timer, is_until, new);
        if (old != NULL) {
            *old = was;
        }
    }
    leave_lock(&before);
    return timer != NULL;
}

static int get_kept(enum kind kind, uintptr_t id, struct itimerspec *now) {
    if (!shim_is_wrong()) {
        return 0;
    }
    sigset_t before;
    take_lock(&before);
    struct timer *timer = find(kind, id);
    if (timer != NULL) {
        *now = setting(timer);
    }
    leave_lock(&before);
    return timer != NULL;
}

/* A timer that was created. */
static void keep_from_now_on(enum kind kind, uintptr_t id, clockid_t clock) {
    if (!shim_is_wrong()) {
        return;
    }
    sigset_t before;
    take_lock(&before);
    struct timer *earlier = find(kind, id);
    if (shim_bends(clock)) {
        add(kind, id, clock);
    } else if (earlier != NULL) {
        earlier->kind = NONE;
    }
    leave_lock(&before);
}

OVERRIDE int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer) {
    int result = REAL(timer_create)(clock, event, timer);
    if (result == 0) {
        keep_from_now_on(BY_ID, (uintptr_t)*timer, clock);
    }
    return result;
}

OVERRIDE int timer_settime(timer_t timer, int flags, const struct itimerspec *new,
                           struct itimerspec *old) {
    return set_kept(BY_ID, (uintptr_t)timer, flags & TIMER_ABSTIME, new, old)
               ? 0
               : REAL(timer_settime)(timer, flags, new, old);
}

OVERRIDE int timer_gettime(timer_t timer, struct itimerspec *now) {
    return get_kept(BY_ID, (uintptr_t)timer, now) ? 0 : REAL(timer_gettime)(timer, now);
}

OVERRIDE int timer_delete(timer_t timer) {
    sigset_t before;
    take_lock(&before);
    struct timer *kept = find(BY_ID, (uintptr_t)timer);
    if (kept != NULL) {
        kept->kind = NONE;
    }
    leave_lock(&before);
    return REAL(timer_delete)(timer);
}

OVERRIDE int timerfd_create(int clock, int flags) {
    int file = REAL(timerfd_create)(clock, flags);
    if (file >= 0) {
        keep_from_now_on(BY_FILE, (uintptr_t)file, clock);
    }
    return file;
}

OVERRIDE int timerfd_settime(int file, int flags, const struct itimerspec *new,
                             struct itimerspec *old) {
    return set_kept(BY_FILE, (uintptr_t)file, flags & TFD_TIMER_ABSTIME, new, old)
               ? 0
               : REAL(timerfd_settime)(file, flags, new, old);
}

OVERRIDE int timerfd_gettime(int file, struct itimerspec *now) {
    return get_kept(BY_FILE, (uintptr_t)file, now) ? 0 : REAL(timerfd_gettime)(file, now);
}

static struct timespec from_us(const struct timeval *time) {
    struct timespec from = {time->tv_sec, time->tv_usec * NS_PER_US};
    return from;
}

static struct itimerval in_us(const struct itimerspec *setting) {
    struct itimerval us = {
        {setting->it_interval.tv_sec, setting->it_interval.tv_nsec / NS_PER_US},
        {setting->it_value.tv_sec, setting->it_value.tv_nsec / NS_PER_US},
    };
    return us;
}

OVERRIDE int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old) {
    if (which == ITIMER_REAL && new != NULL) {
        struct itimerspec in = {from_us(&new->it_interval), from_us(&new->it_value)}, was;
        if (set_kept(OF_PROCESS, 0, 0, &in, &was)) {
            if (old != NULL) {
                *old = in_us(&was);
            }
            return 0;
        }
    }
    return REAL(setitimer)(which, new, old);
}

OVERRIDE int getitimer(__itimer_which_t which, struct itimerval *now) {
    struct itimerspec kept;
    if (which == ITIMER_REAL && get_kept(OF_PROCESS, 0, &kept)) {
        *now = in_us(&kept);
        return 0;
    }
    return REAL(getitimer)(which, now);
}

/* What is left of the earlier alarm is rounded to whole seconds, but never to none. */
OVERRIDE unsigned alarm(unsigned s) {
    struct itimerval new = {{0, 0}, {s, 0}}, old = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &new, &old);
    int rounds_up = old.it_value.tv_usec >= 500000 ||
                    (old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0);
    return (unsigned)(old.it_value.tv_sec + rounds_up);
}

OVERRIDE useconds_t ualarm(useconds_t us, useconds_t every_us) {
    struct itimerval new = {{every_us / 1000000, every_us % 1000000}, {us / 1000000, us % 1000000}};
    struct itimerval old = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &new, &old);
    return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}
