#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Members of a session together: each page counts once."""
import os
import struct
import subprocess
import tempfile
import time

import wsmontest as w

TREE = w.program("tree")
FILE = tempfile.NamedTemporaryFile()
FAST = ("sample_us=100000 aggr_us=500000 update_us=500000 window_us=500000 "
        "max_regions=4000 cpu_permille=1000 follow=1")
GROUP, TOTAL = 17, 18


class Tree:
    """A tree of processes, monitored from before its first fork, and the totals of all
    classes. @truth: MiB used by its workers; the programs themselves use a little."""

    def __init__(self, workers, own=0, shared=0, file=0, copied=0, written=0, users=0,
                 lives_ms=0, idle=0, attrs=FAST, window_us=500000):
        self.args = [str(x) for x in (workers, own, shared, file, copied, written, users,
                                      lives_ms, idle)]
        self.attrs, self.window_us = attrs, window_us
        FILE.truncate(0)
        FILE.write(os.urandom(1 << 20) * file)
        FILE.flush()

    def __enter__(self):
        self.process = subprocess.Popen([TREE, *self.args, FILE.name], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(0.3)
        w.must_put("attrs", self.attrs)
        self.stream = os.open(w.DIR + "buffer", os.O_RDONLY | os.O_NONBLOCK)
        self.data, self.at = b"", None
        w.must_put("target", "%d\n" % self.process.pid)
        self.process.stdin.write("x\n")
        self.process.stdin.flush()
        self.truth = int(self.process.stdout.readline()) / 1024
        for _ in self.records():
            pass
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        os.close(self.stream)

    def records(self):
        """(type, fields) of the records since the last call"""
        try:
            while True:
                data = os.read(self.stream, 1 << 20)
                if not data:
                    break
                self.data += data
        except BlockingIOError:
            pass
        if self.at is None and len(self.data) >= 16:
            self.at = struct.unpack_from("<I", self.data, 12)[0]
        while self.at is not None and self.at + 16 <= len(self.data):
            kind, size = struct.unpack_from("<II", self.data, self.at)
            if self.at + size > len(self.data):
                break
            if kind == GROUP:
                yield kind, struct.unpack_from("<QIIIIII", self.data, self.at + 16)
            elif kind == TOTAL:
                fields = struct.unpack_from("<IIQQQQQ", self.data, self.at + 16)
                if fields[0] == 0 and fields[2] == self.window_us:
                    yield kind, [x / (1 << 20) for x in fields[3:]]
            self.at += size

    def totals(self, nr, skip=2):
        """The next totals of all classes: (MiB, low, high, mapped). The first @skip
        intervals may include the filling of memory."""
        found, end = [], time.monotonic() + 60
        while len(found) < nr + skip and time.monotonic() < end:
            found += [fields for kind, fields in self.records() if kind == TOTAL]
            time.sleep(0.1)
        assert len(found) >= nr + skip, "%d totals" % len(found)
        return found[skip:]

    def check(self, nr=6, more=1.5, skip=2):
        """The intervals hold the truth, and at most @more MiB of the programs' own memory"""
        totals = self.totals(nr, skip)
        print("# truth %.1f: %s" % (self.truth, " ".join("%.1f [%.1f %.1f]" % tuple(t[:3])
                                                         for t in totals)))
        held = [t for t in totals if t[1] <= self.truth + more and t[2] >= self.truth]
        assert len(held) >= len(totals) - 1, "%d of %d hold %.1f" % (
            len(held), len(totals), self.truth)
        mean = sum(t[0] for t in totals) / len(totals)
        assert 0.95 * self.truth <= mean <= 1.05 * self.truth + more, mean
        return max(t[3] for t in totals)


@w.measured
def private_memory():
    """Four workers use memory, a fifth process uses none. Memory that one process maps
    twice counts once, too."""
    with Tree(4, own=8) as tree:
        mapped = tree.check()
        assert 32 < mapped < 48, mapped


@w.measured
def idle_memory():
    """Memory used once keeps its Accessed bits for ever, but is not in use."""
    with Tree(4, own=4, idle=20) as tree:
        tree.check()


@w.measured
def a_long_window():
    """Also in a window of four intervals of the same samples"""
    long = FAST.replace("window_us=500000", "window_us=500000,2000000")
    with Tree(4, own=4, shared=8, copied=8, written=2, users=4, idle=20, attrs=long,
              window_us=2000000) as tree:
        tree.check(skip=10)


@w.measured
def shared_memory():
    """Shared memory and pages of a file count once, not eight times."""
    with Tree(8, shared=16, file=8, users=8) as tree:
        tree.check()


@w.measured
def memory_that_few_share():
    """One of the thirty processes that map it uses it."""
    with Tree(30, own=1, shared=32, users=1) as tree:
        tree.check(more=8)


@w.measured
def memory_since_a_fork():
    """Pages not written since the fork count once, written ones once for each process."""
    with Tree(5, copied=12, written=4) as tree:
        tree.check()


@w.measured
def of_short_processes():
    """Workers that live for a part of an interval count with all their memory."""
    with Tree(4, own=4, lives_ms=150) as tree:
        went = [0]
        end = time.monotonic() + 20
        sizes = []
        while time.monotonic() < end and len(sizes) < 10:
            for kind, fields in tree.records():
                if kind == GROUP:
                    went.append(fields[3])
                else:
                    sizes.append(fields)
            time.sleep(0.1)
        print("# %s ended: %s MiB" % (went[1:], ["%.0f [, %.0f]" % (x[0], x[2]) for x in sizes]))
        # some workers ended before the window began: one of each, as they may live that long on
        # a busy machine
        used = [4 * min(n, 4 + n / 2) for n in went[3:]]
        # memory of workers that end before kwsmond sees them is in the upper end alone
        found, most = (sum(x[i] for x, _ in zip(sizes[2:], used)) for i in (0, 2))
        assert sum(went) > 10 and most > sum(used) and found > sum(used) * 2 / 3, (found, most, sum(used))


def attributes_change():
    with Tree(3, own=4, attrs=FAST.replace("4000", "1000")) as tree:
        tree.totals(1)
        for more in ("max_regions=3000", "window_us=500000,2000000", "max_regions=500",
                     "aggr_us=200000 window_us=200000", "follow=0"):
            w.must_put("attrs", more)
            tree.window_us = 200000 if "=200000" in more else tree.window_us
            assert tree.totals(1)[0][0] > 0
            assert w.stats()["regions"] <= 3000


def stops_at_any_time():
    """The session stops while members live, come and go"""
    for lives_ms in (0, 60):
        for wait in (0, 0.05, 0.3, 0.7, 1.2):
            with Tree(6, own=1, shared=2, copied=2, written=1, users=6,
                      lives_ms=lives_ms) as tree:
                time.sleep(wait)
                w.must_put("target", "\n")
                assert tree.process.poll() is None


w.main(private_memory, idle_memory, a_long_window, shared_memory, memory_that_few_share,
       memory_since_a_fork, of_short_processes, attributes_change, stops_at_any_time)
