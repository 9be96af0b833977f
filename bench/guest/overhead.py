# SPDX-License-Identifier: GPL-2.0
"""Costs of wsmon and DAMON, in turn."""
import os
import statistics
import subprocess
import tempfile
import time

import wsmontest as w
from guest.machine import MIB, Session, cc1, read, row, say, schedstat_ns, status
from peers import damon

ATTRS = "flush_tlb=1 seed=0 min_regions=10 "
DEFAULT = ATTRS + ("sample_us=100000 aggr_us=1000000 update_us=1000000 window_us=1000000 "
                   "max_regions=2000 cpu_permille=30")
FASTEST = ATTRS + ("sample_us=1000 aggr_us=10000 update_us=10000 window_us=10000 "
                   "max_regions=2000 cpu_permille=1000")


def target(size, kind):
    """A process that keeps touching some of its memory."""
    flags = "mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000"
    setup = "m = mmap.mmap(-1, %d, %s%s)\n" % (
        size, flags, ", mmap.PROT_READ" if kind == "zero" else "")
    setup += "m.madvise(mmap.%s)\n" % ("MADV_NOHUGEPAGE" if kind == "4K" else "MADV_HUGEPAGE")
    if kind == "zero":
        setup += "for i in range(0, len(m), 2 << 20):\n    m[i]\nread = 'm[i]'\n"
        code = "while True:\n    for i in range(0, 64 << 20, 4096): m[i]\n    time.sleep(0.02)\n"
    else:
        setup += ("one = b'x' * (1 << 14)\nfor i in range(0, len(m), 64 << 20):\n"
                  "    n = min(64 << 20, len(m) - i)\n    m[i:i + n:4096] = one[:n >> 12]\n")
        code = "while True:\n    m[:64 << 20:4096] = one\n    time.sleep(0.02)\n"
    return w.Target(code, setup)


