# SPDX-License-Identifier: GPL-2.0
"""Runs the command under test and checks its output."""
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
# only one in DAMAGE of the damaged files is tried
DAMAGE = int(os.environ.get("WSMO_DAMAGE", "1"))
GOLDEN = os.path.join(HERE, "golden")

# wsmo never exits with 99, so a sanitizer's finding cannot pass for a failure of wsmo
ENV = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
       "TZ": "UTC", "HOME": "/",
       "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1",
       "UBSAN_OPTIONS": "print_stacktrace=1"}


@functools.cache
def public_copy():
    """A copy of wsmo that other users may run: the checkout may be in /root."""
    directory = Directory()
    os.chmod(directory.name, 0o755)
    shutil.copy(WSMO, directory.name)
    shutil.copy(WSMO + "-report", directory.name)
    # the caller keeps @directory, or it is removed
    return directory, directory.path(os.path.basename(WSMO))


def run(*args, stdin=b"", env=None, timeout=600, **kw):
    """Run wsmo; the result has returncode, and stdout and stderr as bytes."""
    if "user" in kw:
        # another user may not enter a working directory in the checkout either
        kw.setdefault("cwd", "/")
    return subprocess.run([public_copy()[1] if "user" in kw else WSMO, *args], input=stdin, timeout=timeout,
                          stdout=kw.pop("stdout", subprocess.PIPE),
                          stderr=kw.pop("stderr", subprocess.PIPE),
                          env=dict(ENV, **(env or {})), **kw)


def needs(there, what):
    """Decorates tests: skip them if @there is false, with @what as the reason"""
    def wrap(test):
        @functools.wraps(test)
        def instead(**_):
            skip(test.__name__[len("test_"):], what)
        return test if there else instead
    return wrap


as_root = needs(not os.geteuid(), "not root")


def golden(name, got, accept, passed=True, *why):
    """A test point: @passed, and @got equals golden/@name; --accept rewrites the file."""
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
    """Test points: CSV and --raw of a view have the numbers of its JSON. Return its JSON."""
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
    """Peak memory in KiB of the installed wsmo until it exits with the expected status;
    None if not built."""
    plain = os.path.join(TOP, "out", "bin", "wsmo")
    if not os.path.exists(plain):
        return None
    # in a process of its own: ru_maxrss is the maximum over all children
    p = subprocess.run([sys.executable, "-c", PEAK, plain, *args], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    status, peak = map(int, p.stdout.split())
    # a refused command would need little memory
    assert status == expected, "exit status %d: %s" % (status, p.stderr)
    return peak


def parsed(result):
    """The objects printed by --json"""
    return [json.loads(line) for line in result.stdout.splitlines()]


def wait_for(condition, seconds=20):
    """Return: whether the condition holds before the time is up"""
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
    """Where cgroup v2 is mounted, "" if nowhere"""
    with open("/proc/self/mounts") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), "")


def preloaded(d, source):
    """The environment that preloads a program of tests/wsmo/programs as a library"""
    library = d.path(os.path.basename(source) + ".so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library,
                    os.path.join(HERE, "programs", source), "-ldl"], check=True)
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}


def plotted(data, *commands):
    """What these command lines pass to gnuplot; its pictures are discarded"""
    with Directory() as d:
        d.write("gnuplot", b"#!/bin/sh\ncat >>%s\n" % d.path("told").encode())
        os.chmod(d.path("gnuplot"), 0o755)
        for args in commands:
            run(*args, "-o", d.path("a.svg"), "-i", "-", stdin=data, env={"PATH": d.name + ":/usr/bin:/bin"})
        return d.read("told").decode()


def one_line(err):
    """Is it a single message of wsmo?"""
    return err.startswith(b"wsmo: ") and err.count(b"\n") == 1 and \
        err.endswith(b"\n")


def fails(result, name, *words, status=1):
    """It failed as expected: with this exit status, and one line with these words."""
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
