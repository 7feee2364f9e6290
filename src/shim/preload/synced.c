/*
 * What is durable. LOCKLAB_SYNCED names a file to which each successful fsync or fdatasync of a
 * regular file appends a line "device inode birth_ns bytes", in decimal: the file had so many
 * bytes before the call, so these are on the disk. synced.rs reads it.
 *
 * The time of birth tells a file from a later one that was given the same inode. It is 0 where
 * the file system does not know it, and as coarse as the kernel's tick. So a file whose name goes,
 * by unlink or because another is renamed to it, gets a line with 0 bytes: the next file with its
 * inode, born in the same tick, has nothing on the disk. And a file without a name gets no line.
 *
 * A file that is emptied when it is opened gets a line with 0 bytes too: what it had on the disk is
 * gone, and nothing of what follows is there yet. A file that is cut gets a line whose bytes begin with
 * "<": of what it had on the disk, at most so much is left.
 */

#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

typedef int sync_function(int);
typedef FILE *open_function(const char *, const char *);
typedef FILE *reopen_function(const char *, const char *, FILE *);

static sync_function *real_fsync;
static sync_function *real_fdatasync;
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
/* Whether there is a log; its path; which file it is; and the descriptor that it had last. */
static int is_noting;
static const char *log_path;
static dev_t log_device;
static ino_t log_inode;
static int log_fd;

static int is_log(int fd, struct stat *file) {
    return fstat(fd, file) == 0 && file->st_dev == log_device && file->st_ino == log_inode;
}

/* The descriptor of the log. It stays open: at a sync the process may have no descriptor left. But the process may have
 * closed it, as daemons close all that they know nothing of, and given its number to another file: then the log is opened
 * anew. */
static int the_log(void) {
    struct stat file;
    int fd = __atomic_load_n(&log_fd, __ATOMIC_RELAXED);
    if (is_log(fd, &file)) {
        return fd;
    }
    fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || !is_log(fd, &file)) {
        shim_end("the log of syncs cannot be opened again", log_path);
    }
    __atomic_store_n(&log_fd, fd, __ATOMIC_RELAXED);
    return fd;
}

/* Nothing is synced before the constructors have run. The children of the process inherit the log, and their lines do not
 * mix with ours, since each is one write to the end. */
__attribute__((constructor)) static void prepare(void) {
    real_fsync = (sync_function *)shim_real("fsync");
    real_fdatasync = (sync_function *)shim_real("fdatasync");
    real_rename = (int (*)(const char *, const char *))shim_real("rename");
    real_unlink = (int (*)(const char *))shim_real("unlink");
    const char *path = shim_setting("LOCKLAB_SYNCED");
    if (path == NULL) {
        return;
    }
    struct stat file;
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    log_path = strdup(path); /* the process may change its environment */
    if (log_fd < 0 || log_path == NULL || fstat(log_fd, &file) != 0) {
        shim_end("the log of syncs cannot be opened", path);
    }
    log_device = file.st_dev;
    log_inode = file.st_ino;
    is_noting = 1;
}

/* One line. `most` is "", or "<" if the size is the most that is left of what was on the disk. */
static void note_size(const struct statx *file, const char *most) {
    uint64_t birth_ns = 0;
    if (file->stx_mask & STATX_BTIME) {
        birth_ns = (uint64_t)file->stx_btime.tv_sec * 1000000000 + file->stx_btime.tv_nsec;
    }
    char line[4 * 21 + 2];
    int length = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s%" PRIu64 "\n",
                          (uint64_t)makedev(file->stx_dev_major, file->stx_dev_minor),
                          (uint64_t)file->stx_ino, birth_ns, most, (uint64_t)file->stx_size);
    int fd = the_log();
    ssize_t written;
    do {
        written = shim_syscall(SYS_write, fd, (long)line, length, 0, 0, 0);
    } while (written < 0 && errno == EINTR);
    if (written != length) {
        shim_end("a sync cannot be noted", strerror(errno));
    }
}

static void note(const struct statx *file) { note_size(file, ""); }

/* Before the name goes: afterwards another thread may already have a new file with its inode. */
static void note_that_it_goes(int folder, const char *path) {
    struct statx file;
    unsigned wanted = STATX_TYPE | STATX_INO | STATX_BTIME;
    int error = errno;
    if (is_noting && statx(folder, path, AT_SYMLINK_NOFOLLOW, wanted, &file) == 0 &&
        S_ISREG(file.stx_mode)) {
        file.stx_size = 0;
        note(&file);
    }
    errno = error;
}

/* After a file was opened and emptied, successfully: a name that cannot be opened stays as it is. */
static void note_that_it_is_empty(int fd) {
    struct statx file;
    unsigned wanted = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BTIME;
    int error = errno;
    if (is_noting && statx(fd, "", AT_EMPTY_PATH, wanted, &file) == 0 &&
        S_ISREG(file.stx_mode) && file.stx_nlink > 0) {
        file.stx_size = 0;
        note(&file);
    }
    errno = error;
}

