# SPDX-License-Identifier: GPL-2.0
"""Error against CPU time: wsmon and DAMON, each with several settings.

In a virtual machine of one processor under an instruction-counting clock (QEMU's -icount,
1 ns each), so that other work on the host does not count. Each workload, which knows its
own working set, is watched with each setting in turn, after a time to settle. DAMON's
tuned intervals are those with the goal that its authors name. Some minutes for each
pattern. error  median of |estimate / truth - 1|, in a window of an aggregation interval
  CPU    of the kernel's thread, percent of one
"""
import json
import os
import shutil
import statistics
import subprocess

from host.lib import OUT, one_of, percent, say, table
from host.price import COUNTED, KNOWN
from judge import accuracy as judgement

NEED = ("gnuplot-nox",)
KEY = ("key", "setting")
RAW = os.path.join(OUT, "curves.raw")
PICTURE = "price.png"
WINDOWS_MS = (200, 100, 400, 1000, 2000, 5000, 10000, 25000, 50000)
TUNED = "DAMON, tuned"


def ours(precision, aggr_ms=200, max_regions=2000, settle=45, count=20):
    return {"monitor": "wsmon", "precision": precision, "aggr_ms": aggr_ms, "seed": 1,
            "max_regions": max_regions, "settle": settle, "count": count}


def theirs(aggr_ms, max_regions, settle_s, count_s, tuned=False):
    return {"monitor": "DAMON", "aggr_ms": aggr_ms, "max_regions": max_regions,
            "settle_s": settle_s, "count_s": count_s, "tuned": tuned}


SETTINGS = {
    "max": ours("max"), "5%": ours("5%"), "20%": ours("20%"),
    "1 s": ours("max", 1000, settle=8, count=8),
    "1 s, 20%": ours("20%", 1000, settle=16, count=8),
    "5 s, 250 regions": ours("20%", 5000, 250, settle=8, count=6),
    "10 s, 250 regions": ours("20%", 10000, 250, settle=12, count=4),
    "25 s, 1%": ours("1%", 25000, 500, settle=5, count=4),
    "25 s, 250 regions": ours("20%", 25000, 250, settle=8, count=4),
    "50 s, 250 regions": ours("20%", 50000, 250, settle=6, count=4),
    "DAMON, 0.1 s": theirs(100, 1000, 3, 3),
    "DAMON, 1 s": theirs(1000, 1000, 12, 8),
    TUNED: theirs(100, 1000, 120, 20, True),
}


def options(parser):
    parser.epilog = "Patterns: " + " ".join(KNOWN)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", type=one_of(KNOWN),
                        help="only these (all)")
    parser.add_argument("--settings", nargs="+", metavar="SETTING", type=one_of(SETTINGS),
                        default=list(SETTINGS), help="only these (all)")
    parser.add_argument("--times", type=int, default=1, metavar="N",
                        help="count N times as many estimates")
    parser.add_argument("--kernel", default="newest", help="of the guest (newest)")


def longer(setting, times):
    return {k: v * times if k in ("count", "count_s") else v for k, v in setting.items()}


class Recording(judgement.Recording):
    """wsmon's recording, once the number of regions has settled"""

    def judged(self, pattern, aggr_ms):
        self.read()
        stats = [r for r in self.records if r.type == "STATS" and r.time_ns >= self.counts_from]
        first, last = stats[0], stats[-1]
        cases = [c for c in self.cases(pattern.cls, aggr_ms) if c.true]
        return cases, {"cpu": (last.cpu_ns - first.cpu_ns) / (last.time_ns - first.time_ns),
                       "regions": statistics.median(r.budget for r in stats), "window_ms": aggr_ms,
                       **judgement.intervals(cases)}


class Trace(judgement.Trace):
    """DAMON's trace: each snapshot against the window nearest to its interval"""

    def judged(self, pattern, aggr_ms):
        self.read()
        nearest = min(WINDOWS_MS, key=lambda ms: max(ms, aggr_ms) / min(ms, aggr_ms))
        cases = []
        for i, snapshots in enumerate(self.targets):
            counted = [s for s in snapshots if s[0] >= self.began] or snapshots[-1:]
            cases += [c for t, regions in counted for c in self.case(
                i, t, nearest, judgement.damon.wss([regions], [self.ranges[i]])) if c.true]
        return cases, {"cpu": self.cpu, "window_ms": aggr_ms,
                       "regions": statistics.median(len(r) for s in self.targets for _, r in s)}


def judge(key, settings):
    directory, rows = os.path.join(RAW, key), []
    with open(os.path.join(directory, "meta.json")) as f:
        runs = json.load(f)
    for run in runs:
        setting = settings[run["setting"]]
        kind = {"wsmon": Recording, "DAMON": Trace}[setting["monitor"]]
        aggr_ms = run.get("aggr_us", setting["aggr_ms"] * 1000) / 1000
        cases, found = kind(directory, run, aggr_ms, WINDOWS_MS[0]).judged(KNOWN[key], aggr_ms)
        if not cases:
            raise ValueError("%s has no figures" % run["setting"])
        rows.append({"key": key, "setting": run["setting"], "cases": len(cases),
                     "error": statistics.median(abs(c.reported / c.true - 1) for c in cases),
                     "signed": statistics.median(c.reported / c.true - 1 for c in cases),
                     "true": statistics.median(c.true for c in cases), **found})
    return rows


