# SPDX-License-Identifier: GPL-2.0
"""Every file of the module is misused, by several processes at once.

out/bin/debugfs-fuzz does it, and checks the results (debugfs_fuzz.c). In the
environment: STRESS_SEED, to repeat a failure as far as chance allows;
STRESS_WORKERS, how many processes (default 6).
"""
import ctypes
import errno
import os
import subprocess
import time

import stress as s
import wsmontest as w

FUZZ = os.path.join(s.TOP, "out", "bin", "debugfs-fuzz")
WORKERS = int(os.environ.get("STRESS_WORKERS", "6"))
SEED = int(os.environ.get("STRESS_SEED", time.time_ns() // 1000 % 1000000))
# Seconds that a worker's last step may take after its time is over.
LATE = 20


def fuzzers(nr, pids, *options, secs=s.SECS):
    w.steady_faults()
    s.note("STRESS_SEED=%d" % SEED)
    # seeds next to each other give unrelated steps
    return [subprocess.Popen(
        [FUZZ, *options, str(secs), str(SEED + n), *map(str, pids)],
        stderr=subprocess.PIPE, text=True) for n in range(nr)]


def stacks(pid):
    """Kernel stacks of the threads of a process and of its descendants"""
    lines = []
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % task) as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            if pid in (int(task), parent):
                lines.append("%s: %s" % (task, s.read("/proc/%s/stack" % task)))
        except OSError:
            pass
    return "\n".join(lines)


def all_end(workers):
    """Each worker ends within LATE seconds, and found nothing wrong."""
    end = time.monotonic() + LATE
    try:
        for worker in workers:
            try:
                said = worker.communicate(timeout=max(
                    0.1, end - time.monotonic()))[1].strip()
            except subprocess.TimeoutExpired:
                s.note(stacks(worker.pid).replace("\n", "\n# "))
                raise AssertionError("a worker hangs")
            assert worker.returncode == 0, said or worker.returncode
            s.note(said)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def all_live(workers):
    """No worker has found anything wrong yet."""
    return all(worker.poll() is None for worker in workers)


def all_work(workers, files, secs=s.SECS):
    """Read these files while the workers run; then all workers end."""
    end = time.monotonic() + secs
    try:
        while time.monotonic() < end and all_live(workers):
            for name in files:
                w.get(name)
    finally:
        all_end(workers)


def seed_is_mine(n):
    """No worker changes the seed, neither by a failing write nor by restoring an older
    value over a newer one."""
    w.must_put("attrs", "seed=%d" % n)
    now = w.attrs()["seed"]
    assert now == str(n), "seed=%s, but %d was written" % (now, n)


def works():
    """After all this, a session on a known target has samples."""
    with s.Churn("map", 1000) as churn:
        reader = s.Reader()
        s.start(churn.pid)
        s.rounds_go_on()
        w.wait_for("a working set", lambda: w.get("wss"), 20)
        stats = w.stats()
        assert stats["checks"] > stats["rounds"] and stats["targets"] == 1, stats
        s.stop()
        counts = reader.finish()
        assert counts[s.SNAPSHOT] and counts[s.END] == 1, counts


def fuzzed_files():
    with s.Churn("map", 1000) as a, w.sleeper() as b, w.sleeper() as c:
        # its purpose is to change mappings, not to keep processors busy
        os.setpriority(os.PRIO_PROCESS, a.pid, 19)
        n, least = 0, 1 if os.environ.get("WSMON_KERNEL") == "kcsan" else s.SECS
        # repeat: a busy machine, or KCSAN's delays, leave time for fewer rounds
        for _ in range(8):
            workers = fuzzers(WORKERS, (a.pid, b.pid, c.pid, 1, os.getpid()))
            try:
                while all_live(workers):
                    n += 1
                    seed_is_mine(n)
            finally:
                all_end(workers)
            if n > least:
                break
        assert n > least, n
        s.unused()
        w.must_put("target", "\n")
    works()


def sessions_come_and_go():
    """A file shows one session at a time, for as long as it is read."""
    with s.Churn("map", 1000) as a, w.sleeper() as b:
        os.setpriority(os.PRIO_PROCESS, a.pid, 19)
        w.must_put("attrs", "sample_us=2000 aggr_us=4000 update_us=4000 "
                   "window_us=4000 cpu_permille=1000")
        all_work(fuzzers(4, (a.pid, b.pid, os.getpid()), "-t"),
                 ("target", "wss", "regions", "peaks", "stats", "status"))
        w.must_put("target", "\n")


def load_and_unload(image):
    """Return: whether it could be unloaded"""
    err = w.module_call(w.DELETE_MODULE, b"wsmon", ctypes.c_long(os.O_NONBLOCK))
    if not err:
        err = w.module_call(w.INIT_MODULE, image, ctypes.c_long(len(image)), b"")
        assert not err, errno.errorcode[err]
        return True
    assert err == errno.EAGAIN, errno.errorcode[err]
    return False


def attributes_of_one_moment():
    """A reader sees attributes of one write, not a mixture of two."""
    all_work(fuzzers(4, (1,), "-a"), ("attrs",))


def fuzzed_files_of_a_module_that_goes():
    """While its files are opened and used, the module is unloaded, or is in use."""
    with open(os.environ["WSMON_KO"], "rb") as f:
        image = f.read()
    went = [0, 0]
    with s.Churn("map", 1000) as a, w.sleeper() as b:
        os.setpriority(os.PRIO_PROCESS, a.pid, 19)
        # repeat: on a busy machine it may always be in use, or never
        for _ in range(16):
            workers = fuzzers(2, (a.pid, b.pid), "-u")
            end = time.monotonic() + s.SECS
            try:
                while time.monotonic() < end and all_live(workers):
                    went[load_and_unload(image)] += 1
                    time.sleep(0.001)
            finally:
                all_end(workers)
            if all(went):
                break
        s.note("in use %d times, unloaded %d times" % tuple(went))
        assert all(went)
        s.unused()
        w.must_put("target", "\n")
    works()


def fuzzed_device():
    """Sessions of open files begin, are shared, and end at any point, as do sessions of
    debugfs."""
    for _ in range(2):
        with s.Churn("map", 1000) as a, w.sleeper() as b, w.sleeper() as c:
            os.setpriority(os.PRIO_PROCESS, a.pid, 19)
            all_work(fuzzers(WORKERS, (a.pid, b.pid, c.pid), "-d", secs=s.SECS / 2),
                     ("status", "wss"), s.SECS / 2)
            s.unused()
            w.must_put("target", "\n")
            assert not w.kwsmond(), "a session without a file"
        w.unload()
        w.load()
    works()


TESTS = [fuzzed_files, attributes_of_one_moment, sessions_come_and_go,
         fuzzed_files_of_a_module_that_goes, fuzzed_device]
