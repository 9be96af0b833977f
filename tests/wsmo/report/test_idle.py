# SPDX-License-Identifier: GPL-2.0
"""wsmo report idle: bytes by the age of their regions."""

import records as r
import samples
from command import ok, parsed, run, same_numbers

SEC = samples.SEC
MIB = samples.MIB
AGES = (0, 999, 1000, 9999, 10000, 59999, 60000, 299999, 300000, 4294967295)
COLUMNS = ("idle_1s", "idle_10s", "idle_1min", "idle_5min", "idle_longer")


def recording():
    """Ten regions in each of two areas, watched for longer than all their ages; at the end all are
    used"""
    begun = 5 * 10**6 * SEC
    out = r.header(begun) + r.target(1, 7, b"idler")
    for n, cls in enumerate(("heap", "anon")):
        out += r.area(begun, 7, cls, n, 2, n + 1 << 30, n + 2 << 30, path=b"[area %d]" % n)
    regions = [r.region((n + 1 << 30) + i * MIB, (n + 1 << 30) + (i + 1) * MIB, n / 4, 0, cls, age, n)
               for n, cls in enumerate(("heap", "anon")) for i, age in enumerate(AGES)]
    # in two parts
    out += r.snapshot(begun + SEC, 7, regions[:9], 0, 20) + r.snapshot(begun + SEC, 7, regions[9:], 9, 20)
    out += r.area(begun + SEC + 1, 7, "anon", 0, 1, 1 << 40, 2 << 40, path=b"[a later area 0]")
    out += r.snapshot(begun + 2 * SEC, 7, [r.region(1 << 30, (1 << 30) + MIB, 1, 1, "heap", 0, 0)])
    return out + r.end(begun + 3 * SEC)


def test_unused():
    """After 8 s: memory unused since the start is not counted as idle for 10 s; non-resident
    memory is reported."""
    out = r.header(0) + r.target(1, 7, b"idler") + r.area(2, 7, "heap", 0, 1, 1 << 30, 2 << 30)
    out += r.proc(7 * SEC, 7, 6 * MIB, 0, 99 * MIB)
    # never used; used 3 s ago; in use; partly used from the beginning on
    regions = [r.region(i * MIB + (1 << 30), (i + 1) * MIB + (1 << 30), share, 0, "heap", age, 0)
               for i, (share, age) in enumerate([(0, 7200)] * 6 + [(0, 3000), (1, 0), (0.5, 7999)])]
    out += r.snapshot(8 * SEC, 7, regions) + r.end(9 * SEC)
    res = run("report", "idle", "--json", "-i", "-", stdin=out)
    rows = parsed(res)
    ok([[x[key] for key in ("class", "mapped", "used", "unused", "absent", "idle_10s", "idle_longer")]
        for x in rows] == [["all", 9 * MIB, 3 * MIB // 2, 13 * MIB // 2, 3 * MIB, MIB, 0],
                           ["heap", 9 * MIB, 3 * MIB // 2, 13 * MIB // 2, None, MIB, 0]],
       "not used as far as is known", rows, res.stderr)
    text = run("report", "idle", "-i", "-", stdin=out).stdout.decode()
    ok("not used in the 8 s in which process 7 was watched; for how long before is not known" in text and
       "at least this part of UNUSED is not resident" in text, "said in words", text)


def test_bounds():
    """USED has the bounds of the working set at the snapshot, whichever of the two comes first."""
    regions = [r.region(1 << 30, (1 << 30) + 16 * MIB, 1, 0, "heap", 0, 0)]

    def wss(t, low, high, window=SEC, cls="all"):
        return r.wss(t, 7, cls, 8 * MIB, low * MIB, high * MIB, 32 * MIB, window // 1000)

    for order in 1, -1:
        for last in wss(8 * SEC, 2, 20), wss(8 * SEC, 2, 20) + wss(9 * SEC, 8, 9):
            both = [r.snapshot(8 * SEC, 7, regions), last + wss(8 * SEC, 2, 30, 2 * SEC) + wss(8 * SEC, 0, 1, cls="heap")]
            out = r.header(0) + r.target(1, 7, b"x") + r.snapshot(SEC, 7, regions) + wss(SEC, 0, 99)
            if order < 0 and last != wss(8 * SEC, 2, 20):
                continue        # time does not go back
            out += b"".join(both[::order]) + r.end(9 * SEC)
            res = run("report", "idle", "--json", "-i", "-", stdin=out)
            ok([(x["used"], x["used_low"], x["used_high"]) for x in parsed(res)] ==
               [(16 * MIB, 2 * MIB, 20 * MIB), (16 * MIB, None, None)], "bounds of USED", res.stdout, res.stderr)
            text = run("report", "idle", "-i", "-", stdin=out).stdout.decode()
            ok("USED of process 7 is between 2.0 MiB and 20.0 MiB: it had few samples" in text, "said", text)
    text = run("report", "idle", "-i", "-", "--class", "heap", stdin=out).stdout.decode()
    ok("heap" in text and "between" not in text, "the bounds are of the whole process", text)
    near = r.header(0) + r.target(1, 7, b"x") + r.snapshot(SEC, 7, regions) + wss(SEC, 14, 17) + r.end(2 * SEC)
    text = run("report", "idle", "-i", "-", stdin=near).stdout.decode()
    ok("between" not in text, "nothing to say", text)


def idle(*args):
    res = run("report", "idle", "--json", "-i", "-", *args, stdin=recording())
    ok(res.returncode == 0 and not res.stderr, "report idle " + " ".join(args), res.stderr)
    return parsed(res)


def test_ages():
    rows = idle("--time", ",1")
    ok([(x["class"], x["path"], x["mapped"], x["used"], {x[age] for age in COLUMNS}, x["t"]) for x in rows] ==
       [("all", None, 20 * MIB, 10 * MIB // 4, {7 * MIB // 2}, 1), ("heap", None, 10 * MIB, 0, {2 * MIB}, 1),
        ("anon", None, 10 * MIB, 10 * MIB // 4, {3 * MIB // 2}, 1)], "bytes by age, at the end of --time", rows)
    rows = idle("--time", ",1", "--mappings", "--class", "heap,anon")
    ok([(x["class"], x["path"], x["mapped"]) for x in rows] ==
       [("heap", "[area 0]", 10 * MIB), ("anon", "[area 1]", 10 * MIB)], "mappings", rows)
    rows = idle()
    ok([(x["class"], x["used"], x["mapped"], x["idle_1s"]) for x in rows] ==
       [("all", MIB, MIB, 0), ("heap", MIB, MIB, 0)], "the last snapshot counts", rows)
    many = r.header(0) + r.snapshot(SEC, 7, [r.region(1 << 30, 1 << 31, 1, 1, "heap", 0, 0)], 0,
                                        (1 << 32) - 1) + r.end(SEC)
    res = run("report", "idle", "-i", "-", stdin=many)
    ok(res.returncode == 0, "a snapshot that lacks most of its parts", res)
    same_numbers("idle", "report", "idle", "-i", "-", "--mappings", stdin=recording(), not_raw=["t", "comm", "watched_ns", "used_low", "used_high"])
