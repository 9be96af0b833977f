# SPDX-License-Identifier: GPL-2.0
"""Shared by the selftests: files of the module, targets, checks.

A test is a file *_test.py; each runs alone, begins with the module not loaded, prints
TAP, and exits with 0 (passed), 4 (skipped) or anything else (failed).
"""
import atexit
import contextlib
import ctypes
import errno
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

# a guest of tests/vm/run discards its files, but the cache saves each later test a second
sys.dont_write_bytecode = "WSMON_KO" not in os.environ
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
# in a kernel tree, the modules of these folders are beside the tests
sys.path += [os.path.join(TOP, "contrib"), os.path.join(TOP, "tests", "lib")]

import ktap                                                # noqa: E402
from ktap import every                                     # noqa: E402, F401

DIR = "/sys/kernel/debug/wsmon/"


def skip(why):
    """End the whole test file: it cannot run here."""
    print("TAP version 13\n1..0 # SKIP " + why, flush=True)
    sys.exit(4)


class Skip(Exception):
    """A single test cannot run here, for this reason"""


def need(*programs):
    """Skip the test if a program is not installed, or the module cannot be loaded."""
    if os.geteuid():
        skip("only root can load the module")
    if not can_load():
        skip("wsmon.ko is not installed")
    for name in programs:
        if not shutil.which(name):
            skip(name + " is not installed")


def program(name, *options):
    """The path of a helper, built by make workloads or kselftest, or else built now."""
    for built in os.path.join(TOP, "out/bin/programs", name), os.path.join(HERE, name):
        if os.path.exists(built):
            return built
    source, = (path for path in (os.path.join(folder, name + ".c") for folder in (
        HERE, os.path.join(HERE, "programs"), os.path.join(TOP, "tests", "lib")))
        if os.path.exists(path))
    built = os.path.join(tempfile.mkdtemp(), name)
    subprocess.run(["gcc", "-g", "-O2", "-pthread", *options, "-o", built, source], check=True)
    return built


LIBC = ctypes.CDLL(None, use_errno=True)
INIT_MODULE, DELETE_MODULE, FINIT_MODULE = \
    (105, 106, 273) if os.uname().machine == "aarch64" else (175, 176, 313)


def module_call(number, *args):
    """Load or unload. Return 0 or the errno. (In an emulator insmod and rmmod take longer to
    start.)"""
    return ctypes.get_errno() if LIBC.syscall(ctypes.c_long(number), *args) else 0


def load():
    if "WSMON_KO" not in os.environ:
        subprocess.run(["modprobe", "wsmon"], check=True)
        return
    with open(os.environ["WSMON_KO"], "rb") as f:
        err = module_call(FINIT_MODULE, ctypes.c_long(f.fileno()), b"", ctypes.c_long(0))
    if err:
        raise OSError(err, os.strerror(err), os.environ["WSMON_KO"])


def can_load():
    return "WSMON_KO" in os.environ or not subprocess.run(
        ["modprobe", "-n", "-q", "wsmon"]).returncode


def unload():
    err = module_call(DELETE_MODULE, b"wsmon", ctypes.c_long(os.O_NONBLOCK))
    if err:
        raise OSError(err, os.strerror(err), "wsmon")


def loaded():
    return os.path.exists("/sys/module/wsmon")


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def wsmo(*args, **more):
    """Run wsmo. Return: the result of subprocess.run()"""
    return subprocess.run(["wsmo", *args], capture_output=True, text=True, check=False, **more)


def get(name):
    return read(DIR + name)


def put(name, data):
    """Write by one write(2). Return 0 or the errno."""
    if isinstance(data, str):
        data = data.encode()
    fd = os.open(DIR + name, os.O_WRONLY)
    try:
        n = os.write(fd, data)
        assert n == len(data), "short write: %d of %d" % (n, len(data))
        return 0
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)


def must_put(name, data):
    err = put(name, data)
    assert not err, "%s <- %r: %s" % (name, data, errno.errorcode[err])


def attrs():
    return dict(line.split("=") for line in get("attrs").split())


def stats():
    return {k: int(v) for k, v in
            (line.split("=") for line in get("stats").split())}


def lines(name):
    """The lines of wss or regions, as dicts."""
    return [dict(word.split("=") for word in line.split())
            for line in get(name).splitlines()]


def slab_objects(name):
    """Number of objects of a slab cache"""
    # KASAN keeps freed objects for a while, unless the cache shrinks
    for path in glob.glob("/sys/kernel/slab/%s*/shrink" % name):
        with open(path, "w") as f:
            f.write("1")
    with open("/proc/slabinfo") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(name + " "))


# Kernels with checkers (tests/vm/debug-kernel) are several times slower.
CHECKERS = "-wsmon-" in os.uname().release


def steady_faults():
    """Do for the tracepoints of page faults as tests/vm/init does for others, at a lower
    cost. Call this while hardly anything runs."""
    for instance in "steady", "steadier":
        events = "/sys/kernel/tracing/instances/%s/events/exceptions/" % instance
        for name in "user", "kernel":
            if os.path.isdir(events):
                with open(events + "page_fault_%s/enable" % name, "w") as f:
                    f.write("1")


def wait_for(what, condition, seconds=10):
    if CHECKERS:
        seconds *= 6
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(0.05)


def idle():
    return get("status").startswith("idle\n")


