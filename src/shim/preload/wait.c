/*
 * Waiting by a wrong clock. The kernel knows only the right time. So every function that waits until a time, or for a
 * length of time, waits in slices: it is told how much true time passes until the host's clock shows the time, and no
 * more than SHIM_LOOK_AGAIN_NS of it; then it looks again, because the clock may have been set meanwhile, run at another rate,
 * or stood still. A length of time is a time of the monotonic clock.
 *
 * waits.h is the list of these functions. Each is one wait, and the real function in slices of it.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "waits.h"

static const int64_t NS_PER_S = 1000000000;
static const int64_t NS_PER_MS = 1000000;
static const int64_t NS_PER_US = 1000;

WAITS(DECLARE_REAL)
WAKES(DECLARE_REAL)

__attribute__((constructor)) static void prepare(void) {
    WAITS(FIND_REAL)
    WAKES(FIND_REAL)
}

/* A wait: until this clock of the host shows this time. */
struct wait {
    clockid_t clock;
    int64_t until_ns;
};

/* What the real function is told: a length of time, or the end of it by either clock of the machine. */
struct slice {
    struct timespec length;
    struct timespec wall;
    struct timespec mono;
};

static int64_t sum(int64_t one, int64_t other) {
    int64_t both;
    return __builtin_add_overflow(one, other, &both) ? INT64_MAX : both;
}

static int64_t ns(const struct timespec *time) {
    int64_t whole;
    return __builtin_mul_overflow((int64_t)time->tv_sec, NS_PER_S, &whole)
               ? (time->tv_sec < 0 ? INT64_MIN : INT64_MAX)
               : sum(whole, time->tv_nsec);
}

static struct timespec time_of(int64_t ns) {
    struct timespec time = {ns / NS_PER_S, ns % NS_PER_S};
    return time;
}

static struct wait until(clockid_t clock, const struct timespec *time) {
    struct wait wait = {clock, ns(time)};
    return wait;
}

static struct wait after(int64_t length_ns) {
    struct wait wait = {CLOCK_MONOTONIC, sum(shim_now_ns(CLOCK_MONOTONIC), length_ns)};
    return wait;
}

static int is_over(const struct wait *wait) {
    return shim_true_left_ns(wait->clock, wait->until_ns) == 0;
}

/* How much of it is left by the host's clock: what a wait that was interrupted returns. */
static int64_t left_ns(const struct wait *wait) {
    int64_t now_ns = shim_now_ns(wait->clock);
    return wait->until_ns > now_ns ? wait->until_ns - now_ns : 0;
}

static struct slice next_slice(const struct wait *wait) {
    int64_t true_ns = shim_true_left_ns(wait->clock, wait->until_ns);
    if (true_ns > SHIM_LOOK_AGAIN_NS) {
        true_ns = SHIM_LOOK_AGAIN_NS;
    }
    struct slice slice = {.length = time_of(true_ns)};
    shim_true_clock(CLOCK_REALTIME, &slice.wall);
    shim_true_clock(CLOCK_MONOTONIC, &slice.mono);
    slice.wall = time_of(ns(&slice.wall) + true_ns);
    slice.mono = time_of(ns(&slice.mono) + true_ns);
    return slice;
}

/* Calls the real function with one slice after another, until it ends for another reason than that the slice is over
 * (`ran_out`), or the wait is over. */
#define IN_SLICES(wait, slice, call, ran_out)                                                      \
    struct slice slice;                                                                            \
    do {                                                                                           \
        slice = next_slice(wait);                                                                  \
        call;                                                                                      \
    } while ((ran_out) && !is_over(wait))

/* Whether the real function waits for it rightly, or refuses it: the clocks are right, or it is no time. */
static int is_for_the_real_one(const struct timespec *time) {
    return time == NULL || !shim_is_wrong() || time->tv_sec < 0 || time->tv_nsec < 0 ||
           time->tv_nsec >= NS_PER_S;
}

/* The same for a time by a clock that the call names. */
static int is_for_the_real_one_by(clockid_t clock, const struct timespec *time) {
    return !shim_bends(clock) || is_for_the_real_one(time);
}

/* Sleep. */

static int sleep_in_slices(const struct wait *wait) {
    int error;
    IN_SLICES(wait, slice,
              error = REAL(clock_nanosleep)(CLOCK_MONOTONIC, 0, &slice.length, NULL), error == 0);
    return error;
}

