# SPDX-License-Identifier: GPL-2.0
"""Watches cgroups of processes whose common use of memory is known."""
import os
import subprocess
import tempfile
import time

import wsmontest as w
from cgroup_test import ROOT, Cgroup, attach
from device_test import Session
from guest.machine import build, row

WINDOW = 0.5
ATTRS = ("sample_us=100000 aggr_us=500000 update_us=500000 window_us=500000 "
         "cpu_permille=1000 max_regions=%d seed=%d cgroup=/test")
# name: (arguments of groups.c, class of the memory)
PATTERNS = {
    "own memory": (("own", 8, 64, 10, 8, 0), "anon"),
    "one memfd": (("memfd", 8, 256, 10, 8, 0), "shmem"),
    "a file": (("file", 8, 128, 20, 8, 0), "file"),
    "memfd, 1 of 30 uses it": (("memfd", 30, 64, 30, 1, 0), "shmem"),
    "since a fork": (("fork", 6, 128, 20, 6, 0), "anon"),
    "short lives": (("own", 2, 8, 100, 2, 300), "anon"),
}


def truth(lives, t):
    """KiB of the workers that used their memory in the window before @t; None if one was
    about to begin or to end at the window's begin"""
    if any(first < t + 0.02 and filled > t - 0.02 or abs(last - t + WINDOW) < 0.06
           for first, filled, last, kib in lives):
        return None
    return sum(kib for first, filled, last, kib in lives if first < t and last > t - WINDOW)


def one(program, pattern, seed, todo):
    args, cls = PATTERNS[pattern]
    with Cgroup():
        p = subprocess.Popen([program, *map(str, args)], stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: attach("test"))
        kib, total = map(int, p.stdout.readline().split())
        out = tempfile.TemporaryFile("w+")
        copy = subprocess.Popen(["cat"], stdin=p.stdout, stdout=out)
        # activity at the beginning is not in the first window
        time.sleep(1)
        with Session(ATTRS % (todo["max_regions"], seed)) as s:
            s.read(todo["seconds"])
            time.sleep(0.5)
            s.put("stop")
            records = s.read_all()
        time.sleep(0.5)
        p.kill()
        copy.wait(10)
        out.seek(0)
        lives = [[float(x) for x in line.split()] for line in out if line.count(" ") == 3]
    sizes = [r for r in records if r.type == "TOTAL" and r.cls == cls][4:-2]
    for r in sizes:
        exact = truth(lives, r.time_ns / 1e9) if lives else kib
        if exact:
            row(pattern=pattern, seed=seed, truth=exact * 1024, bytes=r.bytes, low=r.low,
                high=r.high, sum=(exact if lives else total) * 1024)


def mount():
    os.makedirs(ROOT, exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "none", ROOT], check=True)


def main(todo):
    w.load()
    program = build("groups")
    mount()
    for seed in range(1, todo["recordings"] + 1):
        for pattern in todo["patterns"] or PATTERNS:
            one(program, pattern, seed, todo)
