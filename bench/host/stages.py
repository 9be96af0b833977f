# SPDX-License-Identifier: GPL-2.0
"""The cost of a sample by stage, and that of reading the entries alone.

A process that uses all of its memory, or none, with a budget that does not limit. The limit
is a loop in the same guest that only reads the entries of as many pages in address order.
Takes five minutes.
"""
from host.lib import table

NEED = ()
KEY = ("kind", "samples")


def options(parser):
    parser.add_argument("--mib", type=int, default=512, help="memory of the process (512)")
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 10000],
                        help="samples a round (1000 10000)")
    parser.add_argument("--seconds", type=int, default=20, help="of each measurement (20)")


def measure(args, run):
    return list(run.guest({"mib": args.mib, "samples": args.samples, "seconds": args.seconds},
                          timeout=900))


def tables(rows):
    def line(r):
        looks = r["checks"] + r["arms"]
        walk = r["walk_ns"] / looks
        rest = r["cpu_ns"] - sum(r[k + "_ns"] for k in ("walk", "flush", "adapt", "emit"))
        return [r["kind"], str(r["samples"]), "%.1f ns" % r["limit_ns"], "%.1f ns" % walk,
                "%.1f" % (walk / r["limit_ns"]),
                *("%.1f ns" % (ns / looks) for ns in (r["flush_ns"], r["adapt_ns"], r["emit_ns"],
                                                     rest))]
    return {"stages": table(["memory", "samples", "reading alone", "walk", "times", "flush",
                             "regions", "records", "rest"], [line(r) for r in rows])}


def notes(rows):
    return []