OVERRIDE int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                             struct timespec *left) {
    MAY_STAND_STILL(0);
    if (is_for_the_real_one_by(clock, time)) {
        return REAL(clock_nanosleep)(clock, flags, time, left);
    }
    int is_until = flags & TIMER_ABSTIME;
    struct wait wait = is_until ? until(clock, time) : after(ns(time));
    int error = sleep_in_slices(&wait);
    if (error == EINTR && !is_until && left != NULL) {
        *left = time_of(left_ns(&wait));
    }
    return error;
}

OVERRIDE int nanosleep(const struct timespec *length, struct timespec *left) {
    MAY_STAND_STILL(0);
    if (is_for_the_real_one(length)) {
        return REAL(nanosleep)(length, left);
    }
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, length, left);
    if (error != 0) {
        errno = error;
    }
    return error == 0 ? 0 : -1;
}

OVERRIDE int usleep(useconds_t us) {
    struct timespec length = time_of(us * NS_PER_US);
    return nanosleep(&length, NULL);
}

OVERRIDE unsigned sleep(unsigned s) {
    struct timespec length = {s, 0}, left = {0, 0};
    return nanosleep(&length, &left) == 0 ? 0 : (unsigned)left.tv_sec;
}

OVERRIDE int thrd_sleep(const struct timespec *length, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, length, left);
    return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

/* Locks and threads: the functions that return -1, and those that return the error. */

#define UNTIL_AS_ERRNO(clock, deadline, call)                                                      \
    struct wait wait = until(clock, deadline);                                                     \
    ssize_t result;                                                                                \
    IN_SLICES(&wait, slice, result = call, result == -1 && errno == ETIMEDOUT);                    \
    return result

#define UNTIL_AS_RESULT(clock, deadline, call)                                                     \
    struct wait wait = until(clock, deadline);                                                     \
    int result;                                                                                    \
    IN_SLICES(&wait, slice, result = call, result == ETIMEDOUT);                                   \
    return result

OVERRIDE int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(sem_clockwait)(semaphore, clock, deadline);
    }
    UNTIL_AS_ERRNO(clock, deadline, REAL(sem_timedwait)(semaphore, &slice.wall));
}

OVERRIDE int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(sem_timedwait)(semaphore, deadline);
    }
    return sem_clockwait(semaphore, CLOCK_REALTIME, deadline);
}

OVERRIDE int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(pthread_mutex_clocklock)(mutex, clock, deadline);
    }
    UNTIL_AS_RESULT(clock, deadline, REAL(pthread_mutex_timedlock)(mutex, &slice.wall));
}

OVERRIDE int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(pthread_mutex_timedlock)(mutex, deadline);
    }
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, deadline);
}

OVERRIDE int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(pthread_rwlock_clockrdlock)(lock, clock, deadline);
    }
    UNTIL_AS_RESULT(clock, deadline, REAL(pthread_rwlock_timedrdlock)(lock, &slice.wall));
}

OVERRIDE int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(pthread_rwlock_timedrdlock)(lock, deadline);
    }
    return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, deadline);
}

OVERRIDE int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(pthread_rwlock_clockwrlock)(lock, clock, deadline);
    }
    UNTIL_AS_RESULT(clock, deadline, REAL(pthread_rwlock_timedwrlock)(lock, &slice.wall));
}

OVERRIDE int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(pthread_rwlock_timedwrlock)(lock, deadline);
    }
    return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, deadline);
}

OVERRIDE int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
                                  const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(pthread_clockjoin_np)(thread, value, clock, deadline);
    }
    UNTIL_AS_RESULT(clock, deadline, REAL(pthread_timedjoin_np)(thread, value, &slice.wall));
}

OVERRIDE int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(pthread_timedjoin_np)(thread, value, deadline);
    }
    return pthread_clockjoin_np(thread, value, CLOCK_REALTIME, deadline);
}

