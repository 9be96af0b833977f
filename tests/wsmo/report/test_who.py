# SPDX-License-Identifier: GPL-2.0
"""wsmo report who: shares by weight, their intervals, names, nodes, first touches, the picture."""
import os
import re
import struct

import forms
import records as r
import samples
import test_hot as hot
from command import Directory, fails, golden, ok, parsed, run
from samples import PID, SEC, T0

MIB = 1 << 20


def who(data, *args):
    res = run("report", "who", "--json", "-i", "-", *args, stdin=data)
    return parsed(res), res


def test_golden_files(accept):
    res = run("report", "who", "-i", "-", stdin=samples.who())
    golden("who.txt", res.stdout, accept, not res.returncode, res.stderr)
    ok(res.stderr.splitlines()[0].endswith(b"19 % of the pages drawn are parts of huge pages: "
                                           b"the threads that touch these are not seen"), "a message says what is not seen",
       res.stderr)
    for name, args in ("who.json", ("--json",)), ("who.folded", ("--folded",)):
        golden(name, run("report", "who", *args, "-i", "-", stdin=samples.who()).stdout, accept)


def recording(*seen):
    """Records of (thread, function, object, bytes, write)."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i, (tid, function, part, size, write) in enumerate(seen):
        out += r.who(T0 + (i + 1) * 10**6, PID, tid, part << 30, function << 20, size, write, b"t%d" % tid)
    return out + r.end(T0 + SEC)


def drawn(draws):
    """Records of threads; records of one draw are a few milliseconds apart"""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i, draw in enumerate(draws):
        for j, tid in enumerate(draw):
            out += r.who(T0 + (i + 1) * 10**8 + j * 10**6, PID, tid, 1 << 30, 1 << 20, MIB, 0, b"t%d" % tid,
                         waited_ns=(j + 1) * 10**6)
    return out + r.end(T0 + 100 * SEC)


def near(row, p, total, draws, records, differ=True):
    """Is a row's share @p, within the right interval? The variance of the sum is @records
    over records, and @differ over draws; True: the same as over records, None: left out"""
    if differ is not None:
        differ = records if differ is True else differ
        free = draws + 1
        records = (differ * draws + 2 * records) / free * \
            (1 + (1.96**2 + 1) / (2 * free))
    n, z = p * (1 - p) * total**2 / records, 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return row["share"] == p and abs(row["low"] - middle + half) + abs(row["high"] - middle - half) < 1e-5


def test_sums():
    rows, _ = who(recording((1, 1, 1, MIB, 0), (1, 1, 1, MIB, 1), (2, 1, 1, 2 * MIB, 1),
                            (2, 2, 1, 4 * MIB, 0)))
    ok([(x["share"], x["reads"], x["writes"], x["tid"]) for x in rows] ==
       [(0.5, 1, 0, 2), (0.25, 0, 1, 2), (0.25, 1, 1, 1)] or
       [(x["share"], x["reads"], x["writes"], x["tid"]) for x in rows] ==
       [(0.5, 1, 0, 2), (0.25, 1, 1, 1), (0.25, 0, 1, 2)], "shares are of what records stand for", rows)
    many = recording(*[(1 + (i % 4 == 0), 1, 1, MIB, 0) for i in range(400)])
    rows, _ = who(many)
    ok(near(rows[1], 0.25, 400, 400, 75), "Wilson's interval", rows)
    # 40 records with three times the weight of 360 others: their share is less certain
    rows, _ = who(recording(*[(1 + (i % 10 < 1), 1, 1, (3 if i % 10 < 1 else 1) * MIB, 0)
                              for i in range(400)]))
    ok(near(rows[1], 0.25, 480, 400, 225), "records that stand for much", rows)
    # each draw has one of four; then four or none
    rows, _ = who(drawn([4 * [1, 2, 2, 2]] * 100))
    ok(near(rows[1], 0.25, 1600, 100, 300, 0), "draws that agree", rows)
    rows, _ = who(drawn([[1] * 4, [2] * 4, [2] * 4, [2] * 4] * 100))
    ok(near(rows[1], 0.25, 1600, 400, 300 * (1 + 2 * (2 / 399) ** 0.5), None),
       "draws that differ by more than chance explains", rows)
    rows, _ = who(drawn([[1] * n + [2] * (8 - n) for n in (2, 3, 2, 3)]))
    ok(near(rows[1], 0.3125, 32, 4, 32 * 0.3125 * 0.6875, 1), "few draws", rows)
    rows, _ = who(drawn([[1, 2]]))
    ok(near(rows[1], 0.5, 2, 1, 0.5, None), "one draw", rows)
    rows, _ = who(recording(*[(1, 1, 1, MIB, 0)] * 300))
    ok(rows[0]["high"] == 1 and abs(rows[0]["low"] - 300 / (300 + 1.96**2)) < 1e-5, "no certainty from few", rows)
    rows, _ = who(many, "--by", "function")
    ok(len(rows) == 1 and rows[0]["share"] == 1 and rows[0]["tid"] is None, "--by function", rows)
    rows, _ = who(many, "--by", "thread")
    ok([x["comm"] for x in rows] == ["t1", "t2"] and rows[0]["object"] is None, "--by thread", rows)
    rows, _ = who(many, "--by", "object")
    ok(len(rows) == 1 and rows[0]["comm"] is None, "--by object", rows)
    heads = [run("report", "who", "--by", by, "-i", "-", stdin=many).stdout.splitlines()[0].split()[7:]
             for by in ("all", "function", "thread", "object")]
    ok(heads == [[b"TID", b"THREAD", b"FUNCTION", b"OBJECT"], [b"FUNCTION"], [b"TID", b"THREAD"],
                 [b"OBJECT"]], "tables have the columns that --by leaves", heads)
    ok(len(who(many, "--top", "1")[0]) == 1, "--top")
    rows, _ = who(many, "--time", "0,0.05")
    ok(sum(x["reads"] for x in rows) == 50, "--time", rows)
    rows, res = who(recording())
    ok(not rows and b"wsmo record --who" in res.stderr and res.returncode == 1, "no records", res.stderr)
    for args in ("--folded", "--by", "node"), ("-o", "x.png", "--by", "thread"), ("-o", "x.png", "--folded"):
        ok(run("report", "who", *args, "-i", "-", stdin=many).returncode == 2,
           " ".join(args) + " is refused")


def touches(*seen):
    """Records of (thread, bytes, flags, node of the memory, node of the CPU)."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i, (tid, size, flags, node, cpu_node) in enumerate(seen):
        out += r.who(T0 + (i + 1) * 10**6, PID, tid, 4096, 8192, size, flags, b"t%d" % tid, cpu=7,
                     node=node, cpu_node=cpu_node)
    return out + r.end(T0 + SEC)


