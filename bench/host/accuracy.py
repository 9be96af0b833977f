# SPDX-License-Identifier: GPL-2.0
"""wsmon, DAMON and clear_refs on workloads that know their own working set.

In a virtual machine each workload is watched by the three methods in turn; the host
compares with the truth. Takes an hour, with --quick five minutes.

MiB and errors are medians; CPU is percent of one CPU. wsmon takes ten samples an
interval, DAMON twenty. The first intervals of a recording do not count.
  error  estimate / truth of that time - 1, where the truth is not 0
  holds  how often the truth is in the 95 % interval; ±: half its width / truth
  map    mean error of a byte's share of accesses
  DAMON  as damo computes it: regions with an access, in full
  clear_refs  Referenced in smaps, a window after clearing
"""
import json
import os
import shutil
import statistics
import time

from guest import patterns
from host.lib import OUT, at_least, form, mib, one_of, percent, say, table
from judge import accuracy as judgement

NEED = ()
KEY = ("key", "window_ms")
RAW = os.path.join(OUT, "accuracy.raw")
KNOWN = {x.key: x for x in (*patterns.PATTERNS, *patterns.FINDS)}
METHODS = {"wsmon": "wsmon", "damon": "DAMON", "clear_refs": "clear_refs"}
AFTER = ("3", "5", "9", "19")
# seeds: recordings of wsmon; instances: times a workload is started; count and
# damon_count: intervals of a run that count, after settle and dropped ones; cycles:
# of clear_refs a start; finds: starts of each large mapping
ALWAYS = {"settle": 8, "dropped": 20, "count": 11}
FULL = {"seeds": 10, "instances": 3, "damon_count": 15, "cycles": 6, "finds": 3}
QUICK = {"seeds": 2, "instances": 1, "damon_count": 10, "cycles": 4, "finds": 1}


def options(parser):
    parser.epilog = "Patterns: " + " ".join(KNOWN)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", type=one_of(KNOWN),
                        help="only these (all; with --quick the most important ones)")
    parser.add_argument("--quick", action="store_true", help="few patterns and seeds")
    parser.add_argument("--kernel", default="6.12", help="of the guest (6.12)")
    parser.add_argument("--seeds", type=at_least(1), metavar="N",
                        help="recordings of wsmon a pattern (10; quick 2)")
    parser.add_argument("--aggr-ms", type=at_least(40), default=200, metavar="MS",
                        help="intervals and windows (200; wsmon's default of 1000 takes five "
                             "times as long)")
    parser.add_argument("--max-regions", type=at_least(10, 32768), default=2000, metavar="N",
                        help="wsmon's regions at most, and CPU budget in proportion (2000)")
    parser.add_argument("--keep", action="store_true",
                        help="keep the recordings in out/bench/accuracy.raw")
    parser.add_argument("--again", action="store_true", help="judge again what was kept")


def make_todo(args):
    todo = {**ALWAYS, **(QUICK if args.quick else FULL), "aggr_ms": args.aggr_ms,
            "max_regions": args.max_regions}
    if args.seeds:
        todo["seeds"] = args.seeds
    todo["keys"] = args.patterns or [x.key for x in patterns.PATTERNS if x.core or not args.quick] \
        + [x.key for x in patterns.FINDS if not args.quick]
    return todo


def judge(key, keep):
    """The rows of a pattern whose recordings are complete."""
    pattern, directory = KNOWN[key], os.path.join(RAW, key)
    if isinstance(pattern, patterns.Find):
        with open(os.path.join(directory, "meta.json")) as f:
            runs = json.load(f)
        rows = [{"key": key, "title": pattern.title, "limit": pattern.limit,
                 **{m: [run[m] for run in runs] for m in ("wsmon", "damon")}}]
    else:
        rows = judgement.judge(pattern, directory)
    if not keep:
        shutil.rmtree(directory)
    return rows