def wsmon_cost(pid, samples, seconds):
    """CPU nanoseconds of kwsmond and its flushes for each checked sample page"""
    with Session([pid], ATTRS + "sample_us=100000 aggr_us=2000000 update_us=2000000 "
                 "window_us=2000000 max_regions=%d cpu_permille=1000" % max(samples // 2, 10)) as s:
        time.sleep(4.2)
        d, b = s.spent(seconds)
    return {"ns": (d["cpu_ns"] + d["remote_ns"]) / d["checks"],
            "walk_ns": d["walk_ns"] / (d["checks"] + d["arms"]), "checks": d["checks"],
            "samples": b["samples"], "hold_ns": b["max_hold_ns"],
            "hold_p99_ns": b["hold_p99_ns"], "late_p50_ns": b["late_p50_ns"],
            "late_p99_ns": b["late_p99_ns"], "late_max_ns": b["late_max_ns"]}


def damon_cost(pid, samples, seconds):
    """The same for kdamond, for each checked region: it clears and looks once"""
    d = damon.Damon([pid], 2000000, 2000000, (samples, samples))
    try:
        d.read(4.2)
        cpu = d.cpu_ns()
        snapshots = damon.parse(d.read(seconds))
        cpu = d.cpu_ns() - cpu
    finally:
        d.stop()
    checks = sum(len(s[2]) for s in snapshots) * damon.CHECKS
    return {"ns": cpu / checks if checks else None, "checks": checks,
            "regions": len(snapshots[-1][2]) if snapshots else 0}


def cost(case, todo):
    size, kind, samples = case
    say("cost: %d MiB, %s, %d samples" % (size, kind, samples))
    with target(size * MIB, kind) as t:
        rows = [{"wsmon": wsmon_cost(t.pid, samples, todo["seconds"]),
                 "damon": damon_cost(t.pid, samples, todo["seconds"])}
                for _ in range(todo["reps"])]
    row(what="cost", mib=size, kind=kind, samples=samples, rows=rows)


def lateness(todo):
    """At both defaults, for a busy target"""
    say("lateness at the defaults")
    rows = []
    with target(2048 * MIB, "4K") as t:
        for _ in range(todo["reps"]):
            with Session([t.pid], DEFAULT):
                time.sleep(3 * todo["seconds"])
                s = w.stats()
            d = damon.Damon([t.pid])
            try:
                d.read(2)
                times = [s[0] for s in damon.parse(d.read(3 * todo["seconds"]))]
            finally:
                d.stop()
            late = sorted(max(b - a - 100000000, 0) for a, b in zip(times, times[1:]))
            rows.append({"wsmon": {k: s[k] for k in ("late_p50_ns", "late_p99_ns", "late_max_ns",
                                                     "late_rounds", "rounds", "max_hold_ns", "hold_p99_ns")},
                         "damon": {"p50": late[len(late) // 2],
                                   "p99": late[min(len(late) * 99 // 100, len(late) - 1)],
                                   "max": late[-1], "snapshots": len(late)} if late else None})
    row(what="lateness", rows=rows)


class Nobody:
    def __init__(self, pids):
        pass

    def stop(self):
        pass


class Wsmon(Session):
    def __init__(self, pids, attrs=DEFAULT):
        super().__init__(pids, attrs)

    def stop(self):
        self.hold = w.stats()["max_hold_ns"]
        super().stop()


class NoFlush(Wsmon):
    def __init__(self, pids):
        super().__init__(pids, DEFAULT.replace("flush_tlb=1", "flush_tlb=0"))


class Fastest(Wsmon):
    def __init__(self, pids):
        super().__init__(pids, FASTEST)


MONITORS = {"none": Nobody, "none again": Nobody, "wsmon": Wsmon, "wsmon, no flush": NoFlush,
            "wsmon, fastest": Fastest, "DAMON": damon.Damon}


def loops(kind, mib, threads=1):
    """Throughput: passes of a process, which it prints"""
    process = subprocess.Popen(["loops", kind, str(mib), "1", str(threads)], stdout=subprocess.PIPE,
                               text=True)
    process.stdout.readline()

    def measure(seconds):
        process.stdout.readline()
        return sum(int(process.stdout.readline()) for _ in range(int(seconds)))
    return process, [process.pid], measure


def eight(kind, mib):
    return loops(kind, mib, 8)


def redis(_kind, _mib):
    """Requests a second of a server"""
    directory = tempfile.mkdtemp()
    sock = os.path.join(directory, "sock")
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", sock, "--save", "", "--dir", directory],
        stdout=subprocess.DEVNULL)
    bench = ["redis-benchmark", "-s", sock, "-q", "--csv", "-c", "8", "-r", "100000"]
    w.wait_for("redis", lambda: os.path.exists(sock))
    subprocess.run([*bench, "-n", "100000", "-t", "set", "-d", "1000"], stdout=subprocess.DEVNULL)

    def measure(seconds):
        out = subprocess.run([*bench, "-n", str(int(seconds * 8000)), "-t", "get"], check=True,
                             capture_output=True, text=True).stdout
        return float(out.splitlines()[-1].split(",")[1].strip('"'))
    return process, [process.pid], measure


def compiler():
    """The compiler proper, and a large file for it, preprocessed"""
    directory = tempfile.mkdtemp()
    source = os.path.join(directory, "big.i")
    with open(source, "w") as f:
        for i in range(60):
            f.write("int f%d(int *a, int n) { int s = 0, i; for (i = 0; i < n; i++) "
                    "{ s += a[i] * %d; if (s > %d) s -= a[i / 2]; } return s; }\n" % (i, i, i * 7))
    return [cc1(), "-quiet", "-O2", source, "-o", "/dev/null"]


def compile_time(monitor, command):
    """1 / seconds; monitored from its start on"""
    process = subprocess.Popen(command)
    m = MONITORS[monitor]([process.pid])
    began = time.monotonic()
    process.wait()
    took = time.monotonic() - began
    m.stop()
    return 1 / took


def slowdown(name, start, kind, mib, todo):
    say("slowdown of %s" % name)
    rows, names = [], list(MONITORS)
    if start == compiler:
        command = compiler()
    else:
        process, pids, measure = start(kind, mib)
    try:
        for i in range(todo["pairs"]):
            found, turn = {}, i % len(names)
            for monitor in names[turn:] + names[:turn]:
                if start == compiler:
                    found[monitor] = compile_time(monitor, command)
                    continue
                m = MONITORS[monitor](pids)
                time.sleep(1)
                found[monitor] = measure(todo["seconds"])
                m.stop()
                if monitor == "wsmon":
                    found["hold_ns"] = m.hold
            rows.append(found)
    finally:
        if start != compiler:
            process.kill()
            process.wait()
    row(what="slowdown", name=name, rows=rows)


def kernel_memory():
    info = {line.split(":")[0]: int(line.split()[1]) for line in read("/proc/meminfo").splitlines()}
    return (info["Slab"] + info["VmallocUsed"]) * 1024


def memory(todo):
    """Memory of the module for a region; and that of wsmo record"""
    say("memory, wsmo record")
    with target(2048 * MIB, "4K") as t:
        sizes = []
        for _ in range(3):
            at = []
            for regions in 2000, 32768:
                with Session([t.pid], DEFAULT.replace("max_regions=2000", "max_regions=%d" % regions)):
                    time.sleep(1)
                    at.append(kernel_memory())
                w.unload()
                w.load()
            sizes.append((at[1] - at[0]) / (32768 - 2000))
        w.must_put("attrs", DEFAULT)
        path = os.path.join(tempfile.mkdtemp(), "data")
        seconds = 10 * todo["seconds"]
        p = subprocess.Popen(["wsmo", "record", "-q", "-o", path, "-d", str(seconds), "-p",
                              str(t.pid)])
        began = time.monotonic()
        # the costs of the start, and of reading all mappings, come once
        time.sleep(10)
        first = schedstat_ns(p.pid) / 1e9
        time.sleep(seconds - 11)
        cpu = (schedstat_ns(p.pid) / 1e9 - first) / (seconds - 11)
        # wait4() would include this interpreter, as it was before exec
        rss = status(p.pid, "VmHWM")
        p.wait()
        took = time.monotonic() - began
        size = os.path.getsize(path)
    row(what="memory", region=statistics.median(sizes),
        module=int(read("/sys/module/wsmon/coresize")), rss=rss,
        start=first, cpu=cpu, file_per_s=size / took)


def main(todo):
    w.load()
    parts = todo["parts"]
    for case in todo["cost"] if "cost" in parts else []:
        cost(case, todo)
    if "lateness" in parts:
        lateness(todo)
    if "memory" in parts:
        memory(todo)
    for name, (start, kind, mib) in {
            "a loop over 256 MiB at random": (loops, "chase", 256),
            "a loop over 64 MiB in order": (loops, "stream", 64),
            "eight threads, 256 MiB at random": (eight, "chase", 256),
            "eight threads, 64 MiB in order": (eight, "stream", 64),
            "mapping, touching, unmapping 1 MiB": (loops, "churn", 1),
            "redis-server, GET of 100 MB": (redis, "", 0),
            "a compiler": (compiler, "", 0)}.items():
        if "slowdown" in parts:
            slowdown(name, start, kind, mib, todo)
    w.unload()
