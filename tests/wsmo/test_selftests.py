# SPDX-License-Identifier: GPL-2.0
"""The library of the selftests: which failures may be chance, which skip. Without the module."""
import glob
import os
import subprocess
import sys
import time

from command import TOP, ok, skip

PRELUDE = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1] + "/tests/selftests")
import wsmontest as w
w.need = w.load = lambda: None
stuck = 0
def unload():
    global stuck
    stuck -= 1
    if stuck >= 0:
        raise subprocess.CalledProcessError(1, "rmmod")
w.unload, w.loaded = unload, lambda: False
tries = 0
def fails(times, error):
    @w.measured
    def test():
        global tries
        tries += 1
        if tries <= times:
            raise error
    return test
def skipped():
    raise w.Skip("not here")
def crashes():
    subprocess.run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"])
def fine():
    pass
"""


def selftest(code):
    """Return: the exit status, and the output without comments"""
    p = subprocess.run([sys.executable, "-c", PRELUDE + code, TOP], stdout=subprocess.PIPE, text=True)
    return p.returncode, [line for line in p.stdout.splitlines() if "ok " in line]


def expect(what, code, status, *lines):
    got = selftest(code)
    ok(got[0] == status and len(got[1]) == len(lines) and
       all(line.startswith(want) for line, want in zip(got[1], lines)), what, got)


def test_in_a_kernel(d):
    """The kernel's kselftest has all selftests, except those that need the whole checkout"""
    there = d.path("tools/testing/selftests/")
    os.makedirs(there)
    with open(there + "lib.mk", "w") as f:
        f.write("print:\n\t@echo $(TEST_PROGS)\n")
    subprocess.run(["make", "-s", "-C", TOP + "/tests/selftests", "copy", "KSRC=" + d.name], check=True)
    p = subprocess.run(["make", "-s", "-C", there + "wsmon", "print"], capture_output=True, text=True)
    here = {os.path.basename(path) for path in glob.glob(TOP + "/tests/selftests/**/*_test.py",
                                                         recursive=True)}
    ok(set(p.stdout.split()) == here - {"checkout_test.py"} and len(here) > 20,
       "kselftest runs all", here ^ set(p.stdout.split()), p.stderr)


def restored():
    """The workloads' selftest restores its changes of the system when killed"""
    paths = ("/proc/sys/vm/nr_hugepages",
             "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs")

    def settings():
        return [open(path).read() for path in paths if os.path.exists(path)]
    before = settings()
    p = subprocess.Popen([TOP + "/tests/workloads/selftest"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    p.stdout.readline()
    # on a busy machine it takes a while to get there
    end = time.monotonic() + 100
    while settings() == before and time.monotonic() < end:
        time.sleep(0.01)
    changed = settings()
    p.terminate()
    p.communicate()
    ok(changed != before == settings(), "the workloads' selftest restores settings", before, changed, settings())


def test_harness():
    expect("figures may be wrong two times of three", "w.main(fails(2, AssertionError('x')))", 0,
           "ok 1 - test # ")
    got = selftest("w.main(fails(2, AssertionError('x')))")
    ok(got[1] and got[1][0].endswith(", attempt 3"), "  which is said", got)
    expect("  not three times", "w.main(fails(3, AssertionError('x')))", 1, "not ok 1 - test")
    expect("an exception is no chance", "w.main(fails(1, OSError('x')))", 1, "not ok 1 - test")
    expect("nor is a module that stays", "stuck = 1\nw.main(fails(0, None))", 1, "not ok 1 - test")
    expect("  whatever else was wrong", "stuck = 1\nw.main(fails(1, AssertionError('x')))", 1,
           "not ok 1 - test")
    checkers = "w.CHECKERS = True\n"
    expect("what checkers make slow is skipped", checkers + "w.main(fails(1, AssertionError('x')), fine)", 0,
           "ok 1 - test # SKIP not judged", "ok 2 - fine # ")
    expect("  if nothing is judged, all is", checkers + "w.main(fails(1, AssertionError('x')), skipped)", 4,
           "ok 1 - test # SKIP not judged", "ok 2 - skipped # SKIP not here")
    expect("  an exception is none of their doing", checkers + "w.main(fails(1, OSError('x')))", 1,
           "not ok 1 - test")
    if not os.access("/proc/sys/kernel/core_pattern", os.W_OK):
        skip("crashes", "not root")
        return
    restored()
    with open("/proc/sys/kernel/core_pattern") as f:
        before = f.read()
    for prefix in "", checkers:
        expect("a program that crashes fails the test", prefix + "w.main(w.measured(crashes), fine)", 1,
               "not ok 1 - crashes", "ok 2 - fine")
    with open("/proc/sys/kernel/core_pattern") as f:
        ok(f.read() == before, "the system's setting is restored")
