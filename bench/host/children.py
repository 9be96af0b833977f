# SPDX-License-Identifier: GPL-2.0
"""The cost of a fork, an exec and an exit in a monitored process, beside many others.

In turn, in one virtual machine: nobody monitors, a session monitors the process, follows
its children, or watches its cgroup, at the default window and at 1s,1m. 5000 other processes
sleep. A cheap system call shows how slow the machine is. The machine is an emulator with one
processor, in which an instruction takes a nanosecond: so kwsmond's work is part of these
times, too. Takes 20 minutes.
"""
from host.act import ICOUNT
from host.lib import at_least, median, percent, table

NEED = ("gcc", "libc6-dev")
KEY = ("kind", "monitor", "sleepers")
KINDS = {"call": "getppid()", "fork": "fork, exit, wait", "exec": "fork, exec, exit, wait"}


def options(parser):
    parser.add_argument("--blocks", type=at_least(1), default=1, help="times that all are measured (1)")
    parser.add_argument("--times", type=at_least(1), default=1500, help="of each at a time (1500)")
    parser.add_argument("--before", type=at_least(1), default=3000, help="programs before these (3000)")
    parser.add_argument("--sleepers", type=at_least(0, 20000), default=5000, help="other processes (5000)")
    parser.add_argument("--kernel", default="6.12", help="6.1, 6.12 or newest (6.12)")


def measure(args, run):
    todo = {"blocks": args.blocks, "times": args.times, "before": args.before, "sleepers": args.sleepers}
    return list(run.guest(todo, kernel=args.kernel, cpus=1, timeout=3000, WSMON_QEMU=ICOUNT))


def at(row, part):
    return row["ns"][int(len(row["ns"]) * part)]


def mean(row):
    return sum(row["ns"]) / len(row["ns"])


def beside(row):
    return ", beside %d" % row["sleepers"] if row.get("sleepers") else ""


def tables(rows):
    none = {(r["kind"], r.get("sleepers")): r for r in rows if r["monitor"] == "nobody"}
    return {"children": table(
        ["what", "monitored by", "median", "quartiles", "more", "CPU", "more CPU"],
        [[KINDS[r["kind"]] + beside(r), r["monitor"], "%.1f µs" % (at(r, 0.5) / 1000),
          "%.1f to %.1f µs" % (at(r, 0.25) / 1000, at(r, 0.75) / 1000),
          "%.1f µs" % ((at(r, 0.5) - at(n, 0.5)) / 1000), "%.1f µs" % (median(r["cpu"]) / 1000),
          "%.1f µs" % ((median(r["cpu"]) - median(n["cpu"])) / 1000)]
         for r in rows for n in [none[r["kind"], r.get("sleepers")]]])}


def notes(rows):
    """With kwsmond's work included, and the number of programs without a last look"""
    none = {(r["kind"], r.get("sleepers")): r for r in rows if r["monitor"] == "nobody"}
    return ["%s%s, %s: mean %.1f µs, %s; of %d processes that ended, %d were not looked at" % (
        KINDS[r["kind"]], beside(r), r["monitor"], mean(r) / 1000,
        percent(mean(r) / mean(none[r["kind"], r.get("sleepers")]) - 1, 1, "+"), r["went"], r["missed"])
        for r in rows if r.get("went")]
