# SPDX-License-Identifier: GPL-2.0
"""Recordings made to take quadratic time, in an order or a form that wsmo does not write."""
import os

import packed
import records as r
from command import Directory, ok, peak_rss, run, skip

T0 = 10**12
MS = 10**6


def cpu_of(data, view, verb="report"):
    """Seconds of CPU time, and the result"""
    before = os.times()
    res = run(verb, view, "-i", "-", stdin=r.header(T0) + data + r.end(T0 + 10**12), timeout=600)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, res


def snapshot(i, pid, page, **more):
    return r.snapshot(T0 + i * MS, pid, [r.region(page << 12, (page + 1) << 12, 1, 1, "heap", 5, 0)], **more)


def cases():
    """(name, view, first records, function of a number to a record, how many, numbers to compare
    with)"""
    sampled = r.alloc(T0, 1, 0, 0, 1) + r.alloc(T0, 1, 1, 4096, 4096, 5) + snapshot(0, 1, 1)
    yield ("stacks by number", "alloc", sampled, lambda i: r.stack(T0, 1, 1, i, (0x1000 + i,), reason=2), 150000)
    yield "processes that allocate", "alloc", sampled, lambda i: r.alloc(T0, i + 1, 0, 0, 4096), 60000
    yield "accesses", "who", b"", lambda i: r.who(T0 + i, 1, 1, i << 12, 0x1000 + i, 4096, waited_ns=0), 150000
    yield "processes", "idle", b"", lambda i: snapshot(1, i, 1), 60000
    yield "names of processes", "idle", snapshot(1, 1, 1), lambda i: r.target(T0, i, b"x"), 65000
    yield "peaks", "wss", r.wss(T0, 1, "all", 1, 1, 1, 1), lambda i: r.peak(T0, i, 1), 65000


def test_orders():
    """Sorting takes the same time for any order."""
    for what, view, before, make, nr in cases():
        took = {}
        for order, numbers in (("ascending", range(1, nr)), ("descending", range(nr - 1, 0, -1)),
                               ("outside in", [n for i in range(1, nr // 2) for n in (i, nr - i)])):
            took[order], res = cpu_of(before + b"".join(map(make, numbers)), view)
            ok(res.returncode == 0 and res.stdout, "report %s: %s, %s" % (view, what, order), res.stderr[-300:])
        ok(max(took.values()) < 4 * took["ascending"] + 1, "  in each order", took)
        print("# CPU time: %s" % took)


def collide(i):
    """Addresses with equal hashes, if the hash depends on nothing else"""
    return r.mapping(T0, 1, i << 20, (i << 20) + 4096, "rw", b"[x]", offset=i)


def test_forms():
    """Twice the harmless number takes twice as long."""
    nr = 60000
    rows = b"".join(r.wss(T0 + i * MS, 1, "all", 1, 1, 1, 1) for i in range(nr))
    events = b"".join(r.peak(T0 + i * MS, 1, i) + r.mark(T0 + i * MS, i, b"x") for i in range(nr))
    sampled = r.alloc(T0, 1, 0, 0, 1)
    areas = b"".join(r.area(T0, 1, "heap", i, nr, i << 12, (i + 1) << 12) for i in range(nr))
    regions = b"".join(snapshot(i, 1, 5) for i in range(nr))
    places = [r.mapping(T0, 1, i << 20, (i << 20) + 4096, "rw", b"[x]") for i in range(1, 32768)], \
        [collide(i) for i in range(1, 32768)]
    regions_of = b"".join(r.snapshot(T0, 1, [r.region(i << 20, (i << 20) + 4096, 1, 1, "anon", 5, 0)
                                             for i in range(at or 1, at + 1024)], at, 32768) for at in range(0, 32768, 1024))
    threads = [b"".join(r.stack(T0, 1, i, i if each else 1, (0x1000 + i,), reason=1) for i in range(nr)) for each in (1, 0)]
    begin = [b"".join(r.peak(T0 + i, 1, i, start_ns=T0 + (i if each else 0)) for i in range(nr // 3)) for each in (1, 0)]
    marks = b"".join(r.mark(T0, 1, b"x") for i in range(1000))
    mark_stacks = b"".join(r.stack(T0, 1, i, 1, (0x1000 + i,), reason=1) for i in range(1000))
    for what, view, parts in (
            ("stacks of one mark", "peaks", (threads[0], r.mark(T0, 1, b"x"), r.mark(T0, 1, b"x") + threads[1])),
            ("peaks that begin at once", "peaks", (begin[0], b"", begin[1])),
            ("marks of one number", "peaks", (marks, mark_stacks, marks + mark_stacks)),
            ("a label at each row", "wss", (rows, events, rows + events)),
            ("areas that are not used", "alloc", (sampled + regions, areas, sampled + areas + regions)),
            ("snapshots of a region each", "hot", (regions, b"", b"".join(snapshot(i, 1, 2 * i) for i in range(nr)))),
            ("places with one hash", "hot", (b"".join(places[0]) + regions_of, b"", b"".join(places[1]) + regions_of))):
        (one, _), (two, _), (both, res) = [cpu_of(part, view) for part in parts]
        ok(both < 4 * (one + two) + 3 and len(res.stdout) < 20 << 20, "report %s: %s" % (view, what), one, two, both,
           len(res.stdout), res.stderr[-300:])
        print("# CPU time: %s" % [one, two, both])


def test_names_by_peaks():
    """Metrics of as many processes as peaks: each process looks at its own peaks only."""
    nr = 32000
    names, peaks = [b"".join(make(i) for i in range(1, nr)) for make in
                    (lambda i: r.target(T0, i, b"x"), lambda i: r.peak(T0 + i, nr, i))]
    (one, _), (two, _), (both, res) = [cpu_of(part, "openmetrics", "export") for part in (names, peaks, names + peaks)]
    ok(res.returncode == 0 and both < 4 * (one + two) + 3, "export openmetrics: names and peaks", one, two, both, res.stderr)


def test_at_once():
    """Packed snapshots of one time, which take a hundred bytes each"""
    for first in 0, 1:
        one = r.snapshot(T0, 1, [r.region(i << 12, (i + 1) << 12, 0, 0, "heap", 5, 0) for i in range(1, 2000)], first)
        with Directory() as d:
            taken = peak_rss("report", "idle", "-i", d.write("x", r.header(T0) + 2000 * packed.pack_one(one) + r.end(T0 + MS)))
        if taken is None:
            skip("memory for snapshots of one time", "not built")
        else:
            ok(taken < 48 << 10, "report idle: memory for snapshots of one time", "%d KiB" % taken)
