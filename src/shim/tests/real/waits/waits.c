/* Every wait of the C library, each in a thread of its own, all at the same time: 200 ms by the clock that it goes by. For
 * each a line: its name, that clock, and how long it took by the monotonic clock, in milliseconds. */

#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH_MS = 200 };

static const struct timespec LENGTH = {0, LENGTH_MS * 1000000L};
static const struct timeval LENGTH_US = {0, LENGTH_MS * 1000L};

static struct timespec until(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += LENGTH.tv_nsec;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static double now_ms(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

/* What the wait has to have returned, or the program says what is wrong and fails. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDOUT_FILENO, "wrong %s: %s\n", __func__, #condition);                                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Some calls are interrupted when the process goes on after SIGSTOP, though it handles no signal: signal(7). They are
 * called again, for the time that is `left`. */
#define AGAIN(call)                                                                                \
    ({                                                                                             \
        double since_ms_ = now_ms();                                                               \
        int result_;                                                                               \
        do {                                                                                       \
            double left_ms = LENGTH_MS - (now_ms() - since_ms_);                                   \
            struct timespec left = {0, left_ms > 0 ? (long)(left_ms * 1e6) : 0};                   \
            (void)left;                                                                            \
            result_ = (call);                                                                      \
        } while (result_ == -1 && errno == EINTR);                                                 \
        result_;                                                                                   \
    })

#define WALL CLOCK_REALTIME
#define MONO CLOCK_MONOTONIC

#define WAIT(name) static void name(void)

WAIT(clock_nanosleep_for_mono) { EXPECT(clock_nanosleep(MONO, 0, &LENGTH, NULL) == 0); }
WAIT(clock_nanosleep_for_wall) { EXPECT(clock_nanosleep(WALL, 0, &LENGTH, NULL) == 0); }
WAIT(clock_nanosleep_until_mono) {
    struct timespec at = until(MONO);
    EXPECT(clock_nanosleep(MONO, TIMER_ABSTIME, &at, NULL) == 0);
}
WAIT(clock_nanosleep_until_wall) {
    struct timespec at = until(WALL);
    EXPECT(clock_nanosleep(WALL, TIMER_ABSTIME, &at, NULL) == 0);
}
WAIT(nanosleep_) { EXPECT(nanosleep(&LENGTH, NULL) == 0); }
WAIT(usleep_) { EXPECT(usleep(LENGTH_MS * 1000) == 0); }
WAIT(thrd_sleep_) { EXPECT(thrd_sleep(&LENGTH, NULL) == 0); }
WAIT(poll_) { EXPECT(poll(NULL, 0, LENGTH_MS) == 0); }
WAIT(ppoll_) { EXPECT(ppoll(NULL, 0, &LENGTH, NULL) == 0); }
WAIT(select_) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval left = LENGTH_US;
    EXPECT(select(ends[0] + 1, &set, NULL, NULL, &left) == 0);
    EXPECT(!FD_ISSET(ends[0], &set) && left.tv_sec == 0 && left.tv_usec == 0);
}
WAIT(pselect_) { EXPECT(pselect(0, NULL, NULL, NULL, &LENGTH, NULL) == 0); }
WAIT(epoll_wait_) {
    struct epoll_event event;
    int file = epoll_create1(0);
    EXPECT(AGAIN(epoll_wait(file, &event, 1, (int)left_ms + 1)) == 0);
}
WAIT(epoll_pwait_) {
    struct epoll_event event;
    int file = epoll_create1(0);
    EXPECT(AGAIN(epoll_pwait(file, &event, 1, (int)left_ms + 1, NULL)) == 0);
}
WAIT(epoll_pwait2_) {
    struct epoll_event event;
    int file = epoll_create1(0);
    int result = AGAIN(epoll_pwait2(file, &event, 1, &left, NULL));
    EXPECT(result == 0 || errno == ENOSYS);
}
WAIT(sigtimedwait_) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    EXPECT(AGAIN(sigtimedwait(&set, NULL, &left)) == -1 && errno == EAGAIN);
}
WAIT(semtimedop_) {
    int id = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf take = {0, -1, 0};
    int result = AGAIN(semtimedop(id, &take, 1, &left)), error = errno;
    semctl(id, 0, IPC_RMID);
    EXPECT(result == -1 && error == EAGAIN);
}
WAIT(aio_suspend_) {
    int ends[2];
    char byte;
    EXPECT(pipe(ends) == 0);
    struct aiocb request = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *requests[] = {&request};
    EXPECT(aio_read(&request) == 0);
    EXPECT(aio_suspend(requests, 1, &LENGTH) == -1 && errno == EAGAIN);
    EXPECT(write(ends[1], "x", 1) == 1);
    EXPECT(aio_suspend(requests, 1, NULL) == 0);
}

