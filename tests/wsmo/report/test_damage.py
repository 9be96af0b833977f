# SPDX-License-Identifier: GPL-2.0
"""Reports of files that are cut, broken, foreign, hostile."""
import concurrent.futures
import os
import random
import re
import resource
import struct

import packed
import records as r
import samples
from command import DAMAGE, ENV, Directory, fails, ok, one_line, peak_rss, run, skip

FLIPS = 2000 // DAMAGE
SEED = int(os.environ.get("WSMO_SEED", "1"))
HEADER = len(r.header(0))
# leak detection takes half of the time of thousands of runs
QUICK = {"ASAN_OPTIONS": ENV["ASAN_OPTIONS"] + ":detect_leaks=0"}


def starts(data):
    """Offsets where records begin, and the end."""
    at = [HEADER]
    while at[-1] < len(data):
        at.append(at[-1] + struct.unpack_from("<I", data, at[-1] + 4)[0])
    return at


def json_lines(view, data, records):
    """How many lines a view prints for the first records of a plain file."""
    parsed = r.parse(data)[:records]
    kinds = [kind for kind, _, _ in parsed]
    if view == "summary":
        classes = {region[20] for kind, _, body in parsed if kind == r.SNAPSHOT
                   for region in (body[at:at + 32] for at in range(32, len(body), 32))}
        # classes: a line for each, and one for all
        return 1 + (r.GROUP in kinds) + (r.TOTAL in kinds) + (r.WSS in kinds) + \
            (r.TARGET in kinds) + len(classes) + bool(classes)
    if view == "regions":
        return sum(struct.unpack_from("<I", body, 4)[0]
                   for kind, _, body in parsed if kind == r.SNAPSHOT)
    return {"raw": 1 + len(kinds), "wss": kinds.count(r.WSS) + kinds.count(r.TOTAL)}[view]


def has_nothing(view, data, records, packed_too):
    """Do the first records of a plain file have nothing for the view? wss does not unpack
    snapshots."""
    kinds = {kind for kind, _, _ in r.parse(data)[:records]}
    if view == "raw":
        return not records
    shown = {r.WSS, r.TOTAL}
    if view != "wss" or not packed_too:
        shown.add(r.SNAPSHOT)
    if view == "summary":
        shown |= {r.PROC, r.STATS}
    return not kinds & (shown | {r.PEAK, r.MARK, r.STACK, r.WHO, r.ACT, r.ALLOC})


NOTHING = b"nothing to show: it ended before its first interval"


def without_nothing(err):
    return re.sub(rb"wsmo: [^\n]*" + NOTHING + rb"[^\n]*\n", b"", err)


