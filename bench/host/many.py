# SPDX-License-Identifier: GPL-2.0
"""Are 2000 processes in a cgroup watched within the CPU budget?

Watches, in a virtual machine, a cgroup of small processes: most of them asleep, all busy, and
some that live for a second. Each busy process uses memory of its own. kwsmond's CPU time is
measured after the first seconds, in which it needs more to find them all. An interval holds
if it has the truth, with up to a tenth more for files. Takes three minutes.
"""
import statistics

from guest.many import PATTERNS, right
from host.lib import at_least, mib, percent, table

NEED = ("gcc", "libc6-dev")
KEY = ("pattern", "permille", "processes")


def options(parser):
    parser.add_argument("--processes", type=at_least(100), default=2000, help="of them (2000)")
    parser.add_argument("--permille", type=at_least(1, 1000), default=30, help="the budget (30)")
    parser.add_argument("--settle", type=at_least(0), default=15, help="seconds before (15)")
    parser.add_argument("--seconds", type=at_least(3), default=20, help="measured (20)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")
    parser.add_argument("--patterns", nargs="*", choices=list(PATTERNS), help="some only")


def measure(args, run):
    todo = {k: vars(args)[k] for k in ("processes", "permille", "settle", "seconds", "patterns")}
    return list(run.guest(todo, kernel=args.kernel, timeout=3600))


def tables(rows):
    return {"many": table(
        ["processes", "of them", "budget", "CPU", "ended", "missed", "interval", "used", "estimate",
         "half-width", "holds"],
        [[r["processes"], r["pattern"], percent(r["permille"] / 1000, 1), percent(r["cpu"], 2),
          r["went"], r["missed"], "%.2f s" % (r["seconds"] / r["intervals"]),
          mib(r["truth"]) + " MiB",
          mib(statistics.mean(s[0] for s in r["sizes"])) + " MiB",
          percent(statistics.median((s[2] - s[1]) / 2 for s in r["sizes"]) / r["truth"]),
          percent(right(r, r["truth"]))] for r in rows])}


def notes(rows):
    return []
