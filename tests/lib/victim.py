# SPDX-License-Identifier: GPL-2.0
"""wsmo act on a process with memory, and a fake module that reports its use."""
import contextlib
import json
import mmap
import os
import struct
import subprocess
import sys

import records as r
from command import ENV, Directory
from fakemodule import Module, now

PAGE = mmap.PAGESIZE
SIZE = 8 << 20
COLD = "4K null null 5% 500ms null pageout"

# a file that no other process maps: its pages can be dropped without swap
CODE = """
import ctypes, mmap, os, sys, time
size = int(sys.argv[1])
f = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
os.write(f, b"x" * size)
os.fsync(f)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.munmap.argtypes = libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
def area(prot, flags, fd):
    # two huge pages more: it begins at one, and a gap follows
    addr = libc.mmap(None, size + (4 << 20), 0, 0x22, -1, 0)
    at = (addr + (2 << 20) - 1) & -(2 << 20)
    assert libc.mmap(at, size, prot, flags | 0x10, fd, 0) == at
    ctypes.string_at(at, size)
    return at
at = area(1, int(sys.argv[3]), f)
anon = area(3, 0x22, -1)
ctypes.memset(anon, 1, size)
print(at, anon, flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "unmap":
        libc.munmap(int(words[1]), int(words[2]))
    elif words[0] == "lock":
        libc.mlock(int(words[1]), int(words[2]))
    elif words[0] == "touch":
        ctypes.string_at(int(words[1]), int(words[2]))
    elif words[0] == "zeroes":
        zeroes = libc.mmap(None, int(words[1]), 3, 0x22, -1, 0)
        # MADV_POPULATE_READ
        assert not libc.madvise(zeroes, int(words[1]), 22)
        print(zeroes, flush=True)
    print("done", flush=True)
"""


class Victim:
    """The process: clean file memory is at .at, anonymous memory at .anon."""

    def __init__(self, directory, size=SIZE, flags=mmap.MAP_PRIVATE, file=None):
        self.size = size
        self.p = subprocess.Popen([sys.executable, "-c", CODE, str(size),
                                   file or directory.path("mapped"), str(flags)], env=ENV, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.at, self.anon = map(int, self.p.stdout.readline().split())
        self.pid = self.p.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.communicate()

    def tell(self, *words):
        print(*words, file=self.p.stdin, flush=True)
        assert self.p.stdout.readline() == "done\n"

    def zeroes(self, size):
        """Map a range, with the zero page everywhere in it. Return its address."""
        print("zeroes", size, file=self.p.stdin, flush=True)
        at = int(self.p.stdout.readline())
        assert self.p.stdout.readline() == "done\n"
        return at

    def resident(self, start, size):
        """Bytes of a range that the page tables map."""
        with open("/proc/%d/pagemap" % self.pid, "rb") as f:
            f.seek(start // PAGE * 8)
            data = f.read(size // PAGE * 8)
        return PAGE * sum(e >> 63 for e in struct.unpack("<%dQ" % (size // PAGE), data))

    def huge(self, start):
        """Bytes in huge pages of the mapping that begins at @start."""
        with open("/proc/%d/smaps" % self.pid) as f:
            inside = False
            for line in f:
                if line[0] in "0123456789abcdef":
                    inside = int(line.split("-")[0], 16) == start
                elif inside and line.startswith("AnonHugePages"):
                    return int(line.split()[1]) << 10
        return 0


def regions(start, size, parts, hot=(), cls="file", age_ms=60000):
    """Equal parts of a range, of which those in @hot were accessed."""
    step = size // parts
    return [r.region(start + i * step, start + (i + 1) * step, i in hot, i in hot,
                     cls, age_ms, 0) for i in range(parts)]


def script(snapshot, intervals=150, missed=0, events=None):
    """A script of the fake module: the same snapshot each interval of 10 ms.

    10 ms is the time in the records; the actual pace of the records differs, so that
    the outcome does not depend on the load of the machine.

    snapshot: pid -> regions, or a function of the interval's number to that;
    missed: rounds missed each interval; events: interval number -> function to
    call then, which may return further records.
    """
    def run(module, pids):
        module.begin(pids)
        alive = list(pids)
        began = now()
        for i in range(intervals):
            text = module.asked(module.interval)
            if text is not None or module.stop:
                module.targets.append(text)
                break
            more = (events or {}).get(i, lambda: b"")() or b""
            out = more
            t = began + i * 10**7
            for pid in alive:
                if not os.path.exists("/proc/%d" % pid):
                    out += r.exit_(t, pid)
                    continue
                # in several records, as the module splits large snapshots
                all_ = (snapshot(i) if callable(snapshot) else snapshot).get(pid, [])
                for first in range(0, len(all_), 1000):
                    out += r.snapshot(t, pid, all_[first:first + 1000], first, len(all_),
                                      rounds=2)
            alive = [pid for pid in alive if os.path.exists("/proc/%d" % pid)]
            module.send(out + r.stats(t, rounds=2 * i, missed=missed * i, cpu_ns=1000 * i))
            if not alive:
                module.send(r.end(now(), 1))
                return
        module.send(r.end(now(), 0))
    return run


@contextlib.contextmanager
def fake(snapshot, size=SIZE, pace=0.004, flags=mmap.MAP_PRIVATE, file=None, **kw):
    """A victim, and a module that reports snapshot(victim) of it."""
    with Directory() as d, Directory() as debug, Victim(d, size, flags, file) as v:
        module = Module(debug, interval=pace, script=script(snapshot(v), **kw))
        try:
            yield d, module, v
        finally:
            module.close()


def args(d, module, victim, *rules, more=(), seconds="60", classes="file"):
    d.write("scheme", "\n".join(rules).encode() + b"\n")
    return ("act", "--debugfs", module.dir.name, "-s", d.path("scheme"), "-p",
            str(victim.pid), "-d", seconds, "--json", "--class", classes,
            # do not yield to other load on this machine
            "--max-pressure", "100%", *more)


def objects(result, kind):
    return [x for x in map(json.loads, result.stdout.splitlines()) if x["type"] == kind]


def half_hot(v):
    """A snapshot with the first half accessed."""
    return {v.pid: regions(v.at, v.size, 64, hot=range(32))}


def mapped(v, share=(0, 1)):
    return v.resident(v.at + int(v.size * share[0]), int(v.size * (share[1] - share[0])))
