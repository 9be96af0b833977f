# SPDX-License-Identifier: GPL-2.0
"""wsmo act and DAMON's schemes on the same workloads.

Each workload runs by itself, under wsmo act, and under DAMON's schemes with the same
rules and quotas, in turn, with swap on zram. A guest for each case. In the case "goals"
both also run with a goal for the memory pressure, on the newest kernel. --icount
measures time in instructions: a quiet guest on a busy host.
"""
from host.lib import MIB, at_least, form, median, mib, one_of, percent, table

NEED = ("redis-server", "gcc")
KEY = ("case", "actor")
RECLAIM = {"none": "by itself", "wsmo": "wsmo act", "damon": "DAMON"}
GOALS = {"none": "by itself", "wsmo": "wsmo act", "wsmo-careful": "wsmo act --max-refaults=30",
         "wsmo-goal": "wsmo act --goal pressure=0.5%", "damon": "DAMON", "damon-goal": "DAMON, some_mem_psi_us 5000"}
HUGE = {"never": "never", "always": "always", "wsmo": "wsmo act", "damon": "DAMON"}
ICOUNT = "-icount shift=0,sleep=off -smp 1,sockets=1"
# on the newest kernel
NEWEST = ("goals",)
# name: workload, preset, actors
CASES = {
    "synthetic": ("synthetic", "reclaim", {who: RECLAIM[who] for who in ("wsmo", "damon")}),
    "redis": ("redis", "reclaim", RECLAIM),
    "compile": ("compile", "reclaim", RECLAIM),
    "sparse": ("sparse", "thp", HUGE),
    "redis-thp": ("redis", "thp", HUGE),
    "goals": ("redis-long", "reclaim", GOALS),
}
TITLES = {"redis": "redis-server", "compile": "a compiler"}


def options(parser):
    parser.epilog = "Cases: " + " ".join(CASES)
    parser.add_argument("cases", nargs="*", metavar="CASE", type=one_of(CASES), help="only these (all)")
    parser.add_argument("--rounds", type=at_least(1), default=3, metavar="N", help="of each (3)")
    parser.add_argument("--icount", action="store_true", help="one processor, 1 ns for each instruction")
    parser.add_argument("--by", metavar="WHO", action="append",
                        choices={*RECLAIM, *HUGE, *GOALS}, help="only this one acts")


def measure(args, run):
    env = {"WSMON_QEMU": ICOUNT} if args.icount else {}
    return [row for case in args.cases or CASES for row in run.guest(
        {"case": case, "workload": CASES[case][0], "preset": CASES[case][1],
         "actors": [a for a in CASES[case][2] if a in (args.by or CASES[case][2])],
         "rounds": args.rounds}, kernel="newest" if case in NEWEST else "6.12", timeout=7200, **env)]


def medians(rows, case):
    """Yield (actor, its name, texts of the medians, the medians) of a case"""
    for actor, name in CASES[case][2].items():
        runs = [row for row in rows if (row["case"], row["actor"]) == (case, actor)]
        if runs:
            m = {key: median(run.get(key) for run in runs) for key, value in runs[0].items()
                 if not isinstance(value, (str, list))}
            yield actor, name, {
                "rss": form(m["rss"], "%.1f MiB", MIB), "end": form(m["rss_end"], "%.1f MiB", MIB),
                "runtime": form(m["runtime_s"], "%.1f s"), "work": form(m["cpu_work_s"], "%.1f s"),
                "huge": form(m["huge_end"], "%.0f MiB", MIB), "in": "%d" % m["pswpin"],
                "cpu": percent((m.get("cpu_s") or 0) / m["runtime_s"]),
                "delay": form(m.get("delay_s"), "%.2f ms", 1e-3)}, m


def synthetic(rows):
    return table(["", "cold memory gone", "left after 30 s", "hot memory touched", "RSS after 30 s",
                  "CPU"],
                 [[name, "-" if m["gone_s"] is None else "95 %% after %.1f s" % m["gone_s"],
                   percent(m["cold_left"], 1), percent(m["hot_touched"], 2), text["end"],
                   text["cpu"]] for _, name, text, m in medians(rows, "synthetic")])


def reclaim(rows):
    lines = []
    for case in "redis", "compile":
        alone, title = None, TITLES[case]
        for actor, name, text, m in medians(rows, case):
            alone = m["rss"] if actor == "none" else alone
            saved = 1 - m["rss"] / alone if alone and actor != "none" else None
            lines.append([title, name, text["rss"], "" if saved is None else percent(saved),
                          text["runtime"], text["work"], text["in"],
                          "" if m.get("delay_s") is None else text["delay"]])
            title = ""
    return table(["", "", "RSS, mean", "saved", "runtime", "its CPU time", "pages back from swap",
                  "an answer takes"], lines)


def goals(rows):
    found = list(medians(rows, "goals"))
    alone = found[0][3]
    return table(["", "RSS, mean", "saved", "at the end", "an answer takes", "later", "redis' CPU time",
                  "pages back from swap", "pressure", "CPU"],
                 [[name, text["rss"], *(percent(1 - m[key] / alone[key]) for key in ("rss", "rss_end")),
                   text["delay"], percent(m["delay_s"] / alone["delay_s"] - 1, 1),
                   percent(m["cpu_work_s"] / alone["cpu_work_s"] - 1, 1, "+"), text["in"],
                   percent(m["pressure"], 2), text["cpu"]] for _, name, text, m in found])


def huge(rows, case):
    return table(["", "RSS, mean", "in huge pages", "runtime", "its CPU time"],
                 [[name, text["rss"], text["huge"], text["runtime"], text["work"]]
                  for _, name, text, _ in medians(rows, case)])


def tables(rows):
    cases = {row["case"] for row in rows}
    blocks = {}
    if "synthetic" in cases:
        blocks["act: synthetic"] = synthetic(rows)
    if cases & {"redis", "compile"}:
        blocks["act: reclaim"] = reclaim(rows)
    if any((row["case"], row["actor"]) == ("goals", "none") for row in rows):
        blocks["act: goals"] = goals(rows)
    if "sparse" in cases:
        blocks["act: huge"] = huge(rows, "sparse")
    return blocks


def notes(rows):
    redis = [row for row in rows if row["workload"] in ("redis", "redis-long")]
    thp = [huge(rows, "redis-thp")] if any(row["case"] == "redis-thp" for row in rows) else []
    return thp + ["%s, %s: answers took %.2f ms in the mean, %.2f ms at the 99th percentile; "
                  "swapped out %s MiB" % (row["case"], row["actor"], 1e3 * row["delay_s"],
                                          1e3 * row["p99_s"], mib(row["pswpout"] * 4096))
                  for row in redis]
