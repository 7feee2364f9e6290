/*
 * The address of a host behind a proxy. LOCKLAB_ADDRESS is the IPv4 address by which the others know
 * the host, and at which a proxy listens; LOCKLAB_LISTEN is the one at which the process listens
 * instead. A process that binds the first one gets the second. Its connections come from the first
 * one, so that the proxy knows whose they are.
 *
 * To a process that connects, the proxy's kernel answers at once. That the connection is open, the
 * proxy says later with a byte, which is taken off the stream here: until then connect() waits, or the
 * socket is not writable.
 *
 * LOCKLAB_SOURCE alone is the address from which the connections of a client come. It speaks plain
 * Redis, and gets no byte.
 *
 * Redis has options for both addresses, so this is for servers that have none: for Java, whose sockets
 * wait in connect() or, with a time limit, in poll().
 */

#define _GNU_SOURCE
#include "shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "waits.h"

/* glibc declares that poll() only writes to the sockets; it also reads which events are asked for. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

typedef int address_function(int, const struct sockaddr *, socklen_t);

/* More than a server of a run has descriptors. */
enum { MOST_SOCKETS = 4096 };

static address_function *real_bind;
static address_function *real_connect;
static int is_behind_proxy;
static int is_client;
static struct in_addr known;
static struct in_addr hidden;

/* By descriptor: the inode of a socket whose connection is not open yet. A descriptor is reused for
 * other sockets, an inode is not. Threads that use the same descriptor change it at any time. */
static _Atomic uint64_t opening[MOST_SOCKETS];

static struct in_addr address(const char *name, const char *text) {
    struct in_addr read;
    if (text == NULL || inet_pton(AF_INET, text, &read) != 1) {
        shim_end("no IPv4 address", name);
    }
    return read;
}

__attribute__((constructor)) static void prepare(void) {
    real_bind = (address_function *)shim_real("bind");
    real_connect = (address_function *)shim_real("connect");
    const char *text = shim_setting("LOCKLAB_ADDRESS");
    if (text != NULL) {
        known = address("LOCKLAB_ADDRESS", text);
        hidden = address("LOCKLAB_LISTEN", shim_setting("LOCKLAB_LISTEN"));
        is_behind_proxy = 1;
        return;
    }
    text = shim_setting("LOCKLAB_SOURCE");
    if (text != NULL) {
        known = address("LOCKLAB_SOURCE", text);
        is_client = 1;
    }
}

/* Whether it is the address of a host that runs IPv4. */
static int is_ipv4(const struct sockaddr *to, socklen_t length) {
    return to != NULL && length >= sizeof(struct sockaddr_in) && to->sa_family == AF_INET;
}

OVERRIDE int bind(int socket, const struct sockaddr *to, socklen_t length) {
    address_function *bind_to = real_bind != NULL ? real_bind : (address_function *)shim_real("bind");
    struct sockaddr_in moved;
    if (is_behind_proxy && is_ipv4(to, length)) {
        memcpy(&moved, to, sizeof moved);
        if (moved.sin_addr.s_addr == known.s_addr && moved.sin_port != 0) {
            moved.sin_addr = hidden;
            return bind_to(socket, (struct sockaddr *)&moved, sizeof moved);
        }
    }
    return bind_to(socket, to, length);
}

/* A socket that the process has bound itself is left alone. 0, or -1 with errno: the call of the process then fails, and
 * its run counts for nothing. */
static int come_from_known_address(int socket) {
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    if (getsockname(socket, (struct sockaddr *)&own, &length) == 0 &&
        is_ipv4((struct sockaddr *)&own, length) && own.sin_addr.s_addr == INADDR_ANY &&
        own.sin_port == 0) {
        own.sin_addr = known;
        /* The port is chosen when it connects, so that connections to several servers may share it. */
        int later = 1;
        setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later);
        if (real_bind(socket, (struct sockaddr *)&own, sizeof own) != 0) {
            int error = errno;
            shim_give_up("a socket cannot be bound to the host's address", strerror(error));
            errno = error;
            return -1;
        }
    }
    return 0;
}

/* 0 if it is no socket. */
static uint64_t inode(int socket) {
    struct stat file;
    return fstat(socket, &file) == 0 && S_ISSOCK(file.st_mode) ? file.st_ino : 0;
}

static int is_opening(int socket) {
    if (!is_behind_proxy || socket < 0 || socket >= MOST_SOCKETS) {
        return 0;
    }
    uint64_t awaited = opening[socket];
    return awaited != 0 && awaited == inode(socket);
}

/* As poll() of one socket, which is writable when the connection is open. */
static int await_opening(struct pollfd *socket, int timeout_ms) {
    struct pollfd greeting = {.fd = socket->fd, .events = POLLIN};
    char byte;
    int ready = shim_poll(&greeting, 1, timeout_ms);
    if (ready > 0) {
        opening[socket->fd] = 0;
        socket->revents = POLLOUT;
        /* An error is left to be read by the process. */
        if (greeting.revents & (POLLERR | POLLNVAL) ||
            recv(socket->fd, &byte, 1, MSG_DONTWAIT) != 1) {
            socket->revents |= POLLERR | POLLHUP;
        }
    }
    return ready;
}

OVERRIDE int poll(struct pollfd *sockets, nfds_t count, int timeout_ms) {
    if (count == 1 && (sockets->events & POLLOUT) && is_opening(sockets->fd)) {
        return await_opening(sockets, timeout_ms);
    }
    return shim_poll(sockets, count, timeout_ms);
}

/* Waits for the answer to connect() of a socket that blocks. */
static int open_now(int socket) {
    struct pollfd opened = {.fd = socket, .events = POLLOUT};
    int ready;
    do {
        ready = await_opening(&opened, -1);
    } while (ready < 0 && errno == EINTR);
    if (ready == 1 && opened.revents == POLLOUT) {
        return 0;
    }
    errno = ECONNREFUSED;
    return -1;
}

static int is_loopback(const struct sockaddr *to) {
    struct sockaddr_in address;
    memcpy(&address, to, sizeof address);
    return ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

OVERRIDE int connect(int socket, const struct sockaddr *to, socklen_t length) {
    address_function *connect_to =
        real_connect != NULL ? real_connect : (address_function *)shim_real("connect");
    if (is_client && is_ipv4(to, length) && is_loopback(to) &&
        come_from_known_address(socket) != 0) {
        return -1;
    }
    if (!is_behind_proxy || !is_ipv4(to, length) || socket < 0 || socket >= MOST_SOCKETS) {
        return connect_to(socket, to, length);
    }
    if (come_from_known_address(socket) != 0) {
        return -1;
    }
    int flags = fcntl(socket, F_GETFL);
    int result = connect_to(socket, to, length);
    if (result != 0 && errno != EINPROGRESS) {
        return result;
    }
    opening[socket] = inode(socket);
    if (flags < 0 || !(flags & O_NONBLOCK)) {
        return open_now(socket);
    }
    errno = EINPROGRESS;
    return -1;
}
