#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sessions of a cgroup: processes in it, moved there or away, forked, many."""
import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time

import wsmontest as w
import wsmon
from device_test import MIB, Session, error, threads

ROOT = os.path.join(tempfile.mkdtemp(), "cgroup")
ATTRS = "sample_us=50000 aggr_us=500000 update_us=500000 window_us=500000 cpu_permille=1000 "


def attach(cgroup, pid=0):
    with open(os.path.join(ROOT, cgroup, "cgroup.procs"), "w") as f:
        f.write("%d" % pid)


class Cgroup:
    """A cgroup with one below it; its processes are killed at the end."""

    def __enter__(self):
        os.makedirs(os.path.join(ROOT, "test/below"))
        return self

    def __exit__(self, *exc):
        for name in "test/below", "test":
            self.empty(name)
            if os.path.exists(os.path.join(ROOT, name)):
                # a killed process leaves the cgroup a moment later
                w.wait_for("an empty cgroup", lambda: self.remove(name))

    def remove(self, name):
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(ROOT, name))
        return not os.path.exists(os.path.join(ROOT, name))

    def empty(self, name):
        path = os.path.join(ROOT, name, "cgroup.procs")
        while os.path.exists(path):
            with open(path) as f:
                pids = f.read().split()
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(int(pid), 9)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)


def worker(cgroup, mib, code="", **more):
    """A process that is in the cgroup before it executes, and uses some memory of its own."""
    body = ("import mmap, os, time\n"
            "m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m.madvise(mmap.MADV_NOHUGEPAGE)\nm[::4096] = bytes(64 << 8)\n" + code +
            "\nprint('ready', flush=True)\n"
            "while True:\n m[:%d << 20:4096] = bytes(%d << 8)\n%s time.sleep(0.02)\n" % (
                mib, mib, more.get("each", "")))
    p = subprocess.Popen([sys.executable, "-c", body], stdout=subprocess.PIPE,
                         preexec_fn=lambda: cgroup and attach(cgroup))
    assert p.stdout.readline() == b"ready\n"
    return p


def totals(records, cls):
    return [(r.bytes / MIB, r.low / MIB, r.high / MIB) for r in records
            if r.type == "TOTAL" and r.cls == cls]


def check(session, wanted, cls="anon", skip=2, at_most=1.06):
    """All totals of the rest of the session are right."""
    session.put("stop")
    records = session.read_all()
    sizes = totals(records, cls)[skip:]
    print("# %s %.1f MiB: %s" % (cls, wanted, " ".join("%.1f [%.1f %.1f]" % x for x in sizes)))
    assert len(sizes) > 3 and not [r for r in records if r.type == "WSS"]
    for size, low, high in sizes:
        assert wanted * 0.97 <= size <= wanted * at_most or low <= wanted <= high, sizes
    return records


@w.measured
def processes():
    """Processes of the cgroup below count, too; each page counts once."""
    shared = os.path.join(tempfile.mkdtemp(dir="/dev/shm"), "shared")
    with open(shared, "wb") as f:
        f.truncate(32 << 20)
    mapped = ("s = mmap.mmap(os.open('%s', os.O_RDWR), 32 << 20)\n" % shared,
              " s[:8 << 20:4096] = bytes(8 << 8)\n")
    with Cgroup():
        for name, mib in ("test", 4), ("test", 8), ("test/below", 16):
            worker(name, mib, mapped[0], each=mapped[1])
        outside = worker(None, 32, mapped[0], each=mapped[1])
        try:
            with Session(ATTRS + "cgroup=/test") as s:
                with Session(ATTRS + "cgroup=/test/below") as below:
                    assert threads() == 2
                    time.sleep(5)
                    check(below, 16)
                records = check(s, 28)
        finally:
            outside.kill()
        # the heaps of three interpreters are in it
        sizes = totals(records, "shmem")[2:]
        assert w.every(7.7 < x[0] < 8.4 for x in sizes), sizes
        assert {r.members for r in records if r.type == "GROUP"} == {3}


