# SPDX-License-Identifier: GPL-2.0
"""Results of a pattern: each method's figures against the truth of their time."""
import csv
import json
import os
import statistics
import subprocess
from typing import NamedTuple

import witness
import wsmon
from host.lib import TOP, median
from judge import regionmap
from peers import damon

WSMO = os.path.join(TOP, "out/bin/wsmo")

# Samples of the truth come each 10 ms. If a workload sat in a page fault for longer
# than this (ns), it is unknown when it touched which pages.
STUCK = 50e6


class Case(NamedTuple):
    """One figure: its target, the truth, the reported value.

    The truth is known at its samples only; in between it is between the two, and an
    interval has to meet no more than that.
    """
    target: int
    true: float
    true_low: int
    true_high: int
    reported: int
    low: int = 0
    high: int = 0

    def covered(self):
        return self.low <= self.true_high and self.high >= self.true_low


class Truth(witness.Truth):
    """A truth file, as figures are compared with it."""

    def __init__(self, path, first_window):
        super().__init__(path)
        self.first_window, self.known = first_window, {}

    def at(self, t, window):
        """The working set at a time and its bounds; None where unknown.

        The truth of a single window is that of all windows: the set does not change.
        """
        first = window == self.first_window or not self.windows
        pair = self.around(t, None if first else window)
        if not pair or pair[1][0] - pair[0][0] > STUCK:
            return None
        (t0, b0), (t1, b1) = pair
        return b0 + (b1 - b0) * (t - t0) / (t1 - t0), min(b0, b1), max(b0, b1)

    def map_at(self, t):
        last = max((m[0] for m in self.maps if m[0] <= t), default=0)
        if last not in self.known:
            self.known[last] = super().map_at(t)
        return self.known[last]


class Run:
    """One measurement of one method, read from its files."""

    def __init__(self, directory, run, aggr_ms, first_window=None):
        self.__dict__.update(run)
        self.path = os.path.join(directory, self.file)
        self.aggr_ns = aggr_ms * 1000000
        self.truths = [Truth(os.path.join(directory, self.truth) + child, first_window or aggr_ms)
                       for child in ("", ".child")[:len(self.pids)]]
        self.ranges = [truth.facts["range"] for truth in self.truths]

    def case(self, target, t, window_ms, *reported):
        true = self.truths[target].at(t, window_ms)
        return [] if true is None else [Case(target, *true, *reported)]

    def map_error(self, target, t, regions):
        return regionmap.error(regions, self.truths[target].map_at(t), self.ranges[target])

    def map_counts(self, target, t):
        return regionmap.settled(self.truths[target], self.aggr_ns, t)


class Recording(Run):
    """wsmon's"""

    def read(self):
        with open(self.path, "rb") as f:
            header, records = wsmon.read(f)
            self.mono_ns = header.mono_ns
            self.records = list(records)
        begin, end = self.records[0].time_ns, self.records[-1].time_ns
        self.counts_from = begin + (self.settle + 0.5) * self.aggr_ns
        stats = [r for r in self.records if r.type == "STATS"][-1]
        self.cpu = stats.cpu_ns / (end - begin)
        self.late = stats.late_rounds / (stats.rounds + stats.late_rounds)
        return self

    def cases(self, cls, window_ms):
        return [case for r in self.records
                if r.type == "WSS" and r.cls == cls and r.window_us == window_ms * 1000 and
                r.time_ns >= self.counts_from
                for case in self.case(self.pids.index(r.pid), r.time_ns, window_ms,
                                      r.bytes, r.low, r.high)]

    def map_errors(self):
        """Errors of the regions' parts (--fine), and of the regions themselves."""
        return [[error for _, error in self.map_errors_of(option, self.counts_from)]
                for option in (["--fine"], [])]

    def map_errors_of(self, option, begin):
        """[(intervals so far, error of the map)] from a time on"""
        maps = self.maps(option)
        times = sorted({float(t) for t, _ in maps})
        for (t, pid), regions in maps.items():
            target, at = self.pids.index(int(pid)), self.mono_ns + round(float(t) * 1e9)
            if at >= begin and self.map_counts(target, at):
                yield times.index(float(t)) + 1, self.map_error(target, at, regions)

    def maps(self, option):
        """{(time, target): regions} as wsmo reports them."""
        report = subprocess.run([WSMO, "report", "regions", "--csv", *option, "-i", self.path],
                                stdout=subprocess.PIPE, text=True, check=True)
        maps = {}
        for row in csv.DictReader(report.stdout.splitlines()):
            maps.setdefault((row["t"], row["pid"]), []).append(
                (int(row["start"]), int(row["end"]), float(row["share"])))
        return maps


