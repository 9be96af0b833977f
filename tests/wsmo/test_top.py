# SPDX-License-Identifier: GPL-2.0
"""wsmo top: its screen in tmux, its tables without one, what it leaves behind."""
import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import time

import records as r
import test_json
from command import ENV, GOLDEN, WSMO, Directory, fails, ok, run, skip
from fakemodule import Module, now, peak_line, show
from terminal import TMUX, Terminal, order

MIB = 1 << 20
NOBODY = 4194305  # beyond the largest process id there can be
ONCE = ("--interval", "1h")  # a screen that stays as it is
FAST = ("--interval", "50ms")


@contextlib.contextmanager
def process(*args):
    p = subprocess.Popen(args or ("sleep", "1000"), stdin=subprocess.PIPE)
    try:
        yield p
    finally:
        p.kill()
        p.wait()


def figures(pid, other=NOBODY):
    """What show() gets: a process with two windows, one with less, and regions."""
    wss = []
    for p, mib in ((other, 4), (pid, 64)):
        for window, factor in ((1, 1), (60, 2)):
            wss += [(p, "all", mib * factor * MIB, mib * 4 * MIB, window),
                    (p, "heap", mib * factor * MIB // 4, mib * 2 * MIB, window),
                    (p, "anon", mib * factor * MIB // 2, mib * 3 * MIB, window)]
    regions = [(pid, "heap", 0, 8 * MIB, 0.5), (pid, "heap", 8 * MIB, 16 * MIB, 0.499),
               (pid, "anon", 16 * MIB, 48 * MIB, 1), (other, "heap", 0, MIB, 0)]
    return wss, regions


def masked(text, pid):
    """Without what differs from run to run: a process id, its resident size, clocks."""
    text = text.replace("%7d" % pid, "    PID")
    text = re.sub(r"^(    PID sleep {11}(?: +[\d.]+[BKMG]){3}) {1,6}[\d.]+[KM]",
                  r"\1     RSS", text, flags=re.M)
    text = re.sub(r"\d\d:\d\d:\d\d", "HH:MM:SS", text)
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def golden(accept, name, text):
    path = os.path.join(GOLDEN, name)
    if accept:
        with open(path, "w") as f:
            f.write(text)
    with open(path) as f:
        want = f.read()
    ok(text == want, "golden " + name, text)


def watch(d, *args, **kw):
    return Terminal("top", "--debugfs", d.name, *args, **kw)


def screens(accept):
    with Directory() as d, process() as p:
        show(d, *figures(p.pid))
        with watch(d, *ONCE) as t:
            for columns, lines in ((100, 24), (80, 12), (50, 8)):
                t.resize(columns, lines)
                # tmux tells wsmo when it likes; the last line is drawn last
                t.wait("q quit")
                time.sleep(0.5)
                golden(accept, "top.%dx%d.txt" % (columns, lines), masked(t.text(), p.pid))
            for columns, lines in ((5, 3), (1, 1), (200, 50), (100, 24)):
                t.resize(columns, lines)
                time.sleep(0.2)
            golden(accept, "top.100x24.txt", masked(t.wait("TREND")[1], p.pid))
            t.keys("h")
            golden(accept, "top.help.txt", t.wait("Any key")[1])
            t.keys("x")
            ok(t.wait("by wss")[0], "a key leaves the help")
        with watch(d, *ONCE, env={"LC_ALL": "C"}) as t:
            good, text = t.wait("TREND", "#")
            ok(good and text.isascii(), "trends without block characters", text)


def keys():
    with Directory() as d, process() as p:
        pid, nobody = str(p.pid), str(NOBODY)
        show(d, *figures(p.pid))

        def expect(key, words, rows, name):
            t.keys(*key)
            good, text = t.wait(*words, rows=rows)
            ok(good, name, order(text), text)

        with watch(d, *ONCE) as t:
            expect((), ("by wss",), [pid, "anon", "heap", nobody, "anon", "heap"], "by WSS")
            expect("r", ("wss, reversed",), [nobody, "heap", "anon", pid, "heap", "anon"],
                   "r reverses")
            expect("r", ("by wss\n",), None, "r again")
            for by, rows in (
                    ("share", [pid, "anon", "heap", nobody, "anon", "heap"]),
                    ("hot", [pid, "anon", "heap", nobody, "heap", "anon"]),
                    ("rss", [pid, "heap", "anon", nobody, "heap", "anon"]),
                    ("pid", [pid, "heap", "anon", nobody, "heap", "anon"]),
                    ("name", [nobody, "heap", "anon", pid, "heap", "anon"]),
                    ("wss", [pid, "anon", "heap", nobody, "anon", "heap"])):
                expect("s", ("by " + by,), rows, "s: by " + by)
            expect(("f", "h", "e"), ("only: he_",), [pid, "heap", nobody, "heap"],
                   "f: classes while they are typed")
            expect(("Enter",), ("only he", "q quit"), [pid, "heap", nobody, "heap"], "Enter")
            expect(("f", "S", "L", "x", "BSpace", "Enter"), ("only SL",), [pid, "anon", "heap"],
                   "names, upper or lower case")
            expect(("f", "9", "9", "z", "Enter"), ("nothing matches",), [], "what nothing matches")
            expect(("f", "x", "Escape"), ("only 99z",), [], "Escape takes it back")
            expect(("f", "Enter"), ("by wss\n",), [pid, "anon", "heap", nobody, "anon", "heap"],
                   "an empty filter")
            expect("c", ("without classes",), [pid, nobody], "c leaves classes out")
            expect("c", ("by wss\n",), None, "c again")
            expect("w", ("window 1m00s", "128.0M", "50%"), None, "w: the longer window")
            expect("w", ("window 1 s", "64.0M", "25%"), None, "w: the first again")
            t.resize(100, 7)
            expect(("Down",), ("  heap",), ["anon", "heap", nobody], "Down")
            expect(("End",), (nobody,), [nobody, "anon", "heap"], "End")
            expect(("Up",), (), ["heap", nobody, "anon"], "Up")
            expect(("Home",), ("sleep",), [pid, "anon", "heap"], "Home")


def pause():
    with Directory() as d, process() as p:
        wss, regions = figures(p.pid)
        show(d, wss, regions)
        with watch(d, *FAST) as t:
            t.wait("64.0M")
            t.keys("p")
            t.wait("PAUSED")
            wss[6] = (p.pid, "all", 77 * MIB, 256 * MIB)
            show(d, wss, regions, cpu_ns=10 ** 9)
            time.sleep(0.5)
            ok("77.0M" not in t.text(), "paused figures stay", t.text())
            t.keys("Space")
            ok(t.wait("77.0M", "% of one CPU", without=("PAUSED",))[0], "and go on",
               t.text())


def watched_events():
    with Directory() as d, process() as p, \
            process("sh", "-c", "read line; exec tail -f /dev/null") as q:
        wss, regions = figures(p.pid, q.pid)
        show(d, wss, regions, lost=5, peaks=peak_line(q.pid, 7))
        with watch(d, *FAST) as t:
            good, text = t.wait("5 lost")
            time.sleep(0.2)
            ok(good and "LOST" not in text and "peak" not in t.text(),
               "what was before is no event", t.text())
            show(d, wss, regions, lost=7)
            t.wait("LOST 2 records")
            show(d, wss, regions, lost=8)
            ok(t.wait("LOST 3 records", "8 lost")[0] and t.text().count("LOST") == 1,
               "losses are one event", t.text())
            seen = peak_line(p.pid, 1, end_ns=2 * 10**9)
            show(d, wss, regions, lost=8, peaks=seen)
            t.wait("peak 1 of all")
            show(d, wss, regions, lost=8, peaks=seen + peak_line(q.pid, 2, "text", -1))
            good, text = t.wait("%d sh: dip 2 of text, 64.0 MiB; usual is 16.0 MiB" % q.pid)
            ok(good and text.count("peak 1 of all") == 1, "peaks, each once", text)
            show(d, wss, regions, lost=8, peaks=peak_line(p.pid, 1, start_ns=3 * 10**9))
            t.wait("peak 1 of all", rows=None)
            time.sleep(0.3)
            ok(t.text().count("peak 1 of all") == 2, "and of a new session, too", t.text())
            q.stdin.write(b"\n")
            q.stdin.close()
            ok(t.wait("%d sh is now tail" % q.pid)[0], "a program was executed", t.text())
            p.kill()
            p.wait()
            # the module tells of it once more
            time.sleep(0.3)
            show(d, [row for row in wss if row[0] != p.pid], lost=8)
            ok(t.wait("%d sleep ended" % p.pid)[0], "a process ended", t.text())
            show(d, (), status="idle: told to stop", lost=8)
            ok(t.wait("monitoring ended: idle: told to stop", "  %d tail" % q.pid)[0],
               "monitoring ended; the last figures stay", t.text())
            show(d, [row for row in wss if row[0] == q.pid])
            ok(t.wait("monitoring started")[0], "and began anew", t.text())


def left_alone():
    """Other monitoring goes on, and the terminal is as it was."""
    with Directory() as d, process() as p:
        show(d, *figures(p.pid))
        d.write("target", b"another's")
        d.write("attrs", b"another's")
        for key, name in (("q", "q"), ("C-c", "Ctrl-C")):
            with watch(d) as t:
                t.wait("64.0M")
                t.keys(key)
                good, text = t.restored(0)
                ok(good, name + " quits", text)
        ok(d.read("target") == d.read("attrs") == b"another's" and
           not os.path.exists(d.path("buffer")), "other monitoring is left alone")
        with watch(d, *FAST) as t:
            t.wait("64.0M")
            os.unlink(d.path("wss"))
            good, text = t.restored(1)
            ok(good and "wsmo: " + d.path("wss") in text.replace("\n", ""),
               "the module goes: a message behind the screen", text)
        show(d, *figures(p.pid))
        res = run("top", "--debugfs", d.name, "--repeat=1", env={"TERM": "none"})
        ok(res.returncode == 0 and res.stdout, "tables need no terminal type", res)


@contextlib.contextmanager
def fake(script):
    """The module; script(module, pids) runs while monitoring does."""
    def serve(m, pids):
        m.begin(pids)
        script(m, pids)

    with Directory() as d:
        show(d, status="idle: never started")
        m = Module(d, script=serve)
        try:
            yield d, m
        finally:
            m.close()


def until_told(m, _pids):
    """Serve until wsmo ends the session."""
    text = m.asked(20)
    if text is not None:
        m.targets.append(text)
        m.send(r.end(now(), 0))


def own_session():
    def script(m, pids):
        show(m.dir, *figures(pids[0]))
        m.send(r.record(r.TARGET, now(), r.struct.pack("<II16s", pids[0], 1, b"\33[31mred")))
        m.send(r.record(r.LOST, now(), r.struct.pack("<QQ", 12, 3456)))
        m.send(r.exit_(now(), NOBODY))
        m.send(r.peak(now(), pids[0], 3, 1, 1, size=MIB, baseline=MIB))
        m.send(r.peak(now(), pids[0], 4, 0, 0, size=9 * MIB, baseline=3 * MIB))
        until_told(m, pids)

    for key in ("q", "C-c"):
        with process() as p, fake(script) as (d, m):
            with watch(d, "-p", str(p.pid), "--sample", "10ms", *FAST) as t:
                good, text = t.wait("64.0M", "LOST 12 records", "%d ended" % NOBODY,
                                    "%d executed \\033[31mred" % p.pid)
                ok(good, "events of the stream", text)
                good, text = t.wait(": peak 4 of all, 9.0 MiB; usual is 3.0 MiB")
                ok(good and "peak 3" not in text, "where a peak begins", text)
                res = run("mark", "--debugfs", d.name, "load", "\033begins")
                good, text = t.wait("mark 1: load \\033begins")
                ok(good and not res.returncode, "a mark", text, res)
                t.keys(key)
                good, text = t.restored(0)
                ok(good, "the terminal is restored", text)
                m.thread.join(20)
                ok(m.targets == ["%d\n" % p.pid, "\n"] and m.attrs == "sample_us=10000 follow=0\n" and
                   m.dir.read("attrs") == b"sample_us=100000 follow=0\n",
                   "%s: the session ended, attributes are restored" % key, m.targets, m.attrs)
                ok(p.poll() is None, "its process goes on")


def hang_up():
    def script(m, pids):
        show(m.dir, *figures(pids[0]))
        until_told(m, pids)

    with process() as p, fake(script) as (d, m):
        t = watch(d, "-p", str(p.pid), *FAST,
                  env={"ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":detect_leaks=0"})
        t.wait("64.0M")
        pid = t.pid()
        t.tmux("kill-server")
        m.thread.join(20)
        end = time.time() + 20
        while os.path.exists("/proc/%d" % pid) and time.time() < end:
            time.sleep(0.05)
        ok(m.targets[1:] == ["\n"] and not os.path.exists("/proc/%d" % pid),
           "the terminal goes: the session ends, and wsmo", m.targets)
        t.cleanup()


def command():
    def script(m, pids):
        show(m.dir, *figures(pids[0]))
        while os.path.exists("/proc/%d/exe" % pids[0]):
            try:
                os.readlink("/proc/%d/exe" % pids[0])
            except OSError:
                break
            if m.asked(0.05) is not None:
                m.targets.append("stop")
                break
        m.send(r.exit_(now(), pids[0]))
        m.send(r.end(now(), 1))

    with fake(script) as (d, m), Directory() as out:
        with watch(d, "--command-output", out.path("out"), *FAST, "--", "sh", "-c",
                   "cat; echo said; echo it >&2; sleep 0.5; exit 7") as t:
            good, text = t.wait("monitoring ended: targets gone", "idle")
            ok(good and "said" not in text, "a command's end is told", text)
            t.keys("q")
            good, text = t.restored(7)
            ok(good and out.read("out") == b"said\nit\n" and len(m.targets) == 1,
               "its exit status, its output in a file", text, m.targets)
    with fake(script) as (d, m):
        with watch(d, *FAST, "--", "sh", "-c", "trap 'exit 5' TERM; sleep 1 & wait; echo seen") as t:
            t.wait("64.0M")
            t.keys("q")
            good, text = t.restored(0)
            ok(good and "waiting for sh" in text and "seen" not in text and
               m.targets[1:] == ["stop"], "q: monitoring ends, the command is waited for",
               text, m.targets)
    with fake(script) as (d, m):
        with watch(d, *FAST, "--", "sleep", "1000") as t:
            t.wait("64.0M")
            t.keys("C-c")
            good, text = t.restored(130)
            ok(good, "Ctrl-C ends the command, too", text)
    with fake(script) as (d, m):
        res = run("top", "--debugfs", d.name, *FAST, "--", "sh", "-c", "sleep 0.5; exit 7")
        ok(res.returncode == 7 and b" heap " in res.stdout and b"targets gone" in res.stderr,
           "a command without a screen", res)
    for what, status, word in ((("--command-output", "/no/such/file", "--", "true"), 126, "/no/such/file"),
                               (("--", "/no/such/command"), 127, "no such command")):
        with fake(until_told) as (d, m):
            fails(run("top", "--debugfs", d.name, *what), word, word, status=status)
            m.thread.join(20)
            ok(m.targets[1:] == ["\n"], "and monitoring was stopped", m.targets)


def tables():
    with Directory() as d, process() as p:
        show(d, *figures(p.pid))

        def top(*args):
            return run("top", "--debugfs", d.name, *FAST, *args)

        res = top("--json", "--repeat=2", "--no-classes", "--window", "1m")
        rows = [json.loads(line) for line in res.stdout.splitlines()]
        want = {"type": "top", "pid": p.pid, "comm": "sleep", "class": "all", "window_us": 60000000,
                "bytes": 128 * MIB, "low": 96 * MIB, "high": 160 * MIB, "share": 0.5,
                "hot": 40 * MIB, "regions": 3}
        ok(len(rows) == 4 and {k: v for k, v in rows[0].items() if k in want} == want and
           4096 < rows[0]["rss"] < 64 * MIB and rows[1]["rss"] is None and
           rows[0]["t"] < 0.05 <= rows[2]["t"], "--json", rows, res.stderr)
        fields = test_json.documented()[0]["top"]["top"]
        bad = [(test_json.wrong("top", fields, row), row) for row in rows]
        ok(not any(why for why, _ in bad) and
           {field for row in rows for field in row if row[field] is not None} > set(fields),
           "--json is as documented", *bad[:3])
        show(d, [(p.pid, "all", 1, 2, us / 1e6) for us in (500, 1000, 1500)])
        for us in 500, 1000, 1500:
            res = top("--json", "--repeat=1", "--window", "%dus" % us)
            ok(json.loads(res.stdout)["window_us"] == us, "--window %dus" % us, res.stdout)
        show(d, *figures(p.pid))
        res = top("--csv", "--repeat=3", "--filter", "heap", "--sort", "pid", "--reverse")
        rows = list(csv.DictReader(io.StringIO(res.stdout.decode())))
        ok([row["pid"] for row in rows] == [str(NOBODY)] * 2 + [str(p.pid)] * 2 +
           [str(NOBODY)] * 2 + [str(p.pid)] * 2 + [str(NOBODY)] * 2 + [str(p.pid)] * 2 and
           {row["class"] for row in rows} == {"all", "heap"},
           "--csv: one heading, filtered, sorted", res.stdout.decode())
        res = top("--repeat=1", "--raw")
        ok(b" 67108864 " in res.stdout and b"0.25" in res.stdout, "--raw", res.stdout)
        res = top("--repeat=2")
        ok(res.returncode == 0 and b" 64.0 MiB " in res.stdout and
           res.stdout.count(b"WSS") == 1 and res.stdout.count(b"\n") == 13 and
           not res.stderr, "a table for people", res.stdout.decode(), res.stderr)
        shown = subprocess.Popen([WSMO, "top", "--debugfs", d.name, *FAST], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = shown.stdout.readline()
        show(d, status="idle: told to stop")
        rest, err = shown.communicate(timeout=20)
        ok(b"WSS" in first and shown.returncode == 0 and
           b"wsmo: monitoring ended: idle: told to stop\n" in err,
           "no terminal: tables until monitoring ends", rest, err)
        fails(top(), "nothing is monitored", "nothing is being monitored", "-p")
        show(d, *figures(p.pid))
        shown = subprocess.Popen([WSMO, "top", "--debugfs", d.name, "--json"], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown.stdout.readline()
        shown.send_signal(signal.SIGINT)
        err = shown.communicate(timeout=20)[1]
        ok(shown.returncode == 0 and not err, "an interrupt ends it", shown.returncode, err)
        began = time.time()
        res = run("top", "--debugfs", d.name, "--csv", "--interval", "1h", "--duration", "0.3")
        ok(res.returncode == 0 and res.stdout.count(b"\n") == 7 and
           0.3 <= time.time() - began < 10, "--duration ends it", res)
        with open("/dev/full", "w") as full:
            fails(run("top", "--debugfs", d.name, "--repeat", stdout=full), "a full disk",
                  "cannot write")
        d.write("regions", b"pid=1 class=heap start=zz\n")
        fails(top("--repeat=1"), "a file of another version", "regions", "versions")
        os.unlink(d.path("regions"))
        fails(top("--repeat=1"), "a file is not there", "regions")


def main(accept):
    tables()
    if not TMUX:
        skip("screens", "there is no tmux")
        return
    screens(accept)
    keys()
    pause()
    watched_events()
    left_alone()
    own_session()
    hang_up()
    command()
