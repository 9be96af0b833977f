# SPDX-License-Identifier: GPL-2.0
"""The first figures of the module, on both stock kernels.

Boots each kernel and records workloads that know their own working set. About 4 minutes a
kernel.
"""
from host.lib import percent, table

NEED = ()
KEY = ("kernel", "title")
KERNELS = ("6.12", "6.1")


def options(parser):
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="only this one (both)")


def measure(args, run):
    return [dict(row, kernel=kernel) for kernel in args.kernel or KERNELS
            for row in run.guest({}, kernel=kernel, timeout=900)]


def cell(row):
    if "stats" in row:
        return "%s by `stats`, %s by schedstat" % (percent(row["stats"], 2),
                                                   percent(row["schedstat"], 2))
    if "mean" in row:
        return "mean %s, holds in %s" % (percent(row["mean"], 1, "+"),
                                         percent(row["covered"] / row["cases"]))
    return "median %s, holds in %d of %d, ± %s" % (
        percent(row["median"], 1, "+"), row["covered"], row["cases"], percent(row["half_width"], 1))


def tables(rows):
    rows = [row for row in rows if row.get("flush", True)]
    cells = {(row["title"], row["kernel"]): cell(row) for row in rows}
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    return {"foundation": table(["", *kernels], [
        [title, *(cells.get((title, k), "-") for k in kernels)]
        for title in dict.fromkeys(row["title"] for row in rows)])}


def notes(rows):
    return ["%s: %s: %s" % (row["kernel"], row["title"], cell(row))
            for row in rows if not row.get("flush", True)] + \
        ["%s: RSS / largest working set of the ramp: %.1f" % (row["kernel"], row["rss"])
         for row in rows if "rss" in row]
