/* A library behind ours: while ours maps the clock file, another thread reads the time of day. It prints
 * the seconds. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *arrive(void *unused) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    dprintf(STDOUT_FILENO, "%lld\n", (long long)at.tv_sec);
    return unused;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    static int has_arrived;
    if (fd >= 0 && flags == MAP_SHARED && !has_arrived) {
        has_arrived = 1;
        pthread_t thread;
        if (pthread_create(&thread, NULL, arrive, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
