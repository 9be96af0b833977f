# SPDX-License-Identifier: GPL-2.0
"""The kernel thread's time by stage, and the time of reading the entries alone."""
import os
import subprocess

import wsmontest as w
from guest.machine import Session, no_khugepaged, read, row

KINDS = {
    "idle": "while True:\n    time.sleep(0.01)\n",
    "in use": "while True:\n    m[::4096] = ones\n    time.sleep(0.01)\n",
}


def limit(pid, start, pages, samples):
    """ns a page to read the entries of as many pages"""
    module = os.path.join(os.path.dirname(os.environ["WSMON_KO"]), "samples/wsmon_limit.ko")
    subprocess.run(["insmod", module, "pid=%d" % pid, "start=%d" % start, "pages=%d" % pages,
                    "samples=%d" % samples], check=True)
    try:
        return int(read("/sys/module/wsmon_limit/parameters/ns")) / samples
    finally:
        subprocess.run(["rmmod", "wsmon_limit"], check=True)


def main(todo):
    no_khugepaged()
    w.load()
    for kind, code in KINDS.items():
        setup = ("m = mmap.mmap(-1, %d << 20, flags=0x22)\nm.madvise(mmap.MADV_NOHUGEPAGE)\n"
                 "ones = bytes(%d)\nm[::4096] = ones\n" % (todo["mib"], todo["mib"] << 8))
        for samples in todo["samples"]:
            with w.Target(code, setup) as t:
                start, end = next(
                    [int(x, 16) for x in line.split()[0].split("-")]
                    for line in read("/proc/%d/maps" % t.pid).splitlines()
                    if int(line.split("-")[1].split()[0], 16) - int(line.split("-")[0], 16) >=
                    todo["mib"] << 20)
                least = min(limit(t.pid, start, (end - start) >> 12, samples) for _ in range(3))
                with Session([t.pid], "sample_us=100000 aggr_us=1000000 update_us=1000000 "
                             "window_us=1000000 cpu_permille=1000 min_regions=%d "
                             "max_regions=%d" % (samples // 2, samples // 2)) as s:
                    s.spent(3)
                    spent, stats = s.spent(todo["seconds"])
                    row(kind=kind, samples=samples, limit_ns=least, seen=stats["samples"],
                        **{k: spent[k] for k in (
                            "rounds", "checks", "arms", "flushes", "walk_ns", "flush_ns",
                            "adapt_ns", "emit_ns", "cpu_ns")})
    w.unload()
