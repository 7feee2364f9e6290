/*
 * A full disk. A write to a regular file is refused; a new file can be made, and stays empty. Files can be read, cut and
 * removed. Pipes, sockets and devices are not on the disk.
 *
 * The C library writes streams without the functions that are replaced here. So fopen refuses to open a file that is to be
 * written from its beginning (synced.c). A stream that was open before can still be written.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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
