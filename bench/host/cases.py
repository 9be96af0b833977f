# SPDX-License-Identifier: GPL-2.0
"""Cases of other projects: Telescope's, of DAMON's selftest, masim's; wsmon beside DAMON.

In the emulator of curves; with --beside in one that follows the wall clock, so that other
processes take its time. Telescope's: a five-hundredth of 1 GiB to 5 TiB, of huge pages, is
in use; wsmon and DAMON at their defaults, and DAMON with tuned intervals.
  precision, recall  of what a monitor shows as in use, medians of the later half
  after              seconds until both are at least 90 %
DAMON's selftest and masim's: regions accessed in turn, windows of 100 ms. The selftest asks for
an error of at most 20 % of the 50th and 75th percentile; masim's users for a median within 10 %.
"""
import csv
import os
import shutil
import statistics
import subprocess

import wsmon
from host import curves
from host.lib import MIB, OUT, form, mib, one_of, percent, say, table
from judge.accuracy import WSMO
from peers import damon

NEED = ("gcc",)
KEY = ("case", "monitor")
RAW = os.path.join(OUT, "cases.raw")
GIB = 1 << 30
FOUND, HALF = 0.9, damon.CHECKS // 2


def vast(key, size, hot, seconds=30):
    return {"key": key, "command": ["vast", str(size), str(hot)], "seconds": seconds,
            "tuning": 60, "options": [], "hot": hot, "percent": None}


def turns(key, count, size, hold_ms=2000, pages="small", most=0.2):
    return {"key": key, "command": ["turns", str(count), str(size), str(hold_ms), pages],
            "seconds": 6 * hold_ms // 1000, "tuning": 30, "hot": size, "percent": most,
            "options": ["--sample", "10ms", "--aggr", "100ms", "--update", "1s", "--window", "100ms"]}


CASES = {
    "2 MiB of 1 GiB": vast("1G", GIB, 2 * MIB), "20 MiB of 10 GiB": vast("10G", 10 * GIB, 20 * MIB),
    "200 MiB of 100 GiB": vast("100G", 100 * GIB, 200 * MIB),
    "10 GiB of 5 TiB": vast("5T", 5 << 40, 10 * GIB),
    **{"access_memory, %d MiB%s" % (size, " THP" * (pages == "huge")): turns(
        "%d%s" % (size, pages), 2, size * MIB, pages=pages)
       for size in (10, 20, 40, 80, 160) for pages in ("small", "huge")},
    # of 10 and 100 million bytes, in full pages
    "masim stairs": turns("stairs", 10, 2442 << 12, 5000, most=0.1),
    "masim zigzag": turns("zigzag", 2, 24415 << 12, 5000, most=0.1),
}


def options(parser):
    parser.epilog = "Cases: " + "; ".join(CASES)
    parser.add_argument("cases", nargs="*", metavar="CASE", type=one_of(CASES), help="only these (all)")
    parser.add_argument("--kernel", default="newest", help="of the guest (newest)")


def overlap(regions, block):
    return sum(max(min(end, block[1]) - max(start, block[0]), 0) for start, end in regions)


def quality(regions, row):
    """(precision, recall) of regions shown as in use, within the mapping"""
    shown, right = overlap(regions, row["range"]), overlap(regions, row["hot"])
    return right / shown if shown else 0.0, right / (row["hot"][1] - row["hot"][0])


def wsmon_maps(path, pid):
    """[(s since the recording began, ranges in use at least half of the time)]"""
    report = subprocess.run([WSMO, "report", "regions", "--csv", "--fine", "-i", path], check=True,
                            stdout=subprocess.PIPE, text=True)
    maps = {}
    for r in csv.DictReader(report.stdout.splitlines()):
        ranges = maps.setdefault(float(r["t"]), [])
        if int(r["pid"]) == pid and float(r["share"]) >= 0.5:
            ranges.append((int(r["start"]), int(r["end"])))
    return sorted(maps.items())


def damon_maps(snapshots, start, least):
    return [((t - start) / 1e9, [r[:2] for r in regions if r[2] >= least])
            for t, _, regions in snapshots]


