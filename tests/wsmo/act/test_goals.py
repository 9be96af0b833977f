# SPDX-License-Identifier: GPL-2.0
"""wsmo act --goal: the controller alone, and against fakes of the kernel's files."""
import contextlib
import os
import random
import subprocess
import threading
import time

from command import ENV, HERE, TOP, WSMO, as_root, cgroup_root, fails, ok, run, skip
from test_json import documented, wrong
from victim import COLD, args, fake, half_hot, mapped, objects, regions

MIB = 1 << 20
TOTAL = 1000 * MIB


def brakes(directory):
    """Return: path of tests/wsmo/programs/brakes.c, built"""
    program = directory.path("brakes")
    if not os.path.exists(program):
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-g", "-fsanitize=address,undefined",
                        "-fno-sanitize-recover=all", "-I", TOP + "/include", "-I", TOP + "/tools",
                        "-I", TOP + "/tools/wsmo", "-o", program,
                        os.path.join(HERE, "programs", "brakes.c"),
                        TOP + "/tools/wsmo/verbs/act_limits.c", TOP + "/tools/wsmo/core/files.c",
                        TOP + "/tools/libwsmon/sorted.c", "-lm"],
                       check=True)
    return program


class Goals:
    """The goals of tests/wsmo/programs/brakes.c"""

    def __init__(self, directory, available=0, pressure=0):
        self.p = subprocess.Popen([brakes(directory), "goals"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tell(available, pressure)

    def tell(self, *numbers):
        print(*numbers, file=self.p.stdin, flush=True)

    def look(self, available=-1, pressure=-1, limit=256 * MIB, taken=None):
        """Return: the rate, the rest of it, and whether reclaim may go on"""
        self.tell(available, pressure, limit, self.left if taken is None else taken)
        rate, left, may = self.p.stdout.readline().split()
        self.left = max(float(left), 0)
        return float(rate), float(left), may == "1"

    left = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.communicate()


def test_rates(d):
    with Goals(d, pressure=0.01) as g:
        ok([g.look(pressure=0)[0] / MIB for _ in range(10)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 256],
           "without any pressure twice as much, up to the limit")
        ok(g.look(pressure=0.0075)[0] == 256 * MIB and g.look(pressure=0.0125) ==
           (192 * MIB, 192 * MIB, False), "a quarter beyond the target a quarter less, and not now")
        ok(g.look(pressure=0, taken=0) == (192 * MIB, 192 * MIB, True),
           "what was not used up is not raised")
        ok(g.look(pressure=0.005)[0] == 256 * MIB and g.look(pressure=0.5)[0] == MIB and
           g.look(pressure=0.01) == (MIB, MIB, False), "down to the slowest rate; just reached")
        ok(g.look(pressure=0, limit=1000)[0] == 1000, "a limit below that")
    with Goals(d, pressure=0.01) as g:
        g.look(pressure=0)
        ok(g.look(pressure=0, taken=2.5 * MIB) == (2 * MIB, 0.5 * MIB, True) and
           g.look(pressure=0, taken=9 * MIB) == (4 * MIB, -4.5 * MIB, False) and
           g.look(pressure=0, taken=0) == (8 * MIB, 3.5 * MIB, True),
           "what was taken too much is missing later")
        before = g.look(pressure=0)[0]
        ok([g.look(pressure=-1)[::2] for _ in range(3)] == 3 * [(before, False)],
           "nothing while the pressure is not known; the rate stays")
    with Goals(d) as g:
        ok(g.look()[2] and g.look(taken=2**40)[2], "no goals, no bounds")
    with Goals(d, available=0.1, pressure=0.01) as g:
        g.look(0, 0)
        ok(g.look(0.05, 0.002)[0] == 1.5 * MIB, "of two goals the nearer one decides")
        ok(not g.look(0.1, 0)[2] and not g.look(0.01, 0.01)[2] and g.look(0.09, 0.009)[2],
           "either one ends reclaim")
        ok(not g.look(-1, 0)[2] and not g.look(0, -1)[2], "both are to be known")


def test_loops(d):
    """The controller, with a simulated machine"""
    with Goals(d, available=0.1) as g:
        # it grows by 4 MiB a second; there is always more to reclaim
        available, seen = 0.3 * TOTAL, []
        for _ in range(400):
            rate, _, may = g.look(available / TOTAL, taken=0 if not seen or not seen[-1][1] else rate)
            available += (rate if may else 0) - 4 * MIB
            seen.append((available / TOTAL, may))
        end = [share for share, _ in seen[200:]]
        ok(0.09 < min(end) and max(end) < 0.11 and not any(may for _, may in seen[:40]),
           "available memory is held", min(end), max(end))
    with Goals(d, pressure=0.005) as g:
        # a tenth of the memory taken in the last ten seconds comes back; a second of delay each 200
        # MiB
        rng, taken, pressure = random.Random(1), [0] * 10, []
        for _ in range(400):
            pressure.append(sum(taken[-10:]) / 10 / 10 / (200 * MIB) * rng.uniform(0.5, 1.5))
            rate, _, may = g.look(pressure=pressure[-1], taken=taken[-1])
            taken.append(rate if may else 0)
        mean = sum(pressure[100:]) / 300
        ok(0.0025 < mean < 0.0075 and max(pressure) < 0.05, "pressure is held", mean, max(pressure))


def meminfo(share):
    """/proc/meminfo with this share available"""
    return ("MemTotal: %12d kB\nMemAvailable: %12d kB\nSwapFree: %12d kB\n" %
            (TOTAL >> 10, share * TOTAL // 1024, 0)).encode()


def pressure(us):
    return b"some avg10=0.00 avg60=0.00 avg300=0.00 total=%012d\n" % us


class File:
    """A fake of a kernel file, for a program. It is never incomplete."""

    def __init__(self, directory, at, data):
        self.at, self.path = at, directory.path(at.strip("/").replace("/", "-"))
        directory.write(os.path.basename(self.path), data)
        self.fd = os.open(self.path, os.O_WRONLY)

    def write(self, data):
        os.pwrite(self.fd, data, 0)

    @contextlib.contextmanager
    def rising(self, share):
        """Tasks wait for this share of the time"""
        done, began = threading.Event(), time.monotonic()

        def run():
            while not done.wait(0.05):
                self.write(pressure((time.monotonic() - began) * share * 1e6))
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def with_files(files, *command):
    """Run wsmo with these files in place of the kernel's"""
    binds = "".join("mount --bind %s %s && " % (f.path, f.at) for f in files)
    return subprocess.run(["unshare", "-m", "sh", "-c", binds + 'exec "$@"', "sh", WSMO, *command],
                          env=ENV, capture_output=True, timeout=60)


def goal_of(res, name):
    return [x for x in objects(res, "goal") if x["goal"] == name][0]


@as_root
def test_of_available():
    fields = documented()[0]["act"]["goal"]
    for share, left in (0.2, 1), (0.02, 0):
        with fake(half_hot, pace=0.04) as (d, m, v):
            res = with_files([File(d, "/proc/meminfo", meminfo(share))],
                             *args(d, m, v, COLD, more=("--goal", "available=100M")))
            goal = goal_of(res, "available")
            ok(res.returncode == 0 and mapped(v, (0.5, 1)) == left * v.size // 2,
               "enough is available: nothing is done" if left else
               "too little is, whatever is done: what is cold goes", mapped(v, (0.5, 1)), res)
            ok(mapped(v, (0, 0.5)) == v.size // 2, "  what is hot stays", mapped(v, (0, 0.5)))
            ok(abs(goal["target"] - 0.1) < 1e-9 and abs(goal["last"] - share) < 1e-6 and
               abs(goal["mean"] - share) < 1e-6 and goal["reached"] == left and
               goal["quota_bytes"] >= MIB, "  and is reported", goal)
            why = wrong("goal", fields, goal)
            ok(not why, "  as documented", why)
    with fake(half_hot, size=64 * MIB, pace=0.04) as (d, m, v):
        file = File(d, "/proc/meminfo", meminfo(0.09))
        events = []

        def watch():
            while mapped(v) == v.size and m.thread.is_alive():
                time.sleep(0.02)
            file.write(meminfo(0.11))
            # a second's worth may be under way
            time.sleep(1.5)
            events.append(mapped(v))
        thread = threading.Thread(target=watch)
        thread.start()
        res = with_files([file], *args(d, m, v, COLD, more=("--goal", "available=10%")))
        thread.join()
        ok(v.size > events[0] == mapped(v) >= v.size - 6 * MIB, "ends when it is reached",
           events, mapped(v), res)
        ok(0 < goal_of(res, "available")["reached"] < 1, "  part of the time", res)


@as_root
def test_of_pressure():
    for share, left in (0.01, 1), (0.0005, 0):
        with fake(half_hot, pace=0.04) as (d, m, v):
            file = File(d, "/proc/pressure/memory", pressure(0))
            with file.rising(share):
                res = with_files([file], *args(d, m, v, COLD, more=("--goal", "pressure=0.5%")))
            goal = goal_of(res, "pressure")
            ok(mapped(v, (0.5, 1)) == left * v.size // 2 and mapped(v, (0, 0.5)) == v.size // 2,
               "pressure: nothing is done" if left else "little pressure: what is cold goes",
               mapped(v), res)
            ok(goal["target"] == 0.005 and share / 2 < goal["mean"] < share * 2 and
               goal["reached"] == left, "  and is reported", goal)
    with fake(half_hot) as (d, m, v):
        res = with_files([File(d, "/proc/pressure/memory", b"")],
                         *args(d, m, v, COLD, more=("--goal", "pressure=0.5%")))
        fails(res, "no pressure to read", "--goal pressure needs it")
    with fake(half_hot, pace=0.015) as (d, m, v):
        res = with_files([File(d, "/proc/meminfo", b"none\n")],
                         *args(d, m, v, COLD, more=("--goal", "available=10%")))
        ok(not res.returncode and mapped(v) == v.size and
           goal_of(res, "available")["last"] is None, "no memory to read: nothing is done", res)


def make_cgroup():
    """Return: the path of a new cgroup, or an error"""
    path = "%s/wsmo-test-%d" % (cgroup_root() or "/nowhere", os.getpid())
    try:
        os.mkdir(path)
    except OSError as error:
        return error
    return path


@as_root
def test_moved():
    """A process that leaves the cgroup is left alone; one that moves within it is not."""
    path = make_cgroup()
    if not isinstance(path, str):
        return skip("processes that move", path)
    below = path + "/below"
    os.mkdir(below)
    try:
        for to, left in (os.path.dirname(path), 1), (below, 0), (path, 0):
            def snapshot(v):
                return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(32 if i > 90 else 64))}

            def move():
                with open(to + "/cgroup.procs", "w") as f:
                    f.write(str(victim.pid))
            with fake(snapshot, pace=0.03, events={20: move}) as (d, m, victim):
                with open(path + "/cgroup.procs", "w") as f:
                    f.write(str(victim.pid))
                command = list(args(d, m, victim, COLD))
                at = command.index("-p")
                command[at:at + 2] = ["--cgroup", os.path.basename(path)]
                res = run(*command)
                words = b"process %d is not in /%s any more" % (victim.pid, os.path.basename(path).encode())
                ok(not res.returncode and mapped(victim, (0.5, 1)) == left * victim.size // 2 and
                   res.stderr.count(words) == left,
                   "a process that is moved %s is %s" % ("out" if left else "below" if to == below else "nowhere",
                                                         "left alone" if left else "acted on"), mapped(victim), res)
    finally:
        os.rmdir(below)
        os.rmdir(path)
    return None


@as_root
def test_of_a_cgroup():
    """The cgroup's own pressure counts"""
    path = make_cgroup()
    if not isinstance(path, str):
        skip("goals of a cgroup", path)
        return
    try:
        for share, left in (0.01, 1), (0, 0):
            with fake(half_hot, pace=0.04) as (d, m, v):
                with open(path + "/cgroup.procs", "w") as f:
                    f.write(str(v.pid))
                of_all = File(d, "/proc/pressure/memory", pressure(0))
                own = File(d, path + "/memory.pressure", pressure(0))
                command = list(args(d, m, v, COLD, more=("--goal", "pressure=0.5%")))
                at = command.index("-p")
                command[at:at + 2] = ["--cgroup", os.path.basename(path)]
                with own.rising(share), of_all.rising(0.01 - share):
                    res = with_files([of_all, own], *command)
                ok(mapped(v, (0.5, 1)) == left * v.size // 2,
                   "the cgroup's pressure counts" if left else "not the machine's", mapped(v), res)
    finally:
        os.rmdir(path)
