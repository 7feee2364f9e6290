/*
 * The functions of the C library that wait for a time, or until one, and how each knows its time. wait.c takes the
 * place of all of them, and docs/faults.md lists them; a test compares the two.
 */

#ifndef LOCKLAB_WAITS_H
#define LOCKLAB_WAITS_H

#include <aio.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The most true time that passes until a wait notices that its clock was changed. */
static const int64_t SHIM_LOOK_AGAIN_NS = 10000000;

/* Not in the headers of older systems. */
int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* Until a time of a clock that the call names, or for a length of time. */
#define WAITS_OF_EITHER_KIND(each) each(clock_nanosleep)

/* Until a time of day. */
#define WAITS_UNTIL_A_TIME(each)                                                                   \
    each(sem_timedwait) each(pthread_mutex_timedlock) each(pthread_rwlock_timedrdlock)             \
    each(pthread_rwlock_timedwrlock) each(pthread_timedjoin_np) each(mtx_timedlock)                \
    each(cnd_timedwait) each(mq_timedreceive) each(mq_timedsend)

/* Until a time of the clock of the condition. */
#define WAITS_BY_OWN_CLOCK(each) each(pthread_cond_timedwait)

/* Until a time of a clock that the call names. */
#define WAITS_BY_NAMED_CLOCK(each)                                                                 \
    each(sem_clockwait) each(pthread_cond_clockwait) each(pthread_mutex_clocklock)                 \
    each(pthread_rwlock_clockrdlock) each(pthread_rwlock_clockwrlock) each(pthread_clockjoin_np)

/* For a length of time. */
#define WAITS_FOR_A_TIME(each)                                                                     \
    each(nanosleep) each(usleep) each(sleep) each(thrd_sleep) each(poll) each(ppoll) each(select)  \
    each(pselect) each(epoll_wait) each(epoll_pwait) each(epoll_pwait2) each(sigtimedwait)         \
    each(semtimedop) each(aio_suspend)

/* For as long as the socket's SO_RCVTIMEO or SO_SNDTIMEO says. */
#define WAITS_OF_A_SOCKET(each)                                                                    \
    each(read) each(readv) each(recv) each(recvfrom) each(recvmsg) each(accept) each(accept4)      \
    each(write) each(writev) each(send) each(sendto) each(sendmsg)

#define WAITS(each)                                                                                \
    WAITS_OF_EITHER_KIND(each)                                                                     \
    WAITS_UNTIL_A_TIME(each)                                                                       \
    WAITS_BY_OWN_CLOCK(each)                                                                       \
    WAITS_BY_NAMED_CLOCK(each)                                                                     \
    WAITS_FOR_A_TIME(each)                                                                         \
    WAITS_OF_A_SOCKET(each)

/* What these functions wake: wait.c counts who was woken. */
#define WAKES(each)                                                                                \
    each(pthread_cond_signal) each(pthread_cond_broadcast) each(cnd_signal) each(cnd_broadcast)

/* The timers that run while the program does something else; timer.c. */
#define TIMERS(each)                                                                               \
    each(setitimer) each(getitimer) each(alarm) each(ualarm) each(timer_create)                    \
    each(timer_settime) each(timer_gettime) each(timer_delete) each(timerfd_create)                \
    each(timerfd_settime) each(timerfd_gettime)

/* The clocks; clock.c. */
#define CLOCKS(each)                                                                               \
    each(clock_gettime) each(gettimeofday) each(time) each(timespec_get) each(times)

/* poll() by the host's clock, whatever the sockets are; wait.c. */
int shim_poll(struct pollfd *sockets, nfds_t count, int timeout_ms);

/* The system call of this name; wait.c. */
long shim_futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                uint32_t *other, uint32_t more);

/* A pointer `real_NAME` to the function that would be called without this library, and REAL(NAME), which is that also
 * before the constructors have run. */
#define DECLARE_REAL(name) static __typeof__(name) *real_##name;
#define FIND_REAL(name) real_##name = (__typeof__(name) *)shim_next(#name);
#define REAL(name)                                                                                 \
    (real_##name != NULL ? real_##name                                                             \
                         : (__typeof__(name) *)shim_real(#name))

#endif
