# SPDX-License-Identifier: GPL-2.0
"""Compares a recording of a workload with the workload's own figures."""
import os
import statistics
import subprocess
import tempfile

import wsmontest as w
import wsmon


def read_truth(path, own=False):
    """[(time_ns, bytes)]: the working set, exact for the workload's buffer.

    With own, an upper bound that includes code, stack and bookkeeping.
    """
    with open(path) as f:
        rows = [line.split() for line in f if line.startswith("truth ")]
    return [(int(t), int(b) + int(o) * own) for _, t, b, o in rows]


def at(truth, t, gap=None):
    """The truth at a time, interpolated between two samples; None outside of them, and if they are
    more than @gap ns apart: then the program did not run, and its figures have a gap."""
    for (t0, b0), (t1, b1) in zip(truth, truth[1:]):
        if t0 <= t <= t1:
            return b0 + (b1 - b0) * (t - t0) / (t1 - t0) if not gap or t1 - t0 <= gap else None
    return None


def rows(records, truth, cls="anon", pid=None, gap=None):
    """[(truth, estimate, low, high, time_ns)], of target @pid if there are several"""
    found = []
    for r in records:
        if r.type == "WSS" and r.cls == cls and pid in (None, r.pid):
            true = at(truth, r.time_ns, gap)
            if true is not None:
                found.append((true, r.bytes, r.low, r.high, r.time_ns))
    return found


def covered(found):
    """How many of the intervals hold the truth"""
    return sum(lo <= t <= hi for t, _, lo, hi, _ in found)


class Case:
    """A recording: estimates with the truth beside them.

    cls "anon" is the workload's buffer and nothing else, "all" all memory.
    """

    def __init__(self, data, truth, cls="anon", gap=None):
        with open(data, "rb") as f:
            self.header, records = wsmon.read(f)
            self.records = list(records)
        self.rows = rows(self.records, truth, cls, gap=gap)
        stats = [r for r in self.records if r.type == "STATS"]
        self.stats = stats[-1]
        times = [r.time_ns for r in self.records]
        self.begin = times[0]
        self.seconds = (times[-1] - times[0]) / 1e9

    def median_error(self):
        return statistics.median(b / t - 1 for t, b, *_ in self.rows)

    def mean_error(self):
        return (sum(r[1] for r in self.rows) /
                sum(r[0] for r in self.rows) - 1)

    def covered(self):
        return covered(self.rows)

    def half_width(self):
        return statistics.median((hi - lo) / 2 / t for t, _, lo, hi, _ in self.rows)

    def cpu(self):
        """Share of one CPU the kernel thread took."""
        return self.stats.cpu_ns / 1e9 / self.seconds

    def rss(self):
        return max(r.rss for r in self.records if r.type == "PROC")


def record(options, workload):
    """Run 'wsmo record OPTIONS -- WORKLOAD --truth FILE' and compare."""
    with tempfile.TemporaryDirectory() as tmp:
        data, truth = os.path.join(tmp, "data"), os.path.join(tmp, "truth")
        subprocess.run(["wsmo", "record", "-q", "-o", data, *options, "--",
                        *workload, "--truth", truth],
                       check=True, stdout=subprocess.DEVNULL)
        return Case(data, read_truth(truth))


def watch(options, workload, seconds, settle=0):
    """The same once the workload is ready, for one that runs until stopped.

    settle: seconds at the beginning that do not count.
    """
    with tempfile.TemporaryDirectory() as tmp:
        data, path = os.path.join(tmp, "data"), os.path.join(tmp, "truth")
        job = subprocess.Popen([*workload, "--truth", path],
                               stdout=subprocess.DEVNULL)
        try:
            w.wait_for("the workload", lambda: os.path.exists(path) and
                       "truth" in open(path).read(), 100)
            subprocess.run(["wsmo", "record", "-q", "-o", data, *options, "-d",
                            str(seconds), "-p", str(job.pid)], check=True)
        finally:
            job.terminate()
            job.wait()
        case = Case(data, read_truth(path))
    case.rows = [r for r in case.rows if r[4] >= case.begin + settle * 1e9]
    return case
