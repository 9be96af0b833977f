# SPDX-License-Identifier: GPL-2.0
"""DAMON through its sysfs and its tracepoint: the peer to measure against."""
import os
import re
import select
import time

ADMIN = "/sys/kernel/mm/damon/admin/kdamonds/"
TRACING = "/sys/kernel/tracing/"
EVENT = TRACING + "events/damon/damon_aggregated/enable"
CHECKS = 20			# samplings an aggregation interval, at the defaults, too
LINE = re.compile(r"(\d+)\.(\d+): damon_aggregated: target_id=(\d+) nr_regions=(\d+) "
                  r"(\d+)-(\d+): (\d+) (\d+)")


def _put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


class Damon:
    """Monitors processes from now on; damo's defaults unless told otherwise."""

    def __init__(self, pids, aggr_us=100000, update_us=1000000, regions=None):
        _put(ADMIN + "nr_kdamonds", 1)
        self.dir = ADMIN + "0/"
        _put(self.dir + "contexts/nr_contexts", 1)
        context = self.dir + "contexts/0/"
        _put(context + "operations", "vaddr")
        _put(context + "monitoring_attrs/intervals/sample_us", aggr_us // CHECKS)
        _put(context + "monitoring_attrs/intervals/aggr_us", aggr_us)
        _put(context + "monitoring_attrs/intervals/update_us", update_us)
        if regions:
            # the larger first: min may not be above max at any moment
            _put(context + "monitoring_attrs/nr_regions/max", regions)
            _put(context + "monitoring_attrs/nr_regions/min", regions)
        _put(context + "targets/nr_targets", len(pids))
        for i, pid in enumerate(pids):
            _put(context + "targets/%d/pid_target" % i, pid)
        _put(TRACING + "trace_clock", "mono")
        # else the scheduler is patched whenever a tracepoint is enabled: a needless
        # cost, and under QEMU now and then a crash
        _put(TRACING + "options/record-cmd", "0")
        self.pipe = os.open(TRACING + "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        _put(EVENT, 1)
        _put(self.dir + "state", "on")
        with open(self.dir + "pid") as f:
            self.thread = int(f.read())
        self.began, self.cpu_began = time.monotonic(), self.cpu_ns()

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.thread) as f:
            return int(f.read().split()[0])

    def cpu(self):
        """Share of one CPU its thread took so far."""
        return (self.cpu_ns() - self.cpu_began) / 1e9 / (time.monotonic() - self.began)

    def read(self, seconds):
        """What it says in the next seconds, as text."""
        text, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            select.select([self.pipe], [], [], 0.2)
            text.append(self._drain())
        return "".join(text)

    def _drain(self):
        text = b""
        while True:
            try:
                part = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                part = b""
            if not part:
                return text.decode("ascii", "replace")
            text += part

    def stop(self):
        _put(self.dir + "state", "off")
        _put(EVENT, 0)
        self._drain()
        os.close(self.pipe)
        _put(ADMIN + "nr_kdamonds", 0)


def parse(text):
    """[(time_ns, target, [(start, end, nr_accesses)])]; incomplete ones are left out."""
    snapshots, regions, key = [], [], None
    for m in LINE.finditer(text):
        seconds, micro, target, nr, start, end, accesses, _ = map(int, m.groups())
        if key != (target, nr) or len(regions) == nr or start < regions[-1][1]:
            regions, key = [], (target, nr)
        regions.append((start, end, accesses))
        if len(regions) == nr:
            snapshots.append((seconds * 10**9 + micro * 1000, target, regions))
    return snapshots


def wss(snapshots, ranges):
    """As damo computes it: regions with at least one access, in full.

    Of several snapshots, those of a longer window, whatever had one in any. Only
    what lies within the ranges.
    """
    total, behind = 0, 0
    for start, end in sorted((max(s, lo), min(e, hi)) for regions in snapshots
                             for s, e, accesses in regions if accesses
                             for lo, hi in ranges if s < hi and e > lo):
        total += max(end - max(start, behind), 0)
        behind = max(behind, end)
    return total
