# SPDX-License-Identifier: GPL-2.0
"""What do hint faults cost, and how often do the intervals of wsmo report who hold the truth?

Slowdown: pairs of programs that only access memory, monitored at the defaults without and
with --who at 100, 1000 and 10000 pages a second, in a virtual machine. Takes ten minutes.
Coverage: recordings of threads that read and write memory in known proportions, at the same
rates, in slices. In each slice, wsmo report who gives each function's share and interval.
Takes ten minutes.
"""
import json
import math
import os
import shutil
import statistics
import subprocess

from host.lib import OUT, TOP, percent, say, table

NEED = ("gcc", "libc6-dev")
KEY = ("name",)
RATES = (0, 100, 1000, 10000)
RAW = os.path.join(OUT, "who")
SOURCE = os.path.join(TOP, "tests/selftests/programs/touch.c")
WSMO = os.path.join(TOP, "out/bin/wsmo")
# By rate: seconds of a slice, and of all
SLICES = {100: (3, 180), 1000: (5, 60), 10000: (5, 60)}
# Seconds before the first slice, in which regions adapt
SETTLE = 3
# For touch.c: the thread of each access, and a part of its source line
ACCESSES = {("read_a", "reads"): ("alpha", "sum += a["), ("write_b", "writes"): ("beta", "++b_now"),
            ("read_c", "reads"): ("beta", "sum += c["), ("write_c", "writes"): ("beta", "++c_now"),
            ("copy_e", "reads"): ("alpha", "was = e["), ("copy_e", "writes"): ("alpha", "= was;")}
# Variables that these lines access, too
VARIABLES = ("a", "b", "c", "sum", "b_now", "c_now")
# Pages that each touches first after a random moment
TRUTH = {"apart": {("read_a", "reads"): 2048, ("write_b", "writes"): 1024,
                   ("read_c", "reads"): 768, ("write_c", "writes"): 256,
                   ("copy_e", "reads"): 512, ("copy_e", "writes"): 512},
         "mixed": {("read_a", "reads"): 1600, ("write_b", "writes"): 800,
                   ("read_c", "reads"): 750, ("write_c", "writes"): 50}}


def options(parser):
    parser.add_argument("--part", choices=("slowdown", "coverage"), help="only this one (both)")
    parser.add_argument("--pairs", type=int, default=6, help="of each (6)")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement (5)")


def measure(args, run):
    rows = []
    if args.part != "coverage":
        rows += run.guest({"rates": RATES, "pairs": args.pairs, "seconds": args.seconds}, timeout=3600)
    if args.part != "slowdown":
        rows += cover(run)
    return rows


def cover(run):
    program = os.path.join(OUT, "touch")
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    # at a path that exists in the guest, too, so that names are found here
    subprocess.run(["gcc", "-g", "-O2", "-pthread", "-o", program, SOURCE], check=True)
    todo = {"program": program, "layouts": list(TRUTH),
            "seconds": {rate: SETTLE + seconds + 1 for rate, (_, seconds) in SLICES.items()}}
    rows = []
    for done in run.guest(todo, timeout=3600, WSMON_OUT=RAW):
        rows.append(judge(done))
        say("%s: %d of %d hold" % (done["name"], sum(c["held"] for c in rows[-1]["functions"]),
                                   sum(c["cases"] for c in rows[-1]["functions"])))
    shutil.rmtree(RAW)
    return rows


