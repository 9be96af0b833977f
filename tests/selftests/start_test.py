#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Estimates of programs that have just begun, and of memory that has just appeared.

Assertions that should hold for 95 % are counted over all runs of a test. It fails if so
few hold that this has a chance below 1/1000 even at 90 %.
"""
import math
import os
import subprocess
import tempfile

import wsmontest as w
import truth

# name, options of grow, class of the memory
WAYS = [("brk", [], "heap"), ("mmap", [], "anon"), ("mmap", ["--chunk", "60M"], "anon"),
        ("mremap", [], "anon"), ("realloc", [], "anon")]
# On a busy machine rounds may take as long before and after the time of an estimate;
# memory that appears meanwhile may be in it or not.
BEFORE_NS, AFTER_NS = 50 * 10**6, 20 * 10**6
# Heap memory of grow itself
OWN = 128 << 10


def record(options, way, *grow, before=()):
    """Let wsmo record start grow. Return its estimates with the truth at their time:
    [(least, most, estimate, low, high)], where the truth is not 0."""
    name, more, cls = way
    with tempfile.TemporaryDirectory() as tmp:
        data, path = os.path.join(tmp, "data"), os.path.join(tmp, "truth")
        subprocess.run(["wsmo", "record", "-q", "--no-stacks", "--cpu", "100%", "-o", data,
                        *options, "--", *before, "grow", "--way", name, *more, *grow,
                        "--truth", path], check=True, stdout=subprocess.DEVNULL)
        known = truth.read_truth(path)
        # the truth at its end
        known.append((known[-1][0] + 10**9, known[-1][1]))
        rows = truth.Case(data, known, cls).rows
    found = []
    for true, estimate, low, high, time in rows:
        trues = (true, truth.at(known, time - BEFORE_NS) or 0,
                 truth.at(known, time + AFTER_NS) or true)
        if true:
            found.append((min(trues), max(trues) + OWN, estimate, low, high))
    return found


def holds(row):
    least, most, _, low, high = row
    return low <= most and least <= high


def near(row):
    """Off by a tenth, or half of the interval's width, but never by more than a third"""
    least, most, estimate, low, high = row
    off = max(least - estimate, estimate - most, 0)
    return off <= max(least / 10, min((high - low) / 2, least / 3))


def tells(row):
    """Is the interval informative? An interval from 0 to anything always holds"""
    _, most, _, low, high = row
    return high - low <= most


def plausible(n, of):
    """Is @n of @of likely enough at 90 %?"""
    return sum(math.comb(of, i) * 0.9**i * 0.1**(of - i) for i in range(n + 1)) > 0.001


def say(what, rows):
    texts = ["%.1f [%.1f, %.1f] of %.1f" % tuple(x / (1 << 20) for x in (*row[2:], row[1]))
             for row in rows]
    print("# %s: %s MiB" % (what, ", ".join(texts)), flush=True)


def judge(what, rows, of):
    """rows: of all runs; at least @of are expected"""
    good, held, told = (sum(map(test, rows)) for test in (near, holds, tells))
    print("# %s: of %d intervals %d are near, %d hold, %d tell" % (what, len(rows), good, held, told),
          flush=True)
    assert len(rows) >= of, "%d estimates, not %d" % (len(rows), of)
    assert plausible(good, len(rows)), "near: %d of %d" % (good, len(rows))
    assert plausible(held, len(rows)), "hold: %d of %d" % (held, len(rows))
    assert plausible(told, len(rows)), "no wider than the truth: %d of %d" % (told, len(rows))


def strides():
    """Options for each run: all pages, then every second page; with different samples"""
    return [(["--seed", str(n)], ["--stride", str(1 + n % 2)]) for n in range(3)]


@w.figures
def first_intervals():
    rows = []
    for way in WAYS:
        for options, stride in strides():
            found = record(options, way, *stride, "--life-ms", "2500")[:2]
            say("%s %s" % (way[0], stride[1]), found)
            rows += found
    judge("first two", rows, 2 * 3 * len(WAYS))


@w.figures
def exec_later():
    """The command executes grow later: it begins as another program."""
    rows = []
    for way in WAYS:
        found = record([], way, "--life-ms", "2500",
                       before=["sh", "-c", 'sleep 1.4; exec "$@"', "sh"])
        say(way[0], found[:2])
        rows += found[:2]
    judge("after exec", rows, 2 * len(WAYS))


@w.figures
def between_two_readings():
    """Memory that appears between two readings of the mappings"""
    short = ["--sample", "50ms", "--aggr", "500ms", "--window", "500ms", "--update", "5s"]
    rows = []
    for way in WAYS:
        found = record(short, way, "--window", "500", "--after-ms", "1300", "--life-ms", "4000")
        say(way[0], found)
        rows += found
    judge("between two readings", rows, 4 * len(WAYS))


@w.figures
def one_second():
    """Memory that vanishes before its first interval ends, or soon after."""
    rows = []
    for way in WAYS:
        for life in "700", "1200":
            found = record([], way, "--grow-ms", "500", "--life-ms", life)[-1:]
            say("%s %s ms" % (way[0], life), found)
            rows += found
    judge("short lives", rows, 2 * len(WAYS))


@w.figures
def touched_once():
    """Memory that appeared in one window is not in the next, and older memory is not in it."""
    rows = []
    for way in WAYS[:2]:
        found = record([], way, "--period-ms", "0", "--size", "600M", "--grow-ms", "15000",
                       "--life-ms", "9000")[1:]
        say(way[0], found)
        rows += found
    judge("touched once", rows, 6 * 2)


w.need("wsmo", "grow")
w.main(first_intervals, exec_later, between_two_readings, one_second, touched_once)
