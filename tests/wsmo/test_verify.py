# SPDX-License-Identifier: GPL-2.0
"""wsmo sizing --verify, on a fake cgroup: limits that are set, measurements, restoring."""
import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "report"))
import records as r  # noqa: E402
import test_json  # noqa: E402
from command import ENV, WSMO, Directory, ok, parsed, run, skip, wait_for  # noqa: E402
from test_sizing import MIB, random_use, recording  # noqa: E402

SWAP = r.refault(0, 0, 100000, half_ns=5000)
CLONE_NEWNS = 0x20000
LIMIT, KERNEL = 40 * MIB, 3 * MIB


class Cgroup(threading.Thread):
    """Files of a cgroup. Counters rise by RATE refaults of memory a second, by refaults of FILES
    pages that were read at WAITS faults, and by STALL of each second"""
    RATE, FILES, WAITS, STALL = 300, 400, 20, 0.03

    def __init__(self, d, anon=30 * MIB, pressure=0.5):
        super().__init__(daemon=True)
        self.d, self.anon, self.pressure, self.began = d, anon, pressure, time.monotonic()
        self.over = threading.Event()
        d.write("data", recording(random_use, first=SWAP))
        d.write("memory.high", b"max\n")
        self.update()

    def update(self):
        t = time.monotonic() - self.began
        for name, text in (
                ("memory.current", "%d\n" % (self.anon + 15 * MIB + KERNEL)),
                ("memory.stat", "anon %d\nfile %d\nkernel 1\nworkingset_refault_anon %d\n"
                 "workingset_refault_file %d\npgmajfault %d\n" % (
                     self.anon, 15 * MIB, 100 + self.RATE * t, 7 + self.FILES * t, 9 + (self.RATE + self.WAITS) * t)),
                ("memory.pressure", "some avg10=%.2f avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 "
                 "avg300=0.00 total=0\n" % (self.pressure, 1e6 * self.STALL * t))):
            self.d.write("new", text.encode())
            os.rename(self.d.path("new"), self.d.path(name))

    def run(self):
        while not self.over.wait(0.05):
            self.update()

    def high(self):
        return self.d.read("memory.high").decode().strip()


@contextlib.contextmanager
def fake(**kw):
    with Directory() as d:
        cgroup = Cgroup(d, **kw)
        cgroup.start()
        try:
            yield d, cgroup
        finally:
            cgroup.over.set()
            cgroup.join()


def args(d, *more, limit=LIMIT, seconds="4s"):
    return ("sizing", "--verify", d.name, "-i", d.path("data"), "-d", seconds, "--limit", str(limit), *more)