/* Locks and threads. */

#define LATE(call) EXPECT((call) == ETIMEDOUT)

static void *hold_mutex(void *mutex) { return pthread_mutex_lock(mutex) == 0 ? NULL : mutex; }

/* A mutex that a thread holds which has ended. */
static pthread_mutex_t *held_mutex(void) {
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_t holder;
    pthread_mutex_init(mutex, NULL);
    pthread_create(&holder, NULL, hold_mutex, mutex);
    pthread_join(holder, NULL);
    return mutex;
}

WAIT(pthread_mutex_timedlock_) {
    struct timespec at = until(WALL);
    LATE(pthread_mutex_timedlock(held_mutex(), &at));
}
WAIT(pthread_mutex_clocklock_mono) {
    struct timespec at = until(MONO);
    LATE(pthread_mutex_clocklock(held_mutex(), MONO, &at));
}
WAIT(pthread_mutex_clocklock_wall) {
    struct timespec at = until(WALL);
    LATE(pthread_mutex_clocklock(held_mutex(), WALL, &at));
}
WAIT(mtx_timedlock_) {
    struct timespec at = until(WALL);
    EXPECT(mtx_timedlock((mtx_t *)held_mutex(), &at) == thrd_timedout);
}

static void *hold_lock(void *lock) { return pthread_rwlock_wrlock(lock) == 0 ? NULL : lock; }

static pthread_rwlock_t *held_lock(void) {
    pthread_rwlock_t *lock = malloc(sizeof *lock);
    pthread_t holder;
    pthread_rwlock_init(lock, NULL);
    pthread_create(&holder, NULL, hold_lock, lock);
    pthread_join(holder, NULL);
    return lock;
}

WAIT(pthread_rwlock_timedrdlock_) {
    struct timespec at = until(WALL);
    LATE(pthread_rwlock_timedrdlock(held_lock(), &at));
}
WAIT(pthread_rwlock_timedwrlock_) {
    struct timespec at = until(WALL);
    LATE(pthread_rwlock_timedwrlock(held_lock(), &at));
}
WAIT(pthread_rwlock_clockrdlock_) {
    struct timespec at = until(MONO);
    LATE(pthread_rwlock_clockrdlock(held_lock(), MONO, &at));
}
WAIT(pthread_rwlock_clockwrlock_) {
    struct timespec at = until(MONO);
    LATE(pthread_rwlock_clockwrlock(held_lock(), MONO, &at));
}

/* Once, without a loop: a wait whose time is not over must not end. */
static int on_condition(clockid_t of, int named) {
    pthread_condattr_t attributes;
    pthread_cond_t condition;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_init(&attributes);
    if (!named) {
        pthread_condattr_setclock(&attributes, of);
    }
    pthread_cond_init(&condition, &attributes);
    struct timespec at = until(of);
    pthread_mutex_lock(&mutex);
    return named ? pthread_cond_clockwait(&condition, &mutex, of, &at)
                 : pthread_cond_timedwait(&condition, &mutex, &at);
}

WAIT(pthread_cond_timedwait_wall) { LATE(on_condition(WALL, 0)); }
WAIT(pthread_cond_timedwait_mono) { LATE(on_condition(MONO, 0)); }
WAIT(pthread_cond_clockwait_wall) { LATE(on_condition(WALL, 1)); }
WAIT(pthread_cond_clockwait_mono) { LATE(on_condition(MONO, 1)); }
WAIT(cnd_timedwait_) {
    cnd_t condition;
    mtx_t mutex;
    cnd_init(&condition);
    mtx_init(&mutex, mtx_plain);
    mtx_lock(&mutex);
    struct timespec at;
    timespec_get(&at, TIME_UTC);
    at = until(WALL);
    EXPECT(cnd_timedwait(&condition, &mutex, &at) == thrd_timedout);
}