static int as_thrd(int error) {
    return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

/* The C library's own mtx_t and cnd_t are its mutex and its condition. */
OVERRIDE int mtx_timedlock(mtx_t *mutex, const struct timespec *deadline) {
    return as_thrd(pthread_mutex_timedlock((pthread_mutex_t *)mutex, deadline));
}

/*
 * Conditions and futexes: a wake-up between two slices would be lost. A wake-up of the C library's is for those that
 * wait, and whoever wakes them need not hold the mutex. So wake-ups are counted, and a wait whose slice is over returns
 * as if it was woken, if somebody was. That may be a wake-up without a reason, which every waiter has to expect. Two
 * conditions may share a number, which has the same effect. Wake-ups by other processes are not counted.
 */
static uint32_t woken[4096];

static uint32_t *woken_at(const void *place) {
    uint64_t mixed = ((uint64_t)(uintptr_t)place >> 2) * 0x9E3779B97F4A7C15;
    return &woken[mixed >> 52];
}

static void count_wake_up(const void *place) {
    if (shim_is_wrong()) {
        __atomic_fetch_add(woken_at(place), 1, __ATOMIC_SEQ_CST);
    }
}

static uint32_t wake_ups(const void *place) {
    return __atomic_load_n(woken_at(place), __ATOMIC_SEQ_CST);
}

OVERRIDE int pthread_cond_signal(pthread_cond_t *condition) {
    count_wake_up(condition);
    return REAL(pthread_cond_signal)(condition);
}

OVERRIDE int pthread_cond_broadcast(pthread_cond_t *condition) {
    count_wake_up(condition);
    return REAL(pthread_cond_broadcast)(condition);
}

OVERRIDE int cnd_signal(cnd_t *condition) {
    return as_thrd(pthread_cond_signal((pthread_cond_t *)condition));
}

OVERRIDE int cnd_broadcast(cnd_t *condition) {
    return as_thrd(pthread_cond_broadcast((pthread_cond_t *)condition));
}

OVERRIDE int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    clockid_t clock, const struct timespec *deadline) {
    if (is_for_the_real_one_by(clock, deadline)) {
        return REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
    }
    struct wait wait = until(clock, deadline);
    uint32_t before = wake_ups(condition);
    int error;
    IN_SLICES(&wait, slice,
              error = REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &slice.mono),
              error == ETIMEDOUT && wake_ups(condition) == before);
    return error == ETIMEDOUT && !is_over(&wait) ? 0 : error;
}

static int64_t distance(int64_t one, int64_t other) {
    int64_t between;
    int is_far = __builtin_sub_overflow(one, other, &between);
    return is_far ? INT64_MAX : between < 0 ? -between : between;
}

/* A condition does not tell its clock, but the two show times that are decades apart. */
OVERRIDE int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(pthread_cond_timedwait)(condition, mutex, deadline);
    }
    int64_t from_wall_ns = distance(ns(deadline), shim_now_ns(CLOCK_REALTIME));
    int64_t from_mono_ns = distance(ns(deadline), shim_now_ns(CLOCK_MONOTONIC));
    clockid_t clock = from_wall_ns < from_mono_ns ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    return pthread_cond_clockwait(condition, mutex, clock, deadline);
}

OVERRIDE int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *deadline) {
    return as_thrd(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex,
                                          deadline));
}

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                  uint32_t *other, uint32_t more) {
    return shim_syscall(SYS_futex, (long)word, operation, value, (long)timeout, (long)other, more);
}

long shim_futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                uint32_t *other, uint32_t more) {
    int kind = operation & FUTEX_CMD_MASK;
    clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    switch (kind) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI2:
        break;
    case FUTEX_LOCK_PI:
        clock = CLOCK_REALTIME;
        break;
    default:
        /* The others do not wait: in the place of the time they have a number. */
        if (kind != FUTEX_UNLOCK_PI && kind != FUTEX_TRYLOCK_PI) {
            count_wake_up(word);
        }
        return futex(word, operation, value, timeout, other, more);
    }
    if (is_for_the_real_one(timeout)) {
        return futex(word, operation, value, timeout, other, more);
    }
    struct wait wait = kind == FUTEX_WAIT ? after(ns(timeout)) : until(clock, timeout);
    uint32_t before = wake_ups(word);
    long result;
    IN_SLICES(&wait, slice,
              const struct timespec *told = kind == FUTEX_WAIT         ? &slice.length
                                            : clock == CLOCK_REALTIME ? &slice.wall
                                                                      : &slice.mono;
              result = futex(word, operation, value, told, other, more),
              result == -1 && errno == ETIMEDOUT && wake_ups(word) == before);
    return result == -1 && errno == ETIMEDOUT && !is_over(&wait) ? 0 : result;
}

/* Messages, signals and semaphores between processes. */