@w.measured
def seen_once():
    """Memory used once every 2.5 s counts in one interval each time, and nothing else
    counts, although two sessions clear its bits."""
    with Cgroup(), Session(ATTRS + "cgroup=/test") as s, \
            Session(ATTRS + "cgroup=/test/below") as below:
        worker("test/below", 0, each=" m[:32 << 20:4096] = bytes(32 << 8)\n time.sleep(2.5)\n")
        # the worker used all of its memory before it was ready
        time.sleep(3)
        before = {}
        for session in s, below:
            session.read(0.1)
            before[session] = len(totals(session.records(), "anon"))
        time.sleep(12)
        for session in s, below:
            session.put("stop")
            sizes = [x[0] for x in totals(session.read_all(), "anon")][before[session]:]
            print("# %s" % " ".join("%.0f" % x for x in sizes))
            seen = sum(x > 16 for x in sizes)
            assert 3 <= seen <= 7 and max(sizes) < 34, seen


def members(session, seconds):
    """Number of members after some seconds"""
    session.read(seconds)
    return [r.members for r in session.records() if r.type == "GROUP"][-1]


def come_and_go():
    with Cgroup(), w.sleeper() as t, Session(ATTRS + "cgroup=/test") as s:
        assert members(s, 1.5) == 0
        attach("test/below", t.pid)
        assert members(s, 2) == 1
        attach("", t.pid)
        assert members(s, 2.5) == 0
        p = worker("test", 1)
        assert members(s, 2) == 1
        # its children are in the cgroup, too
        q = worker("test", 1, "for i in range(5):\n if not os.fork():\n  time.sleep(1000)\n")
        assert members(s, 2) == 7
        p.kill()
        q.kill()
        p.wait()
        q.wait()
        assert members(s, 2.5) == 5


def ends_with_its_cgroup():
    with Cgroup() as c, Session(ATTRS + "cgroup=/test/below") as s:
        worker("test/below", 1)
        assert members(s, 2) == 1
        c.empty("test/below")
        assert members(s, 2) == 0 and threads() == 1
        os.rmdir(os.path.join(ROOT, "test/below"))
        records = s.read_all()
        assert records[-1].type == "END" and records[-1].reason == 1
        assert not threads()