WAIT(sem_timedwait_) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct timespec at = until(WALL);
    EXPECT(sem_timedwait(&semaphore, &at) == -1 && errno == ETIMEDOUT);
}
WAIT(sem_clockwait_mono) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct timespec at = until(MONO);
    EXPECT(sem_clockwait(&semaphore, MONO, &at) == -1 && errno == ETIMEDOUT);
}
WAIT(sem_clockwait_wall) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct timespec at = until(WALL);
    EXPECT(sem_clockwait(&semaphore, WALL, &at) == -1 && errno == ETIMEDOUT);
}

static void *sleep_long(void *unused) {
    pause();
    return unused;
}

WAIT(pthread_timedjoin_np_) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_long, NULL);
    struct timespec at = until(WALL);
    LATE(pthread_timedjoin_np(thread, NULL, &at));
}
WAIT(pthread_clockjoin_np_) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_long, NULL);
    struct timespec at = until(MONO);
    LATE(pthread_clockjoin_np(thread, NULL, MONO, &at));
}

static mqd_t queue(const char *name) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    mq_unlink(name);
    return queue;
}

/* Where there are no queues, as in some containers, as long as a sleep. */
WAIT(mq_timedreceive_) {
    char name[40], message[8];
    snprintf(name, sizeof name, "/locklab-waits-r-%d", getpid());
    mqd_t empty = queue(name);
    struct timespec at = until(WALL);
    if (empty == (mqd_t)-1) {
        clock_nanosleep(WALL, TIMER_ABSTIME, &at, NULL);
        return;
    }
    EXPECT(mq_timedreceive(empty, message, 8, NULL, &at) == -1 && errno == ETIMEDOUT);
}
WAIT(mq_timedsend_) {
    char name[40];
    snprintf(name, sizeof name, "/locklab-waits-s-%d", getpid());
    mqd_t full = queue(name);
    struct timespec at = until(WALL);
    if (full == (mqd_t)-1) {
        clock_nanosleep(WALL, TIMER_ABSTIME, &at, NULL);
        return;
    }
    EXPECT(mq_send(full, "x", 1, 0) == 0);
    at = until(WALL);
    EXPECT(mq_timedsend(full, "x", 1, 0, &at) == -1 && errno == ETIMEDOUT);
}

/* System calls. */

static long futex(int operation, const struct timespec *time) {
    int word = 7;
    return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, 7, time, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

WAIT(futex_wait) { EXPECT(futex(FUTEX_WAIT, &LENGTH) == -1 && errno == ETIMEDOUT); }
WAIT(futex_wait_bitset_mono) {
    struct timespec at = until(MONO);
    EXPECT(futex(FUTEX_WAIT_BITSET, &at) == -1 && errno == ETIMEDOUT);
}
WAIT(futex_wait_bitset_wall) {
    struct timespec at = until(WALL);
    EXPECT(futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, &at) == -1 && errno == ETIMEDOUT);
}
WAIT(syscall_clock_nanosleep) {
    struct timespec at;
    EXPECT(syscall(SYS_clock_gettime, MONO, &at) == 0);
    at = until(MONO);
    EXPECT(syscall(SYS_clock_nanosleep, MONO, TIMER_ABSTIME, &at, NULL) == 0);
}
WAIT(syscall_ppoll) {
    struct timespec length = LENGTH;
    EXPECT(syscall(SYS_ppoll, NULL, 0, &length, NULL, 8) == 0);
}
WAIT(syscall_pselect6) {
    struct timespec length = LENGTH;
    EXPECT(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &length, NULL) == 0);
}

/* Sockets with a time limit. */

static int socket_with(int option, int peer_reads) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    EXPECT(setsockopt(ends[0], SOL_SOCKET, option, &LENGTH_US, sizeof LENGTH_US) == 0);
    while (!peer_reads && send(ends[0], &ends, sizeof ends, MSG_DONTWAIT) > 0) {
    }
    return ends[0];
}

#define TIMED_OUT(call)                                                                            \
    char byte[1] = "x";                                                                            \
    struct iovec part = {byte, 1};                                                                 \
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};                                   \
    (void)message;                                                                                 \
    EXPECT((call) == -1 && errno == EAGAIN)

