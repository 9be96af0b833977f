# SPDX-License-Identifier: GPL-2.0
"""What a fork, an exec and an exit cost in a process that is monitored.

Alternating in one virtual machine: nobody monitors, a session monitors the process, and a
session follows its children. A system call of which little is the kernel's work shows how
slow the machine is. Takes two minutes.
"""
from host.lib import median, table

NEED = ("gcc", "libc6-dev")
KEY = ("kind", "monitor")
KINDS = {"call": "getppid()", "fork": "fork, exit, wait", "exec": "fork, exec, exit, wait"}


def options(parser):
    parser.add_argument("--blocks", type=int, default=20, help="times that all are measured (20)")
    parser.add_argument("--times", type=int, default=100, help="of each at a time (100)")


def measure(args, run):
    return list(run.guest({"blocks": args.blocks, "times": args.times}, timeout=900))


def at(row, part):
    return row["ns"][int(len(row["ns"]) * part)]


def tables(rows):
    none = {r["kind"]: r for r in rows if r["monitor"] == "nobody"}
    return {"children": table(
        ["what", "monitored by", "median", "quartiles", "more", "CPU", "more CPU"],
        [[KINDS[r["kind"]], r["monitor"], "%.1f µs" % (at(r, 0.5) / 1000),
          "%.1f to %.1f µs" % (at(r, 0.25) / 1000, at(r, 0.75) / 1000),
          "%.1f µs" % ((at(r, 0.5) - at(none[r["kind"]], 0.5)) / 1000),
          "%.1f µs" % (median(r["cpu"]) / 1000),
          "%.1f µs" % ((median(r["cpu"]) - median(none[r["kind"]]["cpu"])) / 1000)]
         for r in rows])}


def notes(rows):
    return []