def measure(args, run):
    if args.again:
        return [row for key in args.patterns or KNOWN
                if os.path.exists(os.path.join(RAW, key, "meta.json")) for row in judge(key, True)]
    todo, rows, began = make_todo(args), [], time.monotonic()
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    left = list(todo["keys"])
    while left:
        for line in run.guest({**todo, "keys": left}, kernel=args.kernel, timeout=36000,
                              WSMON_OUT=RAW):
            left.remove(line["key"])
            why = line["why"]
            try:
                rows += [] if why else judge(line["key"], args.keep)
            except (ValueError, LookupError) as e:
                why = str(e)
            if why:
                run.status = 1
            say("%s: %s (%.0f s, %d to go)" % (line["key"], why or "done",
                                               time.monotonic() - began, len(left)))
        if left:
            # the pattern it was at is lost; another guest does the rest
            say(left.pop(0) + ": the virtual machine died")
            run.status = 1
    if not args.keep:
        shutil.rmtree(RAW)
    return rows


def sizes(values, error, digits, sign="+"):
    return "%s (%s)" % (" + ".join(map(mib, values)), percent(error, digits, sign))


def pattern_table(rows):
    return table(
        ["pages touched", "truth", "wsmon", "holds", "±", "CPU", "DAMON", "CPU", "clear_refs",
         "CPU"],
        [[r["title"], " + ".join(map(mib, r["wsmon"]["true"])),
          sizes(r["wsmon"]["bytes"], r["wsmon"]["error"], 1),
          percent(r["wsmon"]["covered"] / r["wsmon"]["cases"]),
          percent(r["wsmon"]["half_width"], 1), percent(r["wsmon"]["cpu"], 1),
          sizes(r["damon"]["bytes"], r["damon"]["error"], 0), percent(r["damon"]["cpu"], 1),
          sizes(r["clear_refs"]["bytes"], r["clear_refs"]["error"], 0),
          percent(r["clear_refs"]["cpu"], 1)] for r in rows])


def error_table(rows):
    errors = {m: [abs(r[m]["error"]) for r in rows if r[m]["error"] is not None] for m in METHODS}
    return table(["", "median error", "worst error"],
                 [[METHODS[m], percent(statistics.median(e), 1), percent(max(e), 1)]
                  for m, e in errors.items()])


def map_table(rows):
    return table(["pages touched", "regions", "in parts",
                  *("after %s intervals" % n if n == AFTER[0] else n for n in AFTER), "DAMON"],
                 [[r["title"], *(form(v, "%.3f") for v in (
                     r["map"]["regions"], r["map"]["wsmon"],
                     *(r["map"]["after"].get(n) for n in AFTER), r["map"]["damon"]))]
                  for r in rows])


def time_to_find(times):
    return ", ".join("not" if t is None else "%.1f" % t for t in times) or "-"


def tables(rows):
    order = list(KNOWN)
    rows = sorted(rows, key=lambda row: order.index(row["key"]))
    found = [r for r in rows if "limit" in r]
    sized = [r for r in rows if "limit" not in r]
    located = [r for r in sized if "map" in r]
    blocks = {}
    if sized:
        blocks["accuracy: patterns"] = pattern_table(sized)
        blocks["accuracy: errors"] = error_table(sized)
    if located:
        blocks["accuracy: map"] = map_table(located)
    if found:
        blocks["accuracy: found"] = table(
            ["a hot block of", "within s", "wsmon found it after", "DAMON after"],
            [[f["title"], f["limit"], time_to_find(f["wsmon"]), time_to_find(f["damon"])]
             for f in found])
    return blocks


def notes(rows):
    rows = [r for r in rows if "limit" not in r]
    if not rows:
        return []
    ours = [r["wsmon"] for r in rows]
    worst = min(rows, key=lambda r: r["wsmon"]["covered"] / r["wsmon"]["cases"])
    cases = sum(x["cases"] for x in ours)
    lines = ["wsmon's 95 %% interval holds in %s of %d cases (at least %d a pattern), worst: %s "
             "(%s)" % (percent(sum(x["covered"] for x in ours) / cases, 1), cases,
                       min(x["cases"] for x in ours),
                       percent(worst["wsmon"]["covered"] / worst["wsmon"]["cases"]),
                       worst["title"])]
    lines += ["note: the workload did not keep up: %s (%s busy)" % (r["title"], percent(r["busy"]))
              for r in rows if r["busy"] > 0.9 and r["key"] != "restless"]
    lines += ["note: %s of wsmon's rounds came too late: %s" % (percent(r["late"]), r["title"])
              for r in rows if r["late"] > 0.1]
    return ["\n".join(lines)]
