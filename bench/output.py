# SPDX-License-Identifier: GPL-2.0
"""How bench/accuracy tells its results: tables, a summary, a picture."""
import statistics
import subprocess

import damon
import regionmap

MIB = 1 << 20
METHODS = ("wsmon", "damon", "clear_refs")
NAMES = {"wsmon": "wsmon", "damon": "DAMON", "clear_refs": "clear_refs"}


def percent(value, digits=0, sign=""):
    if value is None:
        return "-"
    # no "-0 %"
    return "%{}.{}f %%".format(sign, digits) % (round(value * 100, digits) + 0.0)


def mib(values):
    return " + ".join("-" if v is None else "%.1f" % (v / MIB) for v in values)


def number(value):
    return "-" if value is None else "%.3f" % value


def markdown(head, rows):
    """A table that is aligned as text, too: the first column left, others right."""
    width = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]

    def line(row):
        return "| " + " | ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in
                                 enumerate(zip(row, width))) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(width)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


HEAD = ["pattern", "truth", "wsmon", "error", "holds", "±", "CPU", "map",
        "DAMON", "error", "CPU", "map", "clear_refs", "error", "CPU"]


def row(r):
    ours, damon, exact, where = r["wsmon"], r["damon"], r["clear_refs"], r.get("map", {})
    return [r["title"], mib(ours["true"]), mib(ours["bytes"]), percent(ours["error"], 1, "+"),
            percent(ours["covered"] / ours["cases"]), percent(ours["half_width"], 1),
            percent(ours["cpu"], 1), number(where.get("wsmon")),
            mib(damon["bytes"]), percent(damon["error"], 0, "+"), percent(damon["cpu"], 1),
            number(where.get("damon")),
            mib(exact["bytes"]), percent(exact["error"], 0, "+"), percent(exact["cpu"], 1)]


def accuracy_table(results):
    return markdown(HEAD, [row(r) for r in results])


def explain(todo):
    t = todo["aggr_ms"]
    return """\
MiB, medians; CPU is percent of one CPU. Intervals and windows of %d ms (wsmon's default: 1 s),
wsmon sampling each %d ms (100 ms), DAMON each %d ms (5 ms in 100 ms); else defaults. What moves or
grows does so by the interval. The first %d intervals of a recording and %d of DAMON's do not count.
  error  median of estimate / truth of that time - 1, where the truth is not 0
  holds  how often the truth is in the 95 %% interval; ±: half its width / truth
  map    mean error of a byte's access share, from %d intervals after a change on: of wsmon's regions
         in parts (wsmo report regions --fine; in accuracy.json the regions alone, too); of DAMON's
         counts the better reading: their share of %d, or whether there is any
  DAMON  as damo computes it: regions with an access, in full (of longer windows: in any interval)
  clear_refs  what smaps calls Referenced a window after clearing""" % (
        t, t // 10, t // damon.CHECKS, todo["settle"], todo["dropped"], regionmap.SETTLE,
        damon.CHECKS)


def time_to_find(times):
    return ", ".join("not" if t is None else "%.1f" % t for t in times) or "-"


def find_table(finds):
    rows = [[f["title"], str(f["limit"]), time_to_find(f["wsmon"]), time_to_find(f["damon"])]
            for f in finds]
    return markdown(["a hot block of", "within s", "wsmon found it after", "DAMON after"], rows)


def summary(results):
    """Pooled over the patterns."""
    def worst(method):
        known = [r for r in results if r[method]["error"] is not None]
        top = max(known, key=lambda r: abs(r[method]["error"]))
        return {"median": statistics.median(abs(r[method]["error"]) for r in known),
                "worst": abs(top[method]["error"]), "worst_of": top["title"]}

    ours = [r["wsmon"] for r in results]
    lowest = min(results, key=lambda r: r["wsmon"]["covered"] / r["wsmon"]["cases"])
    return {
        **{method: worst(method) for method in METHODS},
        "coverage": sum(x["covered"] for x in ours) / sum(x["cases"] for x in ours),
        "lowest_coverage": lowest["wsmon"]["covered"] / lowest["wsmon"]["cases"],
        "lowest_coverage_of": lowest["title"],
        "cases": sum(x["cases"] for x in ours),
        "fewest_cases": min(x["cases"] for x in ours),
    }


def summary_text(s, results):
    lines = ["%-10s  |error|: median %s, worst %s (%s)" % (
        NAMES[m], percent(s[m]["median"], 1), percent(s[m]["worst"], 1), s[m]["worst_of"])
        for m in METHODS]
    lines.append("wsmon's 95 %% interval holds in %s of %d cases (at least %d a pattern); least: "
                 "%s (%s)" % (percent(s["coverage"], 1), s["cases"], s["fewest_cases"],
                              percent(s["lowest_coverage"]), s["lowest_coverage_of"]))
    for r in results:
        if r["busy"] > 0.9 and not r["key"].startswith("restless"):
            lines.append("note: the workload did not keep up: %s (%s busy)" % (
                r["title"], percent(r["busy"])))
        if r["late"] > 0.1:
            lines.append("note: %s of wsmon's rounds came too late: %s" % (
                percent(r["late"]), r["title"]))
    return "\n".join(lines)


# A ratio is told within these; what is beyond lies on the edge.
LEAST, MOST = 1 / 16, 16

PLOT = """\
set terminal pngcairo size 1500,800 font 'Sans,11'
set output '{png}'
set title 'Estimate / truth, {aggr_ms} ms windows (bars: 95 % interval of wsmon; on an edge: beyond)'
set logscale y 2
set yrange [{least}/1.3:{most}*1.3]
set ytics ('1/16' 1/16., '1/4' 0.25, '1/2' 0.5, '1' 1, '2' 2, '4' 4, '16' 16)
set xrange [-1:{n}]
set xtics rotate by -50 scale 0
set grid y
set key top right horizontal
set rmargin 12
plot 1 with lines lc 'black' notitle, \\
	'{data}' using 0:3:xtic(2) with points pt 8 ps 1.2 lc '#d95f02' title 'DAMON', \\
	'' using 0:4 with points pt 4 ps 1.1 lc '#7570b3' title 'clear\\_refs', \\
	'' using 0:5:6:7 with yerrorbars pt 7 ps 0.9 lw 1.5 lc '#1b9e77' title 'wsmon'
"""


def picture(results, aggr_ms, png):
    """Draw it with gnuplot; its input stays beside it."""
    def ratio(error):
        return "?" if error is None else min(max(1 + error, LEAST), MOST)

    data = png.replace(".png", ".dat")
    with open(data, "w") as f:
        for i, r in enumerate(results):
            ours = r["wsmon"]
            print(i, '"%s"' % r["title"].replace("_", "\\\\_"),
                  *(ratio(r[m]["error"]) for m in ("damon", "clear_refs", "wsmon")),
                  ratio(ours["low"]), ratio(ours["high"]), file=f)
    subprocess.run(["gnuplot"], check=True, text=True, input=PLOT.format(
        png=png, data=data, aggr_ms=aggr_ms, n=len(results), least=LEAST, most=MOST))
