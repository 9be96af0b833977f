# SPDX-License-Identifier: GPL-2.0
"""Refaults and slowdown under memory limits: predicted by wsmo report sizing, and measured.

Records workloads without a limit in a virtual machine with swap on zram, then gives each a
memory cgroup with three of the predicted limits, counts refaults, and times how much longer
real programs take to answer. --icount measures time in instructions: an emulator of one
processor, independent of other work on this machine.
"""
from host.lib import form, mib, one_of, percent, table

NEED = ("redis-server", "gawk", "git", "e2fsprogs")
KEY = ("workload", "point")
WORKLOADS = ("zipf", "periods", "redis", "sqlite", "json", "gawk", "git")
FULL = {"windows": "1s,2s,4s,8s,15s,30s,60s,120s", "record": 300, "settle": 120, "measure": 120}
QUICK = {"windows": "1s,2s,4s,6s,8s,12s,16s,24s", "record": 300, "settle": 20, "measure": 40}
ICOUNT = "-icount shift=0,sleep=off -smp 1,sockets=1"


def options(parser):
    parser.epilog = "Workloads: " + " ".join(WORKLOADS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", type=one_of(WORKLOADS),
                        help="only these (all)")
    parser.add_argument("--quick", action="store_true",
                        help="windows up to 24 s; all workloads at once without --icount")
    parser.add_argument("--icount", action="store_true", help="one processor, 1 ns for each instruction")


def measure(args, run):
    names = args.workloads or WORKLOADS
    todo = {**(QUICK if args.quick else FULL), "together": args.quick and not args.icount}
    groups = [names] if args.quick else [[name] for name in names]
    env = {"WSMON_QEMU": ICOUNT} if args.icount else {}
    return [row for group in groups
            for row in run.guest({**todo, "workloads": group}, timeout=7200, **env)]


def refaults(run):
    """Refaults that the program waited for, in a second at the recording's pace. A fault on a file
    may read pages around its own: the kernel counts a refault for each of these"""
    return run["major_faults_per_s"] / run["pace"]


def ratio(measured, predicted):
    return measured / predicted if predicted and measured is not None else None


def interval(values, text, scale=1):
    return "%s (%s to %s)" % tuple(form(value, text, scale) for value in values)


def tables(rows):
    return {"sizing": table(
        ["workload", "limit, MiB", "keeps", "predicted", "measured", "ratio"],
        [[r["workload"], mib(r["limit"]), form(r["predicted"]["keeps_us"], "%.1f s", 1e6),
          interval([r["predicted"]["refaults%s_per_s" % k] for k in ("", "_low", "_high")], "%.0f"),
          form(refaults(r), "%.0f"), form(ratio(refaults(r), r["predicted"]["refaults_per_s"]), "%.2f")]
         for r in rows]),
        # only of programs with requests; patterns wait for nothing
        "sizing: slowdown": table(
            ["workload", "limit, MiB", "slowdown predicted", "measured", "ratio", "waited, by PSI"],
            [[r["workload"], mib(r["limit"]),
              interval([r["predicted"]["slowdown" + k] for k in ("", "_low", "_high")], "%.2f %%", 0.01),
              percent(r["slowdown"], 2), form(ratio(r["slowdown"], r["predicted"]["slowdown"]), "%.2f"),
              percent(r["stalled"], 2)] for r in rows if r["slowdown"] is not None])}


def notes(rows):
    texts = ["Reclaim: %s." % ("multi-generational LRU" if rows[0]["multi_gen"] else
                               "active and inactive lists")]
    return texts + ["%s at %s MiB: killed %d times, the load %.0f %% behind" % (
        run["workload"], mib(run["limit"]), run["killed"], 100 * run["late"])
        for run in rows if run["killed"] or run["late"] > 0.05]