def start(d, *more, **kw):
    return subprocess.Popen([WSMO, *args(d, "--yes", *more, **kw)], env=ENV, stdin=subprocess.DEVNULL,
                            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_measures():
    with fake() as (d, c):
        p = start(d, "--json")
        was_set = wait_for(lambda: c.high() == str(LIMIT + KERNEL))
        out, err = p.communicate()
        x = json.loads(out) if out else {}
        predicted = json.loads(run("report", "sizing", "--json", "-i", d.path("data"), "--limit", str(LIMIT))
                               .stdout.splitlines()[0])
        ok(was_set and p.returncode == 0 and not err, "the limit and what the kernel uses is set", err)
        ok(c.high() == "max", "and restored", c.high())
        ok([x.get(k) for k in ("limit", "high", "memory")] == [LIMIT, LIMIT + KERNEL, 45 * MIB], "sizes", x)
        ok([x[a] for a in ("predicted_per_s", "predicted_low_per_s", "predicted_high_per_s", "slowdown",
                           "slowdown_low", "slowdown_high")] ==
           [predicted[b] for b in ("refaults_per_s", "refaults_low_per_s", "refaults_high_per_s", "slowdown",
                                   "slowdown_low", "slowdown_high")], "predicted as report sizing does", x, predicted)
        ok(abs(x["anon_per_s"] / c.RATE - 1) < 0.3 and abs(x["file_per_s"] / c.FILES - 1) < 0.3 and
           abs(x["refaults_per_s"] / (c.RATE + c.WAITS) - 1) < 0.3, "refaults are those that wait", x)
        ok(abs(x["stalled"] / c.STALL - 1) < 0.3 and 1.4e6 < x["measured_us"] < 2.7e6, "in the second half", x)
        why = test_json.wrong("verify", test_json.documented()[0]["sizing"]["verify"], x)
        ok(not why, "as documented", why)
        ok(x["verdict"] == "below" and x["refaults_per_s"] < x["predicted_low_per_s"], "and compared", x)
    with fake() as (d, c):
        d.write("memory.high", b"99999744\n")
        res = run(*args(d, "--yes", seconds="2s"))
        said = re.match(rb"Refaults a second: predicted [0-9.]+ \([0-9.]+ to [0-9.]+\), measured [0-9.]+, which is "
                        rb"(below|within|above)\.$", res.stdout.splitlines()[0])
        ok(said, "predicted beside measured, in words", res.stdout)
        ok(res.returncode == 0 and b"refaults/s measured" in res.stdout and c.high() == "99999744",
           "for people; an older limit is restored", res, c.high())
        res = run("sizing", "--verify", d.name, "-i", d.path("data"), "-d", "2s", "--max-slowdown", "3%", "-y", "--json")
        knee = parsed(run("report", "sizing", "--json", "-i", d.path("data"),
                                                 "--max-slowdown", "3%"))
        ok(json.loads(res.stdout)["limit"] == [y["limit"] for y in knee if y["mark"]][0],
           "without --limit the one that is recommended", res)


def test_restores():
    for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
        with fake() as (d, c):
            p = start(d, seconds="30s")
            was_set = wait_for(lambda: c.high() != "max")
            # a terminal sends it to the whole group
            os.killpg(p.pid, sig)
            out, err = p.communicate()
            ok(was_set and wait_for(lambda: c.high() == "max"), "restored after %s" % sig.name, c.high(), err)
            ok(not out and (sig == signal.SIGKILL or (p.returncode == 1 and b"interrupted" in err and
                                                      b"nothing was measured" in err)), "  and it says so", err)
    with fake() as (d, c):
        p = start(d)
        wait_for(lambda: c.high() != "max")
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            os.kill(int(f.read().split()[0]), signal.SIGKILL)
        out, err = p.communicate()
        # on a busy machine it may have ended before the message that the limit is set
        ok((p.returncode == 0 or b"its process died" in err) and c.high() == "max",
           "restored if its guard is killed", err, c.high())
    with fake() as (d, c):
        p = start(d)
        wait_for(lambda: c.high() != "max")
        d.write("memory.high", b"123\n")
        out, err = p.communicate()
        ok(p.returncode == 1 and c.high() == "123" and b"changed by another program" in err and
           b"the old value was max" in err, "what somebody else set stays", err, c.high())
    with fake() as (d, c):
        p = start(d)
        wait_for(lambda: c.high() != "max")
        os.unlink(d.path("memory.high"))
        os.mkdir(d.path("memory.high"))
        out, err = p.communicate()
        ok(p.returncode == 1 and b"COULD NOT BE RESTORED: write max to it" in err, "it says if it cannot", err)
    with fake() as (d, c):
        p = start(d)
        wait_for(lambda: c.high() != "max")
        c.over.set()
        c.join()
        os.rename(d.name, d.name + ".gone")
        out, err = p.communicate()
        os.rename(d.name + ".gone", d.name)
        ok(p.returncode == 1 and b"is gone, and its limit with it" in err and b"COULD NOT" not in err,
           "a cgroup that is gone has none to restore", err)


def own_run():
    """A /run of its own: another wsmo sizing on this machine would restore the limits"""
    if not os.geteuid() and not ctypes.CDLL(None).unshare(CLONE_NEWNS):
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)


