#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Several commands that monitor at once."""
import json
import os
import signal
import subprocess
import tempfile
import time

import wsmontest as w
import wsmon

FAST = ["--sample", "10ms", "--aggr", "200ms", "--update", "200ms", "--window", "200ms",
        "--cpu", "100%"]
TMP = tempfile.mkdtemp()
MIB = 1 << 20
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


def wsmo(*args):
    return subprocess.run(["wsmo", *args], capture_output=True, text=True)


def begin(*args):
    return subprocess.Popen(["wsmo", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def record(name, pid, *args):
    """One that has begun"""
    if os.path.exists(path(name)):
        os.unlink(path(name))
    p = begin("record", "--no-stacks", "-o", path(name), "-p", str(pid), *args)
    w.wait_for(name, lambda: os.path.exists(path(name)))
    return p


def end(p, sig=signal.SIGINT):
    """What it printed; it was well"""
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
    """Four commands look at one process: one session, in which each has all there is"""
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
    # in "first" there is what the others asked for later
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
    """The first one ends, or is killed: the others go on"""
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
    """Others than those in force are refused, and named; what nobody asked for is not"""
    with w.Target(BUSY) as t:
        pid = str(t.pid)
        a = record("a", pid, *FAST)
        r = wsmo("record", "-o", path("no"), "-d", "1", "-p", pid, *FAST, "--aggr", "400ms",
                 "--window", "400ms,800ms")
        assert r.returncode == 1 and not os.path.exists(path("no")), r
        assert r.stderr == ("wsmo: already monitored with other attributes: aggr_us=200000 "
                            "window_us=200000; leave out --aggr --window, or end that session\n"), r
        # top and act write attributes of their own, and record follows children
        r = wsmo("top", "--json", "--repeat=2", "--aggr", "200ms", "-p", pid)
        assert r.returncode == 0 and r.stdout.count("\n") > 4 and not r.stderr, r
        r = wsmo("act", "-n", "-s", "reclaim", "-d", "1", "-p", pid)
        assert r.returncode == 0 and "; they apply here, too\n" in r.stderr and \
            " sample_us=10000 " in r.stderr, r
        end(a)
        w.wait_for("the end", none)
        top = begin("top", "--json", "-p", pid)
        w.wait_for("top", w.kwsmond)
        r = wsmo("record", "-o", path("b"), "-d", "2", "-p", pid)
        assert r.returncode == 0 and r.stderr.startswith(
            "wsmo: already monitored with other attributes: follow=0; they apply here, too\n"), r
        end(top)
        w.wait_for("the end", none)


def marks():
    """A mark reaches all that record, whichever process; --mark-at one session"""
    with w.Target(BUSY) as t, w.sleeper() as s:
        a = record("a", t.pid, *FAST)
        b = record("b", t.pid, *FAST)
        c = record("c", s.pid, *FAST, "--mark-at", "1")
        r = wsmo("mark", "for", "all")
        assert r.returncode == 0 and not r.stderr, r
        time.sleep(2)
        for p in a, b, c:
            end(p)
        assert [m.text for m in records("a", "MARK")] == ["for all"]
        assert [m.text for m in records("b", "MARK")] == ["for all"]
        assert [m.text for m in records("c", "MARK")] == ["for all", "at 1 s"], records("c", "MARK")
        r = wsmo("mark", "too late")
        assert r.returncode == 1 and "no recording is running" in r.stderr, r
        r = wsmo("mark", "two\nlines")
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
            assert not wsmo("mark", "now").returncode
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
    """Sessions that have a process in common"""
    with w.Target(BUSY) as t, w.sleeper() as s:
        a = record("a", t.pid, *FAST)
        r = wsmo("record", "-o", path("b"), "-d", "2", "-p", "%d,%d" % (t.pid, s.pid), *FAST)
        assert r.returncode == 0 and {x.pid for x in records("b", "WSS")} == {t.pid, s.pid}, r
        end(a)


w.need("wsmo")
w.main(together, leaves, attributes, marks, stacks, overlapping)
