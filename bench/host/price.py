# SPDX-License-Identifier: GPL-2.0
"""Savings by a precision, and whether intervals hold as before.

In a virtual machine under an instruction-counting clock (QEMU's -icount, 1 ns each), so that
other work on the host does not count, each workload, which knows its own working set, is
recorded with each precision in turn. Intervals of 200 ms; the first 40, in which the number of
regions settles, do not count. Takes ten minutes.
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
# A growing heap ends before the number of regions has settled; a file would need a disk.
KNOWN = {x.key: x for x in patterns.PATTERNS if not x.fresh and x.key != "file"}
PRECISIONS = ["max", "5%"]
COUNTED = {"WSMON_QEMU": "-icount shift=0,sleep=off"}


def options(parser):
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", type=one_of(KNOWN),
                        help="only these (all)")
    parser.add_argument("--seeds", type=at_least(1), default=1, help="recordings of each (1)")
    parser.add_argument("--kernel", default="6.12", help="of the guest (6.12)")


def spent(run):
    """Share of a CPU, and regions in force, once settled"""
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
            "keys": args.patterns or list(KNOWN), "precisions": PRECISIONS}
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    rows = []
    for line in run.guest(todo, kernel=args.kernel, timeout=7200, WSMON_OUT=RAW, **COUNTED):
        rows += judge(line["key"], todo["aggr_ms"])
        say("%s: done" % line["key"])
    shutil.rmtree(RAW)
    return rows


def tables(rows):
    lines = []
    for key, pattern in KNOWN.items():
        own = [next((r for r in rows if (r["key"], r["precision"]) == (key, p)), None) for p in PRECISIONS]
        if all(own):
            lines.append([pattern.title, *(percent(r["cpu"], 2) for r in own),
                          percent(own[1]["cpu"] / own[0]["cpu"]), "%.0f" % own[1]["regions"],
                          *(percent(r[k], 1) for k in ("error", "half_width") for r in own),
                          *(percent(r["covered"] / r["cases"]) for r in own)])
    titles = ["%s, %s" % (what, p.replace("%", " %")) for what in ("error", "±", "holds") for p in PRECISIONS]
    return {"price": table(["pages touched", "CPU, max", "CPU, 5 %", "of max", "regions", *titles], lines)}


def notes(rows):
    lines = []
    for precision in PRECISIONS:
        some = [r for r in rows if r["precision"] == precision]
        lines.append("--precision %s: intervals hold in %s of %d" % (
            precision, percent(sum(r["covered"] for r in some) / sum(r["cases"] for r in some), 1),
            sum(r["cases"] for r in some)))
    return ["\n".join(lines)]
