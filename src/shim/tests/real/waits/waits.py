"""Every wait that Python offers, each in a thread of its own, all at the same time: 200 ms by the clock that it goes by.
For each a line: its name, that clock, and how long it took by the monotonic clock, in milliseconds."""
import asyncio
import concurrent.futures
import ctypes
import multiprocessing
import os
import queue
import select
import signal
import socket
import struct
import subprocess
import threading
import time

LENGTH = 0.2
HELD = threading.Lock()
HELD.acquire()


def times_out(wait, *errors):
    try:
        wait()
    except errors:
        return
    raise AssertionError("the wait ended without its time being over")


def condition():
    it = threading.Condition()
    with it:
        assert not it.wait(LENGTH)


def of_asyncio(wait):
    asyncio.run(wait())


async def asyncio_wait_for():
    try:
        await asyncio.wait_for(asyncio.Event().wait(), LENGTH)
    except asyncio.TimeoutError:
        return
    raise AssertionError("nobody set the event")


def poll():
    it = select.poll()
    assert it.poll(LENGTH * 1000) == []


def epoll():
    assert select.epoll().poll(LENGTH) == []


def time_limit():
    ends = socket.socketpair()
    ends[0].settimeout(LENGTH)
    times_out(lambda: ends[0].recv(1), TimeoutError)


def socket_option():
    ends = socket.socketpair()
    limit = struct.pack("ll", 0, int(LENGTH * 1e6))
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    times_out(lambda: ends[0].recv(1), BlockingIOError)


def future():
    with_none = concurrent.futures.Future()
    times_out(lambda: with_none.result(LENGTH), concurrent.futures.TimeoutError)


def join():
    thread = threading.Thread(target=lambda: time.sleep(60), daemon=True)
    thread.start()
    thread.join(LENGTH)
    assert thread.is_alive()


def subprocess_wait():
    child = subprocess.Popen(["sleep", "60"])
    times_out(lambda: child.wait(LENGTH), subprocess.TimeoutExpired)
    child.kill()


def subprocess_sleeps():
    subprocess.run(["sleep", str(LENGTH)], check=True)


def timer():
    done = threading.Event()
    threading.Timer(LENGTH, done.set).start()
    done.wait()


def sigtimedwait():
    assert signal.sigtimedwait([signal.SIGUSR2], LENGTH) is None


def setitimer():
    signal.setitimer(signal.ITIMER_REAL, LENGTH)
    signal.sigwait([signal.SIGALRM])


def by_ctypes():
    library = ctypes.CDLL("libc.so.6")
    deadline = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(LENGTH * 1e9)
    at = struct.pack("ll", deadline // 10**9, deadline % 10**9)
    assert library.clock_nanosleep(time.CLOCK_MONOTONIC, 1, at, None) == 0


WAITS = {
    "time.sleep": ("mono", lambda: time.sleep(LENGTH)),
    "Event.wait": ("mono", lambda: threading.Event().wait(LENGTH)),
    "Condition.wait": ("mono", condition),
    "Lock.acquire": ("mono", lambda: HELD.acquire(timeout=LENGTH)),
    "Semaphore.acquire": ("mono", lambda: threading.Semaphore(0).acquire(timeout=LENGTH)),
    "Thread.join": ("mono", join),
    "threading.Timer": ("mono", timer),
    "Queue.get": ("mono", lambda: times_out(lambda: queue.Queue().get(timeout=LENGTH), queue.Empty)),
    "SimpleQueue.get": ("mono", lambda: times_out(lambda: queue.SimpleQueue().get(timeout=LENGTH), queue.Empty)),
    "Future.result": ("mono", future),
    "select.select": ("mono", lambda: select.select([], [], [], LENGTH)),
    "select.poll": ("mono", poll),
    "select.epoll": ("mono", epoll),
    "socket.settimeout": ("mono", time_limit),
    "SO_RCVTIMEO": ("mono", socket_option),
    "asyncio.sleep": ("mono", lambda: of_asyncio(lambda: asyncio.sleep(LENGTH))),
    "asyncio.wait_for": ("mono", lambda: of_asyncio(asyncio_wait_for)),
    "multiprocessing.Lock": ("wall", lambda: multiprocessing.Semaphore(0).acquire(timeout=LENGTH)),
    "subprocess.wait": ("mono", subprocess_wait),
    "sleep": ("mono", subprocess_sleeps),
    "signal.sigtimedwait": ("mono", sigtimedwait),
    "signal.setitimer": ("mono", setitimer),
    "ctypes": ("mono", by_ctypes),
}


def measure(name, clock, wait):
    begin = time.monotonic_ns()
    wait()
    took = (time.monotonic_ns() - begin) / 1e6
    os.write(1, f"{name} {clock} {took:.3f}\n".encode())


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGUSR2])
threads = [threading.Thread(target=measure, args=(name, *wait), daemon=True) for name, wait in WAITS.items()]
os.write(1, b"begin\n")
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os._exit(0)
