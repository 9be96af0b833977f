# SPDX-License-Identifier: GPL-2.0
"""wsmo record: MAPPING records of its targets."""
import os
import re
import struct
import subprocess
import sys
import threading
import time

import records as r
from command import ENV, TOP, Directory, needs, ok, preloaded, run, skip
from fakemodule import Module, now
from fuse import Deaf, Locked

PROT = {"r": 1, "w": 2, "x": 4, "s": 8}

THREADS = """import threading, time
for i in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("up", flush=True)
input()
more = threading.Thread(target=time.sleep, args=(60,), daemon=True)
more.start()
print("more", flush=True)
input()
"""

# every other page is writable, so that the kernel cannot merge neighbours
MANY = """import ctypes, mmap
libc = ctypes.CDLL(None)
pages = int(%d)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
at = libc.mmap(None, pages * 4096, 1, 0x22, -1, 0)
for i in range(0, pages, 2):
    assert not libc.mprotect(ctypes.c_void_p(at + i * 4096), 4096, 3)
print("up", flush=True)
input()
"""


def child(code):
    p = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    p.stdout.readline()
    time.sleep(0.2)
    return p


def go_on(p):
    p.stdin.write(b"\n")
    p.stdin.flush()
    p.stdout.readline()
    time.sleep(0.2)


def maps(pid):
    """{start: MAPPING record to expect, without build ID and thread}"""
    found = {}
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            m = re.match(r"(\S+)-(\S+) (\S+) (\S+) \S+ (\d+) *(.*)", line)
            prot = sum(PROT.get(c, 0) for c in m[3])
            found[int(m[1], 16)] = (pid, prot, int(m[2], 16), int(m[4], 16),
                                    int(m[5]), m[6].encode())
    return found


def decode(body):
    pid, prot, start, end, offset, inode = struct.unpack_from("<IIQQQQ", body)
    length, tid = struct.unpack_from("<II", body, 72)
    return start, (pid, prot, end, offset, inode, body[80:].split(b"\0")[0]), \
        body[40:40 + length], tid


def areas(module, pid):
    """AREA records, as sent when mappings have changed."""
    module.send(r.area(now(), pid, "anon", 0, 2, 4096, 8192))
    module.send(r.area(now(), pid, "anon", 1, 2, 8192, 12288))


def record(p, script, binary=None, **more):
    """Run wsmo record on a process; [MAPPING bodies], messages"""
    def play(module, pids):
        module.begin(pids)
        try:
            script(module)
        finally:
            module.send(r.end(now()))

    with Directory() as d, Directory() as debug:
        module = Module(debug, script=play)
        args = ("record", "--debugfs", debug.name, "-q", "-o", d.path("f"), "-p",
                str(p.pid))
        try:
            res = subprocess.run([binary, *args], env=ENV, stderr=subprocess.PIPE) \
                if binary else run(*args, timeout=60, **more)
        finally:
            module.close()
        with open(d.path("f"), "rb") as f:
            data = f.read()
    return [body for kind, _, body in r.parse(data) if kind == r.MAPPING], res.stderr


def test_whole():
    p = child(THREADS)
    seen = []

    def script(module):
        for _ in range(2):
            areas(module, p.pid)
            time.sleep(1.2)
        seen.append(maps(p.pid))
        go_on(p)
        areas(module, p.pid)
        # once a second; a busy machine needs longer
        time.sleep(4)
        seen.append(maps(p.pid))
        module.send(r.target(now(), p.pid, b"new", 1))
        areas(module, p.pid)
        time.sleep(1.2)

    got, err = record(p, script)
    got = [decode(body) for body in got]
    before, after = seen
    first, rest = got[:len(before)], got[len(before):]
    ok({start: what for start, what, _, _ in first} == before and not err,
       "each line of /proc/PID/maps is a record", err, first)
    main = os.path.realpath(sys.executable).encode()
    ids = {what[5]: build for _, what, build, _ in first if build}
    notes = subprocess.run(["readelf", "-n", main], stdout=subprocess.PIPE).stdout.decode()
    want = re.search("Build ID: ([0-9a-f]+)", notes)[1]
    ok(ids.get(main) == bytes.fromhex(want) and
       all(path.startswith(b"/") for path in ids), "with the ELF files' build IDs", ids, want)
    tids = sorted(tid for _, _, _, tid in first if tid)
    ok(tids == sorted(int(t) for t in os.listdir("/proc/%d/task" % p.pid))[:4],
       "and the threads of stacks", tids)
    new = {start for start in after if after[start] != before.get(start)}
    changed = rest[:len(rest) - len(after)]
    ok(new and {start for start, _, _, _ in changed} == new,
       "then what changed, and nothing else", changed, new)
    ok({start for start, _, _, _ in rest[len(changed):]} == set(after),
       "and all of it when the address space is new")
    p.kill()
    p.wait()


