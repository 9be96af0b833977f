#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every beginning and end of monitoring leaves the machine clean."""
import errno
import os
import re
import signal
import subprocess
import threading
import time

import wsmontest as w

FAST = ("sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000 "
        "cpu_permille=1000")


def threads():
    """Kernel threads of the module."""
    return len(w.kwsmond())


def start(pid, attrs=FAST):
    w.must_put("attrs", attrs)
    w.must_put("target", "%d\n" % pid)
    w.wait_for("a working set", lambda: w.get("wss"))


def stop_on_request():
    with w.sleeper() as t:
        start(t.pid)
        assert w.running() and threads() == 1
        w.must_put("target", "\n")
        assert w.idle() and threads() == 0
        assert w.get("target") == "\n"
        assert "on request" in w.get("status")
        w.must_put("target", "\n")


def target_exits():
    with w.Target("time.sleep(0.5)") as t:
        start(t.pid)
        t.process.wait()
        w.wait_for("idle", w.idle)
    assert "gone" in w.get("status") and threads() == 0


def target_is_killed():
    with w.sleeper() as t:
        start(t.pid)
        os.kill(t.pid, signal.SIGKILL)
        # a zombie has no memory to monitor
        w.wait_for("idle", w.idle)


def one_of_two_exits():
    with w.sleeper() as a, w.sleeper() as b:
        w.must_put("attrs", FAST)
        w.must_put("target", "%d %d\n" % (a.pid, b.pid))
        w.wait_for("both", lambda: len({x["pid"] for x in w.lines("wss")}) == 2)
        a.kill()
        w.wait_for("one", lambda: w.get("target") == "%d\n" % b.pid)
        assert w.running()
        assert {x["pid"] for x in w.lines("wss")} == {str(b.pid)}


def all_mapped(pid):
    with open("/proc/%d/maps" % pid) as f:
        maps = [[int(a, 16) for a in line.split()[0].split("-")] for line in f]
    return w.every(any(a <= int(x["start"], 16) < b for a, b in maps)
                   for x in w.lines("regions"))


def target_execs():
    setup = ("import signal\n"
             "signal.signal(signal.SIGUSR1, lambda *_: os.execv('/bin/sleep', ['sleep', '1000']))\n"
             "m = mmap.mmap(-1, 64 << 20)\nm[0] = 1\n")
    with w.Target("time.sleep(1000)", setup) as t:
        start(t.pid)
        assert any(int(x["end"], 16) - int(x["start"], 16) > 0 and
                   x["class"] == "shmem" for x in w.lines("regions"))
        os.kill(t.pid, signal.SIGUSR1)
        w.wait_for("the new program", lambda: w.get("wss") and not any(
            x["class"] == "shmem" for x in w.lines("regions")))
        assert w.running()
        # mappings that the dynamic linker makes for a moment vanish at the next update
        w.wait_for("regions of what is mapped", lambda: all_mapped(t.pid))


def main_thread_exits():
    """A process lives on without its main thread."""
    code = ("import threading, ctypes\n"
            "threading.Thread(target=lambda: [time.sleep(0.01) for _ in "
            "range(100000)]).start()\n"
            "time.sleep(0.3)\n"
            "ctypes.CDLL(None).pthread_exit(None)\n")
    with w.Target(code) as t:
        start(t.pid)
        w.wait_for("a zombie leader", lambda: "Z" in open(
            "/proc/%d/stat" % t.pid).read().rsplit(")", 1)[1].split()[0])
        rounds = w.stats()["checks"]
        time.sleep(0.3)
        assert w.running() and w.stats()["checks"] > rounds
        # and is found without its main thread
        w.must_put("target", "\n")
        start(t.pid)
        w.wait_for("rounds", lambda: w.stats()["checks"] > 0)


def replaced_while_running():
    with w.sleeper() as a, w.sleeper() as b:
        for _ in range(8):
            start(a.pid)
            start(b.pid)
            assert w.get("target") == "%d\n" % b.pid
        assert threads() == 1


def rmmod_while_running():
    with w.sleeper() as t:
        for _ in range(5):
            start(t.pid)
            w.unload()
            assert not w.loaded() and threads() == 0
            w.load()


def rmmod_with_reader():
    """The module cannot be unloaded while the buffer is open, and says so."""
    reader = subprocess.Popen(["cat", w.DIR + "buffer"],
                              stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    with w.sleeper() as t:
        start(t.pid)
        r = subprocess.run(["rmmod", "wsmon"], capture_output=True, text=True)
        assert r.returncode and "in use" in r.stderr, r
        assert w.running(), "a failed rmmod changed something"
        # stopping ends the stream; once the reader has closed it, the module can be unloaded
        w.must_put("target", "\n")
        assert reader.wait(5) == 0
        w.unload()
    w.load()


def rmmod_after_reader_is_killed():
    for sig in (signal.SIGINT, signal.SIGKILL):
        reader = subprocess.Popen(["cat", w.DIR + "buffer"])
        time.sleep(0.3)
        reader.send_signal(sig)
        assert reader.wait(5) == -sig
        w.unload()
        w.load()


def attrs_while_running():
    with w.sleeper() as t:
        # a thread asleep for an hour notices the stop
        w.must_put("attrs", "sample_us=3600000000 aggr_us=3600000000 "
                   "update_us=3600000000 window_us=3600000000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(0.3)
        assert w.stats()["rounds"] <= 1
        w.must_put("attrs", FAST)
        w.wait_for("a working set", lambda: w.stats()["rounds"] > 20)
        w.must_put("attrs", "sample_us=3600000000 aggr_us=3600000000 "
                   "update_us=3600000000 window_us=3600000000")
        begin = time.monotonic()
        w.must_put("target", "\n")
        assert time.monotonic() - begin < 10, "stopping took long"


def files_read_while_targets_die():
    stop = threading.Event()
    errors = []

    def read():
        while not stop.is_set():
            try:
                for name in ("wss", "regions", "peaks", "stats", "status", "target"):
                    w.get(name)
            except OSError as e:
                errors.append(e)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for r in readers:
        r.start()
    try:
        for _ in range(10):
            p = subprocess.Popen(["sleep", "0.02"])
            err = w.put("target", "%d\n" % p.pid)
            p.wait()
            assert err in (0, errno.ESRCH), err
        w.wait_for("idle", w.idle)
    finally:
        stop.set()
        for r in readers:
            r.join()
    assert not errors, errors


def short_lived_target():
    pid = os.fork()
    if not pid:
        signal.pause()
    try:
        w.must_put("target", "%d\n" % pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def many_targets():
    """No reference remains to the ids of ended processes."""
    for _ in range(20):
        short_lived_target()
    before = w.slab_objects("pid")
    for _ in range(160):
        short_lived_target()
    w.must_put("target", "\n")
    assert w.slab_objects("pid") < before + 80, "pids leak"


def quiet():
    """Nothing in the kernel log."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
    lines = [line for line in log.splitlines()
             if "wsmon" in re.sub("-wsmon-(debug|kcsan)|wsmon_sample: pid", "", line) and
             "taint" not in line and "verification failed" not in line]
    assert not lines, lines


w.main(stop_on_request, target_exits, target_is_killed, one_of_two_exits,
       target_execs, main_thread_exits, replaced_while_running,
       rmmod_while_running, rmmod_with_reader, rmmod_after_reader_is_killed,
       attrs_while_running, files_read_while_targets_die, many_targets, quiet)
