# SPDX-License-Identifier: GPL-2.0
"""wsmo act: its limits. Each alone, on a clock of its own; and the defaults on a real
process, against fakes of the module and of the kernel's files."""
import contextlib
import fcntl
import mmap
import os
import subprocess
import sys
import time
import types

from command import ENV, WSMO, Directory, as_root, fails, ok, run, skip
from fakemodule import Module
from test_goals import File, brakes, pressure, with_files
from victim import COLD, args, fake, half_hot, mapped, objects, regions, script

MIB = 1 << 20
SEC = 10**9


class Brakes:
    """tests/wsmo/programs/brakes.c: advances the time, and reads the allowed rates."""

    def __init__(self, directory, size=1 << 40, cpu=SEC, refaults=100, most=0.1):
        self.directory, self.stall, self.now = directory, 0, 0
        directory.write("psi", pressure(0))
        with open(directory.path("said"), "wb") as said:
            self.p = subprocess.Popen([brakes(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=said, text=True)
        print(size, cpu, refaults, most, directory.path("psi"), file=self.p.stdin)
        self.tell("clock", 0)

    def tell(self, word, number):
        print(word, number, file=self.p.stdin, flush=True)
        answer = [int(x) for x in self.p.stdout.readline().split()]
        self.left, self.may, pause, self.pauses, self.back, self.refaulted = answer
        self.pause = pause / SEC
        return self

    def second(self, refaults=0, waits=0.0, seconds=1):
        """Advance the time: @refaults pages come back, tasks wait for memory for this share of
        it"""
        self.now += seconds
        self.stall += waits * seconds * 1e6
        self.directory.write("psi", pressure(self.stall))
        self.tell("clock", self.now * SEC)
        return self.tell("refaults", refaults)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.communicate()


def test_governor(d):
    for name, limit, bad in (("refaults", {"refaults": 100}, {"refaults": 101}),
                             ("pressure", {"waits": 0.0999}, {"waits": 0.101})):
        with Brakes(d) as b:
            ok(b.second(**limit).may and not b.pauses, "%s at the limit: reclaim goes on" % name)
            pauses = []
            for _ in range(8):
                began = b.second(**bad).now
                ok(not b.may, "%s above it: reclaim pauses" % name, b.pause)
                pauses.append(b.pause - began)
                while not b.may:
                    # during a pause nothing counts
                    b.second(**bad if b.pause > b.now + 1 else {})
            ok(pauses == [5, 10, 20, 40, 80, 160, 320, 320] and b.pauses == 8,
               "  each time twice as long, up to 320 s", pauses, b.pauses)
            for _ in range(62):
                b.second()
            ok(b.second(**bad).pause - b.now == 5, "  until a minute was calm", b.pause, b.now)
    with Brakes(d, refaults=50, most=0.02) as b:
        ok(not b.second(refaults=51).may and b.pauses == 1, "a limit of one's own for refaults")
    with Brakes(d, refaults=50, most=0.02) as b:
        ok(not b.second(waits=0.03).may and b.pauses == 1, "  and for pressure")
    with Brakes(d) as b:
        ok(b.second(refaults=190, seconds=2).may, "refaults are of a second")


def test_quotas(d):
    with Brakes(d, size=10 * MIB, cpu=SEC // 10) as b:
        ok(b.tell("bytes", 10 * MIB - 1).left and not b.tell("bytes", 1).left, "a quota of bytes")
        ok(b.second().left, "  is there again a second later")
        b.tell("bytes", 30 * MIB)
        ok([b.second().left for _ in range(3)] == [0, 0, 1], "  what was too much is missing then")
    with Brakes(d, size=10 * MIB, cpu=SEC // 10) as b:
        ok(b.tell("cpu", SEC // 10 - 1).left and not b.tell("cpu", 1).left, "a quota of CPU time")
        b.tell("cpu", SEC // 5)
        ok([b.second().left for _ in range(3)] == [0, 0, 1], "  likewise")
        b.second(seconds=100)
        ok(b.tell("cpu", SEC // 10 - 1).left and not b.tell("cpu", 1).left,
           "  it is of a second, however long nothing was done")


def test_grace(d):
    """Four pages are taken; two come back, and later the third one"""
    with Brakes(d) as b:
        b.tell("clock", SEC)
        b.tell("swapped", 4)
        b.tell("take", 0)
        ok(not b.tell("look", 0).back and not b.refaulted, "what is in swap did not come back")
        b.tell("swapped", 2)
        ok(b.tell("look", 0).back == 2 and b.refaulted == 2, "what came back is known", b.back)
        b.tell("clock", 200 * SEC)
        b.tell("swapped", 1)
        ok(b.tell("look", 0).back == 3 and b.refaulted == 3, "more of it", b.back)
        b.tell("clock", 300 * SEC)
        ok(b.tell("look", 0).back == 3, "for five minutes", b.back)
        b.tell("clock", 302 * SEC)
        ok(b.tell("look", 0).back == 0, "and not for longer", b.back)


@as_root
def test_of_defaults():
    """The default limits"""
    size = 2048 * MIB

    def cold(v):
        at = v.zeroes(size)
        return {v.pid: regions(at, size, 64, cls="anon")}
    with fake(cold, pace=0.015) as (d, m, v):
        began = time.monotonic()
        res = run(*args(d, m, v, COLD.replace("pageout", "cold"), classes="anon"))
        took, rule = time.monotonic() - began, objects(res, "rule")[0]
        ok(0 < rule["applied_bytes"] <= min(256 * MIB * (took + 1) + 2 * MIB, size - 1),
           "256 MiB a second", rule, took)
    for share, left in (0.2, 1), (0.05, 0):
        with fake(half_hot, pace=0.03) as (d, m, v):
            file = File(d, "/proc/pressure/memory", pressure(0))
            command = list(args(d, m, v, COLD.replace("500ms", "1200ms")))
            at = command.index("--max-pressure")
            del command[at:at + 2]
            with file.rising(share):
                res = with_files([file], *command)
            ok(mapped(v, (0.5, 1)) == left * v.size // 2 and
               (b"backing off for 5 s: memory pressure is " in res.stderr) == bool(left),
               "a pressure of %d %%" % (100 * share), mapped(v), res)


@contextlib.contextmanager
def on_a_device():
    """A path in /dev, the file system of device nodes"""
    path = "/dev/wsmo-test-%d" % os.getpid()
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


@as_root
def test_devices():
    for flags, cls in (mmap.MAP_SHARED, "shmem"), (mmap.MAP_PRIVATE, "file"):
        with on_a_device() as path, fake(
                lambda v: {v.pid: regions(v.at, v.size, 64, cls=cls)},
                flags=flags, file=path) as (d, m, v):
            rule = objects(run(*args(d, m, v, COLD.replace("pageout", "cold"),
                                     classes="file,shmem,text,anon")), "rule")[0]
            ok(rule["skipped_bytes"] == v.size and not rule["tried_bytes"],
               "a device is left alone (%s)" % cls, rule)


def has_pidfs():
    """Has each process an inode number of its own (Linux 6.9)?"""
    fds = os.pidfd_open(os.getpid()), os.pidfd_open(os.getppid())
    inodes = {os.fstat(fd).st_ino for fd in fds}
    for fd in fds:
        os.close(fd)
    return len(inodes) == 2


@as_root
def test_one_at_a_time():
    """Another act would know nothing of memory that came back to the first"""
    def second(v, *more, before=()):
        with Directory() as d, Directory() as debug:
            m = Module(debug, interval=0.004, script=script(half_hot(v)))
            res = subprocess.run([*before, WSMO, *args(d, m, v, COLD, more=more)], env=ENV,
                                 capture_output=True)
            m.close()
            return res, m
    with fake(lambda v: {v.pid: regions(v.at, v.size, 64, hot=range(64))}, intervals=10**6) as (d, m, v):
        p = subprocess.Popen([WSMO, *args(d, m, v, COLD)], env=ENV, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        m.running.wait(20)
        res, other = second(v)
        fails(res, "another act on the process", "another wsmo act acts on process %d" % v.pid)
        ok(not other.targets and mapped(v) == v.size, "  nothing is done", mapped(v))
        later = "unshare", "--time", "--boottime", "100000"
        if has_pidfs() and not subprocess.run([*later, "true"], capture_output=True).returncode:
            res, other = second(v, before=later)
            fails(res, "  nor in another time namespace", "another wsmo act acts on process %d" % v.pid)
            ok(not other.targets and mapped(v) == v.size, "  nothing is done", mapped(v))
        else:
            skip("another time namespace", "this kernel has no inode numbers of processes, or no unshare")
        res, _ = second(v, "--dry-run")
        ok(res.returncode == 0 and b"another" not in res.stderr and objects(res, "rule")[0]["tried"],
           "  but a dry run", res)
        p.kill()
        p.communicate()
        with open("/proc/%d/pagemap" % v.pid, "rb") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            res, _ = second(v)
        ok(res.returncode == 0 and mapped(v, (0.5, 1)) == 0,
           "  until it ends, of whatever; the process's owner cannot keep it away", res)
        state = os.stat("/run/wsmo")
        ok(not state.st_uid and not state.st_mode & 0o77, "  who cannot open what is locked", oct(state.st_mode))


KDAMOND = "open('/proc/self/comm', 'w').write('%s'); print(flush=True); __import__('sys').stdin.read()"


@contextlib.contextmanager
def thread(name):
    """A thread of the kernel, by its name"""
    with subprocess.Popen([sys.executable, "-c", KDAMOND % name], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        yield p.pid
        p.stdin.close()


@as_root
def test_damon():
    """DAMON clears the same Accessed bits: memory in use looks cold"""
    with open("/proc/2/comm") as f:
        if f.read() != "kthreadd\n":
            skip("DAMON", "process 2 is not kthreadd")
            return
    for name, left in ("kdamond.0", 1), ("kdamon", 0):
        with fake(half_hot) as (d, m, v), thread(name) as pid:
            file = File(d, "/proc/2/task/2/children", b"%d %d " % (os.getpid(), pid))
            res = with_files([file], *args(d, m, v, COLD))
            ok(res.returncode == 0 and mapped(v, (0.5, 1)) == left * v.size // 2 and
               (b"DAMON runs (thread kdamond.0)" in res.stderr) == bool(left),
               "beside %s" % name, mapped(v), res)
    # it ends after a second; ages of 500 ms are reached, as records come at the pace they claim
    with fake(half_hot, intervals=600, pace=0.01) as (d, m, v), thread("kdamond.7") as pid:
        file = File(d, "/proc/2/task/2/children", b"%d " % pid)
        m.script = script(half_hot(v), 600, events={100: lambda: file.write(b"%-*d " % (
            len(str(pid)), 1))})
        res = with_files([file], *args(d, m, v, COLD, more=("-l",)))
        ok(b"DAMON has ended" in res.stderr and mapped(v, (0.5, 1)) == 0 and
           min(a["t"] for a in objects(res, "action")) > 1, "it goes on when DAMON has ended", res)


KDAMONDS = "/sys/kernel/mm/damon/admin/kdamonds"


@as_root
def test_damon_from_a_pid_namespace():
    """There the kernel's threads are not seen, but what DAMON says of itself is"""
    if not os.path.isdir(KDAMONDS):
        skip("DAMON from a pid namespace", "this kernel has no DAMON")
        return
    for state, left in (b"on\n", 1), (b"off\n", 0):
        with fake(half_hot) as (d, m, v):
            os.makedirs(d.path("damon/0"))
            d.write("damon/0/state", state)
            files = [File(d, "/proc/2/comm", b"sh\n"),
                     types.SimpleNamespace(path=d.path("damon"), at=KDAMONDS)]
            res = with_files(files, *args(d, m, v, COLD))
            ok(res.returncode == 0 and mapped(v, (0.5, 1)) == left * v.size // 2 and
               (b"DAMON runs" in res.stderr) == bool(left), "beside one that is %s" % state.decode().strip(),
               mapped(v), res)


def test_blind(d):
    """The owner of a cgroup may switch its PSI off while wsmo acts"""
    with Brakes(d) as b:
        ok(b.second().may, "the pressure is known: reclaim")

        def gone():
            os.unlink(d.path("psi"))
            b.now += 1
            b.tell("clock", b.now * SEC)
            return b.tell("refaults", 0)
        ok(not gone().may, "it is not any more: no reclaim")
        b.stall += 10**7
        ok(b.second().may and not b.pauses, "it is again; what was before does not count", b.pauses)
        ok(not gone().may and d.read("said").count(b"cannot be read any more") == 1, "this is said once", d.read("said"))
