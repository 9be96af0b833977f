# SPDX-License-Identifier: GPL-2.0
"""Recordings of three real programs: how views look, in golden files, and their numbers.

recordings/make made them.
"""
import json
import os
import statistics
import sys

import screen
from command import HERE, TOP, fails, golden, ok, run, same_numbers

sys.path.insert(0, os.path.join(TOP, "contrib"))
import wsmon                                               # noqa: E402

PROGRAMS = ("redis", "cc1", "sort")
# Golden files: each view of one program, and of a part that fits a screen
LOOKS = (
    ("cc1", "summary", ()),
    ("redis", "wss", ("--class", "all,heap,anon")),
    ("sort", "percentiles", ("--percentiles=5,50,95",)),
    ("redis", "wss-size", ("--class", "all", "--sort", "size")),
    ("cc1", "regions", ("--time", "2,2.2", "--class", "heap,stack")),
    ("redis", "raw", ("--time", "2,3")),
    ("redis", "peaks", ()),
    ("sort", "heatmap", ()),
    ("redis", "heatmap-wide", ("--size", "160x50")),
    ("cc1", "heatmap-256", ("--color", "256", "--size", "100x30")),
    ("sort", "heatmap-16", ("--color", "16", "--size", "100x30")),
    ("redis", "heatmap-heap", ("--class", "heap,anon", "--time", "3,9")),
)
# Views with the same rows in all forms
VIEWS = (("summary",), ("wss",), ("wss", "--percentiles"), ("regions",), ("hot",), ("heatmap",))
SIZED = (("curve",), ("sizing",))


def view_of(name):
    return {"percentiles": "wss"}.get(name, name.split("-")[0])


def test_looks(accept):
    for program, name, options in LOOKS:
        data = os.path.join(HERE, "recordings", program + ".data")
        res = run("report", view_of(name), *options, "-i", data)
        golden("real/%s.%s.txt" % (program, name), res.stdout, accept,
               not res.returncode and not res.stderr, res.stderr)


def colours(data, program):
    """Colours replace the characters of a map, and change nothing else."""
    plain, *coloured = [run("report", "heatmap", "--size", "100x30", "--color", x, "-i", data)
                        for x in ("never", "16", "256")]
    rows = plain.stdout.decode().splitlines()
    for res in coloured:
        got = screen.plain(res.stdout.decode()).splitlines()
        ok(len(got) == len(rows) > 15 and all(a[:20].rstrip() == b[:20].rstrip()
                                              for a, b in zip(got, rows)),
           "%s: coloured as without colours" % program, *got)


def numbers(data, program):
    """JSON has the results of the independent reader, and the other forms have those of JSON."""
    lines = {}
    for view in VIEWS + SIZED * (program == "cc1"):
        lines[view] = [json.loads(x) for x in same_numbers(
            "%s of %s" % (" ".join(view), program), "report", *view, "-i", data,
            only_csv=["path"], not_raw=["end", "size"][:view == ("hot",)] +
            ["path", "offset", "tid", "symbols", "source"]).splitlines()]
    with open(data, "rb") as f:
        header, records = wsmon.read(f)
        records = list(records)
    want = [(x.pid, x.cls, x.window_us, x.bytes, x.low, x.high) for x in records if x.type == "WSS"]
    got = [(x["pid"], x["class"], x["window_us"], x["bytes"], x["low"], x["high"])
           for x in lines["wss",]]
    ok(want and got == want, "%s: every working set" % program)
    want = [(x.pid, g.cls, g.start, g.end, round(g.share, 6), round(g.freq, 6), g.age_ms)
            for x in records if x.type == "SNAPSHOT" for g in x.regions]
    got = [tuple(x[key] for key in ("pid", "class", "start", "end", "share", "freq", "age_ms"))
           for x in lines["regions",]]
    ok(want and got == want, "%s: every region" % program)
    wrong = []
    for row in lines["summary",]:
        sizes = [x.bytes for x in records if x.type == "WSS" and row["type"] == "wss_summary" and
                 (x.pid, x.cls, x.window_us) == (row["pid"], row["class"], row["window_us"])]
        if sizes and (abs(row["mean"] - statistics.mean(sizes)) > 1 or
                      abs(row["sd"] - statistics.stdev(sizes)) > 1 or
                      (row["peak"], row["intervals"]) != (max(sizes), len(sizes))):
            wrong.append((row, sizes))
    ok(not wrong, "%s: means, deviations, peaks" % program, *wrong)


def nothing(data, program):
    """Views of records that are missing."""
    if program != "redis":
        res = run("report", "peaks", "-i", data)
        ok(not res.returncode and not res.stdout and res.stderr.count(b"\n") == 1,
           "no peaks of %s" % program, res)
    if program != "cc1":
        for view, in SIZED:
            fails(run("report", view, "-i", data), "no %s of %s" % (view, program), "3 windows")


def test_programs():
    for program in PROGRAMS:
        data = os.path.join(HERE, "recordings", program + ".data")
        numbers(data, program)
        colours(data, program)
        nothing(data, program)