WAIT(so_rcvtimeo_read) { TIMED_OUT(read(socket_with(SO_RCVTIMEO, 1), byte, 1)); }
WAIT(so_rcvtimeo_readv) { TIMED_OUT(readv(socket_with(SO_RCVTIMEO, 1), &part, 1)); }
WAIT(so_rcvtimeo_recv) { TIMED_OUT(recv(socket_with(SO_RCVTIMEO, 1), byte, 1, 0)); }
WAIT(so_rcvtimeo_recvfrom) {
    TIMED_OUT(recvfrom(socket_with(SO_RCVTIMEO, 1), byte, 1, 0, NULL, NULL));
}
WAIT(so_rcvtimeo_recvmsg) { TIMED_OUT(recvmsg(socket_with(SO_RCVTIMEO, 1), &message, 0)); }
WAIT(so_sndtimeo_write) { TIMED_OUT(write(socket_with(SO_SNDTIMEO, 0), byte, 1)); }
WAIT(so_sndtimeo_writev) { TIMED_OUT(writev(socket_with(SO_SNDTIMEO, 0), &part, 1)); }
WAIT(so_sndtimeo_send) { TIMED_OUT(send(socket_with(SO_SNDTIMEO, 0), byte, 1, 0)); }
WAIT(so_sndtimeo_sendto) { TIMED_OUT(sendto(socket_with(SO_SNDTIMEO, 0), byte, 1, 0, NULL, 0)); }
WAIT(so_sndtimeo_sendmsg) { TIMED_OUT(sendmsg(socket_with(SO_SNDTIMEO, 0), &message, 0)); }

static int listener(void) {
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sa_family_t family = AF_UNIX;
    EXPECT(bind(socket_, (struct sockaddr *)&family, sizeof family) == 0);
    EXPECT(listen(socket_, 1) == 0);
    EXPECT(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &LENGTH_US, sizeof LENGTH_US) == 0);
    return socket_;
}

WAIT(so_rcvtimeo_accept) { EXPECT(accept(listener(), NULL, NULL) == -1 && errno == EAGAIN); }
WAIT(so_rcvtimeo_accept4) { EXPECT(accept4(listener(), NULL, NULL, 0) == -1 && errno == EAGAIN); }

/* Timers. */

static void await_file(int clock, int flags, struct timespec value, struct timespec every) {
    uint64_t times;
    struct itimerspec timer = {every, value};
    int file = timerfd_create(clock, 0);
    EXPECT(timerfd_settime(file, flags, &timer, NULL) == 0);
    EXPECT(read(file, &times, sizeof times) == sizeof times && times >= 1);
    if (every.tv_nsec != 0) {
        EXPECT(read(file, &times, sizeof times) == sizeof times && times >= 1);
    } else {
        EXPECT(timerfd_gettime(file, &timer) == 0 && timer.it_value.tv_nsec == 0);
    }
}

static const struct timespec NEVER = {0, 0};
static const struct timespec HALF = {0, LENGTH_MS * 500000L};

WAIT(timerfd_for) { await_file(MONO, 0, LENGTH, NEVER); }
WAIT(timerfd_every) { await_file(MONO, 0, HALF, HALF); }
WAIT(timerfd_until_mono) { await_file(MONO, TFD_TIMER_ABSTIME, until(MONO), NEVER); }
WAIT(timerfd_until_wall) { await_file(WALL, TFD_TIMER_ABSTIME, until(WALL), NEVER); }

static void await_signal(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    EXPECT(AGAIN(sigwaitinfo(&set, NULL)) == number);
}

static void await_timer(int number, clockid_t clock, int flags, struct timespec value) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec setting = {NEVER, value};
    timer_t timer;
    EXPECT(timer_create(clock, &event, &timer) == 0);
    EXPECT(timer_settime(timer, flags, &setting, NULL) == 0);
    await_signal(number);
    EXPECT(timer_delete(timer) == 0);
}

