# SPDX-License-Identifier: GPL-2.0
"""wsmon, DAMON and clear_refs on the same processes; runs in a guest.

Each pattern is a process that touches known pages of 512 MiB every 20 ms. The
three watch it one after the other, each at its defaults.
"""
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, "tests", "selftests"), os.path.join(TOP, "bench")]
import damon
import truth
import wsmontest as w

PATTERNS = [
    ("8 MiB contiguous", "--hot 8M --offset 100M"),
    ("64 MiB contiguous", "--hot 64M --offset 100M"),
    ("400 MiB contiguous", "--hot 400M --offset 50M"),
    ("every 2nd page", "--pattern stride:2"),
    ("every 16th page", "--pattern stride:16"),
    ("random 5 % of pages", "--pattern random:5"),
    ("random half of pages", "--pattern random:50"),
    ("alternate 256 KiB blocks", "--pattern blocks:256K"),
    ("8 MiB, never resting", "--hot 8M --offset 100M --period-ms 0"),
    ("16 MiB on huge pages", "--hot 16M --offset 100M --thp"),
]


class Workload:
    def __init__(self, tmp, options):
        self.truth = os.path.join(tmp, "truth")
        self.process = subprocess.Popen(
            ["hotset", "--seconds", "0", "--truth", self.truth, *options.split()],
            stdout=subprocess.DEVNULL)
        w.wait_for("the workload", lambda: os.path.exists(self.truth) and
                   any(line.startswith("truth") for line in open(self.truth)), 60)
        self.pid = self.process.pid
        with open(self.truth) as f:
            words = [line.split() for line in f]
        self.range = next((int(a), int(b)) for a, b in
                          (x[1:] for x in words if x[0] == "range"))
        self.bytes = next(int(x[2]) for x in words if x[0] == "truth")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def with_wsmon(job, tmp, seconds):
    data = os.path.join(tmp, "data")
    subprocess.run(["wsmo", "record", "-q", "-o", data, "-p", str(job.pid),
                    "-d", str(seconds)], check=True, stderr=subprocess.DEVNULL)
    c = truth.Case(data, truth.read_truth(job.truth))
    return (statistics.median(r[1] for r in c.rows), c.covered() / len(c.rows),
            c.half_width(), c.cpu())


def with_damon(job, seconds):
    d = damon.Damon(job.pid)
    try:
        snapshots, cpu = d.run(seconds)
    finally:
        d.stop()
    lo, hi = job.range
    sizes = []
    for snapshot in snapshots[20:]:
        inside = [(max(s, lo), min(e, hi), n) for s, e, n in snapshot
                  if s < hi and e > lo]
        sizes.append(damon.wss(inside))
    return statistics.median(sizes), cpu


def referenced(job):
    """Bytes of the buffer that smaps calls referenced."""
    total, inside = 0, False
    with open("/proc/%d/smaps" % job.pid) as f:
        for line in f:
            head = line.split()[0]
            if "-" in head and not head.endswith(":"):
                inside = int(head.split("-")[0], 16) == job.range[0]
            elif inside and head == "Referenced:":
                total += int(line.split()[1]) << 10
    return total


def with_clear_refs(job, cycles):
    sizes, cpu, began = [], 0, time.monotonic()
    for _ in range(cycles):
        before = time.process_time()
        with open("/proc/%d/clear_refs" % job.pid, "w") as f:
            f.write("1")
        cpu += time.process_time() - before
        time.sleep(1)
        before = time.process_time()
        sizes.append(referenced(job))
        cpu += time.process_time() - before
    return statistics.median(sizes), cpu / (time.monotonic() - began)


def row(name, options, seconds):
    with tempfile.TemporaryDirectory() as tmp:
        job = Workload(tmp, options)
        try:
            size, cover, half, cpu = with_wsmon(job, tmp, seconds)
            damon_size, damon_cpu = with_damon(job, seconds)
            exact, exact_cpu = with_clear_refs(job, 5)
        finally:
            job.stop()
    mib = 1 << 20

    def off(x):
        return "%.1f (%+.0f %%)" % (x / mib, (x / job.bytes - 1) * 100)

    print("| %-24s | %5.1f | %-14s | %3.0f %% | %4.1f %% | %.1f %% | %-15s | %4.1f %% "
          "| %-14s | %4.1f %% |" % (
              name, job.bytes / mib, off(size), cover * 100, half * 100, cpu * 100,
              off(damon_size), damon_cpu * 100, off(exact), exact_cpu * 100),
          flush=True)


def main():
    seconds = 11 if "--quick" in sys.argv else 25
    print("Linux %s; MiB" % os.uname().release)
    with open("/sys/kernel/mm/transparent_hugepage/khugepaged/"
              "scan_sleep_millisecs", "w") as f:
        f.write("100000000")
    w.load()
    print("| pages touched            | truth | wsmon WSS      | holds | +-     | CPU   "
          "| DAMON WSS       | CPU    | clear_refs     | CPU    |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, options in PATTERNS:
        row(name, options, seconds)
    w.unload()


main()
