# SPDX-License-Identifier: GPL-2.0
"""Records workloads that know their truth, prints what came out; in a guest."""
import os
import statistics
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "selftests"))
import truth
import wsmontest as w

RAMP = "pageramp --populate --stride 2 --pages 32768 --ramp 10 --cycles 1".split()
SEEDS = (1, 2, 3, 4, 5)


def ramp():
    cases = [truth.record(["--seed", str(s)], RAMP) for s in SEEDS]
    for seed, c in zip(SEEDS, cases):
        print("  seed %d: mean %+.1f %%, interval holds in %d of %d, RSS / peak "
              "truth %.1f" % (seed, c.mean_error() * 100, c.covered(), len(c.rows),
                              c.rss() / max(r[0] for r in c.rows)))
    n = sum(len(c.rows) for c in cases)
    hits = sum(c.covered() for c in cases)
    print("pageramp stride 2: mean %+.1f %%, interval holds in %.0f %% of %d" % (
        statistics.mean(c.mean_error() for c in cases) * 100, hits * 100 / n, n))


def hot(name, workload):
    for flush in ([], ["--no-flush"]):
        cases = [truth.record(flush + ["--seed", str(s)],
                              ["hotset", "--seconds", "10"] + workload)
                 for s in SEEDS[:3]]
        n = sum(len(c.rows) for c in cases)
        print("%s%s: median %+.1f %%, interval holds in %d of %d, +-%.1f %%, "
              "kthread %.2f %% of a CPU" % (
                  name, " without flush" if flush else "",
                  statistics.median(c.median_error() for c in cases) * 100,
                  sum(c.covered() for c in cases), n,
                  statistics.median(c.half_width() for c in cases) * 100,
                  statistics.median(c.cpu() for c in cases) * 100), flush=True)


def kthread():
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/comm" % pid) as f:
                if f.read() == "kwsmond\n":
                    return pid
        except OSError:
            pass
    raise AssertionError("no kwsmond")


def cpu():
    """What stats says of the thread's CPU time, and what the scheduler says."""
    shares = []
    with w.Target("while True:\n    m[::4096] = ones\n    time.sleep(0.02)\n",
                  "m = mmap.mmap(-1, 512 << 20, flags=0x22)\n"
                  "ones = bytes(131072)\nm[::4096] = ones\n") as t:
        for _ in range(3):
            w.must_put("target", "%d\n" % t.pid)
            time.sleep(2)
            files = "/proc/%s/schedstat" % kthread()
            began, a = time.monotonic(), int(open(files).read().split()[0])
            own = w.stats()["cpu_ns"]
            time.sleep(15)
            b = int(open(files).read().split()[0])
            seconds = time.monotonic() - began
            shares.append(((w.stats()["cpu_ns"] - own) / 1e7 / seconds,
                           (b - a) / 1e7 / seconds))
            w.must_put("target", "\n")
    own, scheduler = (statistics.median(x) for x in zip(*shares))
    print("kthread at defaults, 512 MiB: %.2f %% of a CPU by stats, %.2f %% by "
          "schedstat" % (own, scheduler))


def main():
    print("Linux %s" % os.uname().release, flush=True)
    # khugepaged touches what it collapses: not the workload's doing
    with open("/sys/kernel/mm/transparent_hugepage/khugepaged/"
              "scan_sleep_millisecs", "w") as f:
        f.write("100000000")
    w.load()
    cpu()
    ramp()
    hot("8 MiB hot of 512", ["--hot", "8M", "--offset", "100M"])
    hot("16 MiB hot of 512 on THP", ["--hot", "16M", "--offset", "100M", "--thp"])
    w.unload()


main()
