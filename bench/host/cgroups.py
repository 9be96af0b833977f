# SPDX-License-Identifier: GPL-2.0
"""The working set of a cgroup by wsmon and by other methods: error, cost, stalls.

Eight processes in a cgroup use pages of one memfd, or of their own memory, and know which. In
turn: nothing; a session of wsmon at its defaults; clear_refs and smaps of each process, summed,
as in cAdvisor's referenced memory; usage without inactive_file, as in Kubernetes. A stall is the
longest time that a thread of these processes took to map, write and unmap a page.
"""
import statistics

from guest.cgroups import PATTERNS
from host.lib import at_least, form, mib, percent, table

NEED = ("gcc", "libc6-dev")
KEY = ("pattern", "gib", "method")
NAMES = {"wsmon": "wsmon", "clear_refs": "clear_refs, summed", "counters": "usage - inactive_file",
         "nothing": "nothing"}


def options(parser):
    parser.add_argument("--rounds", type=at_least(1), default=4, help="of each (4)")
    parser.add_argument("--seconds", type=at_least(6), default=12, help="of each (12)")
    parser.add_argument("--sizes", type=at_least(1, 8), nargs="+", default=[1, 8],
                        help="GiB that all have together (1 8); from 4 on the window is 4 s")
    parser.add_argument("--patterns", nargs="*", choices=list(PATTERNS), help="some only")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")


def judge(rows):
    figures = [f for r in rows for f in r["figures"]]
    errors = [f["bytes"] / rows[0]["truth"] - 1 for f in figures]
    return {"pattern": rows[0]["pattern"], "gib": rows[0]["gib"], "method": rows[0]["method"],
            "truth": rows[0]["truth"], "figures": len(figures),
            "error": statistics.mean(errors) if errors else None,
            "worst": max(errors, key=abs) if errors else None,
            "cpu": statistics.median(f["cpu"] for f in figures) if figures else None,
            "stall": statistics.median(r["stall"] for r in rows),
            "longest": max(r["stall"] for r in rows)}


def measure(args, run):
    found = {}
    todo = {key: vars(args)[key] for key in ("rounds", "seconds", "sizes", "patterns")}
    mem = "%dG" % (max(args.sizes) + 2)
    for row in run.guest(todo, kernel=args.kernel, mem=mem, timeout=36000):
        found.setdefault((row["pattern"], row["gib"], row["method"]), []).append(row)
    return [judge(rows) for rows in found.values()]


def tables(rows):
    order = list(NAMES)
    rows = sorted(rows, key=lambda r: (r["gib"], r["pattern"], order.index(r["method"])))
    return {"cgroups": table(
        ["processes use", "of", "truth", "by", "mean error", "worst", "CPU of a figure",
         "stall", "longest", "figures"],
        [[r["pattern"], "%d GiB" % r["gib"], mib(r["truth"]) + " MiB", NAMES[r["method"]],
          percent(r["error"], 1, "+"), percent(r["worst"], 1, "+"), form(r["cpu"], "%.1f ms", 1e-3),
          form(r["stall"], "%.1f ms", 1e-3), form(r["longest"], "%.1f ms", 1e-3), r["figures"]]
         for r in rows])}


def notes(rows):
    return []