def test_first():
    """9: a write of a page without an entry."""
    data = touches((1, MIB, 0, 0, 0), (1, MIB, 9, -1, 0), (1, 2 * MIB, 8, -1, 0), (2, MIB, 9, -1, 0),
                   (3, 5 * MIB, 1, 0, 0))
    rows, _ = who(data, "--by", "thread")
    ok([(x["tid"], x["reads"], x["writes"], x["first"]) for x in rows] ==
       [(3, 0, 1, 0), (1, 2, 1, 2), (2, 0, 1, 1)], "first touches are counted", rows)
    rows, _ = who(data, "--by", "thread", "--first")
    ok([(x["tid"], x["share"], x["reads"], x["writes"], x["first"]) for x in rows] ==
       [(1, 0.75, 1, 1, 2), (2, 0.25, 0, 1, 1)], "--first: shares of what was not there", rows)
    ok(who(data, "--pid", str(PID))[0] == who(data)[0] != [], "--pid with the process that was recorded")
    rows, res = who(touches((1, MIB, 1, 0, 0)), "--first")
    ok(not rows and res.returncode == 1 and res.stderr == b"wsmo: no records of first touches\n",
       "no first touch", rows, res)


def test_nodes():
    data = touches((1, MIB, 0, 0, 0), (1, 3 * MIB, 0, 1, 0), (1, 8 * MIB, 8, -1, 0), (2, 2 * MIB, 0, 1, 1),
                   (3, MIB, 8, -1, 1), (2, MIB, 1, 1, 1))
    rows, _ = who(data, "--by", "thread")
    ok([(x["tid"], x["remote"], x["node"], x["cpu_node"]) for x in rows] ==
       [(1, 0.75, None, None), (2, 0, None, None), (3, None, None, None)],
       "remote: of what is known to be on a node", rows)
    rows, _ = who(data, "--by", "node")
    ok([(x["cpu_node"], x["node"], x["share"], x["reads"], x["writes"], x["remote"]) for x in rows] ==
       [(0, None, 0.5, 1, 0, None), (1, 1, 0.1875, 1, 1, 0), (0, 1, 0.1875, 1, 0, 1), (0, 0, 0.0625, 1, 0, 0),
        (1, None, 0.0625, 1, 0, None)] and all(x["tid"] is None for x in rows), "--by node", rows)

    def heads(data, *args):
        return run("report", "who", *args, "-i", "-", stdin=data).stdout.splitlines()[0].split()

    ok(b"REMOTE" in heads(data) and b"NODE" not in heads(data) and
       heads(data, "--by", "node")[5:] == [b"FIRST", b"PID", b"CPU-NODE", b"NODE"] and
       b"REMOTE" in heads(touches((1, MIB, 0, 0, 0), (1, MIB, 0, -1, 1))) and
       b"REMOTE" in heads(touches((1, MIB, 0, 2**31 - 1, 0))),
       "tables of several nodes", heads(data), heads(data, "--by", "node"))
    ok(b"REMOTE" not in heads(touches((1, MIB, 0, 2, 2), (1, MIB, 0, -1, 2), (1, MIB, 0, 2, -1))),
       "and of one")


