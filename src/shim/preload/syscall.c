/*
 * System calls that a program makes by syscall(), as Rust does for its locks: those that read a clock or wait go to the
 * functions that take the place of the C library's.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/times.h>

#include "waits.h"

#if defined(__x86_64__)

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

#else

/* How this processor makes a system call is not written here: syscall() stays the C library's. */
#define KEEPS_SYSCALL

static long call(long number, long a, long b, long c, long d, long e, long f) {
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}

#endif

long shim_syscall(long number, long a, long b, long c, long d, long e, long f) {
    long result = call(number, a, b, c, d, e, f);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* The words, to a descriptor in one write; 0 if that fails. By system calls, since the functions are replaced. */
static int say(int file, const char *what, const char *which) {
    const char *parts[] = {"locklab-shim: ", what, ": ", which, "\n"};
    char line[512];
    size_t length = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *from = parts[i]; *from != '\0' && length < sizeof line; from++) {
            line[length++] = *from;
        }
    }
    return call(SYS_write, file, (long)line, (long)length, 0, 0, 0) == (long)length;
}

void shim_end(const char *what, const char *which) {
    say(STDERR_FILENO, what, which);
    _exit(127);
}

void shim_give_up(const char *what, const char *which) {
    const char *path = shim_setting("LOCKLAB_FAILED");
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    long file = path == NULL ? -1 : call(SYS_openat, AT_FDCWD, (long)path, flags, 0644, 0, 0);
    int is_said = file >= 0 && say((int)file, what, which);
    if (file >= 0) {
        call(SYS_close, file, 0, 0, 0, 0, 0);
    }
    if (!is_said) {
        shim_end(what, which);
    }
}

#ifndef KEEPS_SYSCALL

/* The functions that return an error do not set errno. */
static long as_errno(int error) {
    if (error != 0) {
        errno = error;
        return -1;
    }
    return 0;
}

struct mask {
    const sigset_t *signals;
    size_t size;
};

/* A call that this library knows nothing of goes to the kernel as it is. */
OVERRIDE long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
    long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    if (!shim_is_wrong()) {
        return shim_syscall(number, a, b, c, d, e, f);
    }
    switch (number) {
    case SYS_clock_gettime:
        return clock_gettime((clockid_t)a, (struct timespec *)b);
    case SYS_gettimeofday:
        return gettimeofday((struct timeval *)a, (void *)b);
    case SYS_times:
        return times((struct tms *)a);
    case SYS_futex:
        return shim_futex((uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d,
                          (uint32_t *)e, (uint32_t)f);
    case SYS_nanosleep:
        return nanosleep((const struct timespec *)a, (struct timespec *)b);
    case SYS_clock_nanosleep:
        return as_errno(clock_nanosleep((clockid_t)a, (int)b, (const struct timespec *)c,
                                        (struct timespec *)d));
    case SYS_ppoll:
        return ppoll((struct pollfd *)a, (nfds_t)b, (const struct timespec *)c,
                     (const sigset_t *)d);
    case SYS_pselect6: {
        const struct mask *mask = (const struct mask *)f;
        return pselect((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d, (const struct timespec *)e,
                       mask == NULL ? NULL : mask->signals);
    }
    case SYS_epoll_pwait:
        return epoll_pwait((int)a, (struct epoll_event *)b, (int)c, (int)d, (const sigset_t *)e);
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
        return epoll_pwait2((int)a, (struct epoll_event *)b, (int)c, (const struct timespec *)d,
                            (const sigset_t *)e);
#endif
    case SYS_rt_sigtimedwait:
        return sigtimedwait((const sigset_t *)a, (siginfo_t *)b, (const struct timespec *)c);
    case SYS_semtimedop:
        return semtimedop((int)a, (struct sembuf *)b, (size_t)c, (const struct timespec *)d);
    case SYS_mq_timedreceive:
        return mq_timedreceive((mqd_t)a, (char *)b, (size_t)c, (unsigned *)d,
                               (const struct timespec *)e);
    case SYS_mq_timedsend:
        return mq_timedsend((mqd_t)a, (const char *)b, (size_t)c, (unsigned)d,
                            (const struct timespec *)e);
    case SYS_timerfd_create:
        return timerfd_create((int)a, (int)b);
    case SYS_timerfd_settime:
        return timerfd_settime((int)a, (int)b, (const struct itimerspec *)c,
                               (struct itimerspec *)d);
    case SYS_timerfd_gettime:
        return timerfd_gettime((int)a, (struct itimerspec *)b);
    case SYS_setitimer:
        return setitimer((int)a, (const struct itimerval *)b, (struct itimerval *)c);
    case SYS_getitimer:
        return getitimer((int)a, (struct itimerval *)b);
    /* Calls that only older processors have. */
#ifdef SYS_time
    case SYS_time:
        return time((time_t *)a);
#endif
#ifdef SYS_alarm
    case SYS_alarm:
        return alarm((unsigned)a);
#endif
#ifdef SYS_poll
    case SYS_poll:
        return poll((struct pollfd *)a, (nfds_t)b, (int)c);
#endif
#ifdef SYS_select
    case SYS_select:
        return select((int)a, (fd_set *)b, (fd_set *)c, (fd_set *)d, (struct timeval *)e);
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
        return epoll_wait((int)a, (struct epoll_event *)b, (int)c, (int)d);
#endif
    default:
        return shim_syscall(number, a, b, c, d, e, f);
    }
}

#endif
