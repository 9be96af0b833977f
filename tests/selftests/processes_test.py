#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Processes that share memory, are forked, live for less than an interval, or end."""
import mmap
import os
import signal
import subprocess
import tempfile
import time

import wsmontest as w
import wsmon

TMP = tempfile.mkdtemp()
TWINS = w.program("twins")
HUGE = "/sys/kernel/mm/hugepages/hugepages-2048kB/"


def anon(*pids):
    """MiB of the class anon, by process; -1 without an estimate"""
    sizes = {x["pid"]: int(x["bytes"]) / (1 << 20) for x in w.lines("wss")
             if x["class"] == "anon"}
    return [sizes.get(str(pid), -1) for pid in pids]


def near(mib, *pids):
    return all(abs(size - mib) < 0.1 * mib for size in anon(*pids))


class Twins:
    """Two monitored processes with one mm. Each page is a sample, and is used once
    between two rounds: bits cleared for one target are not seen by the other."""

    def __enter__(self):
        self.process = subprocess.Popen([TWINS], stdout=subprocess.PIPE, text=True)
        self.pids = [int(x) for x in self.process.stdout.readline().split()]
        w.must_put("attrs", "sample_us=200000 aggr_us=1000000 update_us=1000000 "
                   "window_us=1000000 max_regions=16384 cpu_permille=1000")
        w.must_put("target", "%d %d\n" % tuple(self.pids))
        w.wait_for("8 MiB of both", lambda: near(8, *self.pids), 30)
        return self

    def __exit__(self, *exc):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


@w.measured
def one_mm():
    with Twins() as t:
        for _ in range(5):
            time.sleep(1)
            a, b = anon(*t.pids)
            assert a == b and 7 < a < 9, (a, b)
        lines = w.lines("regions")
        a, b = ([x["start"] for x in lines if x["pid"] == str(pid)] for pid in t.pids)
        assert a and a == b


@w.measured
def first_of_two_exits():
    """The second process goes on alone: it uses 4 MiB."""
    with Twins() as t:
        os.kill(t.pids[0], signal.SIGKILL)
        w.wait_for("4 MiB of the other", lambda: near(4, t.pids[1]), 30)


@w.measured
def first_of_two_executes():
    with Twins() as t:
        os.kill(t.pids[0], signal.SIGUSR1)
        w.wait_for("4 MiB of the other", lambda: near(4, t.pids[1]), 30)
        w.wait_for("a new program", lambda: "shmem" not in w.get("regions") and
                   anon(t.pids[0])[0] < 1)


@w.measured
def forked_workers():
    """The workers use the same pages, but whether samples hit in one is independent of
    the other."""
    code = ("import random\n"
            "m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
            "m[::4096] = bytes(64 << 8)\n"
            "hot = random.Random(1).sample(range(64 << 8), 1000)\n"
            "child = os.fork()\n"
            "if child:\n"
            "    print(child, flush=True)\n"
            "while True:\n"
            "    for i in hot:\n"
            "        m[i << 12] = 1\n"
            "    time.sleep(0.05)\n")
    with w.Target(code) as t:
        child = int(t.process.stdout.readline())
        try:
            w.must_put("attrs", "sample_us=100000 aggr_us=400000 update_us=400000 "
                       "window_us=400000 max_regions=60 cpu_permille=1000")
            w.must_put("target", "%d %d\n" % (t.pid, child))
            time.sleep(3)
            pairs = []
            for _ in range(20):
                pairs.append(anon(t.pid, child))
                time.sleep(0.4)
        finally:
            os.kill(child, signal.SIGKILL)
    apart = sum(abs(a - b) for a, b in pairs) / len(pairs)
    print("# MiB of one and the other: %s" % " ".join("%.1f/%.1f" % tuple(p) for p in pairs[:8]))
    # with few regions each is wrong by a fifth or so; if all erred alike, they would hardly differ
    assert apart > 0.2, apart


