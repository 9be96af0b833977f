#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes the fuzzer's first inputs: tests/fuzz-recordings/seeds.py DIR ONE_IN

They are the recordings that the tests of wsmo read, so the fuzzer need not find
out what a recording is; and what "wsmo check" reads. Of those that differ in a word or a size,
one in ONE_IN, by chance.
"""
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "lib"))

import packed        # noqa: E402
import records as r  # noqa: E402
import samples       # noqa: E402
import sim           # noqa: E402

REAL_NS = 32  # offset in the header: chooses formats and filters, see fuzz.h


def choose(data, select):
    return data[:REAL_NS] + struct.pack("<I", select) + data[REAL_NS + 4:]


def later_version():
    """What a later module may send: longer records, unknown ones."""
    t = samples.T0
    wss = r.record(r.WSS, t, r.wss(t, 1, 4711, 7, 7, 7, 7)[16:] + bytes(8))
    return r.header(t, more=bytes(64)) + wss + \
        r.record(99, t, bytes(r.RECORD_MAX - 16)) + r.end(t, 7)


def windows():
    """Several at a time; their attributes are longer than with one."""
    t = samples.T0
    longer = dict(windows_us=(1000000, 10000000, 60000000))
    return r.header(t, **longer) + r.attrs(t, **longer) + b"".join(
        r.wss(t, 1, "all", 1, 1, 1, 1, window_us=window)
        for window in (1000000, 10000000, 60000000)) + r.end(t)


def curve():
    """Several windows, for long enough to make a curve of; two processes."""
    t = samples.T0
    return r.header(t) + b"".join(
        r.wss(t + i * samples.SEC, pid, "all", n, n - 1, n + 1, 1 << 20, window_us=10**6 * window) +
        r.proc(t + i * samples.SEC, pid, 1 << i, 1, 2)
        for i in range(1, 9) for pid in (77, 4242)
        for window, n in ((1, 5000), (2, 9000), (4, 12000))) + r.end(t)


def blobs():
    """More than the reader has room for, at little cost."""
    t = samples.T0
    blob = r.record(99, t, bytes(50000))
    return samples.small() + 3 * (blob + r.wss(t, 1, "all", 1, 1, 1, 1))


def names():
    """Names longer than is printed, gaps between their numbers."""
    t = samples.T0
    areas = [r.area(t, pid, "file", index, 1 << 20, 4096, 8192, path=path)
             for pid, index, path in
             ((1, 0, b"x" * 8200), (1, 17, samples.ODD_PATH), (1, 65535, b"y"),
              (2, 0, b"\xff" * 5000))]
    regions = [r.region(4096, 8192, 1, 1, "file", 1, n) for n in (0, 17, 18)]
    return r.header(t) + b"".join(areas) + r.snapshot(t, 1, regions) + r.end(t)


def kinds():
    """The records that are looked into, one of each."""
    t = samples.T0
    regions = [r.region(n << 12, (n + 1) << 12, 0.5, 1, "heap", 10, n)
               for n in (1, 2)]
    return (r.attrs(t, windows_us=(1000000, 10000000)), r.target(t, 1, b"x"),
            r.area(t, 1, "heap", 0, 3, 4096, 8192, path=b"[heap]"),
            r.snapshot(t, 1, regions, 1, 9), r.proc(t, 1, 1, 2, 3),
            r.wss(t, 1, "all", 1, 1, 1, 1), r.lost(t, 1, 1), r.stats(t),
            r.exit_(t, 1), r.end(t))


def words(data):
    """A word of it is another."""
    for at in range(0, len(data), 4):
        was = struct.unpack_from("<I", data, at)[0]
        for word in (was + 1, len(r.CLASSES), 1 << 31, (1 << 32) - 1):
            yield data[:at] + struct.pack("<I", word) + data[at + 4:]


def sizes(record):
    """It is shorter, or much longer."""
    for size in (*range(16, len(record), 8), len(record) + 1024):
        yield record[:4] + struct.pack("<I", size) + \
            (record + bytes(1024))[8:size]


def damaged():
    """One thing is wrong with the header or a record."""
    head = r.header(samples.T0, windows_us=(1000000, 10000000))
    body = b"".join(kinds())
    for broken in (*words(head), r.header(samples.T0, more=bytes(4096))):
        yield broken + body
    for kind in kinds():
        before, behind = body.split(kind)
        for broken in (*words(kind), *sizes(kind)):
            yield head + before + broken + behind


def packed_seeds():
    """Packed snapshots, in parts, of two targets; what is wrong with some."""
    t = samples.T0
    made = [sim.history(6, 40, pid, pid=pid, now=t, part=25) for pid in (samples.PID, samples.ODD)]
    parts = [one for both in zip(*made) for one in both]
    yield packed.pack(samples.main())
    yield packed.pack(samples.few())
    yield packed.pack(r.header(t) + b"".join(parts) + r.end(t + 9 * 10**9))
    few = packed.pack(samples.few())
    at = len(r.header(t))
    while at < len(few):
        kind, size = struct.unpack_from("<II", few, at)
        if kind == packed.PACKED:
            for broken in words(few[at:at + 24]):
                yield few[:at] + broken + few[at + 24:]
        at += size


def some(inputs, one_in):
    """A random part of the inputs, one in @one_in on average: [(number, input)]"""
    return [(n, data) for n, data in enumerate(inputs) if not random.randrange(one_in)]


def seeds(one_in):
    whole = samples.main()
    for n, data in some(packed_seeds(), one_in):
        yield "packed-%d" % n, choose(data, n | n << 11)
    for n in range(24):
        yield "main-%d" % n, choose(whole, n | n << 11)
        yield "family-%d" % n, choose(samples.family(), n | n << 11)
        yield "windows-%d" % n, choose(windows(), n | n << 11)
        yield "curve-%d" % n, choose(curve(), n | n << 11)
    for n, data in some(damaged(), one_in):
        yield "damaged-%d" % n, choose(data, n)
    small = samples.small()
    for size, _ in some(small, one_in):
        yield "cut-%d" % size, choose(small[:size], size * 257)
    for name, data in (("rows", samples.many(1, 600)), ("blobs", blobs()),
                       ("later", later_version()), ("names", names())):
        for n in range(4):
            yield "%s-%d" % (name, n), choose(data, n)
    yield "idle", b"idle\n"
    yield "running", b"running\n"
    yield "config", b"# Linux\nCONFIG_PAGE_IDLE_FLAG=y\n" \
        b"CONFIG_NUMA_BALANCING=m\n# CONFIG_TRANSPARENT_HUGEPAGE is not set\n"


def main(directory, one_in):
    for name, data in seeds(int(one_in)):
        with open(os.path.join(directory, "seed-" + name), "wb") as f:
            f.write(data)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
