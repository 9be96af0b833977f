# SPDX-License-Identifier: GPL-2.0
"""DAMON through its sysfs and its tracepoint: the peer to measure against."""
import os
import re
import select
import time

ADMIN = "/sys/kernel/mm/damon/admin/kdamonds/"
EVENT = "/sys/kernel/tracing/events/damon/damon_aggregated/enable"
PIPE = "/sys/kernel/tracing/trace_pipe"
LINE = re.compile(r"(\d+\.\d+): damon_aggregated: target_id=(\d+) nr_regions=(\d+) "
                  r"(\d+)-(\d+): (\d+) (\d+)")


def _put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def available():
    return os.path.isdir(ADMIN)


class Damon:
    """Monitors a process; damo's defaults unless told otherwise."""

    def __init__(self, pid, sample_us=5000, aggr_us=100000, update_us=1000000,
                 min_regions=10, max_regions=1000):
        _put(ADMIN + "nr_kdamonds", 1)
        self.dir = ADMIN + "0/"
        _put(self.dir + "contexts/nr_contexts", 1)
        context = self.dir + "contexts/0/"
        _put(context + "operations", "vaddr")
        _put(context + "monitoring_attrs/intervals/sample_us", sample_us)
        _put(context + "monitoring_attrs/intervals/aggr_us", aggr_us)
        _put(context + "monitoring_attrs/intervals/update_us", update_us)
        _put(context + "monitoring_attrs/nr_regions/min", min_regions)
        _put(context + "monitoring_attrs/nr_regions/max", max_regions)
        _put(context + "targets/nr_targets", 1)
        _put(context + "targets/0/pid_target", pid)
        self.pipe = os.open(PIPE, os.O_RDONLY | os.O_NONBLOCK)
        _put(EVENT, 1)
        _put(self.dir + "state", "on")
        with open(self.dir + "pid") as f:
            self.thread = int(f.read())

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.thread) as f:
            return int(f.read().split()[0])

    def run(self, seconds):
        """Monitor so long: ([snapshot], share of a CPU).

        A snapshot is a list of (start, end, nr_accesses).
        """
        text, end, cpu = "", time.monotonic() + seconds, self.cpu_ns()
        began = time.monotonic()
        while time.monotonic() < end:
            select.select([self.pipe], [], [], 0.2)
            text += self._drain()
        cpu = (self.cpu_ns() - cpu) / 1e9 / (time.monotonic() - began)
        snapshots, left = [], 0
        for m in LINE.finditer(text):
            _, _, nr, start, stop, accesses, _ = m.groups()
            if not left:
                snapshots.append([])
                left = int(nr)
            snapshots[-1].append((int(start), int(stop), int(accesses)))
            left -= 1
        return snapshots[:-1], cpu

    def _drain(self):
        text = b""
        while True:
            try:
                part = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return text.decode("ascii", "replace")
            if not part:
                return text.decode("ascii", "replace")
            text += part

    def stop(self):
        _put(self.dir + "state", "off")
        _put(EVENT, 0)
        self._drain()
        os.close(self.pipe)
        _put(ADMIN + "nr_kdamonds", 0)


def wss(snapshot):
    """As damo computes it: regions with at least one access, in full."""
    return sum(end - start for start, end, accesses in snapshot if accesses)