def running():
    return get("status").startswith("running\n")


def kwsmond():
    """The pids of the monitoring threads, one for each session"""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                if f.read() == "kwsmond\n":
                    pids.append(int(pid))
        except OSError:
            pass
    return pids


@contextlib.contextmanager
def without_device():
    """Make the command use debugfs"""
    os.rename("/dev/wsmon", "/dev/wsmon.away")
    try:
        yield
    finally:
        os.rename("/dev/wsmon.away", "/dev/wsmon")


class Target:
    """A Python process that runs some code; it is killed at the end."""

    def __init__(self, code, setup=""):
        prelude = "import mmap, os, sys, time\n"
        self.process = subprocess.Popen(
            # site.py would take as long as all the rest of the start
            [sys.executable, "-I", "-S", "-c", prelude + setup +
             "\nprint('ready', flush=True)\n" + code],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line == "ready\n", "target did not start: %r" % line
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()


def sleeper():
    return Target("time.sleep(1000)")


def figures(test):
    """Decorate a test that asserts figures about a workload's activity.

    A kernel with checkers (tests/vm/debug-kernel) is several times slower, and so are
    the workloads: there such a test runs for the checkers only, and counts as skipped
    if its figures are wrong."""
    test.figures = True
    return test


def measured(test):
    """Like figures(), for figures that depend on chance and on load: they may be wrong two
    times out of three. All other failures count at once: an exception other than an
    assertion, a module that cannot be loaded or unloaded, a program that crashed."""
    test.attempts = 3
    return figures(test)


CORE_PATTERN = "/proc/sys/kernel/core_pattern"


class Crashes:
    """Notes programs that die by a signal that dumps core: a test may ignore their status."""

    def __init__(self):
        self.dir, self.before, self.seen = tempfile.mkdtemp(), None, 0
        helper, self.log = (os.path.join(self.dir, name) for name in ("note", "log"))
        with open(helper, "w") as f:
            f.write("#!/bin/sh\necho \"$2 died of signal $1\" >>%s\n" % self.log)
        os.chmod(helper, 0o755)
        try:
            with open(CORE_PATTERN) as f:
                self.before = f.read()
            with open(CORE_PATTERN, "w") as f:
                f.write("|%s %%s %%e" % helper)
            atexit.register(self.restore)
        except OSError as e:
            print("# crashes of programs are not noticed: %s" % e)

    def restore(self):
        with open(CORE_PATTERN, "w") as f:
            f.write(self.before)

    def new(self):
        """Crashes since the last call"""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as f:
            crashes = f.read().splitlines()
        new, self.seen = crashes[self.seen:], len(crashes)
        return new


def attempt(test):
    """Run one function with the module loaded. Return: the failure or None, and whether
    it may be chance"""
    wrong = None
    try:
        load()
        try:
            test()
        except AssertionError as e:
            wrong = e
        if wrong is not None and loaded():
            put("target", "\n")
        unload()
        assert not loaded(), "the module is still loaded"
    except Skip:
        unload()
        raise
    except Exception as e:                      # noqa: say which, go on
        if loaded():
            put("target", "\n")
            module_call(DELETE_MODULE, b"wsmon", ctypes.c_long(os.O_NONBLOCK))
        return describe(e) if wrong is None else "%s; %s" % (describe(wrong), describe(e)), False
    return (describe(wrong), True) if wrong is not None else (None, False)


def describe(e):
    where = e.__traceback__
    while where.tb_next:
        where = where.tb_next
    return "%s: %s (line %d)" % (type(e).__name__, e, where.tb_lineno)


def judge(test, crashes):
    """Run one function, again if the failure may be chance. Return (passed, its name and more,
    the failure)."""
    began = time.monotonic()
    printed = CHECKERS and hasattr(test, "figures")
    attempts = 1 if printed else getattr(test, "attempts", 1)
    for i in range(attempts):
        try:
            wrong, chance = attempt(test)
        except Skip as e:
            return True, "%s # SKIP %s" % (test.__name__, e), None
        died = crashes.new()
        if died:
            wrong, chance = "; ".join(died + ([wrong] if wrong else [])), False
        if wrong and chance and printed:
            return True, "%s # SKIP not judged in a kernel with checkers: %s" % (
                test.__name__, wrong.splitlines()[0][:300]), None
        if not wrong or not chance or i == attempts - 1:
            break
        print("# again: %s: %s" % (test.__name__, wrong), flush=True)
    return not wrong, "%s # %.1f s%s" % (test.__name__, time.monotonic() - began,
                                         ", attempt %d" % (i + 1) if i else ""), wrong


def main(*tests):
    """Run functions with the module loaded; unload it after each. WSMON_TESTS selects some of
    them. The exit status is 4 if all were skipped."""
    need()
    if "WSMON_TESTS" in os.environ:
        tests = [test for test in tests if test.__name__ in os.environ["WSMON_TESTS"].split(",")]
    print("TAP version 13\n1..%d" % len(tests))
    crashes = Crashes()
    results = [judge_and_print(test, crashes) for test in tests]
    sys.exit(1 if ktap.failed else 0 if "judged" in results else 4)


def judge_and_print(test, crashes):
    passed, name, wrong = judge(test, crashes)
    ktap.ok(passed, name, wrong)
    return "skipped" if " # SKIP " in name else "judged"
