/*
 * A server of several processes. With LOCKLAB_ONE_GROUP they stay in one process group, so that a signal to the group
 * stops, or kills, the server as a whole; and the memory that they share is deleted with the last of them, even if they
 * are killed.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <sys/shm.h>

typedef pid_t setsid_function(void);
typedef void *shmat_function(int, const void *, int);

OVERRIDE pid_t setsid(void) {
    if (shim_setting("LOCKLAB_ONE_GROUP") != NULL) {
        return getpid();
    }
    return ((setsid_function *)shim_real("setsid"))();
}

/* Linux deletes a segment that is marked for deletion when the last process has left it. */
OVERRIDE void *shmat(int segment, const void *at, int flags) {
    void *attached = ((shmat_function *)shim_real("shmat"))(segment, at, flags);
    if (attached != (void *)-1 && shim_setting("LOCKLAB_ONE_GROUP") != NULL) {
        shmctl(segment, IPC_RMID, NULL);
    }
    return attached;
}