OVERRIDE ssize_t mq_timedreceive(mqd_t queue, char *message, size_t length, unsigned *priority,
                                 const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(mq_timedreceive)(queue, message, length, priority, deadline);
    }
    UNTIL_AS_ERRNO(CLOCK_REALTIME, deadline,
                   REAL(mq_timedreceive)(queue, message, length, priority, &slice.wall));
}

OVERRIDE int mq_timedsend(mqd_t queue, const char *message, size_t length, unsigned priority,
                          const struct timespec *deadline) {
    if (is_for_the_real_one(deadline)) {
        return REAL(mq_timedsend)(queue, message, length, priority, deadline);
    }
    UNTIL_AS_ERRNO(CLOCK_REALTIME, deadline,
                   REAL(mq_timedsend)(queue, message, length, priority, &slice.wall));
}

OVERRIDE int sigtimedwait(const sigset_t *signals, siginfo_t *about,
                          const struct timespec *length) {
    if (is_for_the_real_one(length)) {
        return REAL(sigtimedwait)(signals, about, length);
    }
    struct wait wait = after(ns(length));
    int result;
    IN_SLICES(&wait, slice, result = REAL(sigtimedwait)(signals, about, &slice.length),
              result == -1 && errno == EAGAIN);
    return result;
}

OVERRIDE int semtimedop(int semaphores, struct sembuf *operations, size_t count,
                        const struct timespec *length) {
    int waits = 1;
    for (size_t i = 0; i < count; i++) {
        waits = waits && !(operations[i].sem_flg & IPC_NOWAIT);
    }
    if (!waits || is_for_the_real_one(length)) {
        return REAL(semtimedop)(semaphores, operations, count, length);
    }
    struct wait wait = after(ns(length));
    int result;
    IN_SLICES(&wait, slice,
              result = REAL(semtimedop)(semaphores, operations, count, &slice.length),
              result == -1 && errno == EAGAIN);
    return result;
}

OVERRIDE int aio_suspend(const struct aiocb *const requests[], int count,
                         const struct timespec *length) {
    if (is_for_the_real_one(length)) {
        return REAL(aio_suspend)(requests, count, length);
    }
    struct wait wait = after(ns(length));
    int result;
    IN_SLICES(&wait, slice, result = REAL(aio_suspend)(requests, count, &slice.length),
              result == -1 && errno == EAGAIN);
    return result;
}

/* Descriptors. */

OVERRIDE int ppoll(struct pollfd *files, nfds_t count, const struct timespec *length,
                   const sigset_t *signals) {
    MAY_STAND_STILL(0);
    if (is_for_the_real_one(length) || ns(length) == 0) {
        return REAL(ppoll)(files, count, length, signals);
    }
    struct wait wait = after(ns(length));
    int ready;
    IN_SLICES(&wait, slice, ready = REAL(ppoll)(files, count, &slice.length, signals), ready == 0);
    return ready;
}

int shim_poll(struct pollfd *files, nfds_t count, int timeout_ms) {
    MAY_STAND_STILL(0);
    if (timeout_ms <= 0 || !shim_is_wrong()) {
        return REAL(poll)(files, count, timeout_ms);
    }
    struct timespec length = time_of(timeout_ms * NS_PER_MS);
    return ppoll(files, count, &length, NULL);
}

/* What a set of so many descriptors takes, in longs. */
static size_t longs_of(int count) {
    size_t bits = 8 * sizeof(long);
    return count > 0 ? ((size_t)count + bits - 1) / bits : 0;
}

/* The real function empties the sets when its slice is over. */
static int select_in_slices(int count, fd_set *sets[3], const struct wait *wait,
                            const sigset_t *signals) {
    size_t size = longs_of(count) * sizeof(long);
    long asked[3][longs_of(count) + 1];
    for (int i = 0; i < 3; i++) {
        if (sets[i] != NULL) {
            memcpy(asked[i], sets[i], size);
        }
    }
    int ready;
    IN_SLICES(
        wait, slice,
        for (int i = 0; i < 3; i++) {
            if (sets[i] != NULL) {
                memcpy(sets[i], asked[i], size);
            }
        } ready = REAL(pselect)(count, sets[0], sets[1], sets[2], &slice.length, signals),
        ready == 0);
    return ready;
}

