# SPDX-License-Identifier: GPL-2.0
"""A workload by itself, under wsmo act, and under DAMON's schemes: a row for each run."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

import redis_load
import wsmontest as w
from guest.machine import MIB, THP, cc1, row, schedstat_ns, status, swap_on_zram, vmstat, write
from peers import damon

TMP = tempfile.mkdtemp()


def fields(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()


def major_faults(pid):
    return int(fields(pid)[9])


def cpu_s(pid):
    return sum(map(int, fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def waited_s():
    """Seconds for which tasks of the system have waited for memory"""
    with open("/proc/pressure/memory") as f:
        return int(f.readline().rsplit("=", 1)[1]) / 1e6


def huge(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("AnonHugePages"))


def resident(pid, start, size):
    with open("/proc/%d/pagemap" % pid, "rb") as f:
        f.seek(start >> 12 << 3)
        data = f.read(size >> 12 << 3)
    return sum(e >> 63 for e in struct.unpack("<%dQ" % (size >> 12), data)) << 12


class Nothing:
    """The workload by itself."""

    def __init__(self, pid, preset):
        pass

    def look(self):
        pass

    def stop(self):
        return {}


class Wsmo:
    """wsmo act with a preset, otherwise at its defaults, or with more options."""

    def __init__(self, pid, preset, *more):
        self.log = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(["wsmo", "act", "-s", preset, "-p", str(pid), "--json",
                                   *more],
                                  stdout=self.log, stderr=subprocess.PIPE, text=True)
        self.cpu_s = 0

    def look(self):
        """Its thread ends with the target"""
        try:
            thread, = w.kwsmond()
            self.cpu_s = cpu_s(self.p.pid) + schedstat_ns(thread) / 1e9
        except (OSError, ValueError):
            pass

    def stop(self):
        self.look()
        self.p.send_signal(2)
        err = self.p.communicate()[1]
        self.log.seek(0)
        lines = [json.loads(line) for line in self.log]
        return {"cpu_s": self.cpu_s, "rules": [x for x in lines if x["type"] == "rule"],
                "goals": [x for x in lines if x["type"] == "goal"],
                "pauses": err.count("backing off")}


class Damon:
    """DAMON's schemes with the same rules and quotas, or with its quota goal, too."""

    def __init__(self, pid, preset, psi_us=None):
        self.s = damon.Schemes(pid, preset, psi_us=psi_us)
        self.cpu_s, self.applied = 0, None

    def look(self):
        """Its thread ends with the target, and its counts with it"""
        try:
            self.cpu_s = self.s.cpu_ns() / 1e9
            self.applied = self.s.applied()
        except OSError:
            pass

    def stop(self):
        self.look()
        self.s.stop()
        return {"cpu_s": self.cpu_s, "applied": self.applied}


# the goal of both: tasks wait for memory for this share of the time
PRESSURE = 0.005
ACTORS = {"none": Nothing, "never": Nothing, "always": Nothing, "wsmo": Wsmo, "damon": Damon,
          "wsmo-goal": lambda pid, preset: Wsmo(pid, preset, "--goal",
                                                "pressure=%g%%" % (100 * PRESSURE)),
          "wsmo-careful": lambda pid, preset: Wsmo(pid, preset, "--max-refaults=30"),
          "damon-goal": lambda pid, preset: Damon(pid, preset, round(PRESSURE * 10**6))}


class Process:
    """A running program; work() is the load to be measured."""

    def kill(self):
        self.p.kill()
        self.p.wait()


class Synthetic(Process):
    """256 MiB, of which 32 MiB are touched every 20 ms."""
    SIZE, HOT, SECONDS = 256 * MIB, 32 * MIB, 30

    def __init__(self):
        self.p = subprocess.Popen(["hotset", "--size", str(self.SIZE), "--hot", str(self.HOT),
                                   "--seconds", "0"])
        self.pid = self.p.pid
        w.wait_for("the workload", lambda: status(self.pid, "VmRSS") >= self.SIZE, 60)
        with open("/proc/%d/maps" % self.pid) as f:
            for line in f:
                lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                if hi - lo >= self.SIZE:
                    self.at = lo

    def work(self):
        """Time until 95 % of the cold memory is gone, and how much hot memory went."""
        began, gone, lowest = time.monotonic(), None, self.HOT
        faults = major_faults(self.pid)
        while time.monotonic() - began < self.SECONDS:
            time.sleep(0.5)
            cold = resident(self.pid, self.at + self.HOT, self.SIZE - self.HOT)
            lowest = min(lowest, resident(self.pid, self.at, self.HOT))
            if gone is None and cold <= 0.05 * (self.SIZE - self.HOT):
                gone = time.monotonic() - began
        return {"gone_s": gone, "cold_left": cold / (self.SIZE - self.HOT),
                "hot_touched": max(1 - lowest / self.HOT,
                                   (major_faults(self.pid) - faults) * 4096 / self.HOT)}


