# SPDX-License-Identifier: GPL-2.0
"""Beginnings, ends and pauses of targets, readers and the module."""
import io
import os
import random
import resource
import signal
import subprocess
import threading
import time

import stress as s
import wsmontest as w
import wsmon

CYCLES = int(os.environ.get("STRESS_CYCLES", "30"))


def exit_storm():
    """32 targets die at once; each gets its record."""
    for _ in range(2):
        targets = [subprocess.Popen(["sleep", "1000"]) for _ in range(32)]
        reader = s.Reader()
        try:
            # enough for ten regions each
            s.start(*(t.pid for t in targets), attrs=s.FAST + "0")
            s.rounds_go_on()
        finally:
            for t in targets:
                t.kill()
            for t in targets:
                t.wait()
        w.wait_for("idle", w.idle, 20)
        assert "gone" in w.get("status")
        counts = reader.finish()
        assert counts[s.EXIT] == 32 and counts[s.END] == 1, counts


def maps_wait(pid, waits):
    began = time.monotonic()
    s.read("/proc/%d/maps" % pid)
    waits.append(time.monotonic() - began)


def hog(cpu):
    """A process that keeps a processor from all others, for 20 s at most"""
    def first():
        os.sched_setaffinity(0, {cpu})
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    return subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=first)


def kwsmond():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if s.read("/proc/%s/comm" % pid) == "kwsmond\n":
                return int(pid)
        except OSError:
            pass
    raise AssertionError("no kwsmond")


def within_seconds(seconds, condition):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def nothing_is_known():
    """The interval is from 0 to all mapped memory."""
    rows = [x for x in w.lines("wss") if x["class"] == "all"]
    return rows and rows[0]["low"] == "0" and rows[0]["high"] == rows[0]["mapped"] != "0"


def lock_held_for_seconds(target):
    """A target's mmap lock is held by a thread that cannot run."""
    waits = []
    # first an estimate: when it holds the lock nearly all the time, none may come for long
    s.start(target.pid, attrs="cpu_permille=1000 sample_us=10000 aggr_us=500000 "
            "update_us=500000 window_us=500000 max_regions=500")
    w.wait_for("an estimate", lambda: w.lines("wss") and not nothing_is_known(), s.PATIENCE)
    os.kill(target.pid, signal.SIGUSR1)
    os.sched_setaffinity(kwsmond(), {0})
    blocker = hog(1)
    try:
        time.sleep(0.5)
        waiter = threading.Thread(target=maps_wait, args=(target.pid, waits))
        waiter.start()
        s.rounds_go_on()
        missed = w.stats()["missed"]
        honest = within_seconds(3, nothing_is_known)
        s.stop()
        # a new session on it, and unload the module in the middle of it
        w.must_put("target", "%d\n" % target.pid)
        os.sched_setaffinity(kwsmond(), {0})
        time.sleep(0.5)
        # unloading goes on after the session's end, and may wait for workers of the
        # other processor
        unload = subprocess.Popen(["rmmod", "wsmon"])
        w.wait_for("the thread to end", lambda: not w.kwsmond(), s.PATIENCE)
        assert blocker.poll() is None, "all this took until the lock was free"
    finally:
        blocker.kill()
        blocker.wait()
    assert not unload.wait(s.PATIENCE)
    waiter.join(s.PATIENCE)
    w.load()
    return waits[0], missed, honest


def busy_mmap_lock():
    if os.cpu_count() < 2:
        raise s.Skip("one processor")
    s.try_write("/proc/sys/kernel/sched_rt_runtime_us", -1)
    s.try_write("/sys/kernel/debug/sched/fair_server/cpu1/runtime", 0)
    os.sched_setaffinity(0, {0})
    try:
        for _ in range(5):
            with s.Churn("hold", 1000, CHURN_MB="128") as target:
                assert target.process.stdout.readline() == b"ready\n"
                os.sched_setaffinity(target.pid, {1})
                held, missed, honest = lock_held_for_seconds(target)
            if held > 0.5:
                s.note("held for %.1f s, %d passes missed" % (held, missed))
                assert missed and honest, (missed, honest)
                return
        raise s.Skip("nobody held the lock for long")
    finally:
        os.sched_setaffinity(0, set(range(os.cpu_count())))
        s.try_write("/proc/sys/kernel/sched_rt_runtime_us", 950000)