def cut_everywhere(name, data, plain):
    """@plain: the same file without packed records."""
    whole = starts(data)
    wrong = []

    def one(job):
        view, size = job
        res = run("report", view, "--json", "-i", "-", stdin=data[:size], env=QUICK)
        if size < HEADER:
            good = res.returncode == 1 and not res.stdout
            word = "inside its header" if size else "empty"
        else:
            last = max(at for at in whole if at <= size)
            records = whole.index(last)
            good = res.stdout.count(b"\n") == json_lines(view, plain, records)
            # before the first record with something to show, the status is 1, with one more line
            nothing = has_nothing(view, plain, records, data != plain)
            good = good and res.returncode == nothing and nothing == (NOTHING in res.stderr)
            word = "has no end" if size == last else \
                "cut off inside a record at byte %d;" % last
        if size < len(data):
            good = good and one_line(without_nothing(res.stderr)) and \
                word.encode() in res.stderr
        if not good:
            wrong.append((view, size, res.returncode, res.stderr))

    views = "raw", "wss", "raw", "regions", "raw", "summary"
    jobs = [(views[n % 6], size) for n, size in enumerate(range(0, len(data) + 1, DAMAGE))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    ok(not wrong, name + " cut anywhere reads up to its last whole record",
       *wrong)


def test_cut_notes():
    data = samples.small()
    res = run("report", "wss", "-i", "-", stdin=data[:-5])
    ok(b"cut off inside a record" in res.stderr and res.returncode == 0 and
       b"2.0 KiB" in res.stdout, "a cut file is used, with a note", res)
    res = run("report", "summary", "-i", "-", stdin=data[:starts(data)[-2]])
    ok(b"has no end" in res.stderr and b"cut off" in res.stdout,
       "a file without an end is used, with a note", res)


def test_flips():
    files = samples.main(), samples.small(), packed.pack(samples.main()), \
        packed.pack(samples.few())
    rng = random.Random(SEED)
    jobs = []
    for n in range(FLIPS):
        broken = bytearray(files[rng.choice((0, 1, 1, 2, 3, 3))])
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            # the header's fields less often: else the rest is not read
            first = 0 if rng.random() < 0.05 else HEADER
            bit = rng.randrange(first * 8, len(broken) * 8)
            broken[bit // 8] ^= 1 << bit % 8
        jobs.append((("raw", "regions", "summary", "wss")[n % 4],
                     ((), ("--raw",), ("--json",), ("--csv",))[n // 4 % 4],
                     bytes(broken)))
    wrong = []

    def one(job):
        view, form, broken = job
        res = run("report", view, *form, "-i", "-", stdin=broken, env=QUICK)
        # some bits add notes, which are no errors
        said = re.sub(rb"wsmo: (.* has a secondary MMU:|for --precision|the window of) .*\n", b"", res.stderr)
        nothing = said != without_nothing(said)
        said = without_nothing(said)
        if res.returncode not in (0, 1) or not (
                one_line(said) or not len(said) and res.returncode == nothing):
            wrong.append((view, form, res.returncode, res.stderr[-2000:]))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    ok(not wrong, "%d files with flipped bits, seed %d" % (FLIPS, SEED),
       *[str(line) for w in wrong[:3] for line in w])
    # maximum of all processes so far; under AddressSanitizer one needs 40 MiB
    rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    ok(rss < 128 << 10, "and they need no memory", "%d KiB" % rss)


def test_packed_flips():
    """Any flipped bit in a packed record is noticed."""
    data = packed.pack(samples.few())
    good = run("report", "regions", "--csv", "-i", "-", stdin=data).stdout
    rng = random.Random(SEED)
    jobs = []
    for start, end in zip(starts(data), starts(data)[1:]):
        if struct.unpack_from("<I", data, start)[0] == packed.PACKED:
            # its type may become one that is skipped
            jobs += [(start, at, 1 << rng.randrange(8)) for at in range(start + 4, end, DAMAGE)]
    wrong = []

    def one(job):
        start, at, bit = job
        broken = bytearray(data)
        broken[at] ^= bit
        res = run("report", "regions", "--csv", "-i", "-", stdin=bytes(broken), env=QUICK)
        word = b"at byte %d: a packed record with" % start
        if at - start < 8:
            # a wrong size: the data after it is no record, or missing
            word = b"at byte"
        # some bits of zstd have no meaning
        if res.stdout == good and not res.stderr:
            return
        if not (one_line(res.stderr) and word in res.stderr and
                good.startswith(res.stdout)):
            wrong.append((at - start, bit, res.returncode, res.stderr[-500:]))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    ok(len(jobs) > 400 // DAMAGE and not wrong, "%d flipped bits in packed records are told, seed %d"
       % (len(jobs), SEED), *wrong[:5])


def test_broken_packed():
    """Valid compressed data that is no snapshot."""
    t, pid = samples.T0, samples.PID
    some = [r.region(4096 * n, 4096 * (n + 1), 0.5, 0.5, "heap", n, n)
            for n in range(1, 9)]
    raw = packed.contents(r.snapshot(t, pid, some))
    begin = r.header(t) + r.target(t, pid, b"x")

    def one(data, **kw):
        return packed.record(t, pid, data, **kw)

    def with_words(offset, *values):
        """The contents with other words in them."""
        new = struct.pack("<%dI" % len(values), *values)
        return one(packed.frame(raw[:offset] + new + raw[offset + len(new):]))

    def of(entry):
        return packed.pack_one(r.snapshot(t, pid, [entry]))

    good = packed.frame(raw)
    cases = {
        "no frame": one(b""),
        "a foreign frame": one(bytes(range(40))),
        "a cut frame": one(good[:-6]),
        "more than a frame": one(good + b"x"),
        "two frames": one(good + good),
        "a size beyond the record": one(good, size=len(good) + 8),
        "a size far beyond it": one(good, size=0xffffffff),
        "a size too small for it": one(good + bytes(8), size=len(good)),
        "something in its padding":
            one(good + b"x" * (-len(good) % 8 or 8), size=len(good)),
        "contents too short": one(packed.frame(raw[:40])),
        "contents without regions": one(packed.frame(raw[:48])),
        "contents that end in a region": one(packed.frame(raw[:-1])),
        "contents too long": one(packed.frame(raw + b"\0")),
        "another type": with_words(0, r.WSS),
        "another size": with_words(4, 64),
        "another time": with_words(8, 1),
        "another target": with_words(16, pid + 1),
        "more regions": with_words(20, 9),
        "regions by the billion": with_words(20, 0xffffffff),
        "a number of regions whose size overflows": with_words(20, 8 + (1 << 27)),
        "fewer in all than it has": with_words(28, 4),
        "a share above 1": of(r.region(4096, 8192, 1.5, 0, "heap", 1, 0)),
        "a region of no length": of(r.region(4096, 4096, 1, 0, "heap", 1, 0)),
        "a region beyond the last address":
            of(r.region((1 << 64) - 4096, 0, 1, 0, "heap", 1, 0)),
        "a bomb": one(packed.frame(bytes(1 << 26))),
        "a bomb after a snapshot": one(packed.frame(raw + bytes(1 << 26))),
    }
    for name, bad in cases.items():
        res = run("report", "raw", "--json", "-i", "-", stdin=begin + bad + r.end(t))
        ok(res.returncode == 1 and one_line(res.stderr) and
           b"broken at byte %d: a packed record with" % len(begin) in res.stderr and
           res.stdout.count(b"\n") == len(starts(begin)),
           "broken, packed: " + name, res.returncode, res.stderr, len(res.stdout))
    unchecked = begin + one(packed.frame(raw, checksum=0)) + r.end(t)
    res = run("report", "regions", "--csv", "-i", "-", stdin=unchecked)
    ok(res.returncode == 0 and res.stdout.count(b"\n") == 9,
       "a frame needs no checksum to be read", res)


def test_nameless():
    """A target whose name was lost; json-c before 0.17 leaks a text that is set to an empty one."""
    t = samples.T0
    data = r.header(t) + r.target(t, 1, b"name") + b"".join(
        r.wss(t, pid, "all", 1, 1, 1, 1) for pid in (1, 2, 3)) + r.end(t)
    res = run("report", "summary", "--json", "-i", "-", stdin=data)
    ok(res.returncode == 0 and res.stdout.count(b'"comm":""') == 2,
       "targets without a name", res.returncode, res.stderr)


def test_huge():
    """Sizes beyond any machine are shown as they are; the maximum minus 1, as the maximum is
    "unknown"."""
    t = samples.T0
    data = r.header(t) + r.proc(t, 1, 3 << 62, 0, (1 << 64) - 1) + \
        r.wss(t, 1, "all", 1 << 63, 1, (1 << 64) - 1, 3 << 62) + r.end(t)
    res = run("report", "summary", "--json", "-i", "-", stdin=data)
    ok(res.returncode == 0 and b'"mean":%d,' % (1 << 63) in res.stdout and
       b'"mapped":%d,' % (3 << 62) in res.stdout and
       b'"rss_mean":%d,' % (3 << 62) in res.stdout and
       b'"vsize_mean":%d,' % ((1 << 64) - 2) in res.stdout,
       "sizes beyond 2^63 in the summary", res.returncode, res.stdout)


def test_broken():
    t = samples.T0
    begin = r.header(t) + r.target(t, 1, b"x")
    after = r.wss(t, 1, "all", 1, 1, 1, 1) + r.end(t)
    good = r.region(4096, 8192, 0.5, 0.5, "heap", 1, 0)
    one = r.snapshot(t, 1, [good])
    cases = {
        "a size of 0": struct.pack("<IIQ", 5, 0, t),
        "a size of 8": struct.pack("<IIQ", 5, 8, t),
        "an odd size": struct.pack("<IIQ", 5, 67, t) + bytes(51),
        "a size beyond the limit":
            struct.pack("<IIQ", 99, r.RECORD_MAX + 8, t) + bytes(r.RECORD_MAX),
        "a size of 4 GiB": struct.pack("<IIQ", 99, 0xfffffff8, t),
        "a wss too short": r.record(r.WSS, t, bytes(40)),
        "a group too short": r.group(t, 2)[:-8].replace(
            struct.pack("<II", r.GROUP, 48), struct.pack("<II", r.GROUP, 40)),
        "a total too short": r.record(r.TOTAL, t, bytes(40)),
        "stats too short": r.record(r.STATS, t, bytes(120)),
        "an end too short": r.record(r.END, t, b""),
        "a target without NUL": r.target(t, 1, b"x" * 16),
        "an area without NUL":
            r.record(r.AREA, t, struct.pack("<IIIIQQQ", 1, 3, 0, 1, 1, 2, 1) +
                     b"abcdefgh"),
        "an area that ends before it starts":
            r.area(t, 1, "heap", 0, 1, 4096, 4096),
        "an area beyond their number": r.area(t, 1, "heap", 1, 1, 1, 2),
        "more regions than fit": r.snapshot(t, 1, [good], nr=2),
        "regions by the billion":
            r.snapshot(t, 1, [good], nr=0xffffffff, total=0xffffffff),
        "regions beyond their number": r.snapshot(t, 1, [good], 1, 1),
        "a region that ends before it starts":
            r.snapshot(t, 1, [r.region(8192, 4096, 0, 0, "heap", 1, 0)]),
        "a share above 1":
            r.snapshot(t, 1, [r.region(4096, 8192, 1.5, 0, "heap", 1, 0)]),
    }
    for name, bad in cases.items():
        res = run("report", "raw", "--json", "-i", "-",
                  stdin=begin + bad + after)
        ok(res.returncode == 1 and one_line(res.stderr) and
           ("broken at byte %d:" % len(begin)).encode() in res.stderr and
           (not name.startswith("a size") or b": a record of" in res.stderr)
           and res.stdout.count(b"\n") == 2, "broken: " + name,
           res.returncode, res.stderr, res.stdout)
    res = run("report", "raw", "--json", "-i", "-",
              stdin=begin + one + r.record(99, t, bytes(r.RECORD_MAX - 16)) +
              after)
    ok(res.returncode == 0 and res.stdout.count(b"\n") == 6,
       "the largest record allowed, of an unknown type", res.stderr)
    longer = r.header(t, more=bytes(64)) + \
        r.record(r.WSS, t, r.wss(t, 1, "all", 7, 7, 7, 7)[16:] + bytes(8)) + \
        r.wss(t, 1, 4711, 8, 8, 8, 8) + r.total(t, 4712, 8, 8, 8, 8) + r.end(t)
    res = run("report", "wss", "--json", "-i", "-", stdin=longer)
    ok(res.returncode == 0 and b'"bytes":7' in res.stdout and
       b'"class":"class4711"' in res.stdout and b'"class":"class4712"' in res.stdout,
       "fields and classes of a later version do no harm", res)


def test_foreign(d):
    def report(name, data, *words):
        fails(run("report", "-i", d.write("f", data)), name, *words)

    report("an empty file", b"", "empty")
    report("a foreign file", b"\x7fELF" + bytes(200), "not a wsmon record")
    report("a short foreign file", b"abc", "not a wsmon record")
    report("half a magic", r.MAGIC[:5], "inside its header")
    report("a newer version", r.header(0, version=3), "version 3", "newer")
    report("an older version", r.header(0, version=1), "version 1", "record again")
    report("version 0", r.header(0, version=0), "broken header")
    report("a header too small", r.header(0, size=64), "broken header")
    report("a header too large", r.header(0, size=1 << 31),
           "broken header")
    report("an unknown clock", r.header(0, clock=7), "clock 7")
    fails(run("report", "-i", d.path("nothing")), "no such file",
          "does not exist", "wsmo record")
    fails(run("report", "-i", d.name), "a directory", "a directory")
    fails(run("report", cwd=d.name), "no wsmon.data", "wsmon.data")
    if os.geteuid() == 0:
        os.chmod(d.name, 0o755)
        os.chmod(d.write("secret", samples.small()), 0o600)
        fails(run("report", "-i", d.path("secret"), user=65534,
                  env={"ASAN_OPTIONS": "detect_leaks=0"}),
              "an unreadable file", "Permission denied")


def test_greedy():
    """Memory is bounded for any file."""
    t = samples.T0
    for name, pids, indices in (
            ("long names", 1, range(12000)),
            ("high numbers", 4000, (0, 65535, 0xfffffffe))):
        areas = r.header(t) + b"".join(
            r.area(t, n, "heap", index, 0xffffffff, 1, 2, path=b"x" * 2000)
            for n in range(pids) for index in indices) + r.end(t)
        res = run("report", "regions", "-i", "-", stdin=areas)
        ok(res.returncode == 1 and one_line(res.stderr), "areas with " + name, res.stderr[-500:])
        with Directory() as d:
            rss = peak_rss("report", "regions", "-i", d.write("f", areas), expected=1)
        if rss is None:
            skip("and they need no memory", "out/bin/wsmo is not built")
        else:
            ok(rss < 22 << 10, "and they need no memory", "%d KiB" % rss)

    targets = r.header(t) + b"".join(
        r.wss(t, n, "all", 1 << 63, 1, (1 << 64) - 1, 1 << 63)
        for n in range(20000)) + r.end(t)
    res = run("report", "summary", "-i", "-", stdin=targets)
    ok(res.returncode == 0 and b"more than 16384" in res.stderr,
       "targets without end are too much", res.stderr[-500:])


def test_cut_everywhere():
    small, few = samples.small(), samples.few()
    cut_everywhere("a file", small, small)
    cut_everywhere("a packed file", packed.pack(few), few)
