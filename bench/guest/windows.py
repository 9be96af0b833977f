# SPDX-License-Identifier: GPL-2.0
"""Records processes that touch the same pages all the time; a row for each recording."""
import os
import struct
import subprocess
import tempfile

import truth
import wsmon
import wsmontest as w
from guest.machine import record, row

PATTERNS = "random:2 random:10 random:30 stride:11".split()
WINDOWS = (0.5, 1, 2, 4, 8)
ATTRS = ["--sample", "100ms", "--aggr", "500ms", "--update", "500ms", "--window",
         ",".join("%gs" % s for s in WINDOWS), "--cpu", "100%"]


def estimates(path):
    """(time, pid, class, window, bytes, low, high) of each WSS record; parsing the
    whole file, with snapshots unpacked, would take longer than the recording"""
    with open(path, "rb") as f:
        data = f.read()
    at = struct.unpack_from("<I", data, 12)[0]
    while at < len(data):
        kind, size, time_ns = struct.unpack_from("<IIQ", data, at)
        if kind == 5:
            yield time_ns, *struct.unpack_from("<II4Q", data, at + 16)
        at += size


def read(path, pids, truths):
    """[(pattern, window in us, error, does it hold)] of a recording"""
    with open(path, "rb") as f:
        # the first interval begins when the samples are there
        begin = wsmon.read(f)[0].mono_ns + 1e9
    return [(PATTERNS[i], window, size / truths[i] - 1, low <= truths[i] <= high)
            for t, pid, cls, window, size, low, high in estimates(path)
            for i in [pids.index(pid)]
            if wsmon.CLASSES[cls] == "anon" and t >= begin + window * 1000]


def main(todo):
    w.load()
    tmp = tempfile.mkdtemp()
    paths = [os.path.join(tmp, p) for p in PATTERNS]
    jobs = [subprocess.Popen(["hotset", "--pattern", p, "--seconds", "0", "--period-ms", "50",
                              "--truth", path], stdout=subprocess.DEVNULL)
            for p, path in zip(PATTERNS, paths)]
    w.wait_for("the workloads", lambda: all(os.path.exists(p) and "truth" in open(p).read()
                                            for p in paths), 300)
    pids, data = [j.pid for j in jobs], os.path.join(tmp, "data")
    for seed in range(1, todo["recordings"] + 1):
        record(data, todo["seconds"], pids, "--no-stacks", "--seed", str(seed), "--max-regions",
               str(todo["max_regions"] * len(jobs)), *ATTRS)
        truths = [truth.read_truth(p)[-1][1] for p in paths]
        row(estimates=read(data, pids, truths))
    for job in jobs:
        job.kill()