@w.measured
def short_lives():
    """Each process uses 8 MiB for 0.3 s, and is forked and attached from outside."""
    code = ("import mmap, os, time\n"
            "m = mmap.mmap(-1, 8 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m[::4096] = bytes(8 << 8)\ntime.sleep(0.3)\n"
            # memory freed before the end cannot be sampled at the end
            "os._exit(0)\n")
    with Cgroup(), Session(ATTRS.replace("window_us=500000", "window_us=2000000") +
                           "cgroup=/test") as s:
        end = time.monotonic() + 8
        began = 0
        while time.monotonic() < end:
            subprocess.run([sys.executable, "-c", code], preexec_fn=lambda: attach("test"),
                           check=True)
            began += 1
        s.put("stop")
        records = s.read_all()
        groups = [r for r in records if r.type == "GROUP"]
        came, went = sum(g.came for g in groups), sum(g.went for g in groups)
        missed = sum(g.missed for g in groups)
        print("# %d began, %d came, %d went, %d missed" % (began, came, went, missed))
        assert began - 1 <= came <= began and went >= came - 1 and missed <= began / 10
        sizes = totals(records, "anon")[4:]
        per = 2 / (8 / began) * 8
        print("# about %.0f MiB: %s" % (per, " ".join("%.0f [%.0f %.0f]" % x for x in sizes)))
        middle = sorted(x[0] for x in sizes)[len(sizes) // 2]
        assert 0.5 * per < middle < 2 * per


def the_machine():
    with Cgroup(), Session(ATTRS + "cgroup=/") as s:
        worker("test", 8)
        n = members(s, 3)
        user = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                user += bool(os.readlink("/proc/%s/exe" % pid))
            except OSError:
                pass
        print("# %d members, %d processes" % (n, user))
        assert abs(n - user) <= 2
        assert totals(s.records(), "all")[-1][0] > 8


def petabytes():
    """A member maps the first and the last page of a huge file. Others keep their figures."""
    with Cgroup(), Session(ATTRS + "cgroup=/test") as s:
        worker("test", 1, "import os\nfd = os.memfd_create('huge')\nos.ftruncate(fd, 1 << 52)\n"
               "ends = [mmap.mmap(fd, 4096, offset=at) for at in (0, (1 << 52) - 8192)]\n"
               "for end in ends:\n end[0] = 1")
        worker("test", 16)
        s.read(4)
        figures = totals(s.records(), "all")
        print("# %s" % figures[-4:])
        assert all(low > 17 for _, low, _ in figures[-3:]), figures
        assert all(high > 30 for _, _, high in figures[-3:]), "memory is left out silently"


def refused():
    with Cgroup(), Session() as s, w.sleeper() as t:
        for text, wanted in (("cgroup=/none", "ENOENT"), ("cgroup=", "EINVAL"),
                             ("cgroup=/test cgroup=/test", "EINVAL"),
                             ("cgroup=/test pid=%d" % t.pid, "EINVAL"),
                             ("cgroup=/test join", "EINVAL"),
                             ("max_regions=1 cgroup=/test", "EINVAL")):
            assert error(s.put, text) == wanted, text
        with Session(ATTRS + "cgroup=/test") as a, Session("cgroup=/test/") as b:
            assert threads() == 1
            assert error(Session, "aggr_us=1000000 cgroup=/test") == "EBUSY"
            for x in a, b:
                assert members(x, 1.5) == 0
        assert not threads()


def many():
    """300 processes that start at once"""
    with Cgroup(), Session(ATTRS.replace("cpu_permille=1000", "") + "cgroup=/test") as s:
        code = "for i in range(299):\n if not os.fork():\n  time.sleep(1000)\n"
        worker("test", 1, code)
        assert members(s, 6) == 300
        s.read(8)
        stats = [r for r in s.records() if r.type == "STATS"]
        for first, last in (stats[1], stats[8]), (stats[-10], stats[-1]):
            share = 100 * (last.cpu_ns - first.cpu_ns) / (last.time_ns - first.time_ns)
            print("# %.1f %% of a processor" % share)
        assert share < 6, share


def many_already():
    """300 processes that are there when a session at the default attributes begins: it begins
    with few regions, as what so many processes cost is known only later"""
    with Cgroup():
        worker("test", 2, "for i in range(299):\n if not os.fork():\n  time.sleep(1000)\n")
        with open(os.path.join(ROOT, "test/cgroup.procs")) as f:
            assert len(f.readlines()) == 300
        began = time.monotonic_ns()
        with Session("cgroup=/test") as s:
            s.read(7)
            records = s.records()
            shares = [100 * r.cpu_ns / (r.time_ns - began) for r in records if r.type == "STATS"]
            regions = [r.regions for r in records if r.type == "GROUP"]
            print("# %s %% of a processor since the beginning, regions: %s" % (
                ", ".join("%.1f" % x for x in shares), regions))
            assert max(regions[:3]) < 1000 and shares[-1] < 9, (regions, shares)


def few_regions():
    """If CPU time is short, a group of one process has few regions"""
    attrs = ATTRS.replace("500000", "200000").replace("cpu_permille=1000", "cpu_permille=1")
    with Cgroup(), Session(attrs + "cgroup=/test") as s:
        worker("test", 64)
        s.read(6)
        groups = [r for r in s.records() if r.type == "GROUP"]
        print("# regions: %s" % [r.regions for r in groups])
        assert groups[-1].regions < 80 < max(r.regions for r in groups)


@contextlib.contextmanager
def recording(cgroup, *options):
    """wsmo record of the cgroup, while the body runs; yields the file and, in the end, the
    messages"""
    file = os.path.join(tempfile.mkdtemp(), "data")
    p = subprocess.Popen(["wsmo", "record", "-o", file, "--cgroup", cgroup, "--cpu", "100%",
                          "--sample", "50ms", "--aggr", "500ms", "--window", "500ms", *options],
                         stderr=subprocess.PIPE, text=True)
    p.file = file
    try:
        w.wait_for("recording", lambda: p.poll() is not None or
                   os.path.exists(file) and os.path.getsize(file))
        yield p
        p.said = p.communicate(timeout=30)[1]
        assert p.returncode == 0, (p.returncode, p.said)
    finally:
        p.kill()


def report(view, file, *options):
    r = w.wsmo("report", view, "--json", "-i", file, *options)
    assert r.returncode == 0 and not r.stderr, r
    return [json.loads(line) for line in r.stdout.splitlines()]


@w.measured
def recorded():
    """Each form of the path; three processes with memory of their own, and some shared memory"""
    shared = os.path.join(tempfile.mkdtemp(dir="/dev/shm"), "shared")
    with open(shared, "wb") as f:
        f.truncate(32 << 20)
    with Cgroup():
        for name, mib in ("test", 16), ("test", 32), ("test/below", 60):
            worker(name, mib, "s = mmap.mmap(os.open('%s', os.O_RDWR), 32 << 20)\n" % shared,
                   each=" s[:16 << 20:4096] = bytes(16 << 8)\n")
        for path in os.path.join(ROOT, "test"), "/test/", "test":
            # an interval takes a second where the machine is busy
            with recording(path, "-d", "9") as p:
                pass
            group, *rows = report("summary", p.file, "--time", "1.2,")
            means = {r["class"]: r["mean"] / MIB for r in rows if r.get("scope") == "group"}
            print("# %s: total %.1f MiB, anon %.1f of 108, shmem %.1f of 16" % (
                path, group["mean"] / MIB, means["anon"], means["shmem"]))
            assert group["type"] == "group" and group["name"] == "/test", group
            assert group["members_max"] == 3 and group["targets"] is None, group
            assert abs(means["anon"] + means["shmem"] - 124) < 124 * 0.03, means
            # in addition: text, heap and stacks of three interpreters
            assert 124 * 0.97 < group["mean"] / MIB < 124 * 1.03 + 12, group
            rows = report("wss", p.file, "--class", "all")
            assert len(rows) > 6 and all(
                (r["scope"], r["name"], r["pid"], r["comm"]) == ("group", "/test", None, None)
                for r in rows), rows
            assert "LOST" not in p.said and "removed" not in p.said, p.said
        r = w.wsmo("record", "-o", p.file, "--cgroup", "/test/none")
        assert r.returncode == 1 and "no such cgroup (of version 2): /test/none" in r.stderr, r
        with open(p.file, "rb") as f:
            assert f.read(5) == b"WSMON"


def largest():
    """Processes with most memory have rows, even if they started later or have ended"""
    def recorded_pids(kind):
        with open(p.file, "rb") as f:
            return [r.pid for r in wsmon.read(f)[1] if r.type == kind]

    with Cgroup():
        big = worker("test", 4)
        small = subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: attach("test"))
        with recording("test") as p:
            w.wait_for("the first ones", lambda: recorded_pids("TARGET") == [big.pid])
            later = worker("test/below", 8, "m.resize(128 << 20)\nm[::4096] = bytes(128 << 8)")
            brief = os.fork()
            if not brief:
                m = mmap.mmap(-1, 96 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                m[::4096] = bytes(96 << 8)
                attach("test")
                time.sleep(0.5)
                os._exit(0)
            w.wait_for("another one", lambda: len(recorded_pids("TARGET")) == 2, 60)
            later.kill()
            later.wait()
            w.wait_for("its end", lambda: recorded_pids("EXIT") == [later.pid], 10)
            p.send_signal(signal.SIGINT)
        rows = [r for r in report("summary", p.file) if r["type"] == "memory"]
        print("# %s; %d is small, %d was brief" % (rows, small.pid, brief))
        assert [r["pid"] for r in rows] == [later.pid, big.pid]
        assert 128 <= rows[0]["rss_max"] / MIB < 150 and 64 <= rows[1]["rss_mean"] / MIB < 86
        assert rows[0]["exit_t"] > 5 and rows[1]["exit_t"] is None
        small.kill()
        small.wait()
        os.waitpid(brief, 0)


def recorded_to_its_end():
    """Recording ends when the cgroup is removed, when the user stops it, or with all processes"""
    with Cgroup() as c:
        worker("test/below", 1)
        with recording("test/below") as p:
            time.sleep(2)
            c.empty("test/below")
            os.rmdir(os.path.join(ROOT, "test/below"))
        assert "the cgroup was removed: /test/below" in p.said, p.said
        assert report("summary", p.file)[-1]["ended"] == "targets gone"
        with recording("test") as p:
            time.sleep(2)
            p.send_signal(signal.SIGINT)
        assert report("summary", p.file)[-1]["ended"] == "stopped"
        worker("test", 8)
        with recording(ROOT, "-d", "2") as p:
            pass
        assert report("summary", p.file)[0]["name"] == "all processes"
        r = w.wsmo("record", "-o", p.file, "-d", "4", "--cpu", "100%", "--all")
        group = report("summary", p.file)[0]
        print("# %(name)s: %(mean)d bytes, %(members_max)d processes" % group)
        assert r.returncode == 0 and group["name"] == "all processes", r
        assert 8 * MIB < group["mean"] < 16 * MIB and group["members_max"] > 2, group


def names():
    """A cgroup of any name is recorded and exported; one with too long a name does not stop the
    others"""
    odd = ["blank b", "tab\twho_rate=5000", ".dot", "back\\x2d\\040", "x" * 255, "bad\udcff"]
    long = "/".join(["names"] + [" " * 255] * 5)
    workers = []
    os.makedirs(os.path.join(ROOT, long))
    for name in odd:
        os.mkdir(os.path.join(ROOT, "names", name))
    try:
        workers = [worker("names/" + name, 8) for name in odd] + [worker(long, 8)]
        for name in odd[:2]:
            with recording("/names/" + name, "-d", "3") as p:
                pass
            group, *_ = report("summary", p.file)
            assert group["name"] == "/names/" + name and group["members_max"] == 1, group
        file = os.path.join(tempfile.mkdtemp(), "x.prom")
        export = subprocess.Popen(["wsmo", "export", "openmetrics", "--live", "--cgroups", "/names", "--interval",
                                   "500ms", "--cpu", "100%", "--at-once", "8", "-o", file])

        def text():
            if not os.path.exists(file):
                return ""
            with open(file, encoding="utf-8") as f:
                return f.read()
        w.wait_for("figures of each", lambda: text().count("wsmon_processes{") == len(odd), 60)
        time.sleep(6)
        assert 'wsmon_cgroups_left_out{root="/names"} 1\n' in text(), text()
        assert 'wsmon_cgroups_watched{root="/names"} %d\n' % len(odd) in text(), text()
        export.terminate()
        assert export.wait() == 0
    finally:
        for p in workers:
            p.kill()
            p.wait()
        for name in [long[:len("names") + 256 * i] for i in (5, 4, 3, 2, 1)] + ["names/" + x for x in odd] + ["names"]:
            w.wait_for("an empty cgroup", lambda n=name: Cgroup.remove(None, n))


def main():
    os.mkdir(ROOT)
    subprocess.run(["mount", "-t", "cgroup2", "none", ROOT], check=True)
    try:
        w.main(processes, seen_once, come_and_go, ends_with_its_cgroup, short_lives,
               the_machine, petabytes, refused, names, many, many_already, few_regions, recorded, largest, recorded_to_its_end)
    finally:
        subprocess.run(["umount", "-l", ROOT], check=False)


if __name__ == "__main__":
    main()