def measure(args, run):
    todo = {"aggr_ms": WINDOWS_MS[0], "windows_ms": WINDOWS_MS, "keys": args.patterns or list(KNOWN),
            "settings": {name: longer(SETTINGS[name], args.times) for name in args.settings}}
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    rows = []
    for line in run.guest(todo, kernel=args.kernel, cpus=1, timeout=36000, WSMON_OUT=RAW, **COUNTED):
        key, why = line["key"], line["why"]
        try:
            rows += [] if why else judge(key, todo["settings"])
        except (ValueError, LookupError) as e:
            why = str(e)
        run.status = 1 if why else run.status
        say("%s: %s" % (key, why or "done"))
    shutil.rmtree(RAW)
    return rows


def by_pattern(rows):
    """{key: {setting: row}}, in order"""
    found = {key: {r["setting"]: r for r in rows if r["key"] == key} for key in KNOWN}
    return {key: own for key, own in found.items() if own}


def curve_table(rows, monitor):
    names = [n for n, s in SETTINGS.items() if s["monitor"] == monitor]

    def cell(row):
        return "-" if row is None else "%s (%s)" % (percent(row["error"], 1), percent(row["cpu"], 3))

    return table(["pages touched", *(n.removeprefix(monitor + ", ") for n in names)],
                 [[KNOWN[key].title, *(cell(own.get(n)) for n in names)]
                  for key, own in by_pattern(rows).items()])


def beside(own):
    """(DAMON's tuned row, minimum error for no more CPU, minimum CPU for no more error)

    Errors are compared as printed.
    """
    tuned = own[TUNED]
    mine = [r for n, r in own.items() if SETTINGS[n]["monitor"] == "wsmon"]
    cheap = [r for r in mine if r["cpu"] <= tuned["cpu"]]
    good = [r for r in mine if round(r["error"], 3) <= round(tuned["error"], 3)]
    return (tuned, min(cheap, key=lambda r: r["error"], default=None),
            min(good, key=lambda r: r["cpu"], default=None))


def verdict_table(rows):
    lines = []
    for key, own in by_pattern(rows).items():
        if TUNED not in own:
            continue
        tuned, cheap, good = beside(own)
        lines.append([KNOWN[key].title, "%.1f s" % (tuned["window_ms"] / 1000),
                      percent(tuned["cpu"], 3), percent(tuned["signed"], 1, "+"),
                      "%s (%s)" % (percent(cheap["error"], 1), cheap["setting"]) if cheap else "-",
                      "%s (%s)" % (percent(good["cpu"], 3), good["setting"]) if good else "-"])
    return table(["pages touched", "DAMON chose", "its CPU", "its error", "wsmon's for no more CPU",
                  "CPU of wsmon for no more error"], lines)


def tables(rows):
    return {"curves: tuned": verdict_table(rows), "curves: wsmon": curve_table(rows, "wsmon"),
            "curves: DAMON": curve_table(rows, "DAMON")}


def notes(rows):
    lines = []
    for key, own in by_pattern(rows).items():
        if TUNED in own:
            tuned, cheap, good = beside(own)
            if not cheap or round(cheap["error"], 3) > round(tuned["error"], 3):
                lines.append("%s: worse than DAMON, tuned, at equal CPU" % KNOWN[key].title)
            if not good:
                lines.append("%s: no setting has as small an error" % KNOWN[key].title)
            elif good["cpu"] > tuned["cpu"]:
                lines.append("%s: costs more at equal error" % KNOWN[key].title)
    return ["\n".join(lines)]


CURVES = {      # curves of the picture: rows, style
    "wsmon": (lambda s: s["monitor"] == "wsmon", "linespoints lc rgb '#1f77b4' pt 7 ps 0.7"),
    "DAMON, fixed intervals": (lambda s: s["monitor"] == "DAMON" and not s["tuned"],
                               "points lc rgb '#e08214' pt 5 ps 0.7"),
    "DAMON, tuned": (lambda s: s.get("tuned"), "points lc rgb '#c51b2b' pt 9 ps 1.2"),
}


def draw(rows, path):
    """One small plot for each pattern"""
    patterns_, across = by_pattern(rows), 4
    down = (len(patterns_) + across) // across      # the additional plot is the key
    script = ["set encoding utf8", "set terminal png noenhanced size %d,%d font 'Sans,9'" % (
        240 * across, 190 * down), "set output '%s'" % path.replace("'", "''"),
        "set multiplot layout %d,%d" % (down, across),
        "set logscale xy", "set xrange [0.001:20]", "set yrange [0.07:2000]",
        "set format x '%g'", "set format y '%g'", "set grid lc rgb '#d0d0d0' lt 1",
        "set border 3", "set tics nomirror font ',8'", "unset key",
        "set lmargin 6", "set rmargin 1", "set tmargin 1.8", "set bmargin 2"]
    for key, own in patterns_.items():
        plots, data = [], []
        for title, (chosen, style) in CURVES.items():
            points = sorted((own[n]["cpu"] * 100, max(own[n]["error"] * 100, 0.1))
                            for n in own if chosen(SETTINGS[n]))
            if points:
                plots.append("'-' with %s title '%s'" % (style, title))
                data += ["%g %g" % p for p in points] + ["e"]
        script += ["set title \"%s\" font ',9' offset 0,-0.7" % KNOWN[key].title,
                   "plot " + ", ".join(plots), *data]
    script += ["unset title", "unset border", "unset tics", "unset grid", "set key center center Left "
               "reverse font ',9' title 'error, %, against CPU, %'",
               "plot " + ", ".join("1/0 with %s title '%s'" % (style, title)
                                   for title, (_, style) in CURVES.items()), "unset multiplot"]
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)
