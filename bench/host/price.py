# SPDX-License-Identifier: GPL-2.0
"""What a wanted precision saves, and whether intervals hold as before.

In a virtual machine each workload, which knows its own working set, is recorded with each
precision in turn. Intervals of 200 ms; those count that come after 40 others, when the number of
regions has settled. Takes ten minutes. On a busy host only an emulator that counts instructions
(QEMU's -icount) compares CPU times.
  CPU    percent of one CPU
  error  median of |estimate / truth - 1|
  holds  how often the truth is in the 95 % interval; ±: half its width / truth
"""
import json
import os
import shutil
import statistics

from guest import patterns
from host.lib import OUT, at_least, one_of, percent, say, table
from judge import accuracy as judgement

NEED = ()
KEY = ("key", "precision")
RAW = os.path.join(OUT, "price.raw")
KNOWN = {x.key: x for x in patterns.PATTERNS}
KEYS = ["contig-64M", "stride-2", "stride-16", "random-5", "blocks-256K", "phases"]
PRECISIONS = ["max", "5%"]


def options(parser):
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", type=one_of(KNOWN),
                        help="only these (%s)" % " ".join(KEYS))
    parser.add_argument("--seeds", type=at_least(1), default=3, help="recordings of each (3)")
    parser.add_argument("--kernel", default="6.12", help="of the guest (6.12)")


def spent(run):
    """Share of a CPU, and regions in force, once they have settled"""
    stats = [r for r in run.records if r.type == "STATS" and r.time_ns >= run.counts_from]
    first, last = stats[0], stats[-1]
    share = (last.cpu_ns - first.cpu_ns) / (last.time_ns - first.time_ns)
    return share, statistics.median(r.budget for r in stats)


def judge(key, aggr_ms):
    directory, pattern, rows = os.path.join(RAW, key), KNOWN[key], []
    with open(os.path.join(directory, "meta.json")) as f:
        meta = json.load(f)
    for precision in PRECISIONS:
        runs = [judgement.Recording(directory, run, aggr_ms).read() for run in meta
                if run["precision"] == precision]
        cases = [case for run in runs for case in run.cases(pattern.cls, aggr_ms) if case.true]
        cpu, regions = zip(*map(spent, runs))
        rows.append({"key": key, "precision": precision, "cases": len(cases),
                     "cpu": statistics.median(cpu), "regions": statistics.median(regions),
                     "error": statistics.median(abs(c.reported / c.true - 1) for c in cases),
                     **judgement.intervals(cases)})
    return rows


def measure(args, run):
    todo = {"settle": 40, "count": 40, "aggr_ms": 200, "max_regions": 2000, "seeds": args.seeds,
            "keys": args.patterns or KEYS, "precisions": PRECISIONS}
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    rows = []
    for line in run.guest(todo, kernel=args.kernel, timeout=7200, WSMON_OUT=RAW):
        rows += judge(line["key"], todo["aggr_ms"])
        say("%s: done" % line["key"])
    shutil.rmtree(RAW)
    return rows


def tables(rows):
    most = {r["key"]: r["cpu"] for r in rows if r["precision"] == "max"}
    return {"price": table(
        ["pages touched", "--precision", "CPU", "of max", "regions", "error", "±", "holds"],
        [[KNOWN[r["key"]].title, r["precision"], percent(r["cpu"], 2),
          percent(r["cpu"] / most[r["key"]]), "%.0f" % r["regions"], percent(r["error"], 1),
          percent(r["half_width"], 1), percent(r["covered"] / r["cases"])] for r in rows])}


def notes(rows):
    lines = []
    for precision in PRECISIONS:
        some = [r for r in rows if r["precision"] == precision]
        lines.append("--precision %s: intervals hold in %s of %d" % (
            precision, percent(sum(r["covered"] for r in some) / sum(r["cases"] for r in some), 1),
            sum(r["cases"] for r in some)))
    return ["\n".join(lines)]
