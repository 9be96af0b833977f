# SPDX-License-Identifier: GPL-2.0
"""In the guest: what wsmon and DAMON cost, one after the other; JSON at the end.

Started by bench/overhead with what to do as JSON. Progress goes to standard
error, one JSON object a line to standard output.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, d) for d in ("bench", "tests/selftests")]
import damon
import wsmontest as w

MIB = 1 << 20
ATTRS = "flush_tlb=1 seed=0 min_regions=10 "
DEFAULT = ATTRS + ("sample_us=100000 aggr_us=1000000 update_us=1000000 window_us=1000000 "
                   "max_regions=2000 cpu_permille=30")
FASTEST = ATTRS + ("sample_us=1000 aggr_us=10000 update_us=10000 window_us=10000 "
                   "max_regions=2000 cpu_permille=1000")


def say(text):
    print(text, file=sys.stderr, flush=True)


def tell(**what):
    print(json.dumps(what), flush=True)


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
    """CPU nanoseconds of kwsmond and its flushes for each sample page checked"""
    w.must_put("attrs", ATTRS + "sample_us=100000 aggr_us=2000000 update_us=2000000 "
               "window_us=2000000 max_regions=%d cpu_permille=1000" % max(samples // 2, 10))
    w.must_put("target", "%d\n" % pid)
    try:
        time.sleep(4.2)
        a = w.stats()
        time.sleep(seconds)
        b = w.stats()
    finally:
        w.must_put("target", "\n")
    d = {k: b[k] - a[k] for k in a}
    return {"ns": (d["cpu_ns"] + d["remote_ns"]) / d["checks"],
            "walk_ns": d["walk_ns"] / (d["checks"] + d["arms"]), "checks": d["checks"],
            "samples": b["samples"], "hold_ns": b["max_hold_ns"],
            "hold_p99_ns": b["hold_p99_ns"], "late_p50_ns": b["late_p50_ns"],
            "late_p99_ns": b["late_p99_ns"], "late_max_ns": b["late_max_ns"]}


def damon_cost(pid, samples, seconds):
    """The same of kdamond, for each region it checked: clears and looks once"""
    d = damon.Damon([pid], 2000000, 2000000, samples)
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
    tell(what="cost", mib=size, kind=kind, samples=samples, rows=rows)


def lateness(todo):
    """At the defaults of both, for a busy target"""
    say("lateness at the defaults")
    rows = []
    with target(2048 * MIB, "4K") as t:
        for _ in range(todo["reps"]):
            w.must_put("attrs", DEFAULT)
            w.must_put("target", "%d\n" % t.pid)
            time.sleep(3 * todo["seconds"])
            s = w.stats()
            w.must_put("target", "\n")
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
    tell(what="lateness", rows=rows)


class Nobody:
    def __init__(self, pids):
        pass

    def stop(self):
        pass


class Wsmon(Nobody):
    attrs = DEFAULT

    def __init__(self, pids):
        w.must_put("attrs", self.attrs)
        w.must_put("target", " ".join(map(str, pids)))

    def stop(self):
        self.hold = w.stats()["max_hold_ns"]
        w.must_put("target", "\n")


class NoFlush(Wsmon):
    attrs = DEFAULT.replace("flush_tlb=1", "flush_tlb=0")


class Fastest(Wsmon):
    attrs = FASTEST


MONITORS = {"none": Nobody, "none again": Nobody, "wsmon": Wsmon, "wsmon, no flush": NoFlush,
            "wsmon, fastest": Fastest, "DAMON": damon.Damon}


def loops(kind, mib):
    """Rounds a process gets done; it prints how many"""
    process = subprocess.Popen(["loops", kind, str(mib), "1"], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()

    def measure(seconds):
        process.stdout.readline()
        return sum(int(process.stdout.readline().split()[0]) for _ in range(int(seconds)))
    return process, [process.pid], measure


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
    """The compiler proper, and a large file for it, without its headers"""
    directory = tempfile.mkdtemp()
    source = os.path.join(directory, "big.i")
    with open(source, "w") as f:
        for i in range(60):
            f.write("int f%d(int *a, int n) { int s = 0, i; for (i = 0; i < n; i++) "
                    "{ s += a[i] * %d; if (s > %d) s -= a[i / 2]; } return s; }\n" % (i, i, i * 7))
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True,
                         text=True, check=True).stdout.strip()
    return [cc1, "-quiet", "-O2", source, "-o", "/dev/null"]


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
            row, turn = {}, i % len(names)
            for monitor in names[turn:] + names[:turn]:
                if start == compiler:
                    row[monitor] = compile_time(monitor, command)
                    continue
                m = MONITORS[monitor](pids)
                time.sleep(1)
                row[monitor] = measure(todo["seconds"])
                m.stop()
                if monitor == "wsmon":
                    row["hold_ns"] = m.hold
            rows.append(row)
    finally:
        if start != compiler:
            process.kill()
            process.wait()
    tell(what="slowdown", name=name, rows=rows)


def cpu_s(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0]) / 1e9


def kernel_memory():
    with open("/proc/meminfo") as f:
        info = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return (info["Slab"] + info["VmallocUsed"]) * 1024


def memory(todo):
    """Of the module, a region; and what wsmo record takes"""
    say("memory, wsmo record")
    with target(2048 * MIB, "4K") as t:
        sizes = []
        for _ in range(3):
            at = []
            for regions in 2000, 32768:
                w.must_put("attrs", DEFAULT.replace("max_regions=2000", "max_regions=%d" % regions))
                w.must_put("target", "%d\n" % t.pid)
                time.sleep(1)
                at.append(kernel_memory())
                w.must_put("target", "\n")
                w.unload()
                w.load()
            sizes.append((at[1] - at[0]) / (32768 - 2000))
        w.must_put("attrs", DEFAULT)
        path = os.path.join(tempfile.mkdtemp(), "data")
        seconds = 10 * todo["seconds"]
        p = subprocess.Popen(["wsmo", "record", "-q", "-o", path, "-d", str(seconds), "-p",
                              str(t.pid)])
        began = time.monotonic()
        # starting, and finding out what is mapped where, comes once
        time.sleep(10)
        first = cpu_s(p.pid)
        time.sleep(seconds - 11)
        cpu = (cpu_s(p.pid) - first) / (seconds - 11)
        # what wait4() tells has this interpreter in it, as it was before exec
        with open("/proc/%d/status" % p.pid) as f:
            rss = [int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:")][0]
        p.wait()
        took = time.monotonic() - began
        size = os.path.getsize(path)
    with open("/sys/module/wsmon/coresize") as f:
        core = int(f.read())
    tell(what="memory", region=statistics.median(sizes), module=core, rss=rss,
         start=first, cpu=cpu, file_per_s=size / took)


def main():
    todo = json.loads(sys.argv[1])
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
            "mapping, touching, unmapping 1 MiB": (loops, "churn", 1),
            "redis-server, GET of 100 MB": (redis, "", 0),
            "a compiler": (compiler, "", 0)}.items():
        if "slowdown" in parts:
            slowdown(name, start, kind, mib, todo)
    w.unload()


if __name__ == "__main__":
    main()
