/* Closes all descriptors that it knows nothing of, as daemons do, and writes to a file that has every number below 64. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments) {
    for (int fd = 3; fd < 1024; fd++) {
        close(fd);
    }
    int file = open(arguments[count - 1], O_RDWR | O_CREAT | O_APPEND, 0644);
    for (int fd = 3; fd < 64; fd++) {
        if (fd != file && dup2(file, fd) != fd) {
            return 1;
        }
    }
    return write(file, "own", 3) == 3 && fsync(file) == 0 ? 0 : 1;
}
