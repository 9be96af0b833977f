# SPDX-License-Identifier: GPL-2.0
"""DAMON through its sysfs and its tracepoint: it monitors, or acts by its schemes."""
import json
import os
import re
import select
import subprocess
import time

ADMIN = "/sys/kernel/mm/damon/admin/kdamonds/"
# Linux 6.17 and later: it may watch all memory from boot on, and excludes other users
STAT = "/sys/module/damon_stat/parameters/enabled"
TRACING = "/sys/kernel/tracing/"
EVENT = TRACING + "events/damon/damon_aggregated/enable"
AGGR_US = 100000		# the default
CHECKS = 20			# samplings an aggregation interval, as at the defaults
FOREVER = (1 << 32) - 1
# see 4 % of the possible accesses, in three aggregation intervals
GOAL = {"access_bp": 400, "aggrs": 3, "max_sample_us": 10000000, "min_sample_us": 5000}
LINE = re.compile(r"(\d+)\.(\d+): damon_aggregated: target_id=(\d+) nr_regions=(\d+) "
                  r"(\d+)-(\d+): (\d+) (\d+)")


def _put(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def stop_stat():
    """It would exclude other users of DAMON, and clears Accessed bits that others look at"""
    if os.path.exists(STAT):
        _put(STAT, "N")


class Kdamond:
    """DAMON's thread for some processes; with damo's default intervals unless aggr_us is another."""

    def __init__(self, pids, aggr_us):
        stop_stat()
        _put(ADMIN + "nr_kdamonds", 1)
        self.dir = ADMIN + "0/"
        _put(self.dir + "contexts/nr_contexts", 1)
        self.context = self.dir + "contexts/0/"
        _put(self.context + "operations", "vaddr")
        _put(self.context + "monitoring_attrs/intervals/sample_us", aggr_us // CHECKS)
        _put(self.context + "monitoring_attrs/intervals/aggr_us", aggr_us)
        _put(self.context + "targets/nr_targets", len(pids))
        for i, pid in enumerate(pids):
            _put(self.context + "targets/%d/pid_target" % i, pid)

    def start(self):
        _put(self.dir + "state", "on")
        with open(self.dir + "pid") as f:
            self.thread = int(f.read())

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.thread) as f:
            return int(f.read().split()[0])

    def stop(self):
        if os.path.exists("/proc/%d" % self.thread):
            _put(self.dir + "state", "off")
        _put(ADMIN + "nr_kdamonds", 0)


class Damon(Kdamond):
    """Monitors processes."""

    def __init__(self, pids, aggr_us=AGGR_US, update_us=1000000, regions=None, tuned=False):
        """@regions: (minimum, maximum); @tuned: tunes itself, to the goal that its authors name"""
        super().__init__(pids, aggr_us)
        attrs = self.context + "monitoring_attrs/"
        self.intervals = attrs + "intervals/"
        _put(self.intervals + "update_us", update_us)
        if regions:
            # the maximum first: min may not be above max at any time
            _put(attrs + "nr_regions/max", regions[1])
            _put(attrs + "nr_regions/min", regions[0])
        for name, value in GOAL.items() if tuned else ():
            _put(self.intervals + "intervals_goal/" + name, value)
        _put(TRACING + "trace_clock", "mono")
        # otherwise each enabled tracepoint patches the scheduler: a needless cost, and
        # under QEMU now and then a crash
        _put(TRACING + "options/record-cmd", "0")
        self.pipe = os.open(TRACING + "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        _put(EVENT, 1)
        self.start()
        self.began, self.cpu_began = time.monotonic(), self.cpu_ns()

    def cpu(self):
        """Share of one CPU its thread has used so far."""
        return (self.cpu_ns() - self.cpu_began) / 1e9 / (time.monotonic() - self.began)

    def tuned(self):
        """The sampling and the aggregation interval in force, us"""
        _put(self.dir + "state", "update_tuned_intervals")
        found = []
        for name in ("sample_us", "aggr_us"):
            with open(self.intervals + name) as f:
                found.append(int(f.read()))
        return found

    def read(self, seconds):
        """Its output of the next seconds, as text."""
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
        _put(EVENT, 0)
        self._drain()
        os.close(self.pipe)
        super().stop()


class Schemes(Kdamond):
    """Acts on a process, with the rules and quotas of a preset of wsmo act.

    psi_us: its quota goal, microseconds a second that tasks wait for memory. Then the
    oldest memory goes first, as with wsmo act.
    """

    def __init__(self, pid, preset, bytes_per_s=256 << 20, cpu_ms=500, psi_us=None):
        super().__init__([pid], AGGR_US)
        out = subprocess.run(["wsmo", "act", "--scheme", preset, "--show", "--json"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        rules = [json.loads(line) for line in out.splitlines()]
        _put(self.context + "schemes/nr_schemes", len(rules))
        self.schemes = []
        for i, rule in enumerate(rules):
            scheme = "%sschemes/%d/" % (self.context, i)
            _put(scheme + "action", rule["action"])
            for name, low, high in (
                    ("sz", rule["min_size"], rule["max_size"] or (1 << 63)),
                    ("nr_accesses", round(rule["min_share"] * CHECKS),
                     int(rule["max_share"] * CHECKS)),
                    ("age", rule["min_age_ns"] // 1000 // AGGR_US, FOREVER)):
                _put("%saccess_pattern/%s/min" % (scheme, name), low)
                _put("%saccess_pattern/%s/max" % (scheme, name), high)
            _put(scheme + "quotas/bytes", bytes_per_s)
            _put(scheme + "quotas/ms", cpu_ms)
            _put(scheme + "quotas/reset_interval_ms", 1000)
            if psi_us:
                _put(scheme + "quotas/weights/age_permil", 1000)
                _put(scheme + "quotas/goals/nr_goals", 1)
                _put(scheme + "quotas/goals/0/target_metric", "some_mem_psi_us")
                _put(scheme + "quotas/goals/0/target_value", psi_us)
            self.schemes.append(scheme)
        self.start()

    def applied(self):
        """Bytes, of each rule."""
        _put(self.dir + "state", "update_schemes_stats")
        found = []
        for scheme in self.schemes:
            with open(scheme + "stats/sz_applied") as f:
                found.append(int(f.read()))
        return found


def parse(text):
    """[(time_ns, target, [(start, end, nr_accesses)])]; incomplete snapshots are left out."""
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

    Several snapshots give a longer window: memory with an access in any of them. Only
    within the ranges.
    """
    total, done = 0, 0
    for start, end in sorted((max(s, lo), min(e, hi)) for regions in snapshots
                             for s, e, accesses in regions if accesses
                             for lo, hi in ranges if s < hi and e > lo):
        total += max(end - max(start, done), 0)
        done = max(done, end)
    return total
