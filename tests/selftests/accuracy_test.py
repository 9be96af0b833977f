#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Estimates beside the truth, through wsmo: a smoke version of the figures.

Short intervals give many of them in little time. A busy machine makes outliers,
so medians and counts are asserted, not single intervals. Coverage (do as many
intervals hold the truth as should?) is tested once, over many recordings:
coverage().
"""
import csv
import math
import os
import subprocess
import tempfile
import time

import wsmontest as w
import truth
import wsmon

SHORT = ["--sample", "20ms", "--aggr", "200ms", "--update", "200ms",
         "--window", "200ms", "--cpu", "100%"]


def hotset(options, *more):
    return truth.watch(SHORT + options, [
        "hotset", "--window", "200", "--truth-ms", "20", "--seconds", "0", "--period-ms", "50", *more],
        4, settle=1.5)


def say(what, c):
    print("# %s: median %+.1f %%, interval holds in %d of %d, +-%.1f %%" % (
        what, c.median_error() * 100, c.covered(), len(c.rows),
        c.half_width() * 100), flush=True)


def close(what, c, error, width):
    """Assert bounds for the error and for the half-width of the intervals of recording
    c. Return c."""
    say(what, c)
    assert len(c.rows) >= 5, "only %d intervals" % len(c.rows)
    assert abs(c.median_error()) < error, c.median_error()
    assert c.half_width() < width, c.half_width()
    return c


def chance_of(misses, n, p):
    """Chance of @misses or more in n independent trials"""
    return 1 - sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(misses))


# Intervals of one recording share evidence: regions hardly change, and pages without a sample stay
# unseen for seconds. Recordings are independent, as their targets and seeds differ. The misses of
# 32 recordings varied 1.0 to 1.6 times as much as those of as many independent intervals would.
SHARED = 2


def too_often(recordings, p=0.05):
    """recordings: (intervals, misses) of each; a miss does not hold the truth. Is the share of
    misses above p, beyond chance? All recordings are one sample: the bound is exceeded if all
    intervals of one recording in eight miss, and if one interval in eight of each does."""
    n, m = (sum(x) for x in zip(*recordings))
    chance = chance_of(round(m / SHARED), round(n / SHARED), p)
    print("# the truth is in %d of %d intervals; chance %.2g" % (n - m, n, chance), flush=True)
    return chance < 1e-3


def coverage():
    """About 95 % of the intervals hold the truth, for any share of hot pages; hot pages
    are at random, so that samples are the only evidence."""
    shares = 3, 10, 20, 35, 50, 65, 80, 90
    recordings = []
    with tempfile.TemporaryDirectory() as tmp:
        data = os.path.join(tmp, "data")
        files = [os.path.join(tmp, "truth%d" % s) for s in shares]
        jobs = [subprocess.Popen(
            ["hotset", "--size", "32M", "--pattern", "random:%d" % s, "--seed", str(s),
             "--period-ms", "100", "--seconds", "0", "--window", "500", "--truth", path],
            stdout=subprocess.DEVNULL) for s, path in zip(shares, files)]
        try:
            for path in files:
                w.wait_for("the set", lambda: os.path.exists(path) and
                           "truth" in open(path).read(), 100)
            for seed in "7", "8", "9", "10":
                subprocess.run(
                    ["wsmo", "record", "-q", "-o", data, "-d", "10", "--no-stacks",
                     "--seed", seed, "--sample", "50ms", "--aggr", "500ms", "--update", "500ms",
                     "--window", "500ms", "--cpu", "100%",
                     "-p", ",".join(str(j.pid) for j in jobs)], check=True)
                with open(data, "rb") as f:
                    records = [r for r in wsmon.read(f)[1] if r.type == "WSS"]
                for job, path in zip(jobs, files):
                    rows = truth.rows(records, truth.read_truth(path), pid=job.pid)
                    # with the intervals from the beginning, when regions are not yet adapted
                    recordings.append((len(rows), len(rows) - truth.covered(rows)))
        finally:
            for job in jobs:
                job.kill()
                job.wait()
    assert min(n for n, _ in recordings) >= 5, recordings
    assert not too_often(recordings), recordings


@w.measured
def small_hot_set():
    classes_sum_up(close("8 MiB", hotset(
        ["--seed", "1"], "--hot", "8M", "--offset", "100M"), 0.05, 0.10))


@w.measured
def huge_pages():
    close("16 MiB on THP", hotset(
        ["--seed", "2"], "--hot", "16M", "--offset", "100M", "--thp"), 0.05, 0.10)


@w.measured
def every_second_page():
    close("every 2nd page", hotset(
        ["--seed", "3"], "--pattern", "stride:2"), 0.03, 0.06)


@w.measured
def random_pages():
    close("random 5 %", hotset(
        ["--seed", "4"], "--pattern", "random:5"), 0.15, 0.25)


@w.measured
def ramp():
    c = truth.record(SHORT + ["--seed", "5"],
                     "pageramp --populate --stride 2 --pages 16384 --ramp 5 "
                     "--cycles 1 --window 200 --truth-ms 20".split())
    say("pageramp", c)
    assert abs(c.mean_error()) < 0.05, c.mean_error()
    peak = max(r[0] for r in c.rows)
    assert c.rss() > 1.7 * peak, "RSS is not double"


def parts(data, *options):
    """The regions of the last snapshot, clipped to the buffer: (start, end, share)"""
    head, *lines = subprocess.run(
        ["wsmo", "report", "regions", "--csv", "--class", "anon", *options, "-i", data],
        stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    at = head.split(",").index("t")
    # parse the last snapshot only: some hundred of thousands of rows
    last = lines[-1].split(",")[at]
    rows = csv.DictReader([head] + [line for line in lines if line.split(",", at + 1)[at] == last])
    return [(int(r["start"]), int(r["end"]), float(r["share"])) for r in rows]


@w.measured
def small_blocks():
    """More blocks than regions: parts of regions show where they are."""
    block, size = 64 << 10, 128 << 20
    with tempfile.TemporaryDirectory() as tmp:
        data, path = os.path.join(tmp, "data"), os.path.join(tmp, "truth")
        job = subprocess.Popen(["hotset", "--size", "128M", "--pattern", "blocks:64K", "--period-ms", "50", "--seconds",
                                "0", "--window", "200", "--truth", path], stdout=subprocess.DEVNULL)
        try:
            w.wait_for("the set", lambda: os.path.exists(path) and "truth" in open(path).read(), 100)
            subprocess.run(["wsmo", "record", "-q", "-o", data, "-d", "8", "-p", str(job.pid), *SHORT,
                            "--max-regions", "500"], check=True)
        finally:
            job.kill()
            job.wait()
        with open(path) as f:
            base = next(int(line.split()[1]) for line in f if line.startswith("range "))

        def error(*options):
            """Mean of |share - truth| over the pages of the buffer; blocks are hot and cold in
            turn. Hotset decides whether the even or the odd ones are hot: take the smaller
            error"""
            sums = [0, 0]
            for start, end, share in parts(data, *options):
                at, end = max(start, base), min(end, base + size)
                while at < end:
                    nr = (at - base) // block
                    after = min(end, base + (nr + 1) * block)
                    for first in 0, 1:
                        sums[first] += abs(share - (nr + first) % 2) * ((after - at) >> 12)
                    at = after
            return min(sums) / (size >> 12)

        fine, coarse = error("--fine"), error()
    print("# 64 KiB blocks: map error %.3f, of whole regions %.3f" % (fine, coarse))
    assert coarse > 0.4, coarse
    assert fine < 0.1, fine


@w.measured
def never_rests():
    """A set that stays in the TLB, as no context switch ever empties it: only the flush
    makes it visible. Without the flush it reads near zero; this test shows the limit
    and does not promise it. It also leaves cleared bits behind, and the recordings
    that follow must cope with them."""
    os.sched_setaffinity(0, {0})
    spin = ["taskset", "-c", "1", "hotset", "--period-ms", "0", "--seconds",
            "0", "--hot", "1M", "--offset", "100M", "--window", "200"]
    with tempfile.TemporaryDirectory() as tmp:
        file = os.path.join(tmp, "truth")
        job = subprocess.Popen(spin + ["--truth", file],
                               stdout=subprocess.DEVNULL)
        try:
            w.wait_for("the set", lambda: os.path.exists(file) and
                       "truth" in open(file).read(), 30)

            def record(cpus, *options):
                data = os.path.join(tmp, "data")
                recorder = subprocess.Popen(
                    ["wsmo", "record", "-q", "-o", data, "-d", "3", "-p", str(job.pid),
                     *SHORT, *options])
                threads = []
                w.wait_for("kwsmond", lambda: threads.extend(w.kwsmond()) or threads)
                os.sched_setaffinity(threads[0], cpus)
                assert recorder.wait() == 0
                return truth.Case(data, truth.read_truth(file))

            say("1 MiB that never rests, without flush", record({0}, "--no-flush"))
            close("1 MiB that never rests", record({0}), 0.05, 0.30)
            # on the monitor's CPU, where a switch to the monitor and back does not flush either
            close("1 MiB that never rests, nor from the CPU of the monitor",
                  record({1}), 0.05, 0.30)
        finally:
            job.kill()
            job.wait()
            os.sched_setaffinity(0, range(os.cpu_count()))


def classes_sum_up(c):
    sums = {}
    for r in c.records:
        if r.type == "WSS":
            whole, parts = sums.get(r.time_ns, (0, 0))
            sums[r.time_ns] = ((r.bytes, parts) if r.cls == "all"
                               else (whole, parts + r.bytes))
    assert sums
    for whole, parts in sums.values():
        assert abs(whole - parts) <= 8 * 4096, (whole, parts)


@w.measured
def one_and_a_half_intervals():
    """Samples serve the whole window, although it is no multiple of the interval."""
    code = ("m = mmap.mmap(-1, 32 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
            "begin = at = time.monotonic()\n"
            "while True:\n"
            "    n = 16 if (at - begin) % 8 < 4 else 32\n"
            "    m[:n << 20:4096] = b'x' * (n << 8)\n"
            "    at += 0.54\n"
            # sleep in short steps: a target that sleeps all the time keeps its samples anyway
            "    while time.monotonic() < at:\n"
            "        time.sleep(0.02)\n")
    with w.Target(code) as t:
        w.must_put("attrs", "sample_us=40000 aggr_us=400000 update_us=400000 window_us=600000 "
                   "max_regions=1000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(3)
        sizes = []
        for _ in range(24):
            sizes += [int(x["bytes"]) >> 20 for x in w.lines("wss") if x["class"] == "anon"]
            time.sleep(0.4)
        w.must_put("target", "\n")
    print("# 16 or 32 each 540 ms, in a window of 600 ms: %s MiB" % sizes)
    # no gaps, and no memory of the past
    assert sum(s < 15 for s in sizes) <= 2, sizes
    assert sum(s < 18 for s in sizes) >= 5 and sum(s > 30 for s in sizes) >= 5, sizes


@w.measured
def several_windows():
    """Memory used every 3 s counts in 5 s, but not in most windows of 0.5 s."""
    code = ("private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n"
            "a, b, n = mmap.mmap(-1, 16 << 20, private), mmap.mmap(-1, 32 << 20, private), 0\n"
            "for m in a, b:\n"
            "    m.madvise(mmap.MADV_NOHUGEPAGE)\n"
            "while True:\n"
            "    a[::4096] = b'x' * 4096\n"
            "    if n % 60 == 0:\n"
            "        b[::4096] = b'x' * 8192\n"
            "    n += 1\n"
            "    time.sleep(0.05)\n")
    with w.Target(code) as t:
        w.must_put("attrs", "sample_us=100000 aggr_us=500000 update_us=500000 "
                   "window_us=100000,5000000,500000 cpu_permille=1000")
        assert w.attrs()["window_us"] == "100000,500000,5000000"
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(7)
        sizes = []
        for _ in range(16):
            time.sleep(0.5)
            now = [int(x["bytes"]) >> 20 for x in w.lines("wss")
                   if x["class"] == "anon"]
            assert len(now) == 3 and now == sorted(now), now
            sizes.append(now)
        short, middle, long = (sorted(x)[8] for x in zip(*sizes))
        print("# 100 ms: %d MiB, 500 ms: %d MiB, 5 s: %d MiB" % (short, middle, long))
        assert 14 <= short <= 20 and 14 <= middle <= 20 and 44 <= long <= 56


with open("/sys/kernel/mm/transparent_hugepage/khugepaged/"
          "scan_sleep_millisecs", "w") as f:
    f.write("100000000")     # khugepaged touches pages that it collapses: stop it
w.need("wsmo", "patterns")
w.main(coverage, several_windows, one_and_a_half_intervals, small_hot_set, huge_pages, every_second_page,
       random_pages, small_blocks, ramp, never_rests)