WAIT(timer_for) { await_timer(SIGRTMIN + 1, MONO, 0, LENGTH); }
WAIT(timer_until_mono) { await_timer(SIGRTMIN + 2, MONO, TIMER_ABSTIME, until(MONO)); }
WAIT(timer_until_wall) { await_timer(SIGRTMIN + 3, WALL, TIMER_ABSTIME, until(WALL)); }
WAIT(setitimer_) {
    struct itimerval timer = {{0, 0}, LENGTH_US};
    EXPECT(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    await_signal(SIGALRM);
}

/* A program that looks the functions up in the C library itself. */
WAIT(looked_up) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    EXPECT(library != NULL);
    __typeof__(clock_gettime) *gettime = dlsym(library, "clock_gettime");
    __typeof__(clock_nanosleep) *sleep_until = dlsym(library, "clock_nanosleep");
    struct timespec at;
    gettime(MONO, &at);
    at = until(MONO);
    EXPECT(sleep_until(MONO, TIMER_ABSTIME, &at, NULL) == 0);
}

struct one {
    const char *name;
    const char *clock;
    void (*wait)(void);
};

static const struct one all[] = {
#define FOR(name) {#name, "mono", name},
#define UNTIL(name) {#name, "wall", name},
    FOR(clock_nanosleep_for_mono) FOR(clock_nanosleep_for_wall) FOR(clock_nanosleep_until_mono)
    UNTIL(clock_nanosleep_until_wall) FOR(nanosleep_) FOR(usleep_) FOR(thrd_sleep_) FOR(poll_)
    FOR(ppoll_) FOR(select_) FOR(pselect_) FOR(epoll_wait_) FOR(epoll_pwait_) FOR(epoll_pwait2_)
    FOR(sigtimedwait_) FOR(semtimedop_) FOR(aio_suspend_) UNTIL(pthread_mutex_timedlock_)
    FOR(pthread_mutex_clocklock_mono) UNTIL(pthread_mutex_clocklock_wall) UNTIL(mtx_timedlock_)
    UNTIL(pthread_rwlock_timedrdlock_) UNTIL(pthread_rwlock_timedwrlock_)
    FOR(pthread_rwlock_clockrdlock_) FOR(pthread_rwlock_clockwrlock_)
    UNTIL(pthread_cond_timedwait_wall) FOR(pthread_cond_timedwait_mono)
    UNTIL(pthread_cond_clockwait_wall) FOR(pthread_cond_clockwait_mono) UNTIL(cnd_timedwait_)
    UNTIL(sem_timedwait_) FOR(sem_clockwait_mono) UNTIL(sem_clockwait_wall)
    UNTIL(pthread_timedjoin_np_) FOR(pthread_clockjoin_np_) UNTIL(mq_timedreceive_)
    UNTIL(mq_timedsend_) FOR(futex_wait) FOR(futex_wait_bitset_mono) UNTIL(futex_wait_bitset_wall)
    FOR(syscall_clock_nanosleep) FOR(syscall_ppoll) FOR(syscall_pselect6) FOR(so_rcvtimeo_read)
    FOR(so_rcvtimeo_readv) FOR(so_rcvtimeo_recv) FOR(so_rcvtimeo_recvfrom) FOR(so_rcvtimeo_recvmsg)
    FOR(so_rcvtimeo_accept) FOR(so_rcvtimeo_accept4) FOR(so_sndtimeo_write) FOR(so_sndtimeo_writev)
    FOR(so_sndtimeo_send) FOR(so_sndtimeo_sendto) FOR(so_sndtimeo_sendmsg) FOR(timerfd_for)
    FOR(timerfd_every) FOR(timerfd_until_mono) UNTIL(timerfd_until_wall) FOR(timer_for)
    FOR(timer_until_mono) UNTIL(timer_until_wall) FOR(setitimer_) FOR(looked_up)
};

static void *measure(void *of) {
    const struct one *one = of;
    double begin_ms = now_ms();
    one->wait();
    dprintf(STDOUT_FILENO, "%s %s %.3f\n", one->name, one->clock, now_ms() - begin_ms);
    return NULL;
}

int main(void) {
    enum { COUNT = sizeof all / sizeof *all };
    pthread_t threads[COUNT];
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    dprintf(STDOUT_FILENO, "begin\n");
    for (int i = 0; i < COUNT; i++) {
        pthread_create(&threads[i], NULL, measure, (void *)&all[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
    }
    _exit(0);
}
