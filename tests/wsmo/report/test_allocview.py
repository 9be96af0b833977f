# SPDX-License-Identifier: GPL-2.0
"""wsmo report alloc: samples of allocations, joined with regions."""
import math
import random
import resource

import records as r
import samples
from command import golden, ok, parsed, run
from samples import MIB, PID, SEC, T0

MAIN = 0x555500000000


def rows(data, *args):
    res = run("report", "alloc", "--json", "-i", "-", *args, stdin=data)
    return parsed(res), res


def test_golden_files(accept):
    said = b"did not load libwsmo-alloc.so"
    for name, args in ("alloc.txt", ()), ("alloc.stack.txt", ("--by", "stack")), \
            ("alloc.folded", ("--folded",)), ("alloc.json", ("--json",)):
        res = run("report", "alloc", "-i", "-", *args, stdin=samples.allocs())
        golden(name, res.stdout, accept, not res.returncode and said in res.stderr and
               b"LOST 3 events" in res.stderr, res.stderr)


def site(n):
    return "/nowhere/server+%#x" % (0x1000 * n)


def recording(events, regions, t=100):
    """Stacks 1 to 9, with one address each; a snapshot of @regions at @t s"""
    out = r.header(T0) + r.attrs(T0) + r.target(T0, PID, b"x")
    out += r.mapping(T0, PID, MAIN, MAIN + MIB, "rx", b"/nowhere/server", 0, 17)
    for n in range(1, 10):
        out += r.stack(T0, PID, PID, n, [MAIN + 0x1000 * n], reason=2)
    out += b"".join(events)
    out += r.snapshot(T0 + t * SEC, PID, [r.region(*a, "anon", age, 0) for *a, age in regions])
    return out + r.end(T0 + t * SEC + 1)


def test_times():
    """Live memory is as of the last snapshot; idle memory existed for that long."""
    def make(born, age):
        return recording([r.alloc(T0, PID, 0, size=1),
                          r.alloc(T0 + born * SEC, PID, 1, 1 << 30, 4 * MIB, 1)],
                         [(1 << 30, (1 << 30) + 4 * MIB, 0, 0, age * 1000)])
    for born, age, idle, long in ((95, 99, 0, 0), (85, 99, 4, 0), (1, 99, 4, 4), (1, 9, 0, 0),
                                  (1, 59, 4, 0)):
        got, res = rows(make(born, age))
        ok([(x["live"], x["idle"], x["idle_1min"]) for x in got] ==
           [(4 * MIB, idle * MIB, long * MIB)],
           "allocated at %d s, idle for %d s at 100 s" % (born, age), got, res.stderr)
    got, _ = rows(make(101, 99))
    ok(not got, "what is allocated later is not there", got)
    got, _ = rows(samples.allocs(), "--time", ",40")
    ok(got and not any(x["idle_1min"] for x in got), "--time", got)
    ok(not rows(samples.allocs(), "--pid", "1")[0], "--pid")
    ok(len(rows(samples.allocs(), "--top", "2")[0]) == 2, "--top")


def test_watched():
    """Memory watched for less than ten seconds may have been idle for longer: unknown."""
    for t, idle, long in (8, None, None), (30, 4 * MIB, None), (90, 4 * MIB, 4 * MIB):
        got, res = rows(recording([r.alloc(T0, PID, 0, size=1), r.alloc(T0, PID, 1, 1 << 30, 4 * MIB, 1)],
                                  [(1 << 30, (1 << 30) + 4 * MIB, 0, 0, t * 1000)], t))
        said = b"unknown: it was watched for only %d s" % t in res.stderr
        ok([(x["idle"], x["idle_1min"], x["idle_high"] is None) for x in got] ==
           [(idle, long, idle is None)] and said == (idle is None), "watched for %d s" % t, got,
           res.stderr)


def test_bounds():
    """Memory of two sites in one region: it is unknown which half is in use."""
    a = 1 << 30
    events = [r.alloc(T0, PID, 0, size=1)] + [r.alloc(T0, PID, 1, a + i * MIB, MIB, 1 + i % 2)
                                              for i in range(64)]
    got, _ = rows(recording(events, [(a, a + 64 * MIB, 0.5, 0.5, 99000)]))
    ok(len(got) == 2 and all(x["in_use_low"] == 0 and x["in_use_high"] == 32 * MIB ==
                             x["live"] and x["in_use"] == 16 * MIB for x in got),
       "a region of two sites, half of it in use: all or nothing of each", got)
    got, _ = rows(recording(events, [(a, a + 64 * MIB, 0, 0, 99000)]))
    ok(len(got) == 2 and all(x["in_use_high"] < 2 * MIB and x["idle_low"] > 30 * MIB for x in got),
       "none of it in use: none of either", got)


