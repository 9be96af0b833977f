# SPDX-License-Identifier: GPL-2.0
"""The guest as the benches use it: its settings and its files."""
import json
import os
import subprocess
import sys
import tempfile
import time

import wsmontest as w

MIB = 1 << 20
PAGE = 4096
THP = "/sys/kernel/mm/transparent_hugepage/"


def say(text):
    print("# " + text, file=sys.stderr, flush=True)


def row(**fields):
    print(json.dumps(fields), flush=True)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def schedstat_ns(pid):
    """CPU time of a thread, ns"""
    return int(read("/proc/%d/schedstat" % pid).split()[0])


def vmstat(name):
    return next(int(line.split()[1]) for line in read("/proc/vmstat").splitlines()
                if line.split()[0] == name)


def status(pid, name):
    """Bytes, of a line of /proc/PID/status"""
    return sum(int(line.split()[1]) << 10 for line in read("/proc/%d/status" % pid).splitlines()
               if line.startswith(name + ":"))


def no_khugepaged():
    """khugepaged touches pages that it collapses, which the workload does not."""
    write(THP + "khugepaged/scan_sleep_millisecs", "100000000")


def swap_on_zram():
    """1 GiB without readahead: a page is there or has to be unpacked."""
    subprocess.run(["/sbin/modprobe", "zram"], check=True)
    write("/sys/block/zram0/disksize", 1 << 30)
    subprocess.run(["/sbin/mkswap", "/dev/zram0"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["/sbin/swapon", "/dev/zram0"], check=True)
    write("/proc/sys/vm/page-cluster", 0)


def build(name):
    """A program of bench/programs/. Return: its path"""
    program = os.path.join(tempfile.mkdtemp(), name)
    source = os.path.join(os.path.dirname(__file__), "../programs", name + ".c")
    subprocess.run(["gcc", "-O2", "-static", "-pthread", "-o", program, source], check=True)
    return program


def cc1():
    """The compiler proper"""
    return subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def record(path, seconds, pids, *options):
    subprocess.run(["wsmo", "record", "-q", "-o", path, "-d", str(seconds), *options,
                    "-p", ",".join(map(str, pids))], check=True)


def report(path, view, *options):
    out = subprocess.run(["wsmo", "report", view, "--json", "-i", path, *options], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


class Session:
    """The module used through its files, without wsmo"""

    def __init__(self, pids, attrs=None):
        if attrs:
            w.must_put("attrs", attrs)
        w.must_put("target", " ".join(map(str, pids)) + "\n")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        w.must_put("target", "\n")

    def spent(self, seconds):
        """(increase of stats in that time, stats at its end)"""
        before = w.stats()
        time.sleep(seconds)
        after = w.stats()
        return {k: after[k] - before[k] for k in after}, after