OVERRIDE int pselect(int count, fd_set *readable, fd_set *writable, fd_set *others,
                     const struct timespec *length, const sigset_t *signals) {
    MAY_STAND_STILL(0);
    if (is_for_the_real_one(length) || ns(length) == 0) {
        return REAL(pselect)(count, readable, writable, others, length, signals);
    }
    fd_set *sets[3] = {readable, writable, others};
    struct wait wait = after(ns(length));
    return select_in_slices(count, sets, &wait, signals);
}

/* Linux writes into the time how much of it is left. */
OVERRIDE int select(int count, fd_set *readable, fd_set *writable, fd_set *others,
                    struct timeval *length) {
    MAY_STAND_STILL(0);
    if (length == NULL || length->tv_sec < 0 || length->tv_usec < 0 || !shim_is_wrong() ||
        (length->tv_sec == 0 && length->tv_usec == 0)) {
        return REAL(select)(count, readable, writable, others, length);
    }
    fd_set *sets[3] = {readable, writable, others};
    struct timespec whole = {length->tv_sec, 0};
    struct wait wait = after(sum(ns(&whole), length->tv_usec * NS_PER_US));
    int ready = select_in_slices(count, sets, &wait, NULL);
    int64_t left = left_ns(&wait);
    length->tv_sec = left / NS_PER_S;
    length->tv_usec = left % NS_PER_S / NS_PER_US;
    return ready;
}

/* An older C library, an older kernel or a sandbox knows whole milliseconds only. */
static int wait_for_events(int epoll, struct epoll_event *events, int most,
                           const struct timespec *length, const sigset_t *signals) {
    if (real_epoll_pwait2 != NULL) {
        int ready = real_epoll_pwait2(epoll, events, most, length, signals);
        if (ready >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return ready;
        }
    }
    int64_t ms = (ns(length) + NS_PER_MS - 1) / NS_PER_MS;
    return REAL(epoll_pwait)(epoll, events, most, (int)ms, signals);
}

OVERRIDE int epoll_pwait2(int epoll, struct epoll_event *events, int most,
                          const struct timespec *length, const sigset_t *signals) {
    MAY_STAND_STILL(0);
    if (is_for_the_real_one(length) || ns(length) == 0) {
        return REAL(epoll_pwait2)(epoll, events, most, length, signals);
    }
    struct wait wait = after(ns(length));
    int ready;
    IN_SLICES(&wait, slice,
              ready = wait_for_events(epoll, events, most, &slice.length, signals), ready == 0);
    return ready;
}

OVERRIDE int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout_ms,
                         const sigset_t *signals) {
    MAY_STAND_STILL(0);
    if (timeout_ms <= 0 || !shim_is_wrong()) {
        return REAL(epoll_pwait)(epoll, events, most, timeout_ms, signals);
    }
    struct timespec length = time_of(timeout_ms * NS_PER_MS);
    return epoll_pwait2(epoll, events, most, &length, signals);
}

OVERRIDE int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms) {
    MAY_STAND_STILL(0);
    if (timeout_ms <= 0 || !shim_is_wrong()) {
        return REAL(epoll_wait)(epoll, events, most, timeout_ms);
    }
    return epoll_pwait(epoll, events, most, timeout_ms, NULL);
}

/* Sockets with a time limit of their own. The kernel keeps the limit; here it is waited for by the host's clock. */

/* Waits until the socket can be used, as long as its time limit says. 0, or -1 with errno. */
static int await_socket(int socket, int option, short event, int flags) {
    struct timeval limit;
    socklen_t length = sizeof limit;
    int error = errno;
    if (!shim_is_wrong() || flags & MSG_DONTWAIT ||
        getsockopt(socket, SOL_SOCKET, option, &limit, &length) != 0 ||
        (limit.tv_sec == 0 && limit.tv_usec == 0) || fcntl(socket, F_GETFL) & O_NONBLOCK) {
        errno = error;
        return 0;
    }
    struct pollfd file = {.fd = socket, .events = event};
    struct timespec time = {limit.tv_sec, limit.tv_usec * NS_PER_US};
    int ready = ppoll(&file, 1, &time, NULL);
    if (ready == 0) {
        errno = EAGAIN;
    }
    return ready > 0 ? 0 : -1;
}

#define CAN_READ(socket, flags) (await_socket(socket, SO_RCVTIMEO, POLLIN, flags) == 0)
#define CAN_WRITE(socket, flags) (await_socket(socket, SO_SNDTIMEO, POLLOUT, flags) == 0)

