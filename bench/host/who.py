# SPDX-License-Identifier: GPL-2.0
"""How much do hint faults slow down a program that does nothing but access memory?

Pairs of the same program, monitored at the defaults without and with --who at 100, 1000 and
10000 pages a second, in a virtual machine. Takes ten minutes.
"""
import statistics

from host.lib import table

NEED = ()
KEY = ("name",)
RATES = (0, 100, 1000, 10000)


def options(parser):
    parser.add_argument("--pairs", type=int, default=6, help="of each (6)")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement (5)")


def measure(args, run):
    return list(run.guest({"rates": RATES, "pairs": args.pairs, "seconds": args.seconds},
                          timeout=3600))


def cell(r, rate):
    lost = sorted(1 - x[rate] / x["0"] for x in r["rows"])
    quarter = len(lost) // 4
    return "%.1f ± %.1f %% (%.0f)" % (100 * statistics.median(lost),
                                      50 * (lost[-1 - quarter] - lost[quarter]), r["seen"][rate])


def tables(rows):
    return {"who": table(["slowdown of"] + ["%d a second" % rate for rate in RATES[1:]],
                         [[r["name"]] + [cell(r, str(rate)) for rate in RATES[1:]] for r in rows])}


def notes(rows):
    return []
