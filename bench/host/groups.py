# SPDX-License-Identifier: GPL-2.0
"""Is the working set of several processes together right, with each page counted once?

Watches, in a virtual machine, a cgroup of processes that use pages at random, and know their
common set: of their own memory, of a memfd or a file that all map, of memory that their
parent had before it forked them, and workers that live for 0.3 s. The sum over the
processes is the result of counting each alone. An interval is right within 3 % or if it
holds the truth. Takes ten minutes.
"""
import statistics
import time

from guest.groups import PATTERNS
from host.lib import at_least, mib, percent, say, table

NEED = ("gcc", "libc6-dev")
KEY = ("pattern",)


def options(parser):
    parser.add_argument("--recordings", type=at_least(1), default=5, help="of each (5)")
    parser.add_argument("--seconds", type=at_least(6), default=16, help="of a recording (16)")
    parser.add_argument("--max-regions", type=int, default=2000, help="of the group (2000)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")
    parser.add_argument("--patterns", nargs="*", choices=list(PATTERNS), help="some only")


def judge(rows, pattern):
    mine = [r for r in rows if pattern in (r["pattern"], None)]
    errors = [r["bytes"] / r["truth"] - 1 for r in mine]
    return {"pattern": pattern or "all", "intervals": len(mine),
            "truth": statistics.median(r["truth"] for r in mine),
            "sum": statistics.median(r["sum"] for r in mine),
            "error": statistics.mean(errors),
            "median_error": statistics.median(map(abs, errors)),
            "half_width": statistics.median((r["high"] - r["low"]) / 2 / r["truth"] for r in mine),
            "right": statistics.mean(abs(e) <= 0.03 or r["low"] <= r["truth"] <= r["high"]
                                     for e, r in zip(errors, mine)),
            "covered": statistics.mean(r["low"] <= r["truth"] <= r["high"] for r in mine)}


def measure(args, run):
    began, rows = time.monotonic(), []
    todo = {key: vars(args)[key] for key in ("recordings", "seconds", "max_regions", "patterns")}
    for row in run.guest(todo, kernel=args.kernel, timeout=36000):
        rows.append(row)
        if len(rows) % 100 == 0:
            say("%d intervals, %.0f s" % (len(rows), time.monotonic() - began))
    return [judge(rows, p) for p in (*(args.patterns or PATTERNS), None)] if rows else []


def tables(rows):
    return {"groups": table(
        ["processes use", "truth", "sum over them", "mean error", "half-width",
         "within 3 % or it", "holds", "intervals"],
        [[r["pattern"], mib(r["truth"]) + " MiB", mib(r["sum"]) + " MiB",
          percent(r["error"], 1, "+"), percent(r["half_width"], 1), percent(r["right"], 1),
          percent(r["covered"], 1), r["intervals"]] for r in rows])}


def notes(rows):
    return []