class Trace(Run):
    """DAMON's"""

    def read(self):
        with open(self.path) as f:
            snapshots = damon.parse(f.read())
        self.targets = [[(t, regions) for t, target, regions in snapshots if target == i]
                        for i in range(len(self.pids))]
        return self

    def cases(self, cls, window_ms):
        window = window_ms * 1000000 // self.aggr_ns
        return [case for i, snapshots in enumerate(self.targets)
                for k in range(self.settle, len(snapshots))
                for case in self.case(i, snapshots[k][0], window_ms, damon.wss(
                    [regions for _, regions in snapshots[k - window + 1:k + 1]],
                    [self.ranges[i]]))]

    def map_errors(self):
        """By the counts, and by whether there is a count at all."""
        return [[self.map_error(i, t, [(s, e, share(n)) for s, e, n in regions])
                 for share in (lambda n: n / damon.CHECKS, bool)]
                for i, snapshots in enumerate(self.targets)
                for t, regions in snapshots[self.settle:] if self.map_counts(i, t)]


class Referenced(Run):
    """clear_refs and smaps"""

    def read(self):
        with open(self.path) as f:
            self.rows = json.load(f)
        return self

    def cases(self, cls, window_ms):
        return [case for window, t, target, size in self.rows
                if window * self.aggr_ns == window_ms * 1000000
                for case in self.case(target, t, window_ms, size)]


KINDS = {"wsmon": Recording, "damon": Trace, "clear_refs": Referenced}


def sizes(cases, what):
    """The median for each target, of the cases that are not empty."""
    return [median(getattr(c, what) for c in cases if c.target == target and c.true)
            for target in sorted({c.target for c in cases})]


def figures(runs, cls, window_ms):
    """Figures of one method and window, over all its runs."""
    cases = [case for run in runs for case in run.cases(cls, window_ms)]
    hot = [c for c in cases if c.true]
    return {"bytes": sizes(cases, "reported"), "true": sizes(cases, "true"), "cases": len(cases),
            "error": median(c.reported / c.true - 1 for c in hot),
            "cpu": median(run.cpu for run in runs)}, cases


def intervals(cases):
    """Coverage and width of wsmon's intervals."""
    hot = [c for c in cases if c.true]
    return {"covered": sum(c.covered() for c in cases),
            "half_width": median((c.high - c.low) / 2 / c.true for c in hot)}


def mean(values):
    return statistics.fmean(values) if values else None


def located(runs):
    """The error of the region maps; for DAMON of the better of its two readings."""
    errors = [e for run in runs["damon"] for e in run.map_errors()]
    fine, coarse = zip(*[run.map_errors() for run in runs["wsmon"]])
    after = {}
    for run in runs["wsmon"]:
        for n, error in run.map_errors_of(["--fine"], 0):
            after.setdefault(n, []).append(error)
    return {"wsmon": mean([e for run in fine for e in run]),
            "after": {str(n): mean(errors) for n, errors in sorted(after.items())},
            "regions": mean([e for run in coarse for e in run]),
            "damon": min(map(mean, zip(*errors))) if errors else None}


def judge(pattern, directory):
    """A result for each window of a pattern whose files are in the directory."""
    with open(os.path.join(directory, "meta.json")) as f:
        meta = json.load(f)
    runs = {name: [kind(directory, run, meta["aggr_ms"]).read() for run in meta["runs"]
                   if run["method"] == name] for name, kind in KINDS.items()}
    results = []
    for window in pattern.windows:
        window_ms = window * meta["aggr_ms"]
        result = {"key": pattern.key, "title": pattern.title, "window_ms": window_ms,
                  "busy": max(x["busy"] for x in meta["workloads"]),
                  "late": max(run.late for run in runs["wsmon"])}
        if len(pattern.windows) > 1:
            result["title"] += ", " + ("window %d" % window if window > 1 else "window 1")
        for name, own in runs.items():
            result[name], cases = figures(own, pattern.cls, window_ms)
            if not cases:
                raise ValueError("%s has no figures" % name)
            if name == "wsmon":
                result[name].update(intervals(cases))
        if pattern.located:
            result["map"] = located(runs)
        results.append(result)
    return results