PLAIN = os.path.join(TOP, "out", "bin", "wsmo")


def many(pages):
    """A target with more mappings than are recorded."""
    p = child(MANY % pages)
    peak = []

    def script(module):
        for _ in range(3):
            areas(module, p.pid)
            time.sleep(1.5)
        for pid in os.listdir("/proc"):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    mine = f.read().split(b"\0")
                if mine[0] == PLAIN.encode() and str(p.pid).encode() in mine:
                    with open("/proc/%s/status" % pid) as f:
                        peak.extend(int(line.split()[1]) for line in f
                                    if line.startswith("VmHWM"))
            except OSError:
                pass

    got, err = record(p, script, PLAIN)
    named = {start: what for start, what in maps(p.pid).items() if what[5]}
    all_of_it = dict(decode(body)[:2] for body in got)
    if pages > 4096:
        ok(all_of_it == named and b"mappings were left out" in err,
           "of %d mappings those with a name are told" % pages, len(got), err)
    else:
        ok(len(got) == len(maps(p.pid)) and not err, "%d mappings are told" % pages,
           len(got), err)
    # its other processes read files that may not answer
    ok(len(peak) > 1 and max(peak) < 3 << 10, "  in less than 3 MiB", peak)
    p.kill()
    p.wait()


plain = needs(os.path.exists(PLAIN), "out/bin/wsmo is not built")


@plain
def test_few():
    many(3900)


@plain
def test_many():
    many(60000)


# maps a file given by name
MAPS = """import mmap, sys
f = open(%r, "r+b")
m = mmap.mmap(f.fileno(), 0)
print("up", flush=True)
input()
"""


def test_deaf(d):
    """A server that does not answer does not hold up the recorder."""
    d.write("deaf.so", bytes(8192))
    p = child(MAPS % d.path("deaf.so"))

    def script(module):
        areas(module, p.pid)
        time.sleep(1.5)
        areas(module, p.pid)
        time.sleep(1.2)
    got, err = record(p, script, env=preloaded(d, "deaf.c"))
    main = os.path.realpath(sys.executable).encode()
    got = {what[5]: build for _, what, build, _ in map(decode, got)}
    ok(got.get(main) and not got[d.path("deaf.so").encode()] and not err, "other files have build IDs", got, err)
    p.kill()
    p.wait()


def test_unkillable():
    """Nor do real servers delay its end: a process that asks them does not end, not even by
    SIGKILL."""
    with Directory() as d, Deaf(d.name, bytes(8192)) as f:
        if not f.works:
            return skip("servers that do not answer", "no FUSE, or not root")
        p = child(MAPS % f.path)
        f.deaf()
        late = threading.Timer(30, f.server.kill)
        late.start()
        got, err = record(p, lambda module: areas(module, p.pid))
        ok(late.is_alive() and got and not err, "a server that does not answer does not hold up the end", len(got), err)
        late.cancel()
        p.kill()
    p.wait()


def test_locked():
    """Nor does a held mmap lock: the process is left out, with one message."""
    with Directory() as d, Locked(d.name) as held:
        if not held.works:
            return skip("a mmap lock that is held", "no FUSE, or not root")
        p = child(THREADS)
        late = threading.Timer(30, held.deaf.server.kill)
        late.start()

        def play(module, pids):
            module.begin(pids)
            held.lock()
            for _ in range(2):
                for pid in pids:
                    areas(module, pid)
                    module.send(r.wss(now(), pid, "all", 1, 1, 1, 1))
                time.sleep(1.2)
            module.send(r.end(now()))
        with Directory() as debug:
            module = Module(debug, script=play)
            res = run("record", "--debugfs", debug.name, "-q", "-o", debug.path("f"), "-p",
                      "%d,%d" % (held.pid, p.pid))
            module.close()
            got = [decode(body)[1] for kind, _, body in r.parse(debug.read("f")) if kind == r.MAPPING]
        ok(late.is_alive() and not res.returncode, "a mmap lock that is held does not hold up the recorder", res)
        ok(res.stderr.count(b"\n") == 1 and b"memory of process %d cannot be read" % held.pid in res.stderr, "  that is said once",
           res.stderr)
        # from Linux 6.17 on maps needs no mmap lock
        ok({(p.pid, b"[stack]"), (p.pid, b"[heap]")} <= {(what[0], what[5]) for what in got},
           "  other processes are recorded", got)
        began = time.monotonic()
        res = run("mem", "--json", "-p", "%d,%d" % (held.pid, p.pid))
        ok(time.monotonic() - began < 20 and res.returncode == 1 and res.stderr.count(b"\n") == 1 and
           b'"resident":' in res.stdout, "  wsmo mem says so, too", res)
        late.cancel()
    p.kill()
    p.wait()