/* Before the constructors have run, the two that others may call then. */
OVERRIDE ssize_t read(int file, void *bytes, size_t length) {
    if (real_read == NULL) {
        return shim_syscall(SYS_read, file, (long)bytes, (long)length, 0, 0, 0);
    }
    MAY_STAND_STILL(0);
    return CAN_READ(file, 0) ? real_read(file, bytes, length) : -1;
}

OVERRIDE ssize_t write(int file, const void *bytes, size_t length) {
    if (real_write == NULL) {
        return shim_syscall(SYS_write, file, (long)bytes, (long)length, 0, 0, 0);
    }
    MAY_STAND_STILL(1);
    shim_tells(bytes, length);
    return CAN_WRITE(file, 0) && !shim_refuses(file) ? real_write(file, bytes, length) : -1;
}

OVERRIDE ssize_t readv(int file, const struct iovec *parts, int count) {
    MAY_STAND_STILL(0);
    return CAN_READ(file, 0) ? REAL(readv)(file, parts, count) : -1;
}

OVERRIDE ssize_t writev(int file, const struct iovec *parts, int count) {
    MAY_STAND_STILL(1);
    return CAN_WRITE(file, 0) && !shim_refuses(file) ? REAL(writev)(file, parts, count) : -1;
}

OVERRIDE ssize_t recv(int socket, void *bytes, size_t length, int flags) {
    MAY_STAND_STILL(0);
    return CAN_READ(socket, flags) ? REAL(recv)(socket, bytes, length, flags) : -1;
}

OVERRIDE ssize_t recvfrom(int socket, void *bytes, size_t length, int flags, struct sockaddr *from,
                          socklen_t *size) {
    MAY_STAND_STILL(0);
    return CAN_READ(socket, flags) ? REAL(recvfrom)(socket, bytes, length, flags, from, size) : -1;
}

OVERRIDE ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    MAY_STAND_STILL(0);
    return CAN_READ(socket, flags) ? REAL(recvmsg)(socket, message, flags) : -1;
}

OVERRIDE int accept(int socket, struct sockaddr *from, socklen_t *size) {
    MAY_STAND_STILL(0);
    return CAN_READ(socket, 0) ? REAL(accept)(socket, from, size) : -1;
}

OVERRIDE int accept4(int socket, struct sockaddr *from, socklen_t *size, int flags) {
    MAY_STAND_STILL(0);
    return CAN_READ(socket, 0) ? REAL(accept4)(socket, from, size, flags) : -1;
}

OVERRIDE ssize_t send(int socket, const void *bytes, size_t length, int flags) {
    MAY_STAND_STILL(1);
    return CAN_WRITE(socket, flags) ? REAL(send)(socket, bytes, length, flags) : -1;
}

OVERRIDE ssize_t sendto(int socket, const void *bytes, size_t length, int flags,
                        const struct sockaddr *to, socklen_t size) {
    MAY_STAND_STILL(1);
    return CAN_WRITE(socket, flags) ? REAL(sendto)(socket, bytes, length, flags, to, size) : -1;
}

OVERRIDE ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    MAY_STAND_STILL(1);
    return CAN_WRITE(socket, flags) ? REAL(sendmsg)(socket, message, flags) : -1;
}

/* The names under which a program calls some of them that was compiled with bounds checks. */

extern void __chk_fail(void) __attribute__((noreturn));

static void check(size_t needed, size_t size) {
    if (needed > size) {
        __chk_fail();
    }
}

OVERRIDE int __poll_chk(struct pollfd *files, nfds_t count, int timeout_ms, size_t size) {
    check(count, size / sizeof *files);
    return poll(files, count, timeout_ms);
}

OVERRIDE int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *length,
                         const sigset_t *signals, size_t size) {
    check(count, size / sizeof *files);
    return ppoll(files, count, length, signals);
}

OVERRIDE ssize_t __read_chk(int file, void *bytes, size_t length, size_t size) {
    check(length, size);
    return read(file, bytes, length);
}

OVERRIDE ssize_t __recv_chk(int socket, void *bytes, size_t length, size_t size, int flags) {
    check(length, size);
    return recv(socket, bytes, length, flags);
}

OVERRIDE ssize_t __recvfrom_chk(int socket, void *bytes, size_t length, size_t size, int flags,
                                struct sockaddr *from, socklen_t *from_size) {
    check(length, size);
    return recvfrom(socket, bytes, length, flags, from, from_size);
}