def test_coverage():
    """Sites with one sample in @rate bytes: the intervals hold the truth."""
    rng = random.Random(11)
    held = cases = 0
    rate = 256 << 10
    for turn in range(40):
        events, truth, regions = [r.alloc(T0, PID, 0, size=rate)], {}, []
        for n in range(1, 10):
            at, size, share = (n << 32), 1 << rng.randrange(9, 20), rng.choice((0, 0.25, 1))
            count = (rng.randrange(2, 30) << 20) // size
            p = -math.expm1(-size / rate)
            events += [r.alloc(T0, PID, 1, at + i * size, size, n)
                       for i in range(count) if rng.random() < p]
            end, middle = at + (count * size + 4095 & -4096), at + (int(count * share) * size & -4096)
            regions += [x for x in ((at, middle, 1, 1, 99000), (middle, end, 0, 0, 99000))
                        if x[0] < x[1]]
            truth[site(n)] = {"live": count * size, "in_use": middle - at,
                              "idle": at + count * size - middle}
        got = {x["stack"][0]: x for x in rows(recording(events, regions))[0]}
        for name, keys in truth.items():
            for key, want in keys.items():
                if name in got:
                    cases += 1
                    low, high = got[name][key + "_low"], got[name][key + "_high"]
                    held += low - 4096 <= want <= high + 4096
    ok(cases > 900 and 0.93 <= held / cases <= 1, "intervals of 95 % hold the truth", held, cases)


def test_ranges():
    """mmap and munmap, against a set of pages."""
    rng = random.Random(5)
    events, pages = [r.alloc(T0, PID, 0, size=1)], {}
    for i in range(400):
        start, n = rng.randrange(200), rng.randrange(1, 30)
        events.append(r.alloc(T0 + 2 * i, PID, 4, start << 20, n << 20))
        for page in range(start, start + n):
            pages.pop(page, None)
        if rng.random() < 0.6:
            stack = rng.randrange(1, 10)
            events.append(r.alloc(T0 + 2 * i + 1, PID, 3, start << 20, n << 20, stack))
            pages.update((page, stack) for page in range(start, start + n))
    got, _ = rows(recording(events, [(1 << 20, 230 << 20, 1, 1, 0)]))
    want = {site(n): list(pages.values()).count(n) for n in set(pages.values())}
    ok({x["stack"][0]: round(x["live"] / MIB) for x in got} == want, "parts that are unmapped", got,
       want)


def test_tables():
    """malloc and free of many blocks, against a dict."""
    rng = random.Random(6)
    events, live = [r.alloc(T0, PID, 0, size=1)], {}
    for i in range(20000):
        at = rng.randrange(1, 5000) << 12
        if at in live:
            events.append(r.alloc(T0 + i, PID, 2, at))
            del live[at]
        else:
            live[at] = rng.randrange(1, 10)
            events.append(r.alloc(T0 + i, PID, 1, at, 4096, live[at]))
    got, _ = rows(recording(events, [(4096, 5000 << 12, 1, 1, 0)]))
    want = {site(n): list(live.values()).count(n) for n in set(live.values())}
    ok({x["stack"][0]: x["samples"] for x in got} == want, "many, freed in any order", got, want)


def test_hostile():
    """Eight times as many blocks take eight times as long, whatever their addresses."""
    inverse = pow(0x9e3779b97f4a7c15, -1, 1 << 64)
    cases = {
        "addresses that a hash has in one place": lambda i: [r.alloc(T0, PID, 1, (i << 45) * inverse % (1 << 64), 1, 1)],
        "mappings, each over the one before": lambda i: [r.alloc(T0, PID, 3, 1 << 30, 4096, 1)],
        "mappings, unmapped first to last": lambda i: [r.alloc(T0, PID, 3, i << 12, 4096, 1)],
    }
    for name, events in cases.items():
        took = []
        for nr in 5000, 40000:
            made = [r.alloc(T0, PID, 0, size=1)] + [e for i in range(1, nr) for e in events(i)]
            made += [r.alloc(T0 + 1, PID, 4, i << 12, 4096) for i in range(1, nr)] if "first" in name else []
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            rows(recording(made, [(4096, 8192, 1, 1, 0)]))
            took.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        ok(took[1] < 24 * max(took[0], 0.02), name, took)


def test_others():
    res = run("report", "alloc", "-i", "-", stdin=samples.main())
    ok(res.returncode == 1 and b"see wsmo record --alloc" in res.stderr, "a recording without",
       res.stderr)
    # a program without the library after one with it
    data = recording([r.alloc(T0 + 1, PID, 0, size=1), r.alloc(T0 + 2, PID, 1, 4096, 4096, 1),
                      r.target(T0 + SEC, PID, b"static", 1)], [(4096, 8192, 1, 1, 0)])
    got, res = rows(data)
    ok(not got and b"(static) are known" in res.stderr, "what it executes may not load it", got,
       res.stderr)
    data = recording([r.alloc(T0 + 1, PID, 0, size=1), r.alloc(T0 + 2, PID, 1, 4096, 4096, 77)],
                     [(4096, 8192, 1, 1, 0)])
    got, _ = rows(data)
    ok([x["stack"] for x in got] == [[]], "a stack that is not in the file", got)
    # stacks of allocations are not stacks of peaks
    res = run("report", "peaks", "--json", "-i", "-", stdin=samples.allocs())
    ok(res.returncode == 0 and b'"stack"' not in res.stdout, "peaks have none of it", res.stdout)
    res = run("report", "alloc", "-i", "-", stdin=r.header(T0) + r.record(r.ALLOC, T0, bytes(24)))
    ok(res.returncode == 1 and b"too few bytes" in res.stderr, "a record that is too short",
       res.stderr)
