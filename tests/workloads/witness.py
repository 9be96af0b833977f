# SPDX-License-Identifier: GPL-2.0
"""A running workload, its truth file, and two witnesses of the memory it touches.

Neither witness knows the patterns:
- stamps: each store of patterns writes the time into the page. The process is
  stopped and its memory read: it shows when each page was last touched.
- references: "1" written to clear_refs clears Accessed bits, and then "4" flushes the
  TLB, in any kernel. A window later smaps shows how much was referenced. Loads are
  seen, too.
"""
import bisect
import contextlib
import os
import signal
import subprocess
import time

PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20


class Skip(Exception):
    """The machine lacks a feature."""


class Late(Exception):
    """The workload was kept from running: its earlier truth no longer holds."""


class Truth:
    """The content of a truth file."""

    def __init__(self, path):
        self.path = path
        self.truth, self.windows, self.maps, self.facts = [], {}, [], {}
        with open(path) as f:
            for line in f:
                if line.endswith("\n"):
                    self.take(line.split())

    def take(self, words):
        if words[0] == "truth":
            self.truth.append((int(words[1]), int(words[2])))
        elif words[0] == "truth-window":
            self.windows.setdefault(int(words[1]), []).append((int(words[2]), int(words[3])))
        elif words[0] == "map":
            self.maps.append((int(words[1]), int(words[2]), int(words[3]), float(words[4])))
        else:
            self.facts[words[0]] = [int(w) for w in words[1:]]

    def values(self, window=None):
        return [b for _, b in (self.truth if window is None else self.windows[window])]

    def around(self, t, window=None):
        """The last (time, value) until @t and the first one after it, or None if not there yet."""
        rows = self.truth if window is None else self.windows[window]
        i = bisect.bisect_right(rows, (t, float("inf")))
        return (rows[i - 1], rows[i]) if 0 < i < len(rows) else None

    def map_at(self, t):
        """[(start, end, share)], disjoint, in order."""
        edges = sorted({x for m in self.maps for x in m[1:3]})
        shares = [0.0] * len(edges)
        for time_, start, end, share in self.maps:
            if time_ <= t:
                for i in range(bisect.bisect_left(edges, start), bisect.bisect_left(edges, end)):
                    shares[i] = share
        return [(a, b, s) for a, b, s in zip(edges, edges[1:], shares)]


class Job:
    """A running workload; as a context, it ends with the block."""

    def __init__(self, binary, options, directory, windows):
        self.windows = windows
        self.path = os.path.join(directory, "truth")
        window = ["--window", str(windows[0])] if binary.endswith("hotset") else \
            ["--window-ms", ",".join(map(str, windows))]
        self.process = subprocess.Popen(
            [binary, *options, *window, "--seconds", "0", "--truth-ms", "25", "--truth", self.path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.child = None

    def __enter__(self):
        try:
            self.wait(lambda: os.path.exists(self.path) and self.read().truth)
            facts = self.read().facts
            self.range, self.unit = facts["range"], facts["unit"][0]
            if os.path.exists(self.path + ".child"):
                self.child = Second(self)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGTERM)
        _, self.errors = self.process.communicate()

    def read(self):
        return Truth(self.path)

    def wait(self, condition, seconds=40):
        end = time.monotonic() + seconds
        while not (result := condition()):
            if self.process.poll() is not None:
                text = self.process.stderr.read().strip()
                raise Skip(text) if self.process.returncode == 77 else AssertionError(text)
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.02)
        return result

    def around(self, t, window):
        """The values before and after a time, as soon as they are written."""
        key = None if window == self.windows[0] else window
        before, after = self.wait(lambda: self.read().around(t, key))
        if t - before[0] > 100e6:
            raise Late
        return before[1], after[1]

    def proc(self, name):
        with open("/proc/%d/%s" % (self.pid, name)) as f:
            return f.read()

    def status(self, field):
        return int(self.proc("status").split(field + ":")[1].split()[0])

    def mappings(self):
        """[(start, end, permissions)] within the range, clipped to it."""
        result = []
        for line in self.proc("maps").splitlines():
            lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
            lo, hi = max(lo, self.range[0]), min(hi, self.range[1])
            if lo < hi:
                result.append((lo, hi, line.split()[1]))
        return result

    def smaps(self, field):
        """Sum of a field of smaps over mappings that overlap the range."""
        total, inside = 0, False
        for line in self.proc("smaps").splitlines():
            head = line.split(None, 1)[0]
            if not head.endswith(":"):
                lo, hi = (int(x, 16) for x in head.split("-"))
                inside = lo < self.range[1] and hi > self.range[0]
            elif inside and head == field + ":":
                total += int(line.split()[1]) << 10
        return total


