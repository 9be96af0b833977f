# SPDX-License-Identifier: GPL-2.0
"""Watches a cgroup of many small processes, and measures the CPU time for that."""
import contextlib
import subprocess
import time

import wsmontest as w
from cgroup_test import Cgroup, attach
from device_test import Session
from guest.groups import mount
from guest.machine import build, row

# KiB of stack, data and heap that each process also uses, by wsmo record of one of them
OWN = 12

# name: arguments of many.c
PATTERNS = {
    "asleep": (20, 1980, 512, 0),
    "asleep, forked": (20, 1980, 512, 0, "forked"),
    "4 begin a second": (20, 1980, 512, 250),
    "50 begin a second": (20, 1980, 64, 20),
    "all busy": (2000, 0, 64, 0),
}


@contextlib.contextmanager
def crowd(program, *args):
    """Processes in a cgroup; many.c documents the arguments"""
    with Cgroup():
        with subprocess.Popen([program, *map(str, args)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: attach("test")) as p:
            try:
                assert p.stdout.readline() == "ready\n"
                yield p
            finally:
                p.kill()


def begun(p):
    """How many short processes have begun"""
    p.stdin.write("\n")
    p.stdin.flush()
    return int(p.stdout.readline())


def cpu_ns(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


def watch(p, settle, seconds, attrs):
    """The module's estimates of the crowd, without the first seconds: finding all processes costs
    more"""
    with Session(attrs + " cgroup=/test") as s:
        thread, = w.kwsmond()
        s.read(settle)
        skip = len([r for r in s.records() if r.type == "GROUP"])
        began, ns, at = begun(p), cpu_ns(thread), time.monotonic()
        s.read(seconds)
        began, ns, took = begun(p) - began, cpu_ns(thread) - ns, time.monotonic() - at
        s.put("stop")
        records = s.read_all()
    groups = [r for r in records if r.type == "GROUP"][skip:]
    sizes = [r for r in records if r.type == "TOTAL" and r.cls == "all"][skip:]
    stats = [r for r in records if r.type == "STATS"]
    return {"cpu": ns / 1e9 / took, "began": began, "seconds": took, "intervals": len(groups),
            "members": max(g.members for g in groups), "came": sum(g.came for g in groups),
            "went": sum(g.went for g in groups), "missed": sum(g.missed for g in groups),
            "sizes": [(r.bytes, r.low, r.high) for r in sizes],
            "mean_ms": (stats[-1].cpu_ns - stats[skip].cpu_ns) / 1e6 / (len(stats) - skip)}


def right(found, truth):
    """Share of the intervals that hold the truth; files in use add up to a tenth to it"""
    return sum(low <= truth * 1.1 and high >= truth for _, low, high in found["sizes"]) / len(
        found["sizes"])


def one(program, pattern, todo):
    args = list(PATTERNS[pattern])
    args[:2] = (n * todo["processes"] // 2000 for n in args[:2])
    short = args[3] and 1000 // args[3]
    with crowd(program, *args) as p:
        time.sleep(2)
        found = watch(p, todo["settle"], todo["seconds"],
                      "cpu_permille=%d" % todo["permille"])
    row(pattern=pattern, permille=todo["permille"], processes=sum(args[:2]),
        # a window of a second has twice as many as live at a time
        truth=(args[0] + 2 * short) * (args[2] + OWN) << 10, **found)


def main(todo):
    w.load()
    program = build("many")
    mount()
    for pattern in todo["patterns"] or PATTERNS:
        one(program, pattern, todo)