# Prints the bytes of its anonymous pages, all of which it accessed, and keeps them to its end.
SHORT = """import mmap, os, time
m = mmap.mmap(-1, 48 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
m[::4096] = bytes(48 << 8)
time.sleep(0.3)
rows = dict(x.split()[:2] for x in open("/proc/self/smaps_rollup").read().splitlines()[1:])
print(int(rows["Anonymous:"]) << 10, int(rows["Rss:"]) << 10, flush=True)
os._exit(0)
"""


def record_all(command):
    """Output of a command, and its WSS records. The window spans its whole life."""
    data = os.path.join(TMP, "data")
    out = subprocess.run(["wsmo", "record", "-q", "--window", "20s", "-o", data, "--", *command],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    with open(data, "rb") as f:
        rows = [r for r in wsmon.read(f)[1] if r.type == "WSS" and r.cls == "all"]
    return out, rows


@w.measured
def program_of_a_moment():
    _, rows = record_all(["true"])
    assert len(rows) == 1, rows
    assert rows[0].low <= rows[0].bytes <= rows[0].high <= rows[0].mapped, rows
    print("# true: %d KiB of %d" % (rows[0].bytes >> 10, rows[0].mapped >> 10))
    assert 100 << 10 < rows[0].bytes < rows[0].mapped, rows


@w.measured
def program_of_a_third_of_a_second():
    out, rows = record_all(["/usr/bin/python3", "-c", SHORT])
    anonymous, resident = (int(x) for x in out.split())
    most = max(r.bytes for r in rows)
    print("# %.1f MiB of %.1f to %.1f" % tuple(x / (1 << 20)
                                             for x in (most, anonymous, resident)))
    # not all resident pages of its mapped files were accessed
    assert 0.95 * anonymous < most < 1.05 * resident


def outlived(n, monitored):
    """How many of n processes still have memory after wait()"""
    late = 0
    for _ in range(n):
        pid = os.fork()
        if not pid:
            m = mmap.mmap(-1, 8 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
            m[::2 << 20] = b"xxxx"
            signal.pause()
        w.wait_for("memory", lambda: free() == 4)
        if monitored:
            w.must_put("target", "%d\n" % pid)
            w.wait_for("rounds", lambda: w.stats()["rounds"] > 20)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        late += free() != 8
        w.wait_for("memory given back", lambda: free() == 8)
    return late


def free():
    with open(HUGE + "free_hugepages") as f:
        return int(f.read())


@w.measured
def exits_are_not_held_up():
    """The memory of a process is free when its parent learns of its exit."""
    n = 40
    w.must_put("attrs", "sample_us=1000 aggr_us=5000 update_us=5000 "
               "window_us=5000,10000,20000 max_regions=2000 cpu_permille=1000")
    with open(HUGE + "nr_hugepages", "w") as f:
        f.write("8")
    assert free() == 8
    try:
        alone, late = outlived(n, False), outlived(n, True)
    finally:
        with open(HUGE + "nr_hugepages", "w") as f:
            f.write("0")
    print("# %d of %d outlived their parent's wait, %d if not monitored" % (late, n, alone))
    assert late <= alone


def programs_are_let_go():
    """A program executed while monitored gets one last look, and is then released."""
    before = w.slab_objects("mm_struct")
    for _ in range(60):
        target = subprocess.Popen(["sh", "-c", "read x; exec sleep 0.1"],
                                  stdin=subprocess.PIPE)
        w.must_put("target", "%d\n" % target.pid)
        target.communicate(b"\n")
        w.wait_for("idle", w.idle)
    w.wait_for("memory given back", lambda: w.slab_objects("mm_struct") < before + 30)


w.need("wsmo")
with open("/sys/kernel/mm/transparent_hugepage/enabled", "w") as f:
    f.write("never")
w.main(one_mm, first_of_two_exits, first_of_two_executes, forked_workers, program_of_a_moment,
       program_of_a_third_of_a_second, exits_are_not_held_up, programs_are_let_go)
