/* Writes and syncs files, opens them anew, each by the function of its name, and writes again without
 * a sync. The argument is their folder. */

#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void sync_file(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    assert(fd >= 0 && write(fd, "synced", 6) == 6 && fsync(fd) == 0 && close(fd) == 0);
}

static void end(int fd) { assert(fd >= 0 && write(fd, "new", 3) == 3 && close(fd) == 0); }

static void end_stream(FILE *stream) {
    assert(stream != NULL && fputs("new", stream) >= 0 && fclose(stream) == 0);
}

int main(int count, char **arguments) {
    assert(count == 2 && chdir(arguments[1]) == 0);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    sync_file("open");
    end(open("open", flags, 0644));
    sync_file("open64");
    end(open64("open64", O_RDWR | O_TRUNC));
    sync_file("openat");
    end(openat(folder, "openat", flags, 0644));
    sync_file("openat64");
    end(openat64(folder, "openat64", flags, 0644));
    sync_file("creat");
    end(creat("creat", 0644));
    sync_file("creat64");
    end(creat64("creat64", 0644));
    sync_file("fopen");
    end_stream(fopen("fopen", "w"));
    sync_file("fopen64");
    end_stream(fopen64("fopen64", "wb+"));
    sync_file("freopen");
    end_stream(freopen("freopen", "w", fopen("/dev/null", "w")));
    sync_file("freopen64");
    end_stream(freopen64("freopen64", "w", fopen("/dev/null", "w")));
    sync_file("truncate");
    assert(truncate("truncate", 0) == 0);
    end_stream(fopen("truncate", "a"));
    sync_file("truncate64");
    assert(truncate64("truncate64", 0) == 0);
    end_stream(fopen("truncate64", "a"));
    int cut = open("ftruncate", O_RDWR | O_CREAT, 0644);
    assert(write(cut, "synced", 6) == 6 && fsync(cut) == 0 && ftruncate(cut, 0) == 0);
    assert(lseek(cut, 0, SEEK_SET) == 0);
    end(cut);
    cut = open("ftruncate64", O_RDWR | O_CREAT, 0644);
    assert(write(cut, "synced", 6) == 6 && fsync(cut) == 0 && ftruncate64(cut, 0) == 0);
    assert(lseek(cut, 0, SEEK_SET) == 0);
    end(cut);
    cut = open("shortened", O_RDWR | O_CREAT, 0644);
    assert(write(cut, "synced and more", 15) == 15 && fsync(cut) == 0 && ftruncate(cut, 6) == 0);
    assert(lseek(cut, 6, SEEK_SET) == 6);
    end(cut);
    sync_file("lengthened");
    assert(truncate("lengthened", 100) == 0);
    sync_file("continued");
    end_stream(fopen("continued", "a"));
    sync_file("read");
    assert(fclose(fopen("read", "r")) == 0 && close(open("read", O_RDONLY)) == 0);
    sync_file("refused");
    assert(open("refused", flags | O_EXCL, 0644) < 0 && open("refused/x", flags, 0644) < 0);
    /* The mode reaches the kernel. */
    struct stat file;
    assert(close(open("mode", O_WRONLY | O_CREAT, 0600)) == 0 && stat("mode", &file) == 0);
    assert((file.st_mode & 0777) == 0600 && unlink("mode") == 0);
    return 0;
}