def of_map(maps, row):
    """Quality of the later half of the maps, and the time from which on both are 90 %"""
    found = [(t, *quality(ranges, row)) for t, ranges in maps]
    later = found[len(found) // 2:]
    return {"after": next((t for t, p, r in found if p >= FOUND and r >= FOUND), None),
            "precision": statistics.median(p for _, p, _ in later),
            "recall": statistics.median(r for _, _, r in later)}


def percentiles(sizes):
    """The 50th and the 75th"""
    sizes = sorted(sizes)
    return {"p50": sizes[len(sizes) // 2], "p75": sizes[len(sizes) * 3 // 4], "cases": len(sizes)}


def judge(row):
    case, path = CASES[row["case"]], os.path.join(RAW, row["file"])
    kept = {"case": row["case"], "monitor": row["monitor"], "aggr_us": row.get("aggr_us")}
    if row["monitor"] == "wsmon":
        with open(path, "rb") as f:
            records = list(wsmon.read(f)[1])
        stats = [r for r in records if r.type == "STATS"]
        stats = stats[len(stats) // 2:]
        kept["cpu"] = (stats[-1].cpu_ns - stats[0].cpu_ns) / (stats[-1].time_ns - stats[0].time_ns)
        if not case["percent"]:
            return {**kept, **of_map(wsmon_maps(path, row["pid"]), row)}
        sizes = [r.bytes for r in records if r.type == "WSS" and r.cls == "anon" and
                 r.pid == row["pid"]]
        return {**kept, **percentiles(sizes[len(sizes) // 6:])}
    with open(path) as f:
        snapshots = damon.parse(f.read())
    kept["cpu"] = row["cpu"]
    if not snapshots:
        raise ValueError("no snapshots")
    if case["percent"]:
        counted = [s for s in snapshots if s[0] >= row["began"]] or snapshots[-1:]
        return {**kept, **percentiles(damon.wss([r], [row["range"]]) for _, _, r in counted)}
    # the better of the readings of its counts
    return {**kept, **max((of_map(damon_maps(snapshots, row["start"], least), row)
                           for least in (1, HALF)), key=lambda q: q["precision"] * q["recall"])}


def measure(args, run):
    todo = {name: CASES[name] for name in args.cases or CASES}
    shutil.rmtree(RAW, ignore_errors=True)
    os.makedirs(RAW)
    rows = []
    for row in run.guest(todo, kernel=args.kernel, mem="6G", cpus=1, timeout=36000, WSMON_OUT=RAW,
                         **({} if args.beside else curves.COUNTED)):
        try:
            rows.append(judge(row))
            say("%s: %s" % (row["case"], row["monitor"]))
        except (ValueError, LookupError) as e:
            say("%s: %s: %s" % (row["case"], row["monitor"], e))
            run.status = 1
    shutil.rmtree(RAW)
    return rows


def chose(row):
    return form(row["aggr_us"], "%.1f s", 1e6) if row["monitor"] != "wsmon" else "1 s"


def right(row, case):
    return all(abs(row[p] / case["hot"] - 1) <= case["percent"]
               for p in (("p50", "p75") if case["key"][0].isdigit() else ("p50",)))


def tables(rows):
    order = list(CASES)
    rows = sorted(rows, key=lambda r: order.index(r["case"]))
    maps = [r for r in rows if "recall" in r]
    sizes = [(r, CASES[r["case"]]) for r in rows if "p50" in r]
    blocks = {}
    if maps:
        blocks["cases: maps"] = table(
            ["in use", "by", "interval", "precision", "recall", "90 % after", "CPU"],
            [[r["case"], r["monitor"], chose(r), percent(r["precision"], 1), percent(r["recall"], 1),
              form(r["after"], "%.1f s"), percent(r["cpu"], 2)] for r in maps])
    if sizes:
        blocks["cases: sizes"] = table(
            ["workload", "by", "50th, MiB", "75th, MiB", "estimates", "passes", "CPU"],
            [[r["case"], r["monitor"], mib(r["p50"]), mib(r["p75"]), r["cases"],
              "yes" if right(r, case) else "no", percent(r["cpu"], 2)] for r, case in sizes])
    return blocks


def notes(rows):
    return []
