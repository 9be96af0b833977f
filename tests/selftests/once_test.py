#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Each page counts once, for a process and for a cgroup, in each command."""
import contextlib
import json
import os
import subprocess
import tempfile
import time

import cgroup_test
import wsmontest as w
from device_test import MIB, Session

ONCE = w.program("once")
MIB_USED = 16
HUGE_PAGES = "/proc/sys/vm/nr_hugepages"
KSM = "/sys/kernel/mm/ksm/"
FILE = tempfile.NamedTemporaryFile()


@contextlib.contextmanager
def once(kind):
    """The program, in a cgroup of its own; yields its pid"""
    os.mkdir(cgroup_test.ROOT)
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup_test.ROOT], check=True)
    try:
        with cgroup_test.Cgroup():
            p = subprocess.Popen([ONCE, kind, str(MIB_USED)], stdout=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: cgroup_test.attach("test"))
            assert p.stdout.readline() == "ready\n"
            try:
                yield p.pid
            finally:
                p.kill()
                p.wait()
    finally:
        subprocess.run(["umount", "-l", cgroup_test.ROOT], check=True)
        os.rmdir(cgroup_test.ROOT)


def sizes(session, record):
    """The last estimates of all classes: [(MiB, low, high)]"""
    session.put("stop")
    found = [(r.bytes / MIB, r.low / MIB, r.high / MIB) for r in session.read_all()
             if r.type == record and r.cls == "all"]
    return found[3:]


def rows(*command):
    r = subprocess.run(["wsmo", *command, "--json"], capture_output=True, text=True)
    assert not r.returncode, r
    return [json.loads(line) for line in r.stdout.splitlines()]


def figures(kind):
    """Results of the module and the commands for a program, in MiB, including a little for
    its text and stack"""
    said = {}
    with once(kind) as pid:
        if kind == "ksm":
            merge(pid)
        for scope, text in (("-p", "pid=%d" % pid), ("--cgroup", "cgroup=/test")):
            with Session(cgroup_test.ATTRS + text) as s:
                s.read(4)
                found = sizes(s, "WSS" if scope == "-p" else "TOTAL")
            assert found
            for size, low, high in found:
                assert low <= size <= high, found
            said[scope] = found[len(found) // 2][0]
        row, = [x for x in rows("top", "-p", str(pid), "--repeat=2")
                if x["type"] == "top" and x["class"] == "all"][-1:]
        said["top"], said["top rss"], said["top idle"] = (
            row[key] / MIB for key in ("bytes", "rss", "idle"))
        row, = [x for x in rows("top", "--cgroup=/test", "--repeat=2")
                if x["type"] == "cgroup"][-1:]
        said["top --cgroup"], said["top --cgroup rss"] = row["bytes"] / MIB, row["rss"] / MIB
        subprocess.run(["wsmo", "record", "-q", "-p", str(pid), "-d", "3", "-o", FILE.name,
                        "--no-stacks"], check=True)
        said["mem"] = sum(x["resident"] for x in rows("mem", "-p", str(pid), "--by=class")
                          if x["class"] != "all") / MIB
        said["report idle"] = sum(x["used"] for x in rows("report", "idle", "-i", FILE.name)
                                  if x["class"] != "all") / MIB
    print("# %s: %s" % (kind, ", ".join("%s %.1f" % x for x in said.items())), flush=True)
    return said


def merge(pid):
    """Have the kernel merge all pages"""
    for name, value in ("sleep_millisecs", 5), ("pages_to_scan", 4000), ("run", 1):
        w.write(KSM + name, value)
    w.wait_for("merged pages", lambda: int(w.read("/proc/%d/ksm_merging_pages" % pid)) >=
               MIB_USED * 256 - 8, 120)
    time.sleep(1)
    w.write(KSM + "run", 0)


@w.measured
def zero_pages():
    """Reads of never written pages use no memory."""
    for kind in "zero", "huge-zero":
        for what, size in figures(kind).items():
            assert size < 3, (kind, what, size)


@w.measured
def huge_pages():
    """Huge pages of hugetlbfs are memory, used and idle."""
    w.write(HUGE_PAGES, 24)
    try:
        for kind in "hugetlb", "shared-hugetlb":
            said = figures(kind)
            for what, size in said.items():
                wanted = {"top rss": 32, "top --cgroup rss": 32, "mem": 32}.get(what, 16)
                assert wanted - 0.5 <= size < wanted + 3, (kind, what, size)
    finally:
        w.write(HUGE_PAGES, 0)


@w.measured
def merged_pages():
    """Pages merged by KSM exist once."""
    try:
        said = figures("ksm")
    finally:
        w.write(KSM + "run", 2)
    # these commands count addresses
    for what in "mem", "report idle":
        assert said.pop(what) > 15
    for what, size in said.items():
        assert size < 3, (what, size)


@w.measured
def several_mappings():
    """A file that is mapped three times counts once."""
    with once("file") as pid:
        for scope, text in (("WSS", "pid=%d" % pid), ("TOTAL", "cgroup=/test")):
            with Session(cgroup_test.ATTRS + text) as s:
                s.read(4)
                found = sizes(s, scope)
            print("# file: %s %s" % (scope, found), flush=True)
            # for a process it is unknown which pages of its mappings are the same
            assert found and all(low < 18 and 16 < high for _, low, high in found), found
            assert scope == "WSS" or all(15.5 < size < 19 for size, _, _ in found), found


if __name__ == "__main__":
    w.need("wsmo", "gcc")
    w.main(zero_pages, huge_pages, several_mappings, *([merged_pages] if os.path.exists(KSM + "run") else []))
