#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Intervals hold memory that was used and freed within the window.

For programs that free little or nothing the interval stays as narrow as it is otherwise:
faults that copy a page, or find it mapped, do not count.
"""
import os
import statistics

import wsmontest as w
from unused_test import MIB, Seen

GONE = w.program("gone")
LONG = ["--window", "500ms,2s"]


class Gone(Seen):
    """Recording of a program that uses 6 MiB, and at most 13 MiB more each half second"""

    def __init__(self, how, **more):
        super().__init__(how, program=GONE, **more)
        self.show()

    def holds_in_most(self, part=0.85):
        assert self.done >= 50, self.done
        assert len(self.rows) >= 8, len(self.rows)
        assert self.covered() >= part * len(self.rows), self.rows
        return self

    def bounded(self, times):
        """The median of (upper end / truth) is at most @times"""
        assert statistics.median(hi / true for true, _, _, hi, _ in self.rows) <= times, self.rows
        return self


@w.measured
def it_was_unmapped():
    Gone("unmapped").holds_in_most().bounded(1.5)


@w.measured
def it_was_given_back():
    """MADV_DONTNEED: the mapping stays."""
    Gone("returned").holds_in_most().bounded(1.5)


@w.measured
def in_a_cgroup():
    """Samples are looked at when an interval ends, and seldom find memory that is freed."""
    Gone("unmapped", cgroup=True).holds_in_most().bounded(1.5)


@w.measured
def in_long_windows():
    """Long windows span several intervals, each with a bound of its own."""
    seen = Gone("unmapped", options=LONG)
    sizes = {}
    for r in seen.records:
        if r.type == "WSS" and r.cls == "anon":
            sizes.setdefault(r.window_us, []).append((r.bytes / MIB, r.low / MIB, r.high / MIB))
    # the window of 2 s has four times the memory that comes in a window of half a second (13 MiB,
    # or less if the program is kept from running)
    wanted = 6 + 4 * (statistics.median(true for true, *_ in seen.rows) / MIB - 6)
    ends = [high for _, _, high in sizes[2000000][6:]]
    print("# 2 s: %s" % sizes[2000000])
    assert statistics.median(ends) >= wanted * 0.9, (wanted, ends)
    assert statistics.median(ends) <= wanted * 1.6, (wanted, ends)


@w.measured
def old_memory_is_given_back():
    """Samples found this memory in use before it was freed: it counts once."""
    Gone("freed").holds_in_most().bounded(1.04)


@w.measured
def nothing_is_given_back():
    Gone("kept").narrow(3)


@w.measured
def faults_that_copy():
    """After a fork, while a little is freed. The estimated copies are a little more or less
    than their deduction in an interval, which would be 8 MiB."""
    seen = Gone("copied").bounded(1.3)
    assert statistics.median(hi / true for true, _, _, hi, _ in seen.rows) >= 0.8, seen.rows


@w.measured
def faults_in_place():
    """Faults on the same page, again and again; freed memory shows that faults may make pages."""
    Gone("faulted").holds_in_most()


w.need("wsmo")
TESTS = (it_was_unmapped, it_was_given_back, in_a_cgroup, in_long_windows,
         old_memory_is_given_back, nothing_is_given_back, faults_that_copy, faults_in_place)
if __name__ == "__main__":
    # names of tests, with commas
    chosen = os.environ.get("WSMON_TESTS")
    w.main(*(t for t in TESTS if not chosen or t.__name__ in chosen.split(",")))
