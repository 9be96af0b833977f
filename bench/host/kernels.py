# SPDX-License-Identifier: GPL-2.0
"""The accuracy bench on several kernels: do the figures depend on the kernel?

Its most important patterns, with two recordings each (bench/run accuracy --quick): in five
to fifteen minutes a kernel. The columns are those of accuracy.
"""
import argparse

from host import accuracy
from host.lib import Run, mib, one_of, percent, table

NEED = accuracy.NEED
KEY = ("kernel", *accuracy.KEY)
KERNELS = ("6.1", "6.12", "newest", "arm64")


def options(parser):
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", type=one_of(KERNELS),
                        help="only on these (%s)" % " ".join(KERNELS))
    parser.add_argument("--patterns", nargs="+", metavar="PATTERN", type=one_of(accuracy.KNOWN),
                        help="only these")


def measure(args, run):
    parser, rows = argparse.ArgumentParser(), []
    accuracy.options(parser)
    for kernel in args.kernels or KERNELS:
        one = Run("accuracy")
        rows += [{"kernel": one.kernels[0], **row} for row in accuracy.measure(parser.parse_args(
            [*(args.patterns or []), "--quick", "--kernel", kernel]), one)]
        run.kernels += one.kernels
        run.status = run.status or one.status
    return rows


def tables(rows):
    order = list(accuracy.KNOWN)
    rows = sorted(rows, key=lambda r: (order.index(r["key"]), r["window_ms"], r["kernel"]))
    return {"kernels": table(
        ["pages touched", "kernel", "truth", "wsmon", "holds", "±", "CPU", "DAMON", "clear_refs"],
        [[r["title"], r["kernel"], " + ".join(map(mib, r["wsmon"]["true"])),
          accuracy.sizes(r["wsmon"]["bytes"], r["wsmon"]["error"], 1),
          percent(r["wsmon"]["covered"] / r["wsmon"]["cases"]),
          percent(r["wsmon"]["half_width"], 1), percent(r["wsmon"]["cpu"], 1),
          accuracy.sizes(r["damon"]["bytes"], r["damon"]["error"], 0),
          accuracy.sizes(r["clear_refs"]["bytes"], r["clear_refs"]["error"], 0)]
         for r in rows])}


def notes(rows):
    return ["%s: %s" % (kernel, note)
            for kernel in sorted({r["kernel"] for r in rows})
            for note in accuracy.notes([r for r in rows if r["kernel"] == kernel])]
