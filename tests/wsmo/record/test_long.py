# SPDX-License-Identifier: GPL-2.0
"""Long recordings: reports of a span read only its part; --rotate, --keep, --max-size."""
import contextlib
import os
import random
import struct
import subprocess

import records as r
from command import every, ok, parsed, run
from fakemodule import now
from recorder import args, fake

SEC = 10**9
COUNT = 400
REGIONS = 600
FIRST = 128 << 10  # bytes read before the reader looks for an index


def player(count=COUNT, areas=2, begin=5000 * SEC):
    """A module that sends @count equal intervals of a second at once."""
    rng = random.Random(9)

    def play(m, pids):
        m.send(r.header(begin) + r.attrs(begin))
        for pid in pids:
            m.send(r.target(begin, pid, b"target"))
        for i in range(count):
            t = begin + (i + 1) * SEC
            for pid in pids:
                if i in (0, 250):
                    m.send(r.area(t, pid, "anon", 0, areas, 1 << 40, 2 << 40, path=b"[anon:named]"))
                    for n in range(1, areas):
                        m.send(r.area(t, pid, "heap", n, areas, n + 2 << 40, n + 3 << 40,
                                      path=200 * b"a"))
                m.send(r.snapshot(t, pid, [
                    r.region((1 << 40) + (n << 20), (1 << 40) + (n + 1 << 20), rng.random(), rng.random(),
                             "anon", rng.randrange(1 << 20), 0) for n in range(REGIONS)]))
                size = rng.randrange(1 << 30)
                m.send(r.wss(t, pid, "all", size, size // 2, size * 2, 1 << 40))
            m.send(r.stats(t, rounds=10 * (i + 1), cpu_ns=10**7 * (i + 1)))
            if m.asked(0):
                break
        m.send(r.end(begin + (count + 1) * SEC, 1))
    return play


@contextlib.contextmanager
def recorded(*more, pid=None, **play):
    """A recording independent of time and machine, apart from a @pid's mappings"""
    def begin(m, pids):
        # wsmo cannot read its memory and mappings any more
        p.kill()
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        player(**play)(m, pids)

    with subprocess.Popen(["sleep", "1000"]) as p, fake(script=begin) as (d, m):
        res = run(*args(d, m, "--no-stacks", "-p", str(pid or p.pid), *more))
        ok(res.returncode == 0, "record " + " ".join(more), res.stderr)
        yield d, res


def parts(data):
    """[(type, offset, size)]"""
    at, got = struct.unpack_from("<I", data, 12)[0], []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        got.append((kind, at, size))
        at += size
    return got


def index(data):
    """[(offset, bytes, from, to)] of a file's INDEX records; None without a complete index"""
    found = [part for part in parts(data) if part[0] == r.INDEX]
    runs, before = [], 0
    for _, at, size in found:
        if struct.unpack_from("<QI", data, at + 16) != (before, (size - 32) // 32):
            return None
        runs += [struct.unpack_from("<4Q", data, at + 32 + 32 * i) for i in range((size - 32) // 32)]
        before = at
    return runs if found and found[-1][1:] == (len(data) - 32, 32) else None


def bytes_read(*command):
    """The result, and bytes that wsmo read; other reads of this process are of wsmo's output"""
    def rchar():
        with open("/proc/self/io") as f:
            return int(f.readline().split()[1])

    before = rchar()
    res = run(*command)
    return res, rchar() - before - len(res.stdout) - len(res.stderr)


def test_times():
    with recorded() as (d, _):
        data = d.read("data")
        runs = index(data)
        ends = [at for _, at, _ in parts(data)] + [len(data)]
        indexed = sum(size for _, size, _, _ in runs or ())
        ok(indexed > len(data) * 0.99 - 4096 and all(at in ends and at + size in ends for at, size, _, _ in runs),
           "a file is in runs", runs, len(data))
        ok(every(16 << 10 <= size < 320 << 10 for _, size, _, _ in runs[:-1]) and
           every(x[3] <= y[2] for x, y in zip(runs, runs[1:])), "  of different times", runs)
        bare = d.write("bare", data[:ends[0]] + b"".join(
            data[at:at + size] for kind, at, size in parts(data) if kind != r.INDEX))
        zero = struct.unpack_from("<Q", data, 24)[0]
        _, least = bytes_read("report", "wss", "--time", "5000,6000", "-i", d.path("data"))
        for time in "100,160", "0,5", "390,", ",20", "199.5,200.5", "5000,6000":
            first, last = (float(x or 1e9 * i) for i, x in enumerate(time.split(",")))
            damaged, wanted = bytearray(data), 0
            for at, size, begin, end in runs:
                if end < zero + first * SEC or begin > zero + last * SEC:
                    damaged[at:at + size] = size * b"\xff"
                else:
                    wanted += max(0, at + size - max(at, FIRST))
            # compared with the whole recording
            get = ("report", "peaks", "--json", "--time", time, "-i")
            ok(run(*get, bare).stdout == run(*get, d.path("data")).stdout, "peaks --time " + time)
            for view in "summary", "wss", "hot", "regions", "heatmap", "idle":
                get = ("report", view, "--json", "--time", time, "-i")
                want, whole, part = run(*get, bare), run(*get, d.path("data")), run(
                    *get, d.write("damaged", bytes(damaged)))
                ok(part.returncode == want.returncode and want.stdout == whole.stdout == part.stdout,
                   "%s --time %s: all of that, and nothing else" % (view, time),
                   part.stderr, want.stdout[-300:], part.stdout[-300:])
            _, got = bytes_read("report", "wss", "--time", time, "-i", d.path("data"))
            # a process reads about 100 bytes more or less about itself
            ok(abs(got - least - wanted) < 4096, "  which is %d of %d bytes" % (wanted, indexed), got, least)
        res = run("report", "wss", "--time", "100,160", "-i", "-", stdin=data)
        ok(res.returncode == 0 and res.stdout == run(
            "report", "wss", "--time", "100,160", "-i", bare).stdout, "a pipe is read whole", res)
        res = run("report", "wss", "--time", "5000,", "--window", "1s", "-i", d.path("data"))
        ok(res.returncode == 1 and b"nothing is left by --time --window" in res.stderr,
           "a window that was recorded at other times", res)
        for cut in 1, 8, 40, len(data) // 2:
            res = run("report", "wss", "--time", "100,120", "-i", d.write("cut", data[:-cut]))
            ok(res.returncode == 0 and res.stdout, "%d bytes are missing at the end" % cut, res)
        rng = random.Random(4)
        tail = min(at for kind, at, _ in parts(data) if kind == r.INDEX)
        for _ in range(30):
            flipped = bytearray(data)
            flipped[rng.randrange(tail, len(data))] ^= 1 << rng.randrange(8)
            res = run("report", "wss", "--time", "100,160", "-i", d.write("flipped", bytes(flipped)))
            if res.returncode not in (0, 1):
                ok(False, "a broken index", res)


def rotated(d):
    """The files, oldest first"""
    return [d.path(name) for name in sorted(
        (name for name in os.listdir(d.name) if name.startswith("data")),
        key=lambda name: -int("0" + name[5:]))]


def lines(path, view="raw", *more):
    res = run("report", view, "--json", "-i", path, *more)
    ok(res.returncode == 0 and not res.stderr, "  %s %s is good" % (view, os.path.basename(path)), res.stderr)
    return parsed(res)


def test_rotation():
    with recorded("--rotate", "110s", "--keep", "5", pid=os.getpid(), begin=now() - COUNT * SEC) as (d, res):
        names = rotated(d)
        ok([os.path.basename(name) for name in names] == ["data.3", "data.2", "data.1", "data"],
           "--rotate 110s: four files", names)
        ok(b"rotated 3 times" in res.stderr, "  which the last words say", res.stderr)
        counts, pid = [], os.getpid()
        for i, name in enumerate(names):
            raw = lines(name)
            kinds = [x["type"] for x in raw]
            counts.append(kinds.count("wss"))
            ok(raw[-1]["reason"] == ("targets gone" if i == 3 else "rotated"), "  why it ends", raw[-1])
            first = [x for x in raw[:kinds.index("wss")] if x["type"] in ("target", "area", "mapping")]
            ok([(x["type"], x["pid"]) for x in first][:3] ==
               [("target", pid), ("area", pid), ("area", pid)] and kinds.count("mapping") > 3,
               "  it begins with the target, its areas and mappings", first[:4])
            ok(i == 0 or raw[kinds.index("target")]["flags"] == 2, "  seen again", raw[:3])
            summary = {x["type"]: x for x in lines(name, "summary")}
            ok(summary["recording"]["intervals"] == counts[-1] and
               abs(summary["recording"]["cpu"] - 0.01) < 2e-3 and
               0 < lines(name, "wss")[0]["t"] <= 2, "  its own time and cost", summary["recording"])
            with open(name, "rb") as f:
                ok(index(f.read()), "  its own index")
            ok({x["path"] for x in lines(name, "regions")} == {"[anon:named]"}, "  areas have names")
        ok(counts == [110, 110, 110, 70], "  no interval is lost", counts)
    with recorded("--rotate", "50s", "--keep", "2") as (d, _):
        ok(len(rotated(d)) == 3, "--keep", rotated(d))
    with recorded("--rotate", "64K", "--max-size", "512K") as (d, _):
        sizes = [os.path.getsize(name) for name in rotated(d)]
        ok(max(sizes) < 80 << 10 and 350 << 10 < sum(sizes) < 512 << 10, "--rotate SIZE --max-size", sizes)
    with recorded("--rotate", "1h", "--max-size", "512K") as (d, _):
        sizes = [os.path.getsize(name) for name in rotated(d)]
        ok(len(sizes) == 3 and all(128 << 10 <= size < 144 << 10 for size in sizes[:2]) and
           sum(sizes) < 512 << 10, "--max-size rotates at its quarter", sizes)
    with recorded("--max-size", "512K") as (d, res):
        size = os.path.getsize(d.path("data"))
        ok(512 << 10 <= size < 640 << 10 and b"reached --max-size" in res.stderr and
           lines(d.path("data"))[-1]["type"] == "end", "--max-size alone ends it", size, res.stderr)
    # the beginning of each file is larger than the limit
    with recorded("--rotate", "64K", "--max-size", "2M", areas=600) as (d, _):
        names = rotated(d)
        begins = [sum([size for kind, _, size in parts(d.read(os.path.basename(name))) if kind == r.AREA][:600])
                  for name in names]
        sizes = [os.path.getsize(name) for name in names]
        ok(len(names) > 3 and min(begins) > 128 << 10 and sum(sizes) < 2 << 20 and
           all(size > 2 * begin for size, begin in list(zip(sizes, begins))[:-1]),
           "half of a file is not what it begins with", sizes, begins)


def test_older():
    """Existing files are rotated, too; nothing is lost if that fails."""
    with fake(script=player(20)) as (d, m):
        d.write("data", r.header(1) + b"the old one")
        d.write("data.1", r.header(1) + b"older")
        os.mkdir(d.path("data.3"))
        res = run(*args(d, m, "-q", "-p", str(os.getpid()), "--rotate", "1h", "--keep", "2"))
        ok(res.returncode == 0 and d.read("data.1") == r.header(1) + b"the old one" and
           d.read("data.2") == r.header(1) + b"older",
           "older files are rotated", res.stderr)

    def play(d):
        # made after the check that the names are free
        os.makedirs(d.path("data.1/x"))
        return player(20)

    with fake(script=lambda m, pids: play(d)(m, pids)) as (d, m):
        res = run(*args(d, m, "--no-stacks", "-p", str(os.getpid()), "--rotate", "5s", "--keep", "1"))
        ok(res.returncode == 1 and b"data.1 is not a recording of yours" in res.stderr and
           b"rotated" not in res.stderr and
           lines(d.path("data"))[-1]["reason"] == "rotated", "a file that cannot be renamed", res)
    with fake(script=player(20)) as (_, m):
        res = run("record", "--debugfs", m.dir.name, "-o", "/dev/full", "--rotate", "5s", "-p", str(os.getpid()))
        ok(res.returncode == 1 and b"not a regular file" in res.stderr, "a device", res)
