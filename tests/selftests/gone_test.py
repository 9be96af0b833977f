#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Memory that was used and given back within the window is in the interval.

And what gives nothing back, or little, keeps the interval that it has without: faults that copy a
page, or find it mapped, say nothing.
"""
import os
import statistics

import wsmontest as w
from unused_test import MIB, Seen

GONE = w.program("gone")
LONG = ["--window", "500ms,2s"]


class Gone(Seen):
    """What was recorded of a program that uses 6 MiB, and 13 more each half second at most"""

    def __init__(self, how, **more):
        super().__init__(how, program=GONE, **more)
        self.show()

    def holds_in_most(self, part=0.85):
        assert self.done >= 50, self.done
        assert len(self.rows) >= 8, len(self.rows)
        assert self.covered() >= part * len(self.rows), self.rows
        return self

    def bounded(self, times):
        """The upper end is at most so many times the truth, mostly"""
        assert statistics.median(hi / true for true, _, _, hi, _ in self.rows) <= times, self.rows
        return self


@w.measured
def it_was_unmapped():
    Gone("unmapped").holds_in_most().bounded(1.5)


@w.measured
def it_was_given_back():
    """The mapping stays."""
    Gone("returned").holds_in_most().bounded(1.5)


@w.measured
def in_a_cgroup():
    """Pages are looked at when an interval ends, and seldom does that find what is given back."""
    Gone("unmapped", cgroup=True).holds_in_most().bounded(1.5)


@w.measured
def in_long_windows():
    """Those hold several intervals: each has its own."""
    seen = Gone("unmapped", options=LONG)
    sizes = {}
    for r in seen.records:
        if r.type == "WSS" and r.cls == "anon":
            sizes.setdefault(r.window_us, []).append((r.bytes / MIB, r.low / MIB, r.high / MIB))
    # 2 s after the beginning, four times what comes in each half second: 13 MiB, or less if the
    # program is kept from running
    wanted = 6 + 4 * (statistics.median(true for true, *_ in seen.rows) / MIB - 6)
    ends = [high for _, _, high in sizes[2000000][6:]]
    print("# 2 s: %s" % sizes[2000000])
    assert statistics.median(ends) >= wanted * 0.9, (wanted, ends)
    assert statistics.median(ends) <= wanted * 1.6, (wanted, ends)


@w.measured
def old_memory_is_given_back():
    """Samples knew that it was in use: it counts once."""
    Gone("freed").holds_in_most().bounded(1.04)


@w.measured
def nothing_is_given_back():
    Gone("kept").narrow(3)


@w.measured
def faults_that_copy():
    """After a fork; a little is given back. In an interval they are a little more or less than
    what is taken off for them, and would be 8 MiB."""
    seen = Gone("copied").bounded(1.3)
    assert statistics.median(hi / true for true, _, _, hi, _ in seen.rows) >= 0.8, seen.rows


@w.measured
def faults_in_place():
    """The same page, again and again. What is given back says that faults may make pages."""
    Gone("faulted").holds_in_most()


w.need("wsmo")
TESTS = (it_was_unmapped, it_was_given_back, in_a_cgroup, in_long_windows,
         old_memory_is_given_back, nothing_is_given_back, faults_that_copy, faults_in_place)
if __name__ == "__main__":
    # names of some of them, with commas
    chosen = os.environ.get("WSMON_TESTS")
    w.main(*(t for t in TESTS if not chosen or t.__name__ in chosen.split(",")))