class Redis(Process):
    """40,000 values of 4 KiB, requested by Zipf's law: a fixed number of requests."""
    KEYS, SECONDS, BATCH = 40000, 40, 20

    def __init__(self):
        self.p = subprocess.Popen(redis_load.server(TMP), stdout=subprocess.DEVNULL)
        self.pid = self.p.pid
        self.client = redis_load.Client(self.KEYS)
        ranks = list(range(self.KEYS))
        rng = random.Random(1)
        rng.shuffle(ranks)
        weights = [1 / (i + 1) ** 1.1 for i in range(self.KEYS)]
        self.choice = rng.choices(ranks, weights, k=1500 * self.SECONDS)

    def work(self):
        """An even load: its cost shows in redis' CPU time and in the delays."""
        began, delays, seconds = time.monotonic(), [], self.SECONDS
        batches = len(self.choice) // self.BATCH
        for b in range(batches):
            due = began + seconds * b / batches
            time.sleep(max(due - time.monotonic(), 0))
            sent = time.monotonic()
            self.client.get(self.choice[b * self.BATCH:(b + 1) * self.BATCH])
            delays.append(time.monotonic() - sent)
        delays.sort()
        return {"delay_s": sum(delays) / len(delays), "p99_s": delays[len(delays) * 99 // 100]}


class RedisLong(Redis):
    """Long enough for the first ten seconds, in which no memory is old enough, to weigh little."""
    SECONDS = 90


class Compile(Process):
    """The compiler proper on a large file, optimizing."""

    def __init__(self):
        source = os.path.join(TMP, "big.c")
        with open(source, "w") as f:
            for i in range(300):
                f.write("struct s%d { int a[%d]; long b; };\n"
                        "long f%d(struct s%d *s, int n)\n{\n\tlong sum = s->b;\n"
                        "\tfor (int i = 0; i < n; i++) {\n\t\tif (s->a[i %% %d] & %d)\n"
                        "\t\t\tsum += s->a[i %% %d] * (long)i;\n"
                        "\t\telse\n\t\t\tsum ^= s->a[(i + %d) %% %d] << (i & 15);\n\t}\n"
                        "\treturn sum;\n}\n" % (i, i % 50 + 2, i, i, i % 50 + 2, i, i % 50 + 2, i,
                                               i % 50 + 2))
        self.p = subprocess.Popen([cc1(), "-quiet", "-O2", "-g", source, "-o", "/dev/null"])
        self.pid = self.p.pid

    def work(self):
        self.p.wait()
        return {}


class Sparse(Process):
    """128 MiB used on every page, and 128 MiB used on every 512th page."""
    CODE = ("import mmap, time\n"
            "m = mmap.mmap(-1, 258 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "import ctypes\nat = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
            "o = -at %% (2 << 20)\nn = 128 << 20\nb = bytes(n >> 12)\n"
            "for r in range(%d):\n"
            "    m[o:o + n:4096] = b\n    m[o + n:o + 2 * n:2 << 20] = b[:64]\n"
            "    time.sleep(0.02)\n")

    def __init__(self, rounds=600):
        self.p = subprocess.Popen([sys.executable, "-c", self.CODE % rounds])
        self.pid = self.p.pid

    def work(self):
        self.p.wait()
        return {}


WORKLOADS = {"synthetic": Synthetic, "redis": Redis, "redis-long": RedisLong,
             "compile": Compile, "sparse": Sparse}


class Watch(threading.Thread):
    """Follows memory and CPU time of a process during its work, and those of its actor."""

    def __init__(self, pid, by):
        super().__init__(daemon=True)
        self.pid, self.by, self.rows, self.done = pid, by, [], threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.5):
            self.by.look()
            try:
                self.rows.append((status(self.pid, "VmRSS"), status(self.pid, "VmSwap"),
                                  huge(self.pid), cpu_s(self.pid), major_faults(self.pid)))
            except OSError:
                return

    def result(self):
        self.done.set()
        self.join()
        # an ending process has no memory any more
        rows = [row for row in self.rows if row[0]]
        return {"rss": sum(r[0] for r in rows) / len(rows), "rss_max": max(r[0] for r in rows),
                "rss_end": rows[-1][0], "swap_end": rows[-1][1], "huge_max": max(r[2] for r in rows),
                "huge_end": rows[-1][2], "major_faults": rows[-1][4] - rows[0][4],
                "cpu_work_s": rows[-1][3] - rows[0][3]}


def run(case, workload, actor, preset):
    write(THP + "enabled", "always" if actor == "always" else
          "madvise" if preset == "thp" and actor in ("wsmo", "damon") else "never")
    job = WORKLOADS[workload]()
    before, waited = {name: vmstat(name) for name in ("pswpin", "pswpout")}, waited_s()
    by = ACTORS[actor](job.pid, preset)
    watch, began = Watch(job.pid, by), time.monotonic()
    try:
        found = job.work()
        took = time.monotonic() - began
        found.update(watch.result(), pressure=(waited_s() - waited) / took)
    finally:
        found_by = by.stop()
        job.kill()
    found.update(found_by)
    found.update({name: vmstat(name) - old for name, old in before.items()})
    found.update(case=case, workload=workload, actor=actor, preset=preset, runtime_s=took)
    row(**found)


def main(todo):
    swap_on_zram()
    w.load()
    for _ in range(todo["rounds"]):
        for actor in todo["actors"]:
            run(todo["case"], todo["workload"], actor, todo["preset"])
    w.unload()
