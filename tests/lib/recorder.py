# SPDX-License-Identifier: GPL-2.0
"""Runs wsmo record, with a fake of the module, on a program with known stacks."""
import contextlib
import os
import subprocess

import records as r
from command import ENV, TOP, WSMO, Directory, run
from fakemodule import Module, now

STACKED = os.path.join(TOP, "tests", "lib", "stacked.c")


@contextlib.contextmanager
def fake(**kw):
    with Directory() as d:
        os.mkdir(d.path("debug"))
        os.chmod(d.name, 0o777)
        debug = Directory()
        module = Module(debug, **kw)
        module.started = []
        try:
            yield d, module
        finally:
            for p in module.started:
                p.kill()
                p.wait()
            module.close()
            debug.cleanup()


def args(d, module, *more):
    return ("record", "--debugfs", module.dir.name, "-o", d.path("data"),
            *more)


def start(d, module, *more, **kw):
    p = subprocess.Popen([WSMO, *args(d, module, *more)], env=ENV,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    module.started.append(p)
    return p


def kinds(d):
    return [kind for kind, _, _ in r.parse(d.read("data"))]


def record(d, m, pid, *more):
    return run(*args(d, m, "-p", str(pid), *more))


def peaks(*edges):
    """A module that sends the records made by these functions of (time, pid)."""
    def play(m, pids):
        m.begin(pids)
        for edge in edges:
            for pid in pids:
                m.send(edge(now(), pid))
        m.asked(0.5)
        m.send(r.end(now()))
    return play


class Program:
    """A running stacked.c, built with these gcc options."""

    def __init__(self, d, *argv, options=("-O2",)):
        self.file = d.path("stacked")
        if not os.path.exists(self.file):
            subprocess.run(["gcc", "-g", *options, "-pthread", "-o", self.file,
                            STACKED], check=True)
        self.fixed = "-static" in options
        self.process = subprocess.Popen([self.file, *map(str, argv)],
                                        stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def function(self, pc):
        """The program's function at an address (not an inlined one); None if there is
        none."""
        with open("/proc/%d/maps" % self.pid) as f:
            for line in f:
                where, _, offset, *_ = line.split()
                low, high = (int(x, 16) for x in where.split("-"))
                if low <= pc < high and line.rstrip().endswith(self.file):
                    if not self.fixed:
                        pc -= low - int(offset, 16)
                    out = subprocess.run(["addr2line", "-fi", "-e", self.file, hex(pc)],
                                         stdout=subprocess.PIPE).stdout.splitlines()
                    return out[-2].decode()
        return None

    def functions(self, stack):
        return [name for name in map(self.function, stack["pc"]) if name]
