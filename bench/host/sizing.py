# SPDX-License-Identifier: GPL-2.0
"""Refaults under memory limits: predicted by wsmo report sizing, and measured.

Records workloads without a limit in a virtual machine with swap on zram, then gives each a
memory cgroup with three of the limits that were predicted for, and counts refaults.
"""
from host.lib import form, mib, one_of, table

NEED = ("redis-server",)
KEY = ("workload", "point")
WORKLOADS = ("zipf", "periods", "redis")
FULL = {"windows": "1s,2s,4s,8s,15s,30s,60s,120s", "record": 300, "settle": 120, "measure": 120}
QUICK = {"windows": "1s,2s,4s,6s,8s,12s,16s,24s", "record": 60, "settle": 14, "measure": 22}


def options(parser):
    parser.epilog = "Workloads: " + " ".join(WORKLOADS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", type=one_of(WORKLOADS),
                        help="only these (all)")
    parser.add_argument("--quick", action="store_true",
                        help="windows up to 24 s, all workloads at once: below 4 minutes")


def measure(args, run):
    names = args.workloads or WORKLOADS
    groups = [names] if args.quick else [[name] for name in names]
    return [row for group in groups
            for row in run.guest({**(QUICK if args.quick else FULL), "workloads": group})]


def ratio(run):
    predicted = run["predicted"]["refaults_per_s"]
    return run["refaults_per_s"] / predicted if predicted else None


def tables(rows):
    return {"sizing": table(
        ["workload", "limit, MiB", "keeps", "predicted", "measured", "ratio"],
        [[r["workload"], mib(r["limit"]), form(r["predicted"]["keeps_us"], "%.1f s", 1e6),
          "%s (%s to %s)" % tuple(form(r["predicted"]["refaults%s_per_s" % k], "%.0f")
                                  for k in ("", "_low", "_high")),
          form(r["refaults_per_s"], "%.0f"), form(ratio(r), "%.2f")] for r in rows])}


def notes(rows):
    texts = ["Reclaim: %s." % ("multi-generational LRU" if rows[0]["multi_gen"] else
                               "active and inactive lists")]
    for swapped in sorted({run["all_pswpin_per_s"] for run in rows}):
        same = [run for run in rows if run["all_pswpin_per_s"] == swapped]
        texts.append("%s at %s MiB: %.0f refaults a second, %.0f pages swapped in" % (
            ", ".join(run["workload"] for run in same), ", ".join(mib(run["limit"]) for run in same),
            sum(run["refaults_per_s"] for run in same), swapped))
    return texts + ["%s at %s MiB: killed %d times, the load %.0f %% behind" % (
        run["workload"], mib(run["limit"]), run["killed"], 100 * run["late"])
        for run in rows if run["killed"] or run["late"] > 0.05]
