# SPDX-License-Identifier: GPL-2.0
"""Do intervals hold, and are there false peaks, while khugepaged makes pages huge?

Records, at the defaults, three programs in small pages: redis, with requests for a scattered
tenth of its keys; python3, which goes through a quarter of its objects; a heap that grows. After
ten seconds khugepaged is enabled: at its defaults, or with scan_sleep_millisecs=10, or, for
comparison, put to sleep after one pass. Each is recorded with -p and with --cgroup;
out/vm/khugepaged-*.data are the last recordings.

The truth is the touched memory, in pages as they are mapped: a huge page counts whole. If a page
became huge within the window, the truth is a range, from small pages to the huge one. The heap
prints its touches. For the others, pages are paged out, and those that return from swap within a
window are touched: in each of three such windows, and in any.
"""
import statistics
import sys

from guest.khugepaged import SETTINGS, WORKLOADS
from host.lib import MIB, at_least, form, percent, table

NEED = ("redis-server", "gcc", "libc6-dev")
KEY = ("workload", "setting", "scope")


def options(parser):
    parser.add_argument("--rounds", type=at_least(1), default=1, help="recordings of each (1)")
    parser.add_argument("--seconds", type=at_least(20), default=25, help="of each (25)")
    parser.add_argument("--defaults", type=at_least(20), default=60,
                        help="of each with khugepaged at its defaults, which takes its time (60)")
    parser.add_argument("--workloads", nargs="*", choices=list(WORKLOADS), help="some only")
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), help="some only")


def miss(interval):
    """Distance of the truth from the interval, in bytes; and from the estimate, in half-widths"""
    _, size, low, high, _, least, most, _ = interval
    away = max(low - most, least - high, 0)
    return away, max(size - most, least - size, 0) / max((high - low) / 2, 4096)


def judge(rows):
    """Summary of recordings of the same kind"""
    all_of = [i for r in rows for i in r["intervals"][1:]]
    missed = [miss(i) for i in all_of]
    made = [m for m, i in zip(missed, all_of) if i[7]]
    # the truth afterwards
    last = [r["intervals"][-1] for r in rows]
    return {**{key: rows[0][key] for key in KEY}, "recordings": len(rows),
            "got": sum(r["got"] for r in rows),
            "huge": sum(r["huge"][1] - r["huge"][0] for r in rows),
            "small": statistics.median(i[4] for i in last),
            "mapped": statistics.median((i[5] + i[6]) / 2 for i in last),
            "size": statistics.median(i[1] for i in last),
            "half": statistics.median((i[3] - i[2]) / 2 / max(i[1], 1) for i in all_of),
            "unknown": sum(r["unknown"] for r in rows),
            "intervals": len(all_of), "held": sum(not away for away, _ in missed),
            "made": len(made), "held_made": sum(not away for away, _ in made),
            "held_small": sum(i[2] <= i[4] <= i[3] for i in all_of),
            "worst": max(away for away, _ in missed), "halves": max(h for _, h in missed),
            "within": statistics.mean(h <= 1 for _, h in missed),
            "peaks": sum(len(r["peaks"]) for r in rows),
            "recorded": rows}


def measure(args, run):
    found = {}
    todo = {"rounds": args.rounds, "workloads": args.workloads or list(WORKLOADS),
            "settings": args.settings or list(SETTINGS),
            "seconds": {s: args.defaults if s == "defaults" else args.seconds for s in SETTINGS}}
    for row in run.guest(todo, timeout=36000):
        if not row["intervals"]:
            print("# %(workload)s %(setting)s %(scope)s: no interval, left out" % row, file=sys.stderr)
            continue
        found.setdefault(tuple(row[key] for key in KEY), []).append(row)
    return [judge(rows) for rows in found.values()]


def of(part, whole):
    return "%d of %d" % (part, whole)


def tables(rows):
    return {"khugepaged": table(
        ["program", "khugepaged", "recorded", "made huge", "small pages, MiB", "as mapped",
         "estimate", "interval ±", "holds", "where made huge", "worst miss, MiB", "peaks"],
        [[r["workload"], r["setting"], r["scope"], r["huge"] or "none",
          *(form(r[key], "%.1f", MIB) for key in ("small", "mapped", "size")),
          percent(r["half"], 1), of(r["held"], r["intervals"]),
          of(r["held_made"], r["made"]) if r["made"] else "-", form(r["worst"], "%.2f", MIB),
          r["peaks"]] for r in rows])}


def notes(rows):
    return [table(["program", "khugepaged", "recorded", "collapses, of all", "within a half-width",
                   "worst, half-widths", "holds small pages", "peaks at"],
                  [[*(r[key] for key in KEY), r["got"], percent(r["within"], 1),
                    form(r["halves"], "%.1f"), of(r["held_small"], r["intervals"]),
                    " ".join("%s%.1f" % ("+" if s == "up" else "-", t) for x in r["recorded"]
                             for t, s in x["peaks"]) or "-"] for r in rows])]
