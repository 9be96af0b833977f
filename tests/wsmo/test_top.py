# SPDX-License-Identifier: GPL-2.0
"""wsmo top: its screen in tmux, its tables without a terminal, its remains."""
import contextlib
import csv
import io
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import records as r
import test_json
from command import ENV, GOLDEN, WSMO, Directory, fails, needs, ok, parsed, preloaded, run
from fakemodule import Module, Stream, interval, now
from terminal import TMUX, Terminal, order

in_tmux = needs(TMUX, "there is no tmux")
MIB = 1 << 20
NOBODY = 4194305  # above any process id
ONCE = ("--interval", "1h")  # a screen that does not change
FAST = ("--interval", "50ms")


def name(pid):
    with open("/proc/%d/comm" % pid) as f:
        return f.read()


@contextlib.contextmanager
def process(*args):
    p = subprocess.Popen(args or ("sleep", "1000"), stdin=subprocess.PIPE)
    # its name changes a little later
    while name(p.pid).startswith("python"):
        time.sleep(0.01)
    try:
        yield p
    finally:
        p.kill()
        p.wait()


def figures(pid, other=NOBODY):
    """Arguments of interval(): a process with two windows, one with less, and regions."""
    wss = []
    for p, mib in ((other, 4), (pid, 64)):
        for window, factor in ((1, 1), (60, 2)):
            wss += [(p, "all", mib * factor * MIB, mib * 4 * MIB, window),
                    (p, "heap", mib * factor * MIB // 4, mib * 2 * MIB, window),
                    (p, "anon", mib * factor * MIB // 2, mib * 3 * MIB, window)]
    regions = [(pid, "heap", 0, 8 * MIB, 0.5), (pid, "heap", 8 * MIB, 16 * MIB, 0.499),
               (pid, "anon", 16 * MIB, 48 * MIB, 1), (other, "heap", 0, MIB, 0)]
    return wss, regions


def touches(pid):
    """WHO records: three quarters by sleep's own code, and much too old ones."""
    with open("/proc/%d/maps" % pid) as f:
        at = {os.path.basename(line.split()[-1]): int(line.split("-")[0], 16)
              for line in f if " r-xp " in line}
    sleep, libc = at["sleep"], next(at[x] for x in at if x.startswith("libc"))
    t = now()
    return b"".join(r.who(t, pid, pid, 0, ip, mib * MIB)
                    for t, ip, mib in ((0, libc, 100), (t, sleep, 1), (t, libc, 1), (t, sleep, 2)))


def masked(text, pid):
    """Without parts that differ between runs: process id, resident size, clocks."""
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


@contextlib.contextmanager
def stream(*figures, **more):
    with Directory() as d:
        s = Stream(d, *figures, **more)
        try:
            yield s
        finally:
            s.close()


def watch(s, *args, **kw):
    s.restart()
    return Terminal("top", "--debugfs", s.dir.name, *args, **kw)


@in_tmux
def test_screens(accept):
    with process() as p, stream(*figures(p.pid)) as d:
        with watch(d, *ONCE) as t:
            for columns, lines in ((100, 24), (80, 12), (50, 8)):
                t.resize(columns, lines)
                # tmux tells wsmo late; the last line is drawn last
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
        d.show(*figures(p.pid), more=touches(p.pid))
        with watch(d, *ONCE) as t:
            good, text = t.wait("WHO", " 75% sleep\n", "q quit")
            ok(good, "who touches most, on the screen", text)
        d.show(*figures(p.pid))
        with watch(d, *ONCE, env={"LC_ALL": "C"}) as t:
            good, text = t.wait("TREND", "#")
            ok(good and text.isascii(), "trends without block characters", text)


# The terminal becomes narrow once, between drawing a screen and the next wait
RESIZE = b"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
static int (*next_poll)(struct pollfd *, nfds_t, int);
static void resize(struct pollfd *fds, nfds_t nr)
{
	struct winsize size = { .ws_row = 24, .ws_col = 40 };
	static int done;

	next_poll = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	if (nr != 3 || next_poll(fds, nr, 0) || done++)
		return;
	ioctl(1, TIOCSWINSZ, &size);
	raise(SIGWINCH);
}
int poll(struct pollfd *fds, nfds_t nr, int ms)
{
	resize(fds, nr);
	return next_poll(fds, nr, ms);
}
int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *t, const sigset_t *mask)
{
	resize(fds, nr);
	return ((int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))
		dlsym(RTLD_NEXT, "ppoll"))(fds, nr, t, mask);
}
"""


@in_tmux
def test_narrow():
    """40 columns, even if the change comes at a bad moment; odd names."""
    names = {NOBODY: b"\x1b" * 15}
    with process() as p, stream(*figures(p.pid), names=names) as d, Directory() as tmp:
        with watch(d, *ONCE, columns=40) as t:
            text = t.wait("NAME                WSS    HIGH\n", "q quit")[1]
        rows = [line for line in text.splitlines() if line.startswith(str(NOBODY))]
        ok(rows and rows[0] == "%d %-15.15s    4.0M    5.0M" % (NOBODY, "\\033" * 4),
           "a long name stays in its field", text)
        d.restart()
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        top = subprocess.Popen(
            [WSMO, "top", "--debugfs", d.dir.name, *ONCE], stdin=theirs, stdout=theirs, start_new_session=True,
            env=dict(ENV, TERM="xterm", **preloaded(tmp, tmp.write("resize.c", RESIZE))))
        shown, end = b"", time.time() + 20
        # it clears the screen, and draws as much as fits
        while (shown.count(b"\x1b[2J") < 2 or b"HIGH" not in shown.split(b"\x1b[2J")[-1]) and time.time() < end:
            if select.select([ours], [], [], 0.1)[0]:
                shown += os.read(ours, 65536)
        ok(b"RSS    IDLE" in shown and shown.count(b"\x1b[2J") == 2 and b"RSS" not in shown.split(b"\x1b[2J")[-1],
           "a new size is never missed", shown[-2000:])
        os.write(ours, b"q")
        ok(top.wait(20) == 0, "  and it goes on")
        os.close(ours)
        os.close(theirs)


@in_tmux
def test_keys():
    with process() as p, stream(*figures(p.pid)) as d:
        pid, nobody = str(p.pid), str(NOBODY)

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
                    ("idle", [pid, "heap", "anon", nobody, "heap", "anon"]),
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


@in_tmux
def test_pause():
    with process() as p, stream(*figures(p.pid)) as d:
        wss, regions = figures(p.pid)
        with watch(d, *FAST) as t:
            t.wait("64.0M")
            t.keys("p")
            t.wait("PAUSED")
            wss[6] = (p.pid, "all", 77 * MIB, 256 * MIB)
            d.show(wss, regions, cpu_ns=10 ** 9)
            time.sleep(0.5)
            t.keys("r")
            ok(t.wait("reversed")[0] and "77.0M" not in t.text(), "paused figures stay", t.text())
            t.keys("Space")
            # an interval from before the key would be left out
            t.wait("reversed", without=("PAUSED",))
            d.show(wss, regions, cpu_ns=2 * 10 ** 9)
            ok(t.wait("77.0M", "% of one CPU")[0], "and go on", t.text())


@in_tmux
def test_watched_events():
    def lost(n):
        return r.record(r.LOST, now(), r.struct.pack("<QQ", n, 3456))

    with process() as p, process("sh", "-c", "read line; exec tail -f /dev/null") as q, \
            stream(*figures(p.pid, q.pid), lost=5) as d:
        wss, regions = figures(p.pid, q.pid)
        with watch(d, *FAST) as t:
            good, text = t.wait("5 lost")
            ok(good and "LOST" not in text, "what was before is no event", text)
            d.send(lost(2))
            t.wait("LOST 2 records")
            d.send(lost(1))
            d.show(wss, regions, lost=8)
            ok(t.wait("LOST 3 records", "8 lost")[0] and t.text().count("LOST") == 1,
               "losses are one event", t.text())
            d.show(wss[:3], regions)
            t.wait("1 process,")
            d.send(interval(wss) + lost(1))
            d.show(wss[:3], regions)
            ok(t.wait("1 process,", "LOST 4", without=("64.0M",))[0], "intervals with a loss are not mixed", t.text())
            d.show(wss, regions, lost=8, more=r.peak(now(), q.pid, 2, 1, 0, -1, size=64 * MIB,
                                                     baseline=16 * MIB))
            good, text = t.wait("%d sh: dip 2 of text, 64.0 MiB; usual is 16.0 MiB" % q.pid, "64.0M")
            ok(good, "peaks", text)
            d.send(r.target(now(), q.pid, b"tail", 1))
            ok(t.wait("%d executed tail" % q.pid)[0], "a program was executed", t.text())
            d.send(r.exit_(now(), p.pid))
            good, text = t.wait("%d sleep ended" % p.pid, "%d sleep " % p.pid)
            ok(good, "a process ended", text)
            d.show([row for row in wss if row[0] != p.pid])
            ok(t.wait("1 process,", without=("64.0M",))[0], "its figures go", t.text())
            d.send(r.end(now()))
            d.write_status("idle: told to stop")
            ok(t.wait("monitoring ended: stopped", "top: ended", "  %d tail" % q.pid)[0],
               "monitoring ended; the last figures stay", t.text())
            d.write_status("running")
            d.restart()
            ok(t.wait("monitoring started", "top: running")[0], "and began anew", t.text())
            d.write_status("idle: told to stop")
            d.send(r.end(now()))
            t.wait("top: ended")
            os.unlink(d.dir.path("status"))
            good, text = t.restored(1)
            ok(good and "wsmo: " + d.dir.path("status") in text.replace("\n", ""),
               "the module goes: a message behind the screen", text)


@in_tmux
def test_left_alone():
    """Other monitoring goes on, and the terminal is as it was."""
    with process() as p, stream(*figures(p.pid)) as d:
        d.dir.write("target", b"another's")
        d.dir.write("attrs", b"another's")
        for key, name in (("q", "q"), ("C-c", "Ctrl-C")):
            with watch(d) as t:
                t.wait("64.0M")
                t.keys(key)
                good, text = t.restored(0)
                ok(good, name + " quits", text)
        ok(d.dir.read("target") == d.dir.read("attrs") == b"another's",
           "other monitoring is left alone")
        d.restart()
        res = run("top", "--debugfs", d.dir.name, "--repeat=1", env={"TERM": "none"})
        ok(res.returncode == 0 and res.stdout, "tables need no terminal type", res)


@contextlib.contextmanager
def fake(script):
    """A fake module; script(module, pids) runs during monitoring."""
    def serve(m, pids):
        m.begin(pids)
        script(m, pids)

    with Directory() as d:
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


@in_tmux
def test_own_session():
    def script(m, pids):
        m.send(interval(*figures(pids[0])))
        m.send(r.record(r.TARGET, now(), r.struct.pack("<II16s", pids[0], 1, b"\33[31mred")))
        m.send(r.record(r.LOST, now(), r.struct.pack("<QQ", 12, 3456)))
        m.send(r.exit_(now(), NOBODY))
        m.send(r.peak(now(), pids[0], 3, 1, 1, size=MIB, baseline=MIB))
        m.send(r.peak(now(), pids[0], 4, 0, 0, size=9 * MIB, baseline=3 * MIB))
        until_told(m, pids)

    for key in ("q", "C-c"):
        with process() as p, fake(script) as (d, m):
            with Terminal("top", "--debugfs", d.name, "-p", str(p.pid), "--sample", "10ms", *FAST) as t:
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


@in_tmux
def test_hang_up():
    def script(m, pids):
        m.send(interval(*figures(pids[0])))
        until_told(m, pids)

    with process() as p, fake(script) as (d, m):
        t = Terminal("top", "--debugfs", d.name, "-p", str(p.pid), *FAST,
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


@in_tmux
def test_command():
    def script(m, pids):
        m.send(interval(*figures(pids[0])))
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
        with Terminal("top", "--debugfs", d.name, "--command-output", out.path("out"), *FAST, "--", "sh", "-c",
                   "cat; echo said; echo it >&2; sleep 0.5; exit 7") as t:
            good, text = t.wait("monitoring ended: targets gone", "top: ended")
            ok(good and "said" not in text, "a command's end is told", text)
            t.keys("q")
            good, text = t.restored(7)
            ok(good and out.read("out") == b"said\nit\n" and len(m.targets) == 1,
               "its exit status, its output in a file", text, m.targets)
    with fake(script) as (d, m):
        with Terminal("top", "--debugfs", d.name, *FAST, "--", "sh", "-c", "trap 'exit 5' TERM; sleep 1 & wait; echo seen") as t:
            t.wait("64.0M")
            t.keys("q")
            good, text = t.restored(0)
            ok(good and "waiting for sh" in text and "seen" not in text and
               m.targets[1:] == ["stop"], "q: monitoring ends, the command is waited for",
               text, m.targets)
    with fake(script) as (d, m):
        with Terminal("top", "--debugfs", d.name, *FAST, "--", "sleep", "1000") as t:
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


def test_tables():
    with process() as p, stream(*figures(p.pid)) as d:
        directory = d.dir.name

        def top(*args):
            d.restart()
            return run("top", "--debugfs", directory, *FAST, *args)

        res = top("--json", "--repeat=2", "--no-classes", "--window", "1m")
        rows = parsed(res)
        want = {"type": "top", "pid": p.pid, "comm": "sleep", "class": "all", "window_us": 60000000,
                "bytes": 128 * MIB, "low": 96 * MIB, "high": 160 * MIB, "share": 0.5,
                "hot": 40 * MIB, "regions": 3}
        ok(len(rows) == 4 and {k: v for k, v in rows[0].items() if k in want} == want and
           4096 < rows[0]["rss"] < 64 * MIB and rows[1]["rss"] is None and
           rows[0]["t"] < 0.05 <= rows[2]["t"], "--json", rows, res.stderr)
        d.show(*figures(p.pid), more=touches(p.pid))
        res = top("--json", "--repeat=1", "--no-classes")
        rows += parsed(res)
        ok([(row["who"], row["who_share"]) for row in rows[4:]] == [("sleep", 0.75), (None, None)],
           "who touches most", rows[4:], res.stderr)
        res = top("--repeat=1")
        ok(b" OF IT" in res.stdout and b" 75.0 %" in res.stdout, "a column of it", res.stdout.decode())
        for args in ("--who",), ("--who=0", "-p", "1"), ("--who", "--all"):
            res = top(*args)
            ok(res.returncode == 2 and b"who" in res.stderr, " ".join(args) + " is refused", res.stderr)
        fields = test_json.documented()[0]["top"]["top"]
        bad = [(test_json.wrong("top", fields, row), row) for row in rows]
        ok(not any(why for why, _ in bad) and
           {field for row in rows for field in row if row[field] is not None} > set(fields),
           "--json is as documented", *bad[:3])
        d.show([(p.pid, "all", 1, 2, us / 1e6) for us in (500, 1000, 1500)])
        for us in 500, 1000, 1500:
            res = top("--json", "--repeat=1", "--window", "%dus" % us)
            ok(json.loads(res.stdout)["window_us"] == us, "--window %dus" % us, res.stdout)
        d.show(*figures(p.pid))
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
        d.show(*figures(p.pid), more=r.group(now(), 5) + r.total(now(), "all", 3 * MIB, 2 * MIB, 4 * MIB, 9 * MIB))
        res = top("--json", "--repeat=1", "--no-classes")
        rows = parsed(res)
        ok([(row["pid"], row["comm"], row["bytes"], row["regions"]) for row in rows][:1] ==
           [(0, "total", 3 * MIB, 500)] and [row["pid"] for row in rows[1:]] == [p.pid, NOBODY],
           "the total of all is first, however small", rows)
        d.show(*figures(p.pid))
        d.restart()
        shown = subprocess.Popen([WSMO, "top", "--debugfs", directory, *FAST], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = shown.stdout.readline()
        d.send(r.end(now()))
        rest, err = shown.communicate(timeout=20)
        ok(b"WSS" in first and shown.returncode == 0 and
           b"wsmo: monitoring ended: stopped\n" in err,
           "no terminal: tables until monitoring ends", rest, err)
        d.write_status("idle: told to stop")
        fails(top(), "nothing is monitored", "nothing is being monitored", "-p")
        d.write_status("running")
        d.restart()
        shown = subprocess.Popen([WSMO, "top", "--debugfs", directory, "--json"], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown.stdout.readline()
        shown.send_signal(signal.SIGINT)
        err = shown.communicate(timeout=20)[1]
        ok(shown.returncode == 0 and not err, "an interrupt ends it", shown.returncode, err)
        d.restart()
        began = time.time()
        res = run("top", "--debugfs", directory, "--csv", "--interval", "1h", "--duration", "0.3")
        ok(res.returncode == 0 and res.stdout.count(b"\n") == 7 and
           0.3 <= time.time() - began < 10, "--duration ends it", res)
        d.restart()
        with open("/dev/full", "w") as full:
            fails(run("top", "--debugfs", directory, "--repeat", stdout=full), "a full disk",
                  "cannot write")
        os.unlink(d.dir.path("buffer"))
        fails(run("top", "--debugfs", directory, "--repeat=1"), "a file is not there", "buffer")
