# SPDX-License-Identifier: GPL-2.0
"""Runs the command that is tested, and checks what it prints."""
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import forms
from ktap import every, ok, skip  # noqa: F401

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "wsmo")
WSMO = os.environ.get("WSMO", os.path.join(TOP, "out", "bin", "wsmo-asan"))
# one of so many damaged files is tried
DAMAGE = int(os.environ.get("WSMO_DAMAGE", "1"))
GOLDEN = os.path.join(HERE, "golden")

# 99 is no exit status of wsmo: what a sanitizer finds cannot pass for a failure
ENV = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
       "TZ": "UTC", "HOME": "/",
       "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1",
       "UBSAN_OPTIONS": "print_stacktrace=1"}


@functools.cache
def public_copy():
    """wsmo where other users may run it: the checkout may be in /root."""
    directory = Directory()
    os.chmod(directory.name, 0o755)
    shutil.copy(WSMO, directory.name)
    shutil.copy(WSMO + "-report", directory.name)
    # who keeps it keeps the directory
    return directory, directory.path(os.path.basename(WSMO))


def run(*args, stdin=b"", env=None, timeout=600, **kw):
    """Run wsmo; the result has returncode, stdout, stderr, these as bytes."""
    if "user" in kw:
        # nor may another user enter a working directory in there
        kw.setdefault("cwd", "/")
    return subprocess.run([public_copy()[1] if "user" in kw else WSMO, *args], input=stdin, timeout=timeout,
                          stdout=kw.pop("stdout", subprocess.PIPE),
                          stderr=kw.pop("stderr", subprocess.PIPE),
                          env=dict(ENV, **(env or {})), **kw)


def needs(there, what):
    """Decorates tests that are skipped if @there is false; @what says why"""
    def wrap(test):
        @functools.wraps(test)
        def instead(**_):
            skip(test.__name__[len("test_"):], what)
        return test if there else instead
    return wrap


as_root = needs(not os.geteuid(), "not root")


def golden(name, got, accept, passed=True, *why):
    """A test point: @passed, and @got is what golden/@name holds; --accept takes it."""
    path = os.path.join(GOLDEN, name)
    if accept:
        with open(path, "wb") as f:
            f.write(got)
    with open(path, "rb") as f:
        want = f.read()
    old = want.decode().splitlines()
    return ok(passed and got == want and got, "golden " + name, *why,
              *[line for line in got.decode().splitlines() if line not in old])


FORMS = ("--json", "--csv", "--raw")


def same_numbers(name, *args, stdin=b"", only_csv=(), not_raw=()):
    """Test points: a view's CSV and --raw have the numbers of its JSON. Return its JSON."""
    res = [run(*args, form, stdin=stdin) for form in FORMS]
    lines, text, raw = [x.stdout.decode() for x in res]
    ok(not any(x.returncode for x in res) and lines, name + ": all forms", *[x.stderr for x in res])
    ok(*forms.none(forms.csv_differences(text, lines, only_csv), name + ": CSV is as JSON"))
    ok(*forms.none(forms.raw_differences(text, raw, not_raw), name + ": --raw is as CSV"))
    return lines


PEAK = """import resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def peak_rss(*args, expected=0):
    """KiB that wsmo, as it is installed, needs at most to do it and exit with the expected status;
    None if not built."""
    plain = os.path.join(TOP, "out", "bin", "wsmo")
    if not os.path.exists(plain):
        return None
    # a process of its own: ru_maxrss is the greatest of all children
    p = subprocess.run([sys.executable, "-c", PEAK, plain, *args], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    status, peak = map(int, p.stdout.split())
    # what was refused needs little memory
    assert status == expected, "exit status %d: %s" % (status, p.stderr)
    return peak


def parsed(result):
    """The objects that --json printed"""
    return [json.loads(line) for line in result.stdout.splitlines()]


def wait_for(condition, seconds=20):
    """Return: whether it holds before that time is over"""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def content(path):
    with open(path, "rb") as f:
        return f.read()


def cgroup_root():
    """Where cgroups of version 2 are, "" if nowhere"""
    with open("/proc/self/mounts") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), "")


def preloaded(d, source):
    """The environment with a program of tests/wsmo/programs, as a library that is preloaded"""
    library = d.path(os.path.basename(source) + ".so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library,
                    os.path.join(HERE, "programs", source), "-ldl"], check=True)
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}


def plotted(data, *commands):
    """What gnuplot is told by these command lines, whose pictures go nowhere"""
    with Directory() as d:
        d.write("gnuplot", b"#!/bin/sh\ncat >>%s\n" % d.path("told").encode())
        os.chmod(d.path("gnuplot"), 0o755)
        for args in commands:
            run(*args, "-o", d.path("a.svg"), "-i", "-", stdin=data, env={"PATH": d.name + ":/usr/bin:/bin"})
        return d.read("told").decode()


def one_line(err):
    """Is it one message of wsmo's?"""
    return err.startswith(b"wsmo: ") and err.count(b"\n") == 1 and \
        err.endswith(b"\n")


def fails(result, name, *words, status=1):
    """It failed as it should: exit status, one line with these words in it."""
    text = result.stderr.decode(errors="replace")
    ok(result.returncode == status and one_line(result.stderr) and
       all(word in text for word in words), name,
       "exit status %d" % result.returncode, text)


class Directory(tempfile.TemporaryDirectory):
    """A directory for a test's files."""

    def __enter__(self):
        return self

    def path(self, *name):
        return os.path.join(self.name, *name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()
