# SPDX-License-Identifier: GPL-2.0
"""Runs tests/sim/sim.c: records of the module for a made-up target."""
import os
import random
import subprocess

import records as r

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETTINGS = dict(pid=7, seed=1, now=0, budget=2000, still=0, rounds=1, part=2000, window=10**9)

subprocess.run(["make", "-s", "out/bin/sim"], cwd=TOP, check=True)


def intervals(maps, runs, **settings):
    """SNAPSHOT records by interval. maps: (start, end, class); runs: (ns, look, digits)"""
    text = [" ".join("%s %d" % pair for pair in {**SETTINGS, **settings}.items()),
            *("map %x %x %d" % (start, end, r.CLASS[cls]) for start, end, cls in maps),
            *("run %d %d %s" % run for run in runs)]
    made = subprocess.run([os.path.join(TOP, "out", "bin", "sim")], input="\n".join(text).encode(),
                          stdout=subprocess.PIPE, check=True).stdout
    found = {}
    for kind, t, body in r.parse(r.header(0) + made):
        found[t] = found.get(t, b"") + r.record(kind, t, body)
    return list(found.values())


def history(count, regions, seed=1, **settings):
    """@count intervals of a process with many kinds of pages, in @regions regions."""
    rng = random.Random(seed)
    maps = [(start, start + 64 * max(1, regions * share // 100), cls) for cls, start, share in (
        ("file", 0x400, 3), ("text", 0x555500000, 12), ("heap", 0x555600000, 25),
        ("anon", 0x7f0000000, 58), ("stack", 0x7ffc00000, 2))]
    digits = "".join(64 * rng.choice("0000000159") for _ in range(regions + len(maps)))
    runs = [(rng.randrange(99 * 10**7, 101 * 10**7), 1, digits) for _ in range(count)]
    return intervals(maps, runs, **{"now": 5000 * 10**9, **settings}, seed=seed, budget=regions, rounds=10)
