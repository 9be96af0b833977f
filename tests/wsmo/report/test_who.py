# SPDX-License-Identifier: GPL-2.0
"""wsmo report who: shares by weight, their intervals, names."""
import json

import records as r
import samples
import test_hot as hot
from command import Directory, golden, ok, run
from samples import PID, SEC, T0

MIB = 1 << 20


def who(data, *args):
    res = run("report", "who", "--json", "-i", "-", *args, stdin=data)
    return [json.loads(line) for line in res.stdout.splitlines()], res


def golden_files(accept):
    res = run("report", "who", "-i", "-", stdin=samples.who())
    golden("who.txt", res.stdout, accept, not res.returncode, res.stderr)
    ok(res.stderr.splitlines()[0].endswith(b"19 % of the pages drawn are parts of huge pages: "
                                           b"who touches these is not seen"), "a message says what is not seen",
       res.stderr)
    for name, args in ("who.json", ("--json",)), ("who.folded", ("--folded",)):
        golden(name, run("report", "who", *args, "-i", "-", stdin=samples.who()).stdout, accept)


def recording(*seen):
    """Records of (thread, function, object, bytes, write)."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i, (tid, function, part, size, write) in enumerate(seen):
        out += r.who(T0 + (i + 1) * 10**6, PID, tid, part << 30, function << 20, size, write, b"t%d" % tid)
    return out + r.end(T0 + SEC)


def sums():
    rows, _ = who(recording((1, 1, 1, MIB, 0), (1, 1, 1, MIB, 1), (2, 1, 1, 2 * MIB, 1),
                            (2, 2, 1, 4 * MIB, 0)))
    ok([(x["share"], x["reads"], x["writes"], x["tid"]) for x in rows] ==
       [(0.5, 1, 0, 2), (0.25, 0, 1, 2), (0.25, 1, 1, 1)] or
       [(x["share"], x["reads"], x["writes"], x["tid"]) for x in rows] ==
       [(0.5, 1, 0, 2), (0.25, 1, 1, 1), (0.25, 0, 1, 2)], "shares are of what records stand for", rows)
    many = recording(*[(1 + (i % 4 == 0), 1, 1, MIB, 0) for i in range(400)])
    rows, _ = who(many)
    ok(rows[1]["share"] == 0.25 and abs(rows[1]["low"] - 0.2101) < 0.0002 and
       abs(rows[1]["high"] - 0.2947) < 0.0002, "Wilson's interval", rows)
    # 100 that count ten times as much as 300 others: as good as 123 equal ones
    uneven = recording(*[(1 + (i % 4 == 0), 1, 1, 10 * MIB if i % 4 else MIB, 0)
                         for i in range(400)])
    wide, _ = who(uneven)
    even = recording(*[(1, 1, 1, MIB, 0)] * 300)
    narrow, _ = who(even)
    ok(wide[0]["high"] - wide[0]["low"] > 0.01 and narrow[0]["high"] == 1 and
       narrow[0]["low"] < 0.99, "no certainty from few", wide, narrow)
    rows, _ = who(many, "--by", "function")
    ok(len(rows) == 1 and rows[0]["share"] == 1 and rows[0]["tid"] is None, "--by function", rows)
    rows, _ = who(many, "--by", "thread")
    ok([x["comm"] for x in rows] == ["t1", "t2"] and rows[0]["object"] is None, "--by thread", rows)
    rows, _ = who(many, "--by", "object")
    ok(len(rows) == 1 and rows[0]["comm"] is None, "--by object", rows)
    heads = [run("report", "who", "--by", by, "-i", "-", stdin=many).stdout.splitlines()[0].split()[6:]
             for by in ("all", "function", "thread", "object")]
    ok(heads == [[b"TID", b"THREAD", b"FUNCTION", b"OBJECT"], [b"FUNCTION"], [b"TID", b"THREAD"],
                 [b"OBJECT"]], "tables have the columns that --by leaves", heads)
    ok(len(who(many, "--top", "1")[0]) == 1, "--top")
    rows, _ = who(many, "--time", "0,0.05")
    ok(sum(x["reads"] for x in rows) == 50, "--time", rows)
    rows, res = who(recording())
    ok(not rows and b"wsmo record --who" in res.stderr and not res.returncode, "no records", res.stderr)
    for args in (("--by", "line"), ("--top", "0"), ("--class", "heap")):
        ok(run("report", "who", *args, "-i", "-", stdin=many).returncode == 2,
           " ".join(args) + " is refused")


def names():
    with Directory() as d:
        program, build_id, symbols, segments = hot.build(d)
        seen = b"".join(r.who(T0 + SEC // 2 + i, PID, PID, symbols["zeroed_table"][0] + 100,
                              symbols["first_function"][0], MIB, 1, b"main") for i in range(3))
        rows, res = who(hot.of_program(program, build_id, segments, [], more=seen))
        with open(hot.os.path.join(hot.HERE, "programs", "hot.c")) as f:
            line = next(n for n, text in enumerate(f, 1) if "first_function" in text)
        ok(len(rows) == 1 and (rows[0]["function"], rows[0]["object"]) ==
           ("first_function", "zeroed_table") and rows[0]["file"].endswith("programs/hot.c") and
           rows[0]["line"] in (line, line + 1), "function, line and variable", rows, res.stderr)
        hot.os.unlink(program)
        rows, res = who(hot.of_program(program, build_id, segments, [], more=seen))
        ok(len(rows) == 1 and res.stderr.count(b"no names from 1 file") == 1,
           "a program that is gone is said once", rows, res.stderr)


def main(accept):
    golden_files(accept)
    sums()
    names()
