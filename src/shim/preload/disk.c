/*
 * A full disk. What a process writes to a regular file is refused, and it can make none; what is there can be read, cut
 * and removed. Pipes, sockets and devices are no matter of the disk.
 *
 * Streams write without the functions that are replaced here. So a file that is opened as a stream to be written anew is
 * refused when it is opened (synced.c), and a stream that was open before can be written to.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

int shim_refuses(int fd) {
    struct stat file;
    if (!shim_disk_is_full() || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return 0;
    }
    errno = ENOSPC;
    return 1;
}

OVERRIDE ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    return shim_refuses(fd) ? -1 : shim_syscall(SYS_pwrite64, fd, (long)bytes, (long)length, at, 0, 0);
}

OVERRIDE ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    return pwrite(fd, bytes, length, at);
}
