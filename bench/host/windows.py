# SPDX-License-Identifier: GPL-2.0
"""Is the estimate of each of several windows unbiased, and does its interval hold?

Records, in a virtual machine, processes that touch the same pages all the time: 2, 10
and 30 % of 512 MiB at random, and every 11th page. So the truth is the same for all
windows. All four are targets of one session; a recording takes half a minute, each has
a seed of its own. The error is the mean over a recording, with its standard error.
Intervals that end before the first full window are left out.
"""
import statistics
import time

from guest.windows import PATTERNS, WINDOWS
from host.lib import at_least, percent, say, table

NEED = ()
KEY = ("pattern", "window_s")


def options(parser):
    parser.add_argument("--recordings", type=at_least(2), default=20, help="how many (20)")
    parser.add_argument("--seconds", type=at_least(10), default=25, help="of each (25)")
    parser.add_argument("--max-regions", type=int, default=2000, help="of each process (2000)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")


def judge(recordings):
    """By pattern and window: the mean error of each recording, averaged over recordings."""
    rows = []
    for pattern in (*PATTERNS, None):
        for window in WINDOWS:
            mine = [[(e, held) for p, us, e, held in recording
                     if us == window * 1e6 and p == (pattern or p)] for recording in recordings]
            means = [statistics.mean(e for e, _ in m) for m in mine if m]
            held = [held for m in mine for _, held in m]
            rows.append({"pattern": pattern or "all", "window_s": window,
                         "recordings": len(means), "intervals": len(held),
                         "error": statistics.mean(means),
                         "standard_error": statistics.stdev(means) / len(means) ** 0.5,
                         "covered": sum(held) / len(held)})
    return rows


def measure(args, run):
    began, recordings = time.monotonic(), []
    todo = {key: vars(args)[key] for key in ("recordings", "seconds", "max_regions")}
    for row in run.guest(todo, kernel=args.kernel, timeout=36000):
        recordings.append(row["estimates"])
        say("[%d/%d] %.0f s" % (len(recordings), args.recordings, time.monotonic() - began))
    return judge(recordings) if len(recordings) > 1 else []


def tables(rows):
    return {"windows": table(
        ["pattern", "window", "error", "±", "holds", "intervals"],
        [[r["pattern"], "%g s" % r["window_s"], percent(r["error"], 2, "+"),
          percent(r["standard_error"], 2), percent(r["covered"], 1), r["intervals"]]
         for r in rows if r["pattern"] == "all"])}


def notes(rows):
    worst = max((r for r in rows if r["pattern"] != "all"), key=lambda r: abs(r["error"]))
    return ["Of single patterns the largest mean error is %s ± %s (%s, %g s), and intervals hold "
            "in %s to %s." % (percent(worst["error"], 1, "+"), percent(worst["standard_error"], 1),
                              worst["pattern"], worst["window_s"],
                              *(percent(f(r["covered"] for r in rows), 1) for f in (min, max)))]
