/* A thread holds the mutex for longer than a waiter waits before it looks at its clock again, and wakes the waiter when it
 * has let go of the mutex. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_set;

static void *wake(void *unused) {
    struct timespec first = {0, 5000000}, held = {0, 25000000};
    nanosleep(&first, NULL);
    pthread_mutex_lock(&mutex);
    nanosleep(&held, NULL);
    is_set = 1;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
    return unused;
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        struct timespec deadline;
        pthread_create(&thread, NULL, wake, NULL);
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += 5;
        pthread_mutex_lock(&mutex);
        int error = 0;
        while (!is_set && error == 0) {
            error = pthread_cond_timedwait(&condition, &mutex, &deadline);
        }
        is_set = 0;
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
        if (error != 0) {
            printf("round %d: nobody woke the waiter\n", round);
            return 1;
        }
    }
    return 0;
}