class Second(Job):
    """The second process of a job."""

    def __init__(self, first):
        self.process, self.windows, self.path = first.process, first.windows, first.path + ".child"
        self.child = None
        self.wait(lambda: self.read().truth)
        facts = self.read().facts
        self.pid, self.range, self.unit = facts["pid"][0], facts["range"], facts["unit"][0]


CLOCK_NANOSLEEP = "230"


def freeze(job):
    """Stop it where it sleeps, between two rounds."""
    for _ in range(200):
        os.kill(job.pid, signal.SIGSTOP)
        while job.proc("stat").rsplit(")", 1)[1].split()[0] not in "Tt":
            time.sleep(0.001)
        if job.proc("syscall").split()[0] == CLOCK_NANOSLEEP:
            return
        os.kill(job.pid, signal.SIGCONT)
        time.sleep(0.007)
    raise Late


@contextlib.contextmanager
def frozen(job):
    """The job is stopped in the block; yields the time.

    Not with threads: when they go on, the kernel writes to each thread's stack (rseq).
    """
    if job.status("Threads") > 1:
        yield time.monotonic_ns()
        return
    try:
        freeze(job)
        yield time.monotonic_ns()
    finally:
        os.kill(job.pid, signal.SIGCONT)


def references(job):
    """(time, bytes referenced within the first window before it)."""
    with frozen(job):
        for mode in "1", "4":
            with open("/proc/%d/clear_refs" % job.pid, "w") as f:
                f.write(mode)
        began = time.monotonic_ns()
    time.sleep(job.windows[0] / 1000)
    with frozen(job) as now:
        if now - began > 1e6 * job.windows[0] + 50e6:
            raise Late
        return now, job.smaps("Referenced")


class Stamps:
    """When each page of a job was last touched: (page, ns), and the present time."""

    def __init__(self, job):
        self.unit, self.rows = job.unit, []
        with frozen(job) as self.now, open("/proc/%d/mem" % job.pid, "rb", 0) as mem:
            for lo, hi, permissions in job.mappings():
                if "w" in permissions:
                    for at in range(lo, hi, MIB):
                        data = os.pread(mem.fileno(), min(MIB, hi - at), at)
                        words = memoryview(data).cast("q")[::PAGE // 8]
                        self.rows.extend(zip(range(at, hi, PAGE), words))

    def hot(self, window):
        """Starts of the units that were touched within window, in order."""
        since = self.now - window * 1000000
        return sorted({at // self.unit * self.unit for at, t in self.rows if t > since})


def present(job):
    """The present pages of the range, in order."""
    lo, hi = job.range
    with open("/proc/%d/pagemap" % job.pid, "rb", 0) as f:
        data = os.pread(f.fileno(), (hi - lo) // PAGE * 8, lo // PAGE * 8)
    return [lo + i * PAGE for i, word in enumerate(memoryview(data).cast("Q")) if word >> 63]


def map_error(segments, hot, unit):
    """Bytes in which the map and the hot pages differ."""
    wrong = len(hot) * unit
    for start, end, share in segments:
        count = bisect.bisect_left(hot, end) - bisect.bisect_left(hot, start)
        wrong += abs(count * unit - share * (end - start)) - count * unit
    return wrong