def shapes(svg):
    """Return: the texts, and the fill colours of the boxes, without grey"""
    fills = re.findall(rb"<polygon fill = '(#[0-9A-F]{6}|rgb\([ \d,]+\))'", svg)
    return forms.svg_texts(svg), fills


def test_picture():
    """Ten threads and objects; each thread reads its own object, every second one also writes the
    first."""
    seen = []
    for i in range(10):
        seen += [(i + 1, 1, i, (20 - i) * MIB, 0)] + [(i + 1, 1, 0, 10 * MIB, 1)] * (i % 2)
    mapped = b"".join(r.mapping(T0, PID, i << 30, (i + 1) << 30, "rw", b"/x/<o%d>`'\x1b" % i) for i in range(10))
    head = len(r.header(T0) + r.target(T0, PID, b"x"))
    data = recording(*seen)
    data = data[:head] + mapped + data[head:]
    total = sum(20 - i for i in range(10)) + 50
    with Directory() as d:
        for name in "a.png", "a.svg":
            run("report", "who", "-o", d.path(name), "-i", "-", stdin=data)
        texts, fills = shapes(d.read("a.svg"))
        part = ["%.1f %%" % (100 * x / total) for x in (20, 10, 70, 18, 29)]
        ok(texts.count(part[0]) == 2 and texts.count(part[1]) == 5 and texts.count(part[2]) == 1 and
           part[4] in texts and all("t%d (%d)" % (i, i) in texts for i in range(1, 11)) and
           any(t.startswith("<o9>") for t in texts) and "x (4242): who touches what, as share of the working set" in
           texts, "its names and shares", texts)
        ok(not any("others" in t for t in texts) and len(set(fills)) > 10, "its colours", fills)
        ok(struct.unpack(">II", d.read("a.png")[16:24]) == (1200, 674), "as high as it needs to be",
           d.read("a.png")[16:24])
        run("report", "who", "--top", "4", "-o", d.path("b.svg"), "-i", "-", stdin=data)
        texts, _ = shapes(d.read("b.svg"))
        # threads 2, 4, 6 are first: 29, 27, 25; all others 114 of 195 read or written
        ok(texts.count("7 others") == 2 and "t2 (2)" in texts and "t1 (1)" not in texts and
           "%.1f %%" % (100 * (total - 29 - 27 - 25) / total) in texts, "--top: the rest is summed up", texts)
        for name, args in ("no first touch", ("--first",)), ("other process", ("--pid", "1")):
            res = run("report", "who", "-o", d.path("no.png"), *args, "-i", "-", stdin=data)
            fails(res, "no picture: " + name, "no records")
        ok(not os.path.exists(d.path("no.png")), "and no file")


def test_names(d):
    program, build_id, symbols, segments = hot.build(d)
    seen = b"".join(r.who(T0 + SEC // 2 + i, PID, PID, symbols["zeroed_table"][0] + 100,
                          symbols["first_function"][0], MIB, 1, b"main") for i in range(3))
    rows, res = who(hot.of_program(program, build_id, segments, [], more=seen))
    with open(os.path.join(hot.HERE, "programs", "hot.c")) as f:
        line = next(n for n, text in enumerate(f, 1) if "first_function" in text)
    ok(len(rows) == 1 and (rows[0]["function"], rows[0]["object"]) ==
       ("first_function", "zeroed_table") and rows[0]["file"].endswith("programs/hot.c") and
       rows[0]["line"] in (line, line + 1), "function, line and variable", rows, res.stderr)
    os.unlink(program)
    rows, res = who(hot.of_program(program, build_id, segments, [], more=seen))
    ok(len(rows) == 1 and res.stderr.count(b"no names from 1 file") == 1,
       "a program that is gone is said once", rows, res.stderr)
