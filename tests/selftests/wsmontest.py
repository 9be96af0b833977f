# SPDX-License-Identifier: GPL-2.0
"""What the selftests share: the module's files, targets, checks.

A test is a file *_test.py or *_test.sh; each runs alone in a guest where the
module is not loaded, and exits 0 (passed), 77 (skipped) or anything else.
"""
import errno
import glob
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "contrib"))

DIR = "/sys/kernel/debug/wsmon/"


def load():
    subprocess.run(["insmod", os.environ["WSMON_KO"]], check=True)


def unload():
    subprocess.run(["rmmod", "wsmon"], check=True)


def loaded():
    return os.path.exists("/sys/module/wsmon")


def get(name):
    with open(DIR + name) as f:
        return f.read()


def put(name, data):
    """Write in one write(2). Return 0 or the errno."""
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
    """The lines of wss or regions as dicts."""
    return [dict(word.split("=") for word in line.split())
            for line in get(name).splitlines()]


def slab_objects(name):
    """How many objects of a slab cache there are"""
    # KASAN keeps what was freed for a while, unless the cache shrinks
    for path in glob.glob("/sys/kernel/slab/%s*/shrink" % name):
        with open(path, "w") as f:
            f.write("1")
    with open("/proc/slabinfo") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(name + " "))


def wait_for(what, condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(0.05)


def idle():
    return get("status").startswith("idle\n")


def running():
    return get("status").startswith("running\n")


class Target:
    """A python process that runs some code; it is killed at the end."""

    def __init__(self, code, setup=""):
        prelude = "import mmap, os, sys, time\n"
        self.process = subprocess.Popen(
            [sys.executable, "-c", prelude + setup +
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
    """Decorate a test that asserts figures of what a workload did, and when.

    A kernel with checkers (tests/vm/debug-kernel) is several times slower, and the
    workloads with it: there such a test runs for what the checkers say of it, and
    figures that differ are printed."""
    test.figures = True
    return test


def measured(test):
    """Likewise, where chance and a busy machine have a part in the figures: it may
    fail two times of three. What is wrong is wrong each time."""
    test.attempts = 3
    return figures(test)


def attempt(test):
    """Run one function with the module loaded. Return what was wrong, or none."""
    try:
        load()
        test()
        unload()
        assert not loaded()
    except Exception as e:                      # noqa: say which, go on
        where = e.__traceback__
        while where.tb_next:
            where = where.tb_next
        if loaded():
            put("target", "\n")
            subprocess.run(["rmmod", "wsmon"])
        return "%s: %s (line %d)" % (type(e).__name__, e, where.tb_lineno)


def main(*tests):
    """Run functions with the module loaded; unload it after each."""
    failed = 0
    for test in tests:
        began = time.monotonic()
        printed = hasattr(test, "figures") and "-wsmon-" in os.uname().release
        for left in reversed(range(1 if printed else getattr(test, "attempts", 1))):
            wrong = attempt(test)
            if wrong and printed and not loaded() and wrong.startswith("AssertionError"):
                print("# not judged in a kernel with checkers: " + wrong)
                wrong = None
            if not wrong:
                print("# ok: %s, %.1f s" % (test.__name__, time.monotonic() - began),
                      flush=True)
                break
            print("# %s: %s: %s" % ("again" if left else "FAILED", test.__name__,
                                    wrong), flush=True)
        failed += bool(wrong)
    sys.exit(1 if failed else 0)
