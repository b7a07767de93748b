"""Waits with a time limit: each takes simulated time, and ends before it if there is a reason."""

import ctypes
import os
import queue
import select
import signal
import threading
import time

# A wait that never ends ends the test.
signal.alarm(40)
C = ctypes.CDLL(None, use_errno=True)
REALTIME, MONOTONIC = 0, 1
TIMED_OUT = 110


class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]


def after(seconds, clock):
    """The moment after so many seconds."""
    now = time.time_ns() if clock == REALTIME else time.monotonic_ns()
    ns = now + round(seconds * 1e9)
    return ctypes.byref(Time(ns // 10**9, ns % 10**9))


def takes(seconds, wait, *expected):
    """Checks the simulated time of a wait, and its result."""
    begin = time.monotonic_ns()
    found = wait()
    took = (time.monotonic_ns() - begin) / 1e9
    assert seconds <= took < seconds + 0.001, (wait, took, found)
    assert found in (expected or (None,)), (wait, found)


def get(source, limit):
    try:
        return source.get(timeout=limit)
    except queue.Empty:
        return "empty"


def soon(seconds, action):
    """Does something after so many seconds, in a thread."""
    thread = threading.Timer(seconds, action)
    thread.start()
    return thread


def failed(result):
    """The error of a function that tells it aside."""
    return result and ctypes.get_errno()


def sleep(clock, seconds):
    return C.clock_nanosleep(clock, 1, after(seconds, clock), None)


def plain_waits():
    takes(0.2, lambda: time.sleep(0.2))
    takes(1, lambda: C.sleep(1), 0)
    takes(0.5, lambda: C.usleep(500000), 0)
    takes(0.5, lambda: C.nanosleep(ctypes.byref(Time(0, 500000000)), None), 0)
    takes(0.2, lambda: sleep(REALTIME, 0.2), 0)
    takes(0.2, lambda: sleep(MONOTONIC, 0.2), 0)
    takes(0.2, lambda: select.select([], [], [], 0.2), ([], [], []))
    takes(0.2, lambda: select.poll().poll(200), [])
    # Of a time that is none nothing is waited for.
    assert C.clock_nanosleep(1, 0, ctypes.byref(Time(0, 10**9)), None) == 22
    begin = time.process_time()
    C.clock.restype = ctypes.c_long
    clock = C.clock()
    while time.process_time() < begin + 0.0001:
        pass
    assert C.clock() >= clock + 99
    pipe, _ = os.pipe()
    takes(0.2, lambda: select.select([pipe], [], [], 0.2), ([], [], []))
    epoll = select.epoll()
    epoll.register(pipe, select.EPOLLIN)
    takes(0.2, lambda: epoll.poll(0.2), [])


def waits_for_locks():
    """Semaphores and mutexes: free, late, and freed by a thread."""
    semaphore, mutex = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    C.sem_init(semaphore, 0, 1)
    waits = [
        (lambda limit: C.sem_timedwait(semaphore, after(limit, REALTIME)), C.sem_post, semaphore),
        (lambda limit: C.sem_clockwait(semaphore, MONOTONIC, after(limit, MONOTONIC)), C.sem_post, semaphore),
        (lambda limit: C.pthread_mutex_timedlock(mutex, after(limit, REALTIME)), C.pthread_mutex_unlock, mutex),
        (lambda limit: C.pthread_mutex_clocklock(mutex, MONOTONIC, after(limit, MONOTONIC)), C.pthread_mutex_unlock, mutex),
    ]
    for wait, free, lock in waits:
        tells_aside = lock is semaphore
        takes(0, lambda: wait(0.2), 0)
        takes(0.2, lambda: failed(wait(0.2)) if tells_aside else wait(0.2), TIMED_OUT)
        soon(0.1, lambda: free(lock))
        takes(0.1, lambda: wait(0.5), 0)
        free(lock)


def waits_of_threads():
    box, event = queue.Queue(), threading.Event()
    takes(0.2, lambda: get(box, 0.2), "empty")
    takes(0.2, lambda: event.wait(0.2), False)
    soon(0.1, lambda: box.put("full"))
    takes(0.1, lambda: get(box, 0.5), "full")
    soon(0.1, event.set)
    takes(0.1, lambda: event.wait(0.5), True)
    # Each of many threads waits for its own time, beside one that waits for ever.
    end = threading.Event()
    threading.Thread(target=end.wait).start()
    order = []

    def one(number):
        assert not threading.Event().wait(number / 100)
        order.append((number, round(time.monotonic(), 2)))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(9, 0, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [number for number, _ in order] == list(range(1, 10)), order
    end.set()
    # A thread that runs until another one has waited: real time ends that.
    done = threading.Event()
    threading.Thread(target=lambda: (threading.Event().wait(0.05), done.set())).start()
    while not done.is_set():
        pass


def waits_for_conditions():
    mutex, condition = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)

    def timed(limit):
        return C.pthread_cond_timedwait(condition, mutex, after(limit, REALTIME))

    def by_clock(limit):
        return C.pthread_cond_clockwait(condition, mutex, MONOTONIC, after(limit, MONOTONIC))

    for wait in (timed, by_clock):
        C.pthread_mutex_lock(mutex)
        takes(0.2, lambda: wait(0.2), TIMED_OUT)
        # The mutex is free meanwhile.
        waker = soon(0.1, lambda: (C.pthread_mutex_lock(mutex), C.pthread_mutex_unlock(mutex), C.pthread_cond_signal(condition)))
        takes(0.1, lambda: wait(0.5), 0)
        takes(0, lambda: wait(0), TIMED_OUT)
        C.pthread_mutex_unlock(mutex)
        waker.join()


plain_waits()
waits_for_locks()
waits_of_threads()
waits_for_conditions()
print("all waits are right at", round(time.monotonic(), 3), flush=True)
