# SPDX-License-Identifier: GPL-2.0
"""Figures of a cgroup by wsmon, by clear_refs and by the cgroup's own counters."""
import os
import subprocess
import time

import wsmontest as w
from cgroup_test import ROOT, Cgroup, attach
from device_test import Session
from guest.groups import mount
from guest.machine import build, read, row, schedstat_ns, write

TEST = os.path.join(ROOT, "test")
# name: arguments of groups.c, without MiB
PATTERNS = {"one memfd": ("memfd", 8, 1, 10, 8, 0), "own memory": ("own", 8, 1, 30, 8, 0)}
METHODS = ("nothing", "wsmon", "clear_refs", "counters")
KTHREAD = "kwsmond\n"


def pids():
    return [int(p) for p in read(TEST + "/cgroup.procs").split()]


def referenced(pid):
    return sum(int(line.split()[1]) << 10 for line in read("/proc/%d/smaps" % pid).splitlines()
               if line.startswith("Referenced:"))


def nothing(seconds, window):
    time.sleep(seconds)
    return []


def by_wsmon(seconds, window):
    """kwsmond's CPU time, divided by its estimates; bench/run overhead measures wsmo's part"""
    with Session("window_us=%d000000 cgroup=/test" % window) as s:
        thread = next(int(p) for p in os.listdir("/proc") if p.isdigit() and
                      read("/proc/%s/comm" % p) == KTHREAD)
        s.read(seconds + window)
        ns = schedstat_ns(thread)
        s.put("stop")
        sizes = [r for r in s.read_all() if r.type == "TOTAL" and r.cls == "all"]
    # the first estimates are of less than a window
    return [{"bytes": r.bytes, "low": r.low, "high": r.high, "cpu": ns / len(sizes) / 1e9}
            for r in sizes[1 + window:]]


def by_clear_refs(seconds, window):
    """cAdvisor's method: Referenced, summed over processes"""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        cpu = time.process_time()
        for pid in pids():
            write("/proc/%d/clear_refs" % pid, 1)
        cleared = time.process_time() - cpu
        time.sleep(window)
        cpu = time.process_time()
        found.append({"bytes": sum(map(referenced, pids()))})
        found[-1]["cpu"] = time.process_time() - cpu + cleared
    return found


def by_counters(seconds, window):
    """Kubernetes' method: usage without inactive_file"""
    cpu = time.process_time()
    stat = dict(line.split() for line in read(TEST + "/memory.stat").splitlines())
    size = int(read(TEST + "/memory.current")) - int(stat["inactive_file"])
    cpu = time.process_time() - cpu
    time.sleep(seconds)
    return [{"bytes": size, "cpu": cpu}]


def one(program, pattern, gib, todo):
    kind, workers, _, *rest = PATTERNS[pattern]
    mib = gib * 1024 // (1 if kind == "memfd" else workers)
    # the processes need more than a second to use all of 8 GiB
    window = 1 if gib < 4 else 4
    methods = dict(zip(METHODS, (nothing, by_wsmon, by_clear_refs, by_counters)))
    with Cgroup():
        p = subprocess.Popen([program, *map(str, (kind, workers, mib, *rest)), "probe"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: attach("test"))
        kib, total = map(int, p.stdout.readline().split())
        time.sleep(10 + 5 * gib)
        for n in range(todo["rounds"]):
            for name in METHODS[n % 4:] + METHODS[:n % 4]:
                p.stdin.write("\n")
                p.stdin.flush()
                p.stdout.readline()
                figures = methods[name](todo["seconds"], window)
                p.stdin.write("\n")
                p.stdin.flush()
                row(pattern=pattern, gib=gib, method=name, truth=kib << 10, sum=total << 10,
                    stall=int(p.stdout.readline()) / 1e9, figures=figures)
        p.kill()


def main(todo):
    w.load()
    program = build("groups")
    mount()
    write(ROOT + "/cgroup.subtree_control", "+memory")
    for gib in todo["sizes"]:
        for pattern in todo["patterns"] or PATTERNS:
            one(program, pattern, gib, todo)