def report(path, *options):
    out = subprocess.run([WSMO, "report", "who", "--json", "--top", "100000", "-i", path, *options],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def way_of(row):
    return "writes" if row["writes"] else "reads"


def is_wrong(row, lines, layout):
    """Does the row contradict touch.c? None if it is of other memory"""
    access, thing = (row["function"], way_of(row)), row["object"] or ""
    if access not in TRUTH[layout]:
        return True if thing.startswith("array_") else None
    thread, text = ACCESSES[access]
    if thing in VARIABLES:
        return None
    return (row["reads"] > 0 and row["writes"] > 0) or row["comm"] != thread or \
        thing != "array_" + ("e" if layout == "mixed" else access[0][-1]) or \
        not row["file"].endswith("touch.c") or text not in lines[row["line"] - 1]


def judge(done):
    """A row with the results of a recording's slices"""
    layout, path = done["layout"], os.path.join(RAW, done["file"])
    seconds, slices = SLICES[done["rate"]][0], SLICES[done["rate"]][1] // SLICES[done["rate"]][0]
    with open(SOURCE) as f:
        lines = f.read().splitlines()
    whole = [(row, is_wrong(row, lines, layout)) for row in report(path)]
    wrong = [row for row, w in whole if w]
    for row in wrong:
        say("wrong: %s" % row)
    # other memory: stacks and libraries
    known = 1 - sum(row["share"] for row, w in whole if w is None)
    pages = sum(TRUTH[layout].values())
    functions = {access: {"name": "%s %s" % access, "truth": known * n / pages, "cases": 0, "held": 0,
                          "half_width": 0, "error": 0} for access, n in TRUTH[layout].items()}
    seen = []
    for i in range(slices):
        begin = SETTLE + i * seconds
        rows = report(path, "--by", "function", "--time", "%d,%d" % (begin, begin + seconds))
        of = {(row["function"], way_of(row)): row for row in rows}
        seen.append(sum(row["reads"] + row["writes"] for row in rows))
        for access, f in functions.items():
            row = of.get(access, {"share": 0, "low": 0, "high": 0})
            f["cases"] += 1
            f["held"] += row["low"] <= f["truth"] <= row["high"]
            f["half_width"] += (row["high"] - row["low"]) / 2 / slices
            f["error"] += (row["share"] - f["truth"]) / slices
    return {"name": done["name"], "layout": layout, "rate": done["rate"], "known": known,
            "seconds": seconds, "records": sum(seen) / slices, "slices": slices,
            "seen": sum(row["reads"] + row["writes"] for row, w in whole if w is not None),
            "wrong": sum(row["reads"] + row["writes"] for row in wrong),
            "functions": list(functions.values())}


def cell(r, rate):
    lost = sorted(1 - x[rate] / x["0"] for x in r["rows"])
    quarter = len(lost) // 4
    return "%.1f ± %.1f %% (%.0f)" % (100 * statistics.median(lost),
                                      50 * (lost[-1 - quarter] - lost[quarter]), r["seen"][rate])


def covered(rows):
    """Cells of the table about coverage: of rows together"""
    functions = [f for r in rows for f in r["functions"]]
    cases = sum(f["cases"] for f in functions)
    each = [f["held"] / f["cases"] for f in functions]
    return ["%.0f" % statistics.mean(r["records"] for r in rows),
            "± " + percent(statistics.mean(f["half_width"] for f in functions), 1),
            cases, percent(sum(f["held"] for f in functions) / cases, 1),
            "%s to %s" % (percent(min(each)), percent(max(each))),
            "%d of %d" % (sum(r["wrong"] for r in rows), sum(r["seen"] for r in rows))]


def tables(rows):
    slow, cover = ([r for r in rows if ("rows" in r) == is_slow] for is_slow in (True, False))
    found = {}
    if slow:
        found["who"] = table(["slowdown of"] + ["%d a second" % rate for rate in RATES[1:]],
                             [[r["name"]] + [cell(r, str(rate)) for rate in RATES[1:]] for r in slow])
    if cover:
        found["who: coverage"] = table(
            ["memory of a function", "pages a second", "slices of", "samples each", "share", "intervals",
             "hold", "of a function", "wrong"],
            [[r["layout"], r["rate"], "%d s" % r["seconds"], *covered([r])] for r in cover] +
            [["all", "", "", *covered(cover)]])
    return found


def notes(rows):
    return ["%s: %s" % (r["name"], "; ".join(
        "%s %s, error %+.2f %% ± %.2f, holds in %d of %d" % (
            f["name"], percent(f["truth"], 2), 100 * f["error"],
            100 * f["half_width"] / math.sqrt(f["cases"]) / 1.96, f["held"], f["cases"])
        for f in r["functions"])) for r in rows if "functions" in r]