def test_forgotten():
    """wsmo and its guard are killed"""
    own_run()

    def killed(d, c):
        # the note of a cgroup that is named "." leads there, too
        p = subprocess.Popen([WSMO, *("." if arg == d.name else arg for arg in args(d, "--yes", seconds="30s"))],
                             cwd=d.name, env=dict(ENV, XDG_RUNTIME_DIR=d.name),
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: c.high() != "max")
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
            guard = int(f.read().split()[0])
        yield p
        os.kill(guard, signal.SIGSTOP)
        p.kill()
        p.wait()
        os.kill(guard, signal.SIGKILL)
        yield wait_for(lambda: not os.path.exists("/proc/%d" % guard))

    def restore(d, *more):
        return run(*(more or ("sizing", "--restore")), env={"XDG_RUNTIME_DIR": d.name})

    with fake() as (d, c):
        steps = killed(d, c)
        next(steps)
        res = restore(d)
        ok(res.returncode == 0 and c.high() == str(LIMIT + KERNEL), "what still runs is left alone", res)
        res = restore(d, *args(d, "--yes"))
        ok(res.returncode == 1 and b"another run" in res.stderr and c.high() == str(LIMIT + KERNEL),
           "nor does a second one begin", res)
        next(steps)
        ok(c.high() == str(LIMIT + KERNEL), "all are killed: the limit stays", c.high())
        res = restore(d)
        ok(res.returncode == 0 and c.high() == "max" and (d.name + "/memory.high: a run that was killed left %d; "
           "restored to max" % (LIMIT + KERNEL)).encode() in res.stderr, "sizing --restore", res, c.high())
        ok(not restore(d).stderr, "  once")
    with fake() as (d, c):
        list(killed(d, c))
        res = restore(d, *args(d, "--yes", seconds="2s"))
        ok(b"restored to max" in res.stderr and res.returncode == 0 and c.high() == "max",
           "the next run restores it first", res, c.high())
    with fake() as (d, c):
        list(killed(d, c))
        d.write("memory.high", b"123\n")
        res = restore(d)
        ok(res.returncode == 0 and c.high() == "123" and not res.stderr, "but not what somebody else set since", res)
    with fake() as (d, c):
        list(killed(d, c))
        os.mkdir(d.path("other"))
        for name in os.listdir(d.name):
            if name not in ("other", "wsmo"):
                os.rename(d.path(name), d.path("other", name))
    ok(not restore(d).stderr, "a cgroup that is gone")
    failed = 0
    for files in range(5, 9):
        with fake() as (d, c):
            res = subprocess.run([WSMO, *args(d, "--yes", seconds="2s")], env=ENV, capture_output=True,
                                 stdin=subprocess.DEVNULL,
                                 preexec_fn=lambda n=files: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            failed += b"no pipe" in res.stderr
            left = [name for name in os.listdir("/run/wsmo") if name.startswith("high-")]
            ok(not left and c.high() == "max", "no note is left with at most %d files" % files, left, res)
            for name in left:
                os.unlink("/run/wsmo/" + name)
    ok(failed, "  which are too few")
    res = run("sizing", "--restore", "--verify", "/")
    ok(res.returncode == 2, "--restore is alone", res)


def test_stops():
    with fake(pressure=26) as (d, c):
        began = time.monotonic()
        res = run(*args(d, "--yes", seconds="60s"))
        ok(res.returncode == 1 and b"stopped early: memory pressure was 26.0 %" in res.stderr and
           time.monotonic() - began < 20 and c.high() == "max" and not res.stdout, "pressure ends it", res)
        res = run(*args(d, "--yes", "--max-pressure", "30%", seconds="2s"))
        ok(res.returncode == 0, "--max-pressure", res)
    with fake() as (d, c):
        c.over.set()
        c.join()
        os.unlink(d.path("memory.pressure"))
        res = run(*args(d, "--yes", "--json", seconds="2s"))
        ok(res.returncode == 0 and b"memory.pressure cannot be read" in res.stderr and
           json.loads(res.stdout)["stalled"] is None, "a kernel without PSI", res)


def test_refuses():
    with fake() as (d, c):
        def refused(name, status, word, *line):
            res = run(*line)
            ok(res.returncode == status and word in res.stderr.decode() and c.high() == "max" and not res.stdout,
               "refused: " + name, res)
        refused("without a terminal", 2, "--yes", *args(d))
        refused("less than is used within a second", 1, "would stop the processes", *args(d, "--yes", limit=3 * MIB))
        for name, least, has in ("one", 30, 50), ("two", 12, 50), ("three", 99, 1):
            os.mkdir(d.path(name))
            d.write(name + "/memory.min", b"%d\n" % (least * MIB))
            d.write(name + "/memory.current", b"%d\n" % (has * MIB))
        refused("memory.min below it keeps more", 1, "memory.min of cgroups below it keeps 43.0 MiB",
                *args(d, "--yes"))
        for name in "one", "two", "three":
            shutil.rmtree(d.path(name))
        if not os.geteuid():
            # what an ordinary user may put where root works
            os.mkdir(d.path("x.slice"))
            d.write("precious", b"max\nand more\n")
            os.symlink(d.path("precious"), d.path("x.slice/memory.high"))
            for name in "memory.current", "memory.stat":
                shutil.copy(d.path(name), d.path("x.slice", name))
            line = ["sizing", "--verify", d.path("x.slice"), *args(d, "--yes")[3:]]
            os.chown(d.path("x.slice"), 1000, 1000)
            refused("the directory of somebody else", 1, "no cgroup", *line)
            os.chown(d.path("x.slice"), 0, 0)
            refused("a link", 1, "memory.high", *line)
            ok(d.read("precious") == b"max\nand more\n", "  where it leads to nothing changes", d.read("precious"))
        refused("no cgroup", 1, "no cgroup", "sizing", "--verify", "/nowhere", "-i", d.path("data"), "-y")
        refused("no recording", 1, "nothing", "sizing", "--verify", d.name, "-i", d.path("nothing"), "-y")
        d.write("one", recording(random_use, windows=(1,)))
        refused("one window", 1, "wsmo record --sizing", "sizing", "--verify", d.name, "-i", d.path("one"), "-y")
        refused("no recommendation", 1, "--limit", "sizing", "--verify", d.name, "-i", d.path("data"), "-y",
                "--max-refaults", "1")
    with open("/proc/meminfo") as f:
        if "SwapFree:              0 kB" not in f.read():
            return skip("without swap", "there is swap")
    with fake(anon=60 * MIB) as (d, c):
        res = run(*args(d, "--yes"))
        ok(res.returncode == 1 and b"there is no swap for 20.0 MiB" in res.stderr and c.high() == "max",
           "refused: anonymous memory without swap", res)
