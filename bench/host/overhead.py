# SPDX-License-Identifier: GPL-2.0
"""Costs of wsmon and DAMON, in turn in one virtual machine.

Measures CPU time of the kernel threads for a page looked at, their lateness, the slowdown of
their targets, and the cost of a recording. Other work on the machine makes the figures
useless. The cost takes 10 minutes, everything 40.
"""
import statistics

from host.lib import form, median, table

NEED = ("redis-server", "redis-tools", "gcc")
KEY = ("what", "mib", "kind", "samples", "name")
# MiB, pages, sampled pages
COST = [(2048, "4K", 100), (2048, "4K", 1000), (2048, "4K", 10000), (512, "4K", 1000),
        (6144, "4K", 1000), (2048, "THP", 1000), (102400, "zero", 1000), (1048576, "zero", 1000)]
FULL = {"cost": COST, "reps": 5, "seconds": 4, "pairs": 6}
QUICK = {"cost": COST[1:3], "reps": 1, "seconds": 2, "pairs": 2}
PARTS = ["cost", "lateness", "memory", "slowdown"]
KINDS = {"4K": "4 KiB pages", "THP": "huge pages", "zero": "huge zero page"}
MONITORS = {"none again": "nobody", "wsmon": "wsmon", "wsmon, no flush": "without flush",
            "wsmon, fastest": "100 times as often", "DAMON": "DAMON"}


def options(parser):
    parser.add_argument("--quick", action="store_true", help="little of it, once")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; may be repeated")


def measure(args, run):
    return list(run.guest({**(QUICK if args.quick else FULL), "parts": args.only or PARTS},
                          mem="8G", timeout=7200))


def cost(found):
    rows = []
    for f in found:
        ours, theirs = (median(r[who]["ns"] for r in f["rows"]) for who in ("wsmon", "damon"))
        ratio = median(r["damon"]["ns"] / r["wsmon"]["ns"] for r in f["rows"] if r["damon"]["ns"])
        gib = f["mib"] / 1024
        rows.append(["%g GiB" % gib if gib < 1024 else "%g TiB" % (gib / 1024), KINDS[f["kind"]],
                     f["samples"], form(ours, "%.2f µs", 1000), form(theirs, "%.2f µs", 1000),
                     form(ratio, "%.1f")])
    return table(["target", "memory", "sampled pages", "wsmon, a page", "DAMON, a region",
                  "times as much"], rows)


def lateness(found):
    ours = [r["wsmon"] for r in found["rows"]]
    theirs = [r["damon"] for r in found["rows"] if r["damon"]]
    return table(["late by", "half of them", "99 %"], [
        ["wsmon's rounds (each 100 ms)",
         *(form(median(r["late_%s_ns" % k] for r in ours), "%.1f ms", 1e6) for k in ("p50", "p99"))],
        ["DAMON's snapshots (each 100 ms)",
         *(form(median(r[k] for r in theirs), "%.1f ms", 1e6) for k in ("p50", "p99"))]])


def slowdown(rows, monitor):
    """Median of the paired differences, and half of the interquartile range"""
    lost = sorted(1 - r[monitor] / r["none"] for r in rows)
    quarter = len(lost) // 4
    return "%.1f ± %.1f %%" % (100 * statistics.median(lost),
                               50 * (lost[-1 - quarter] - lost[quarter]))


def parts(rows):
    return {part: found for part in PARTS if (found := [r for r in rows if r["what"] == part])}


def tables(rows):
    found = parts(rows)
    blocks = {}
    if "cost" in found:
        blocks["overhead: cost"] = cost(found["cost"])
    if "lateness" in found:
        blocks["overhead: lateness"] = lateness(found["lateness"][0])
    if "slowdown" in found:
        blocks["overhead: slowdown"] = table(
            ["slowdown of", *MONITORS.values()],
            [[f["name"], *(slowdown(f["rows"], m) for m in MONITORS)] for f in found["slowdown"]])
    return blocks


def notes(rows):
    found, texts = parts(rows), []
    if "lateness" in found:
        ours = [r["wsmon"] for r in found["lateness"][0]["rows"]]
        holds = [r["max_hold_ns"] / 1000 for r in ours]
        texts.append("Holds of the mmap lock, at the defaults: 99 %% are below %.0f µs; the longest "
                     "of a run, median %.0f µs, worst %.0f µs." % (
                         median(r["hold_p99_ns"] / 1000 for r in ours), median(holds), max(holds)))
    for m in found.get("memory", []):
        texts.append("Module: %.0f KiB, and %.0f bytes a region. wsmo record at the defaults: %.2f "
                     "MiB RSS, %.2f %% of a CPU (and %.2f s in its first ten), %.1f KiB/s of file."
                     % (m["module"] / 1024, m["region"], m["rss"] / (1 << 20), m["cpu"] * 100,
                        m["start"], m["file_per_s"] / 1024))
    return texts
