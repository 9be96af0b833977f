# SPDX-License-Identifier: GPL-2.0
"""Records workloads that know their truth."""
import os
import statistics
import time

import truth
import wsmontest as w
from guest.machine import Session, no_khugepaged, read, row, schedstat_ns

RAMP = "pageramp --populate --stride 2 --pages 32768 --ramp 10 --cycles 1".split()
SEEDS = (1, 2, 3, 4, 5)


def counts(cases):
    return {"cases": sum(len(c.rows) for c in cases), "covered": sum(c.covered() for c in cases)}


def ramp():
    cases = [truth.record(["--seed", str(s)], RAMP) for s in SEEDS]
    row(title="pageramp, every 2nd page, five seeds: error of the WSS",
        mean=statistics.mean(c.mean_error() for c in cases), **counts(cases),
        rss=statistics.mean(c.rss() / max(r[0] for r in c.rows) for c in cases))


def hot(title, *workload):
    for flush in True, False:
        cases = [truth.record([*([] if flush else ["--no-flush"]), "--seed", str(s)],
                              ["hotset", "--seconds", "10", "--offset", "100M", *workload])
                 for s in SEEDS[:3]]
        row(title=title + ("" if flush else ", without flush"), flush=flush, **counts(cases),
            **{name: statistics.median(getattr(c, what)() for c in cases) for name, what in (
                ("median", "median_error"), ("half_width", "half_width"), ("cpu", "cpu"))})


def kthread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if read("/proc/%s/comm" % pid) == "kwsmond\n":
                return int(pid)
        except OSError:
            pass
    raise AssertionError("no kwsmond")


def cpu():
    """At the defaults: the thread's CPU time by stats, and by the scheduler."""
    shares = []
    with w.Target("while True:\n    m[::4096] = ones\n    time.sleep(0.02)\n",
                  "m = mmap.mmap(-1, 512 << 20, flags=0x22)\n"
                  "ones = bytes(131072)\nm[::4096] = ones\n") as t:
        for _ in range(3):
            with Session([t.pid]) as s:
                time.sleep(2)
                thread = kthread()
                began, before = time.monotonic(), schedstat_ns(thread)
                d, _ = s.spent(15)
                took, ns = schedstat_ns(thread) - before, (time.monotonic() - began) * 1e9
                shares.append((d["cpu_ns"] / ns, took / ns))
    own, scheduler = (statistics.median(x) for x in zip(*shares))
    row(title="CPU of the kernel thread, 512 MiB in use", stats=own, schedstat=scheduler)


def main(todo):
    no_khugepaged()
    w.load()
    cpu()
    ramp()
    hot("8 MiB hot of 512 MiB, 4 KiB pages", "--hot", "8M")
    hot("16 MiB hot of 512 MiB on huge pages", "--hot", "16M", "--thp")
    w.unload()
