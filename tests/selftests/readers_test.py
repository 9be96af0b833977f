#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Several commands that monitor at once."""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import act_test
import cgroup_test
import wsmontest as w
import wsmon

FAST = ["--sample", "10ms", "--aggr", "200ms", "--update", "200ms", "--window", "200ms",
        "--cpu", "100%"]
TMP = tempfile.mkdtemp()
MIB = 1 << 20
SIZE, HOT = 48, (4, 8, 16)
MARKS = 17000
READERS = []
BUDGET = 5
# 24 MiB in use, 64 mapped
BUSY = """
m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
while True:
    for at in range(0, 24 << 20, 4096):
        m[at] = 1
    time.sleep(0.01)
"""


def path(name):
    return os.path.join(TMP, name)


def begin(*args):
    p = subprocess.Popen(["wsmo", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    READERS.append(p)
    return p


def record(name, pid, *args):
    """A recording that has begun"""
    if os.path.exists(path(name)):
        os.unlink(path(name))
    p = begin("record", "--no-stacks", "-o", path(name), "-p", str(pid), *args)
    w.wait_for(name, lambda: os.path.exists(path(name)))
    return p


def end(p, sig=signal.SIGINT):
    """The messages of a command that ended without an error"""
    p.send_signal(sig)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0 and "LOST" not in err, (p.args, p.returncode, err)
    return out, err


def records(name, kind):
    with open(path(name), "rb") as f:
        return [r for r in wsmon.read(f)[1] if r.type == kind]


def sizes(name, pid):
    return {r.time_ns: (r.bytes, r.low, r.high) for r in records(name, "WSS")
            if r.pid == pid and r.cls == "all"}


def none():
    return not w.kwsmond()


@w.measured
def together():
    """Four commands monitor one process: one session, and each gets everything"""
    scheme = path("scheme")
    with open(scheme, "w") as f:
        f.write("4K null null null 1s null stat\n")
    with w.Target(BUSY) as t:
        pid = str(t.pid)
        all_ = [record("first", pid, *FAST),
                begin("top", "--json", "--interval", "200ms", "-p", pid, *FAST),
                begin("act", "--dry-run", "--json", "-s", scheme, "-p", pid, *FAST,
                      "-o", path("acted")),
                begin("top", "--json", "--interval", "200ms")]
        w.wait_for("act", lambda: os.path.exists(path("acted")))
        all_.append(record("second", pid, *FAST))
        time.sleep(5)
        assert len(w.kwsmond()) == 1, w.kwsmond()
        first, top, act, joined, second = (end(p) for p in all_)
        w.wait_for("the end", none)
    a, b, c = (sizes(name, t.pid) for name in ("first", "second", "acted"))
    same = a.keys() & b.keys() & c.keys()
    assert len(same) > 5 and all(a[at] == b[at] == c[at] for at in same), (a, b, c)
    # "first" also has records that the other commands asked for later
    assert len(a) > len(b) and min(a) < min(b)
    values = {size for size, low, high in a.values()}
    for out, _ in top, joined:
        shown = [json.loads(line) for line in out.splitlines()]
        assert {x["pid"] for x in shown} == {t.pid}
        got = [x["bytes"] for x in shown if x["class"] == "all"]
        assert len(got) > 5 and set(got) <= values, (got, values)
        assert any(x["regions"] > 1 and x["hot"] > 8 * MIB for x in shown), shown[-9:]
    middle = sorted(values)[len(values) // 2]
    print("# %.1f MiB, %d intervals in common" % (middle / MIB, len(same)))
    assert 16 * MIB < middle < 48 * MIB, middle
    assert "anon" in act[0], act


def leaves():
    """The first command ends, or is killed: the others go on"""
    with w.Target(BUSY) as t:
        a = record("a", t.pid, *FAST)
        b = record("b", t.pid, *FAST)
        thread = w.kwsmond()
        end(a)
        c = record("c", t.pid, *FAST)
        time.sleep(1)
        b.kill()
        b.wait()
        assert w.kwsmond() == thread and len(thread) == 1, (w.kwsmond(), thread)
        time.sleep(1)
        end(c)
        assert records("a", "END") and records("c", "END") and not records("b", "END")
        w.wait_for("the end", none)
        c = record("d", t.pid, *FAST)
        c.kill()
        c.wait()
        w.wait_for("the end after a kill", none)


def attributes():
    """Attributes that differ from those in force are refused, and named; attributes not
    given are not"""
    with w.Target(BUSY) as t:
        pid = str(t.pid)
        a = record("a", pid, *FAST)
        r = w.wsmo("record", "-o", path("no"), "-d", "1", "-p", pid, *FAST, "--aggr", "400ms",
                 "--window", "400ms,800ms")
        assert r.returncode == 1 and not os.path.exists(path("no")), r
        assert r.stderr == ("wsmo: already monitored with other attributes: aggr_us=200000 "
                            "window_us=200000; leave out --aggr --window, or end that session\n"), r
        # top and act set attributes that were not given on the command line, and record
        # follows children
        r = w.wsmo("top", "--json", "--repeat=2", "--aggr", "200ms", "-p", pid)
        assert r.returncode == 0 and r.stdout.count("\n") > 4 and not r.stderr, r
        r = w.wsmo("act", "-n", "-s", "reclaim", "-d", "1", "-p", pid)
        assert r.returncode == 0 and "; they apply here, too\n" in r.stderr and \
            " sample_us=10000 " in r.stderr, r
        end(a)
        w.wait_for("the end", none)
        top = begin("top", "--json", "-p", pid)
        w.wait_for("top", w.kwsmond)
        r = w.wsmo("record", "-o", path("b"), "-d", "2", "-p", pid)
        assert r.returncode == 0 and r.stderr.startswith(
            "wsmo: already monitored with other attributes: follow=0; they apply here, too\n"), r
        end(top)
        w.wait_for("the end", none)


def marks():
    """A mark reaches all recorders, of any process; --mark-at only its own session"""
    with w.Target(BUSY) as t, w.sleeper() as s:
        a = record("a", t.pid, *FAST)
        b = record("b", t.pid, *FAST)
        # on a busy machine wsmo mark takes seconds
        c = record("c", s.pid, *FAST, "--mark-at", "8")
        r = w.wsmo("mark", "for", "all")
        assert r.returncode == 0 and not r.stderr, r
        time.sleep(9)
        for p in a, b, c:
            end(p)
        assert [m.text for m in records("a", "MARK")] == ["for all"]
        assert [m.text for m in records("b", "MARK")] == ["for all"]
        assert [m.text for m in records("c", "MARK")] == ["for all", "at 8 s"], records("c", "MARK")
        r = w.wsmo("mark", "too late")
        assert r.returncode == 1 and "no recording is running" in r.stderr, r
        r = w.wsmo("mark", "two\nlines")
        assert r.returncode == 2 and "one line" in r.stderr, r


def stacks():
    """Each recording has the stacks of all threads at each mark"""
    program = subprocess.Popen([w.program("stacked"), "8", "30"], stdout=subprocess.PIPE)
    try:
        assert program.stdout.readline() == b"ready\n"
        for name in "a", "b":
            os.unlink(path(name))
        both = [begin("record", "-o", path(name), "-p", str(program.pid), *FAST)
                for name in ("a", "b")]
        for name in "a", "b":
            w.wait_for(name, lambda: os.path.exists(path(name)))
        for n in range(5):
            assert not w.wsmo("mark", "now").returncode
            time.sleep(0.7)
        for p in both:
            end(p)
        for name in "a", "b":
            got = records(name, "STACK")
            assert len(got) == 5 * 9 and not any(s.error for s in got), (
                name, [(s.number, s.tid, s.error) for s in got])
    finally:
        program.kill()
        program.wait()


def overlapping():
    """Sessions with a process in common"""
    with w.Target(BUSY) as t, w.sleeper() as s:
        a = record("a", t.pid, *FAST)
        r = w.wsmo("record", "-o", path("b"), "-d", "2", "-p", "%d,%d" % (t.pid, s.pid), *FAST)
        assert r.returncode == 0 and {x.pid for x in records("b", "WSS")} == {t.pid, s.pid}, r
        end(a)


@contextlib.contextmanager
def group():
    """A cgroup with one below; three processes of SIZE MiB, each using a part: [(process,
    address)]"""
    started = []
    os.mkdir(cgroup_test.ROOT)
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup_test.ROOT], check=True)
    try:
        with cgroup_test.Cgroup():
            for name, mib in zip(("test", "test", "test/below"), HOT):
                started.append(act_test.hotset(size=SIZE, hot=mib))
                cgroup_test.attach(name, started[-1][0].pid)
            yield started
    finally:
        for p in [p for p, _ in started] + READERS:
            p.kill()
            p.wait()
        READERS.clear()
        subprocess.run(["umount", "-l", cgroup_test.ROOT], check=True)
        os.rmdir(cgroup_test.ROOT)


def is_right(what, truth, size, low, high):
    """Within 5 %, or in the interval; text and stack of the programs add a little"""
    more = 0.5 * MIB * len(HOT)
    print("# %s: %.1f MiB (%.1f to %.1f), truth %.1f" % (
        what, size / MIB, low / MIB, high / MIB, truth / MIB), flush=True)
    assert 0.95 * truth <= size <= 1.05 * truth + more or low <= truth + more and truth <= high


def cpu_ns():
    """CPU time of all sessions so far"""
    total = 0
    for pid in w.kwsmond():
        with open("/proc/%d/schedstat" % pid) as f:
            total += int(f.read().split()[0])
    return total


def covered(lines, pid, start, end):
    """Bytes of the range in the actions of these lines"""
    pages = set()
    for x in lines:
        if x["type"] == "action" and x["pid"] == pid:
            pages.update(range(max(x["start"], start) >> 12, min(x["end"], end) >> 12))
    return len(pages) << 12


def cold_left(workers):
    """Bytes in RAM that no worker uses"""
    return sum(act_test.resident(p.pid, at + mib * MIB, (SIZE - mib) * MIB)
               for (p, at), mib in zip(workers, HOT))


@w.measured
def group_together():
    """Four commands monitor a cgroup, on one budget, and each is right; one is killed"""
    cpu = ("--cpu", "%d%%" % BUDGET)
    cold = act_test.scheme("64K null null 5% 2s null pageout")
    with act_test.swap(), group() as workers:
        recorder = begin("record", "-o", path("group"), "--cgroup", "test", *cpu)
        top = begin("top", "--json", "--cgroup", "test", *cpu)
        export = begin("export", "openmetrics", "--live", "--cgroup", "test", "--interval", "1s",
                       "-o", path("prom"), *cpu)
        dry = begin("act", "--dry-run", "--json", "-s", cold, "--cgroup", "test", *cpu)
        # of the cgroup, of the one below it, which has a row in top, and of the processes
        w.wait_for("three sessions", lambda: len(w.kwsmond()) == 3, 40)
        # they repay their cost at the beginning
        time.sleep(8)
        began, before = time.monotonic(), cpu_ns()
        time.sleep(6)
        share = 100 * (cpu_ns() - before) / 1e9 / (time.monotonic() - began)
        print("# three sessions take %.1f %% of a processor" % share, flush=True)
        assert len(w.kwsmond()) == 3 and share < 2 * BUDGET, (w.kwsmond(), share)
        lines = [json.loads(line) for line in end(dry)[0].splitlines()]
        for (p, at), mib in zip(workers, HOT):
            middle, end_ = at + mib * MIB, at + SIZE * MIB
            used, idle = covered(lines, p.pid, at, middle), covered(lines, p.pid, middle, end_)
            print("# would page out %.1f MiB, and %.1f that are in use" % (idle / MIB, used / MIB))
            # some regions have used and idle pages
            assert idle > 0.8 * (end_ - middle) and used < 0.05 * (middle - at)
        acting = begin("act", "--json", "-s", cold, "--cgroup", "test", "--cpu", "20%",
                       "--quota-cpu", "100%")
        cold_before = cold_left(workers)
        w.wait_for("cold memory to go", lambda: cold_left(workers) < 0.05 * cold_before, 90)
        top.kill()
        rows = [json.loads(line) for line in top.communicate()[0].splitlines(True) if line.endswith("\n")]
        w.wait_for("the end of its session", lambda: len(w.kwsmond()) == 2)
        with open(path("prom")) as f:
            metrics = dict(line.rsplit(" ", 1) for line in f if line.startswith("wsmon_working_set"))
        rule = json.loads(end(acting)[0].splitlines()[-1])
        assert rule["applied_bytes"] > 0.95 * cold_before and \
            rule["refaulted_bytes"] < 0.05 * sum(HOT) * MIB, rule
        end(export, signal.SIGTERM)
        end(recorder)
        w.wait_for("the end", none)
        with open("/sys/module/wsmon/refcnt") as f:
            assert int(f.read()) == 0
        hot_left = [act_test.resident(p.pid, at, mib * MIB) for (p, at), mib in zip(workers, HOT)]
        assert hot_left == [mib * MIB for mib in HOT], hot_left
    truth = sum(HOT) * MIB
    name = 'wsmon_working_set%s_bytes{cgroup="/test",class="all",window="1"}'
    is_right("export", truth, *(float(metrics[name % x]) for x in ("", "_low", "_high")))
    for name, size in ("/test", truth), ("/test/below", HOT[2] * MIB):
        row = [x for x in rows if x["name"] == name][-1]
        is_right("top %s" % name, size, row["bytes"], row["low"], row["high"])
    out = w.wsmo("report", "summary", "--json", "--time", "3,", "-i", path("group")).stdout
    row, = (x for x in map(json.loads, out.splitlines()) if x.get("class") == "anon")
    is_right("record", truth, row["mean"], row["low"], row["high"])


def a_slow_reader():
    """A stopped reader loses records; another reader loses none"""
    with group():
        slow, other = (begin("record", "-o", path(name), "--cgroup", "test") for name in ("slow", "other"))
        for name in "slow", "other":
            w.wait_for(name, lambda n=name: os.path.exists(path(n)))
        slow.send_signal(signal.SIGSTOP)
        fd = os.open("/dev/wsmon", os.O_RDWR)
        # 4.6 MiB in a buffer of 4 MiB
        for i in range(MARKS):
            os.write(fd, b"mark=" + b"x" * 255)
            if not i % 1000:
                time.sleep(0.1)
        os.close(fd)
        slow.send_signal(signal.SIGCONT)
        time.sleep(3)
        end(other)
        slow.send_signal(signal.SIGINT)
        err = slow.communicate(timeout=60)[1]
        assert slow.returncode == 0 and "LOST" in err, err
    kinds = {}
    for name in "slow", "other":
        with open(path(name), "rb") as f:
            kinds[name] = [(r.type, getattr(r, "records", 0)) for r in wsmon.read(f)[1]]
    assert kinds["other"].count(("MARK", 0)) == MARKS and not any(kind == "LOST" for kind, _ in kinds["other"])
    there = kinds["slow"].count(("MARK", 0))
    lost = sum(n for kind, n in kinds["slow"] if kind == "LOST")
    print("# %d of %d marks are there, %d records were lost" % (there, MARKS, lost))
    assert 10000 < there < MARKS and MARKS - there <= lost < MARKS - there + 100
    # the stream goes on after the loss
    kinds = [kind for kind, _ in kinds["slow"]]
    assert "TOTAL" in kinds[kinds.index("LOST"):], kinds[-20:]


w.need("wsmo", "hotset")
w.main(group_together, a_slow_reader, together, leaves, attributes, marks, stacks, overlapping)
