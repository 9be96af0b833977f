# SPDX-License-Identifier: GPL-2.0
"""Packed snapshots: small, lossless, and read one by one."""
import os
import re
import random
import struct
import subprocess
import sys
import time

import packed
import records as r
import samples
import sim
from command import ENV, HERE, TOP, Directory, every, fails, ok, peak_rss, run, skip
from fakemodule import Module

sys.path.insert(0, os.path.join(TOP, "contrib"))
import wsmon  # noqa: E402

SEC = 10**9
PID = os.getpid()
HEADER = len(r.header(0))


def play(stream):
    """A script for the fake module that sends this stream."""
    def script(module, _pids):
        at = 0
        while at < len(stream):
            at += os.write(module.buffer, stream[at:at + 32768])
    return script


def record(stream, *options):
    """The file that wsmo record makes of a stream, without its own PROC and INDEX records."""
    with Directory() as d, Directory() as debug:
        module = Module(debug, script=play(stream))
        try:
            res = run("record", "--debugfs", debug.name, "-q", "-o", d.path("f"),
                      "-p", str(PID), *options)
        finally:
            module.close()
        assert res.returncode == 0, res.stderr
        data = d.read("f")
    return data[:HEADER] + b"".join(
        r.record(kind, t, body) for kind, t, body in r.parse(data)
        if kind not in (r.PROC, r.INDEX))


def kinds(data):
    return [kind for kind, _, _ in r.parse(data)]


def dump(data, *options):
    res = run("report", "raw", "--raw", *options, "-i", "-", stdin=data)
    nothing = res.returncode == 1 and b": nothing is left by --" in res.stderr
    assert nothing or res.returncode == 0 and not res.stderr, res.stderr
    return res.stdout


def python(data):
    with Directory() as d, open(d.write("f", data), "rb") as f:
        return list(wsmon.read(f)[1])


def whole(*records):
    """A stream of these records."""
    t = samples.T0
    return r.header(t) + r.target(t, PID, b"x") + b"".join(records) + \
        r.end(t + 10**6 * SEC)


def round_trip(name, stream, limit=None):
    """Packed by wsmo, read by wsmo and in Python: nothing is lost."""
    plain, small = record(stream, "--no-pack"), record(stream)
    ok(plain == stream, name + ": --no-pack writes what came")
    ok(dump(small) == dump(stream), name + ": wsmo reads what came")
    ok(python(small) == python(stream), name + ": Python reads what came")
    others = packed.pack(stream)
    ok(dump(others) == dump(stream) and python(others) == python(stream),
       name + ": so it is with what was packed in Python")
    if limit:
        regions = sum(x.nr for x in python(stream) if x.type == "SNAPSHOT")
        size = sum(16 + len(body) for kind, _, body in r.parse(small)
                   if kind in (packed.PACKED, r.SNAPSHOT))
        ok(size <= limit * regions, "%s: %.2f bytes a region" %
           (name, size / regions), size, regions)
    return small


def test_real():
    """A few seconds of redis-server under load, recorded on 6.12."""
    with open(os.path.join(HERE, "real.data"), "rb") as f:
        data = f.read()
    stream = data[:HEADER] + b"".join(
        r.record(*plain(kind, t, body)) for kind, t, body in r.parse(data)
        if kind not in (r.PROC, r.INDEX))
    small = round_trip("a real recording", stream, 2.5)
    ok(kinds(small).count(packed.PACKED) == kinds(data).count(packed.PACKED),
       "all of its snapshots are packed")
    ok(every(body[12] & 4 for kind, _, body in r.parse(small)
           if kind == packed.PACKED), "each frame has a checksum")


def plain(kind, t, body):
    """A record, unpacked by contrib/wsmon.py if it is packed"""
    if kind == packed.PACKED:
        return r.SNAPSHOT, t, wsmon._unpack(t, body)
    return kind, t, body


def test_histories():
    # a fifth to half of the regions report samples
    round_trip("150 intervals", whole(*sim.history(150, 300, 1, pid=PID)), 5)
    small = round_trip("snapshots in parts", whole(*sim.history(8, 5000, 3, pid=PID)), 4)
    ok(kinds(small).count(packed.PACKED) == 24, "each part is packed by itself",
       kinds(small))
    two = [x for pair in zip(sim.history(20, 100, 4, pid=PID), sim.history(20, 200, 5, pid=77))
           for x in pair]
    round_trip("two targets", whole(r.target(samples.T0, 77, b"y"), *two))


def odd_entry(rng):
    start = rng.choice((0, 4096, rng.randrange(1 << 52) << 12))
    end = min(start + (rng.choice((1, 16, 1 << 40)) << 12), (1 << 64) - 4096)
    return r.region(start, max(end, start + 4096), rng.random(), rng.choice(
        (0, 1, 0.5, rng.random())), rng.choice(r.CLASSES),
        rng.choice((0, 1, 999, 1 << 31, (1 << 32) - 1)),
        rng.choice((0, 1, 65536, (1 << 32) - 1)))


