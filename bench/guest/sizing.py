# SPDX-License-Identifier: GPL-2.0
"""Predictions of wsmo report sizing, and the real effect of limits: a row for each
limit.

All workloads of a run are recorded and limited at the same time, each in a memory
cgroup of its own.
"""
import os
import subprocess
import tempfile
import time

import wsmontest as w
from guest import machine
from guest.limited import CGROUPS, PROGRAMS, SLOW_FS, Redis, Workload, read_from_slow_fs
from guest.machine import MIB, read, row, say, vmstat, write

TMP = tempfile.mkdtemp()
DATA = os.path.join(os.environ.get("WSMON_OUT", TMP), "sizing.data")
# limits: parts of the range between the working sets of the shortest and the longest window
POINTS = (0.8, 0.55, 0.3)


def prepare():
    """Swap, no huge pages, memory cgroups."""
    machine.swap_on_zram()
    write(machine.THP + "enabled", "never")
    os.makedirs(CGROUPS, exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUPS], check=True)
    write(os.path.join(CGROUPS, "cgroup.subtree_control"), "+memory")
    # a file system on a device as fast as swap, whatever the contents of pages
    subprocess.run(["/sbin/modprobe", "brd", "rd_nr=1", "rd_size=262144"], check=True)
    subprocess.run(["/sbin/mkfs.ext4", "-q", "/dev/ram0"], check=True)
    subprocess.run(["mount", "/dev/ram0", SLOW_FS], check=True)
    read_from_slow_fs()


def multi_gen():
    """Does the multi-generational LRU reclaim?"""
    path = "/sys/kernel/mm/lru_gen/enabled"
    return os.path.exists(path) and int(read(path), 16) != 0


class Pattern(Workload):
    def __init__(self, name, size, *options):
        super().__init__(name, "patterns", name, "--size", str(size), *options,
                         "--seconds", "0", "--truth-ms", "60000")
        w.wait_for(name, lambda: self.cgroup.stat()["anon"] >= size, 120)


def zipf():
    """Pages with a probability each, touched at random times."""
    return Pattern("zipf", 64 * MIB, "--rate", "2000", "--exponent", "1")


def periods():
    """8 MiB used once in 2 s, 32 MiB used once in 20 s."""
    return Pattern("periods", 40 * MIB, "--hot", str(8 * MIB), "--hold-ms", "2000")


WORKLOADS = {"zipf": lambda _: zipf(), "periods": lambda _: periods(), **PROGRAMS}


def predict(job):
    """Limits to try, and the prediction for each."""
    curve = machine.report(DATA, "curve", "--pid", str(job.pid))
    low, high = curve[0]["bytes"], curve[-1]["bytes"]
    limits = [round(low + (high - low) * point) for point in POINTS]
    rows = machine.report(DATA, "sizing", "--pid", str(job.pid),
                          "--limit", ",".join(map(str, limits)))
    found = {r["limit"]: r for r in rows}
    return curve, [found[limit] for limit in limits]


def watch(jobs, seconds):
    """Events of each cgroup in a second; swapped is of all cgroups together."""
    def now():
        return time.monotonic(), [dict(
            job.cgroup.stat(), swapped=vmstat("pswpin"), stalled=job.cgroup.stalled(),
            **{name: getattr(job, name, 0) for name in ("late", "busy", "asked")}) for job in jobs]
    began, before = now()
    time.sleep(seconds)
    ended, after = now()
    return [{key: (b[key] - a[key]) / (ended - began) for key in b if key in a} | {
        "anon_bytes": b["anon"], "killed": job.cgroup.killed()}
        for job, a, b in zip(jobs, before, after)]


def slowdown(without, seen, at):
    """Additional waiting, for a second of the recording, compared with no limit before and
    after"""
    if not all(x["asked"] for x in (*without, seen)):
        return None
    first, last = (x["busy"] / x["asked"] for x in without)
    return without[0]["asked"] * (seen["busy"] / seen["asked"] - first - (last - first) * at)


def under_limits(jobs, predicted, todo):
    """Events of each job, for each of the limits"""
    for n in range(len(POINTS)):
        for job, (_, rows) in zip(jobs, predicted):
            # other charged memory: page tables, sockets, the kernel's own
            stat = job.cgroup.stat()
            extra = job.cgroup.current() - stat["anon"] - stat["file"]
            job.cgroup.limit(rows[n]["limit"] + extra)
        time.sleep(todo["settle"])
        yield watch(jobs, todo["measure"])


def without_limits(jobs, todo):
    for job in jobs:
        job.cgroup.limit(1 << 40)
    # else seldom used pages would come back only when used
    subprocess.run(["/sbin/swapoff", "-a"], check=True)
    time.sleep(2 * todo["settle"])
    events = watch(jobs, todo["measure"])
    subprocess.run(["/sbin/swapon", "/dev/zram0"], check=True)
    return events


def measure(jobs, todo):
    predicted = [predict(job) for job in jobs]
    before = watch(jobs, todo["measure"])
    limited = list(under_limits(jobs, predicted, todo))
    free = list(zip(before, without_limits(jobs, todo)))
    for n, (point, events) in enumerate(zip(POINTS, limited)):
        for job, (curve, rows), without, seen in zip(jobs, predicted, free, events):
            row(workload=job.name, point=point, limit=rows[n]["limit"],
                predicted=rows[n], curve=curve,
                refaults_per_s=seen["workingset_refault_anon"],
                file_refaults_per_s=seen["workingset_refault_file"],
                all_pswpin_per_s=seen["swapped"], major_faults_per_s=seen["pgmajfault"],
                anon=seen["anon_bytes"], late=seen["late"],
                slowdown=slowdown(without, seen, (n + 1) / (len(POINTS) + 1)),
                stalled=seen["stalled"], busy=[x["busy"] for x in without],
                major_faults_free_per_s=[x["pgmajfault"] for x in without],
                pace=seen["asked"] / without[0]["asked"] if without[0]["asked"] else 1,
                killed=seen["killed"], multi_gen=multi_gen())


def load(exponent):
    """Only redis and its client, for bench/examples/right-size, which limits them."""
    job = Redis(TMP, exponent)
    try:
        job.thread.join()
    finally:
        job.stop()


def run(names, todo):
    w.load()
    jobs = []
    try:
        for name in names:
            jobs.append(WORKLOADS[name](TMP))
        say("%s: recording for %d s" % (" ".join(names), todo["record"]))
        machine.record(DATA, todo["record"], [job.pid for job in jobs], "--sizing", "--window",
                       todo["windows"], "--cpu", "20%")
        w.unload()
        measure(jobs, todo)
    finally:
        for job in jobs:
            job.stop()


def main(todo):
    if "load" in todo:
        return load(todo["load"])
    prepare()
    groups = [todo["workloads"]] if todo["together"] else [[x] for x in todo["workloads"]]
    for names in groups:
        run(names, todo)
