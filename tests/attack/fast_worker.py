"""A correct lock with a lease of 1 s and 0.1 s of work under it, that waits until times of its own clock."""
import json
import os
import socket
import sys
import time

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'


def connected(url):
    host, port = url.split("//")[1].split(":")
    connection = socket.create_connection((host, int(port)), timeout=2)
    return connection, connection.makefile("rb")


def call(connection, *words):
    parts = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in (str(it).encode() for it in words))
    connection[0].sendall(b"*%d\r\n" % len(words) + parts)
    line = connection[1].readline()
    if line[:1] != b"$":
        return line.strip().decode()
    length = int(line[1:])
    return None if length < 0 else connection[1].read(length + 2)[:-2].decode()


def tell(word, **more):
    line = json.dumps({"locklab": word, "ns": time.monotonic_ns(), **more}) + "\n"
    os.write(int(os.environ["LOCKLAB_FD"]), line.encode())


def nap(seconds):
    begin = time.monotonic()
    time.sleep(seconds)
    if time.monotonic() - begin > 1:
        sys.exit("slept for longer than the lease")


node, resource = connected(os.environ["REDIS_URL"]), connected(os.environ["LOCKLAB_RESOURCE"])
attempt = 0
while True:
    attempt += 1
    me = f"{os.environ['LOCKLAB_HOST']}-{attempt}"
    tell("acquiring")
    asked = time.monotonic()
    if call(node, "SET", "lock", me, "NX", "PX", 1000) == "+OK":
        tell("acquired", ttl_ms=1000 - 1000 * (time.monotonic() - asked))
        value = int(call(resource, "GET", "c") or 0)
        nap(0.1)
        call(resource, "SET", "c", value + 1)
        tell("releasing")
        call(node, "EVAL", RELEASE, 1, "lock", me)
        tell("released")
    else:
        tell("refused")
    nap(0.03)