/* After a file was cut to so many bytes, successfully. With an empty path the folder is the file. */
static void note_that_it_is_cut(int folder, const char *path, off_t length) {
    struct statx file;
    unsigned wanted = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_BTIME;
    int error = errno;
    if (is_noting && statx(folder, path, AT_EMPTY_PATH, wanted, &file) == 0 &&
        S_ISREG(file.stx_mode) && file.stx_nlink > 0) {
        file.stx_size = (uint64_t)length;
        note_size(&file, "<");
    }
    errno = error;
}

static int sync_and_note(int fd, sync_function *sync) {
    if (!is_noting) {
        return sync(fd);
    }
    struct statx file;
    unsigned wanted = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BTIME;
    int is_known = statx(fd, "", AT_EMPTY_PATH, wanted, &file) == 0;
    int result = sync(fd);
    if (result != 0) {
        return result;
    }
    if (!is_known) {
        shim_end("the size of a synced file is not known", strerror(errno));
    }
    if (S_ISREG(file.stx_mode) && file.stx_nlink > 0) {
        note(&file);
    }
    return result;
}

OVERRIDE int fsync(int fd) {
    return real_fsync == NULL ? (int)syscall(SYS_fsync, fd) : sync_and_note(fd, real_fsync);
}

OVERRIDE int fdatasync(int fd) {
    return real_fdatasync == NULL ? (int)syscall(SYS_fdatasync, fd)
                                  : sync_and_note(fd, real_fdatasync);
}

OVERRIDE int rename(const char *from, const char *to) {
    if (real_rename == NULL) {
        return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    }
    note_that_it_goes(AT_FDCWD, to);
    return real_rename(from, to);
}

OVERRIDE int unlink(const char *path) {
    if (real_unlink == NULL) {
        return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    note_that_it_goes(AT_FDCWD, path);
    return real_unlink(path);
}

/* The C library only passes the following on to the kernel, so we do that ourselves. */

OVERRIDE int renameat2(int from_folder, const char *from, int to_folder, const char *to,
                       unsigned flags) {
    /* With one of these flags no file loses its name. */
    if ((flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)) == 0) {
        note_that_it_goes(to_folder, to);
    }
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

OVERRIDE int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, 0);
}

OVERRIDE int unlinkat(int folder, const char *path, int flags) {
    note_that_it_goes(folder, path);
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

OVERRIDE int truncate(const char *path, off_t length) {
    int result = (int)syscall(SYS_truncate, path, length);
    if (result == 0) {
        note_that_it_is_cut(AT_FDCWD, path, length);
    }
    return result;
}

OVERRIDE int truncate64(const char *path, off64_t length) { return truncate(path, length); }

OVERRIDE int ftruncate(int fd, off_t length) {
    int result = (int)syscall(SYS_ftruncate, fd, length);
    if (result == 0) {
        note_that_it_is_cut(fd, "", length);
    }
    return result;
}

OVERRIDE int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int open_and_note(int folder, const char *path, int flags, mode_t mode) {
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && (flags & O_TRUNC) != 0) {
        note_that_it_is_empty(fd);
    }
    return fd;
}

/* The argument behind the flags, which is there only if a file may be created. */
#define MODE(flags, mode)                                                                          \
    mode_t mode = 0;                                                                               \
    if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) {                          \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = va_arg(rest, mode_t);                                                               \
        va_end(rest);                                                                              \
    }

OVERRIDE int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_and_note(AT_FDCWD, path, flags, mode);
}

OVERRIDE int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_and_note(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

OVERRIDE int openat(int folder, const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_and_note(folder, path, flags, mode);
}

OVERRIDE int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags, mode)
    return open_and_note(folder, path, flags | O_LARGEFILE, mode);
}

OVERRIDE int creat(const char *path, mode_t mode) {
    return open_and_note(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

OVERRIDE int creat64(const char *path, mode_t mode) {
    return open_and_note(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_LARGEFILE, mode);
}

/* Streams: the C library opens their files without the functions above. */

static FILE *note_stream(FILE *stream, const char *mode) {
    if (stream != NULL && mode[0] == 'w') {
        note_that_it_is_empty(fileno(stream));
    }
    return stream;
}

static FILE *open_stream(open_function *real, const char *path, const char *mode) {
    if (*mode == 'w' && shim_disk_is_full()) {
        errno = ENOSPC;
        return NULL;
    }
    return note_stream(real(path, mode), mode);
}

OVERRIDE FILE *fopen(const char *path, const char *mode) {
    return open_stream((open_function *)shim_real("fopen"), path, mode);
}

OVERRIDE FILE *fopen64(const char *path, const char *mode) {
    return open_stream((open_function *)shim_real("fopen64"), path, mode);
}

OVERRIDE FILE *freopen(const char *path, const char *mode, FILE *stream) {
    reopen_function *real = (reopen_function *)shim_real("freopen");
    return note_stream(real(path, mode, stream), mode);
}

OVERRIDE FILE *freopen64(const char *path, const char *mode, FILE *stream) {
    reopen_function *real = (reopen_function *)shim_real("freopen64");
    return note_stream(real(path, mode, stream), mode);
}