def out_of_memory():
    """The target is killed because it exceeds the limit of its cgroup."""
    path = s.cgroup("churn-oom", "memory")
    s.write(path + "memory.max", "max")
    s.try_write(path + "memory.swap.max", 0)
    with s.Churn("thp", 1000, "churn-oom") as churn:
        reader = s.Reader()
        s.start(churn.pid)
        s.rounds_go_on()
        time.sleep(1)
        s.write(path + "memory.max", 4 << 20)
        assert churn.process.wait(s.PATIENCE) == -signal.SIGKILL
    w.wait_for("idle", w.idle, 20)
    assert "gone" in w.get("status")
    assert reader.finish()[s.EXIT] == 1


def full_buffer():
    """The buffer fills while nobody reads, then there is a reader."""
    with s.Churn("map", 1000) as churn:
        fd = os.open(w.DIR + "buffer", os.O_RDONLY)
        s.start(churn.pid)
        w.wait_for("loss", lambda: w.stats()["lost_records"], s.PATIENCE)
        end = time.monotonic() + s.SECS
        while time.monotonic() < end:
            s.rounds_go_on()
        lost = w.stats()["lost_records"]
        assert lost > s.SECS, lost
        # there is room, and again too little
        for _ in range(20):
            os.read(fd, random.randrange(1, 100000))
            time.sleep(0.02)
        s.stop()
        total = 0
        while True:
            n = len(os.read(fd, 1 << 20))
            if not n:
                break
            total += n
        os.close(fd)
        assert total < 5 << 20, total
        s.note("%d records lost, %d bytes kept" % (lost, total))


def one_cycle(target, n):
    reader = subprocess.Popen(["cat", w.DIR + "buffer"], stdout=subprocess.DEVNULL)
    s.start(target)
    time.sleep(random.random() / 10)
    if n % 3 == 0:
        s.stop()
    elif n % 3 == 1:
        reader.kill()
    else:
        reader.send_signal(signal.SIGINT)
        s.stop()
    if n % 3 == 0 and reader.wait(20):
        raise AssertionError("the reader failed")
    reader.wait(20)
    # in the middle of a session, every third time
    w.unload()
    assert not w.loaded()
    w.load()


def load_and_unload():
    with s.Churn("mprotect", 1000, CHURN_REST_US="5000") as churn:
        for n in range(CYCLES):
            one_cycle(churn.pid, n)


def frozen_target():
    """A frozen target is monitored, stopped and started as usual."""
    path = s.cgroup("churn-frozen")
    with s.Churn("map", 1000, "churn-frozen") as churn:
        s.start(churn.pid)
        for _ in range(5):
            s.write(path + "cgroup.freeze", 1)
            w.wait_for("frozen", lambda: "frozen 1" in
                       s.read(path + "cgroup.events"))
            s.rounds_go_on()
            s.stop()
            s.start(churn.pid)
            s.rounds_go_on()
            s.write(path + "cgroup.freeze", 0)
            s.rounds_go_on()
        s.stop()


def read_now(fd):
    """The bytes that are there, b"" for none"""
    try:
        return os.read(fd, 1 << 20)
    except BlockingIOError:
        return b""


def frozen_machine():
    """As at the beginning of a suspend: all processes are frozen, including kwsmond"""
    if not s.try_write("/sys/power/pm_test", "freezer"):
        raise s.Skip("no /sys/power/pm_test")
    s.write("/sys/module/suspend/parameters/pm_test_delay", 2)
    data = b""
    with s.Churn("map", 1000) as churn:
        fd = os.open(w.DIR + "buffer", os.O_RDONLY | os.O_NONBLOCK)
        w.must_put("attrs", s.FAST)
        s.start(churn.pid, attrs="max_regions=20")
        for _ in range(3):
            s.rounds_go_on()
            # EBUSY: another task could not be frozen in time
            assert s.try_write("/sys/power/state", "freeze"), "no freeze"
            s.rounds_go_on()
            while part := read_now(fd):
                data += part
        s.stop()
        os.close(fd)
    s.write("/sys/power/pm_test", "none")
    times = [r.time_ns for r in wsmon.read(io.BytesIO(data))[1]]
    pauses = [b - a for a, b in zip(times, times[1:]) if b - a > 15e8]
    assert len(pauses) == 3, "%d pauses in %d records" % (len(pauses), len(times))


TESTS = [exit_storm, busy_mmap_lock, out_of_memory, full_buffer, load_and_unload,
         frozen_target, frozen_machine]
