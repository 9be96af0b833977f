# SPDX-License-Identifier: GPL-2.0
"""Pairs of forked workers as targets; a row for each, its errors."""
import os
import subprocess
import sys
import tempfile
import time

import wsmon
import wsmontest as w
from guest.machine import record, row

MIB, PERCENT, AGGR = 32, 5, 0.5
# Each pair has memory of its own, the only one of class shmem; each process's page
# tables have Accessed bits of their own.
WORKER = """
import mmap, os, random, sys, time
m = mmap.mmap(-1, %d << 20)
hot = random.Random(int(sys.argv[1])).sample(range(%d << 8), (%d << 8) * %d // 100)
m[::4096] = bytes(len(m) >> 12)
child = os.fork()
if not child:
    m[::4096] = bytes(len(m) >> 12)
else:
    print(os.getpid(), child, flush=True)
while True:
    for i in hot:
        m[i << 12] = 1
    time.sleep(0.1)
""" % (MIB, MIB, MIB, PERCENT)


def main(todo):
    w.load()
    data = os.path.join(tempfile.mkdtemp(), "data")
    true = (MIB << 8) * PERCENT // 100 << 12
    for first in range(0, todo["pairs"], todo["at_once"]):
        jobs = [subprocess.Popen([sys.executable, "-c", WORKER, str(seed)], text=True,
                                 stdout=subprocess.PIPE)
                for seed in range(first, min(first + todo["at_once"], todo["pairs"]))]
        pairs = [[int(x) for x in job.stdout.readline().split()] for job in jobs]
        time.sleep(1)
        record(data, todo["seconds"], [pid for pair in pairs for pid in pair], "--no-stacks",
               "--sample", "250ms", "--aggr", "%gs" % AGGR, "--update", "10s", "--window",
               "%gs" % AGGR, "--cpu", "100%", "--max-regions",
               str(2 * len(pairs) * todo["max_regions"]))
        with open(data, "rb") as f:
            rows = [r for r in wsmon.read(f)[1] if r.type == "WSS" and r.cls == "shmem"]
        for pair in pairs:
            # the first intervals include effects of fork
            errors = [[r.bytes / true - 1 for r in rows if r.pid == pid][4:] for pid in pair]
            row(errors=errors)
            for pid in pair[::-1]:
                os.kill(pid, 9)
        for job in jobs:
            job.wait()