def test_unusual():
    """Any snapshot comes back, likely or not."""
    rng = random.Random(8)
    t, made = samples.T0, []
    for n in range(150):
        t = rng.choice((t + SEC, t, max(t - 3 * SEC, 0), t + (1 << 62)))
        entries = [odd_entry(rng) for _ in range(rng.choice((0, 1, 2, 30, 2046)))]
        made.append(r.snapshot(t % (1 << 64), rng.choice((1, 2, PID)), entries,
                               interval_ns=rng.choice((0, SEC, 1 << 63)),
                               rounds=rng.choice((0, 1, 10, 1 << 31, (1 << 32) - 1)),
                               budget=rng.choice((0, 2000, (1 << 32) - 1))))
    stream = whole(*made)
    small = record(stream)
    ok(dump(small) == dump(stream) and packed.PACKED in kinds(small),
       "unlikely snapshots", len(stream), len(small))
    t = samples.T0
    good = r.region(4096, 8192, 0.5, 0.5, "heap", 1, 0) * 30
    odd = r.snapshot(t, PID, [good.replace(struct.pack("<Q", 8192), struct.pack("<Q", 8191))
                              [n:n + 32] for n in range(0, 960, 32)])
    ok(dump(record(whole(odd))) == dump(whole(odd)) and
       packed.PACKED in kinds(record(whole(odd))), "regions that are no whole pages")
    longer = r.record(r.SNAPSHOT, t, r.snapshot(t, PID, [good])[16:] + bytes(8))
    ok(record(whole(longer)) == whole(longer),
       "a snapshot of a later version: written plain")
    one = whole(r.snapshot(t, PID, [good[:32]]))
    ok(record(one) == one, "one region: written plain")


def test_skipping():
    """Each is read by itself: snapshots that a report leaves out are not unpacked."""
    stream = whole(*sim.history(200, 60, 10, pid=PID))
    small = record(stream)
    at, damaged = HEADER, bytearray(small)
    count = 0
    for kind, _, body in r.parse(small):
        count += kind == packed.PACKED
        if count == 40 and kind == packed.PACKED:
            damaged[at + 60] ^= 1
            where = at
        at += 16 + len(body)
    damaged = bytes(damaged)
    for window in ("1,2", "0,39", "41,42", "150,151.5", "45,", "500,"):
        ok(dump(damaged, "--time", window) == dump(stream, "--time", window),
           "--time %s is not harmed by damage elsewhere" % window)
    ok(dump(small, "--pid", str(PID)) and b"snapshot" not in
       dump(small, "--pid", "1") and b"snapshot" in dump(small), "--pid")
    fails(run("report", "regions", "--time", "39,41", "-i", "-", stdin=damaged),
          "damage inside --time", "broken at byte %d: a packed record" % where)
    res = run("report", "wss", "-i", "-", stdin=damaged)
    # and the message says that there is nothing else
    ok(res.returncode == 1 and b"nothing to show" in res.stderr and b"broken" not in res.stderr,
       "wss needs no snapshot", res.stderr)


def test_memory(d):
    """Memory is bounded by the needs of a report, not by the file."""
    sizes = []
    for count in (10, 600):
        name = d.write("f", packed.pack(whole(*sim.history(count, 200, 11, pid=PID))))
        sizes.append(peak_rss("report", "regions", "--time", "%d," %
                              (count - 2), "-i", name))
    if None in sizes:
        skip("memory does not grow with the file", "out/bin/wsmo is not built")
        return
    ok(sizes[1] < sizes[0] + 1024, "memory does not grow with the file",
       "%d KiB, then %d KiB" % tuple(sizes))


def own_memory(pid):
    """KiB resident, except libraries: how much of these is mapped depends on what is in the page cache"""
    kib = 0
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            words = line.split()
            if re.match("[0-9a-f]+-", line):
                library = len(words) > 5 and re.search(r"\.so\b", words[5])
            elif words[0] == "Rss:" and not library:
                kib += int(words[1])
    return kib


def test_footprint():
    """wsmo record is small beside its targets: below 768 KiB beside libraries, whatever it packs."""
    wsmo = os.path.join(TOP, "out", "bin", "wsmo")
    if not os.path.exists(wsmo):
        skip("wsmo record needs less than 768 KiB", "out/bin/wsmo is not built")
        return
    stream = whole(*sim.history(20, 2000, 12, pid=PID))[:-24]

    def script(module, pids):
        play(stream)(module, pids)
        module.asked(30)
        module.send(r.end(samples.T0))

    with Directory() as d, Directory() as debug:
        module = Module(debug, script=script)
        p = subprocess.Popen([wsmo, "record", "--debugfs", debug.name, "-q", "-o",
                              d.path("f"), "-p", str(PID)], env=ENV)
        try:
            size = -1
            # until the file stops growing
            while size != os.path.getsize(d.path("f")) \
                    if os.path.exists(d.path("f")) else p.poll() is None:
                if os.path.exists(d.path("f")):
                    size = os.path.getsize(d.path("f"))
                time.sleep(0.3)
            kib = own_memory(p.pid)
        finally:
            p.terminate()
            p.wait()
            module.close()
    print("# %d KiB" % kib)
    ok(size > 20000 and 0 < kib < 768, "wsmo record needs less than 768 KiB beside libraries",
       "%d KiB, a file of %d bytes" % (kib, size))
