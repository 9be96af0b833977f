# SPDX-License-Identifier: GPL-2.0
"""Recordings of processes with children: the total and the targets."""
import json
import re

import forms
import records as r
import samples
import test_html as html
import test_sizing as sizing
from command import Directory, golden, ok, parsed, run

SEC = samples.SEC
MIB = samples.MIB
T0 = samples.T0
UNSEEN = b"Not in the total, only in its upper end: memory that 3 processes accessed in the interval in which they ended.\n"


def lines(*args, data=None):
    return parsed(run("report", *args, "--json", "-i", "-", stdin=data or samples.family()))


def test_text(accept):
    for view in "wss", "summary":
        args = ("report", view, "-i", "-")
        res = run(*args, stdin=samples.family())
        golden("group.%s.txt" % view, res.stdout, accept, res.returncode == 0 and
               UNSEEN in res.stdout and not res.stderr, res.stderr)


def test_human():
    rows = run("report", "wss", "-i", "-", stdin=samples.family()).stdout.decode().splitlines()
    groups = [n for n, row in enumerate(rows) if re.match(r" +\d+\.\d+ +- ", row)]
    ok(rows[0] == "PID -: total of 6 to 14 processes (make and 1 more), each page once" and
       len(groups) == 9 and groups == list(range(4, 13)), "rows of the total come first", rows)
    many = r.header(T0) + r.group(T0 + SEC, 4) + r.total(T0 + SEC, "all", 1, 1, 1, 1) + r.end(T0 + SEC)
    res = run("report", "wss", "-i", "-", stdin=many).stdout.decode().splitlines()
    ok(res[0] == "PID -: total of 4 processes (), each page once", "no target has a name", res)


def test_sizes():
    rows = lines("wss")
    ok([x for x in rows if x["scope"] == "group"][:2] == [
        {"type": "wss", "t": 2.0, "scope": "group", "pid": None, "comm": None,
         "name": "make and 1 more", "class": cls, "window_us": 1000000, "bytes": size * MIB,
         "low": (size - 2) * MIB, "high": (size + 2) * MIB}
        for cls, size in (("all", 41), ("anon", 30))] and
       sum(x["scope"] == "process" for x in rows) == 8, "wss: objects of the total", rows)
    for options, count in ((("-p", str(samples.PID)), 0), (("--class", "anon"), 3),
                           (("--time", "3.5,"), 3), (("--time", ",1.5"), 0)):
        rows = [x for x in lines("wss", *options) if x["scope"] == "group"]
        ok(len(rows) == count, "%s: %d totals" % (" ".join(options), count), rows)
    rows = lines("wss", "--percentiles=100")
    ok([(x["scope"], x["name"], x["bytes"] >> 20) for x in rows if x["class"] == "all"] ==
       [("group", "make and 1 more", 43), ("process", None, 8), ("process", None, 3)],
       "percentiles of the total", rows)


def test_summary():
    first, *rest = lines("summary")
    ok(first == {"type": "group", "name": "make and 1 more", "mean": 42 * MIB, "low": 40 * MIB,
                 "high": 44 * MIB, "targets": 10 * MIB, "window_us": 1000000, "intervals": 3,
                 "members_max": 14, "came": 60, "went": 48, "missed": 3, "unfollowed": 0},
       "summary: the group comes first", first)
    ok([(x["scope"], x["name"], x["class"], x["mean"] >> 20) for x in rest[:4]] ==
       [("group", "make and 1 more", cls, size) for cls, size in (("all", 42), ("anon", 30), ("file", 12))] +
       [("process", None, "all", 6)], "then its classes, then processes", rest[:4])
    rows = lines("summary", "-p", str(samples.PID))
    ok({x.get("scope") for x in rows} == {"process", None} and
       "group" not in {x["type"] for x in rows}, "-p leaves the group out", rows)
    res = run("report", "summary", "-p", str(samples.PID), "-i", "-", stdin=samples.family())
    ok(b"Total" not in res.stdout and UNSEEN not in res.stdout, "and what is said of it", res)
    first = lines("summary", "--class", "anon")[0]
    ok(first["type"] == "group" and first["mean"] is None and first["members_max"] == 14,
       "a class: no total of all memory", first)
    same = r.header(T0) + r.target(T0, 1, b"x") + r.wss(T0 + SEC, 1, "all", MIB, MIB, MIB, MIB) + \
        r.group(T0 + SEC, 2) + r.total(T0 + SEC, "all", MIB, MIB, MIB, MIB)
    ok(lines("summary", data=same)[0]["targets"] is None, "a sum that is the total is left out")
    full = same + r.stats(T0 + SEC, budget=1, members=9, unfollowed=5) + r.end(T0 + SEC)
    res = run("report", "summary", "-i", "-", stdin=full)
    ok(b"\nNot in the total: 5 processes that there was no room for.\n" in res.stdout and
       UNSEEN not in res.stdout, "processes without room are reported", res)


def with_totals(data):
    """The same recording with a total equal to its first target."""
    out = data[:len(r.header(0))]
    for kind, t, body in r.parse(data):
        out += r.record(kind, t, body)
        if kind == r.WSS and body[:4] == b"\x07\0\0\0":
            out += r.group(t, 3) + r.record(r.TOTAL, t, body[4:8] + bytes(4) + body[8:])
    return out


def test_curves():
    data = with_totals(sizing.recording(sizing.random_use, pids=(7, 8), rss=lambda t: 90 * MIB))
    rows = lines("curve", data=data)
    of = {pid: [x for x in rows if x["pid"] == pid] for pid in (7, 8, None)}
    ok(len(rows) == 3 * 8 and all(
        # the group began a second later
        abs(a["bytes"] - b["bytes"]) < 2 and a["p50"] == b["p50"]
        for a, b in zip(of[7], of[None])), "curve: the total, no sum of targets", of[None])
    rows = lines("sizing", "--limit", "50M", data=data)
    ok([(x["pid"], x["of_rss"] is None) for x in rows if not x["mark"]] ==
       [(7, False), (8, False), (None, True)],
       "sizing: the resident size of children is not known", rows)
    rows = lines("curve", "-p", "7", data=data)
    ok({x["pid"] for x in rows} == {7}, "curve: -p leaves the total out", rows)


def test_other_views():
    rows = lines("raw")
    groups = [x for x in rows if x["type"] == "group"]
    totals = [x for x in rows if x["type"] == "total"]
    ok(len(groups) == 3 and len(totals) == 9 and groups[1]["missed"] == 3 and
       groups[0]["visits"] == 1500 and totals[1]["class"] == "anon" and
       totals[1]["mapped"] == 400 * MIB, "raw: both records", groups, totals[:2])
    ok(not [x for x in lines("raw", "-p", str(samples.PID)) if x["type"] in ("group", "total")],
       "raw: -p leaves them out")
    data = forms.page_data(html.page(samples.family()))
    ok(data["group"] == "make and 1 more" and data["summary"][0]["type"] == "group" and
       [s["class"] for s in data["wss"]] == ["all", "anon", "file", "all", "all"] and
       [s["pid"] for s in data["wss"]] == [0, 0, 0, samples.ODD, samples.PID],
       "html: the total is first", data["wss"])
    with Directory() as d:
        res = run("report", "wss", "-o", d.path("x.svg"), "-i", "-", stdin=samples.family())
        ok(res.returncode == 0 and b"make and 1 more (total)" in
           re.sub(rb"\s+", b" ", d.read("x.svg")), "wss: a picture", res)


def test_cgroup(accept=False):
    """A cgroup has a name; its processes have no columns of their own but memory."""
    name, data = "/system.slice/x.service", samples.cgroup()
    for view in "wss", "summary":
        args = ("report", view, "-i", "-")
        res = run(*args, stdin=data)
        golden("cgroup.%s.txt" % view, res.stdout, accept, res.returncode == 0 and
               name.encode() in res.stdout and not res.stderr, res.stderr)
    rows = lines("wss", data=data)
    ok(len(rows) == 12 and {(x["scope"], x["name"], x["pid"], x["comm"]) for x in rows} ==
       {("group", name, None, None)}, "wss: all rows are of the cgroup", rows)
    first, *rest = lines("summary", data=data)
    ok(first["type"] == "group" and first["name"] == name and first["targets"] is None and
       first["members_max"] == 6 and rest[-1]["intervals"] == 4 and
       [x["type"] for x in rest] == ["wss_summary"] * 3 + ["memory"] * 2 + ["recording"],
       "summary: the cgroup, its classes, the recording", first, rest)
    ok([(x["pid"], x["comm"], x["rss_max"] >> 20, x["exit_t"]) for x in rest if x["type"] == "memory"] ==
       [(301, "nginx", 63, None), (300, "php", 20, 4)], "and the largest processes, by size", rest)
    first = lines("summary", "--time", "3.5,", data=samples.cgroup(b"/"))[0]
    ok(first["name"] == "all processes", "the root's name", first)
    for view in "hot", "regions", "heatmap":
        res = run("report", view, "-i", "-", stdin=data)
        ok(res.returncode == 1 and not res.stdout and res.stderr.count(b"\n") == 1 and
           b"a cgroup was recorded, as a whole: for '%s'" % view.encode() in res.stderr,
           "%s says that it needs processes" % view, res)
    res = run("report", "peaks", "-i", "-", stdin=data)
    ok(res.returncode == 0 and not res.stdout and b"no marks and no peaks: peaks are found only for proc" in res.stderr,
       "and peaks", res)
    long = samples.cgroup(seconds=30, windows=(1, 2, 4, 8))
    rows = lines("curve", data=long)
    ok([(x["pid"], x["window_us"]) for x in rows] == [(None, n * 1000000) for n in (1, 2, 4, 8)] and
       all(x["p50"] for x in rows), "a curve of a cgroup", rows)
    rows = lines("wss", "--window", "2", data=long)
    ok(len(rows) == 90 and {x["window_us"] for x in rows} == {2000000}, "--window of a cgroup", rows)
    res = run("report", "sizing", "-i", "-", stdin=long)
    ok(res.returncode == 0 and b"\n/system.slice/x.service: " in res.stdout, "and its sizing", res)
    page = forms.page_data(html.page(long))
    ok(page["group"] == name and len(page["sizing"]) == 1 and not page["maps"] and
       {s["pid"] for s in page["wss"]} == {0}, "its page", page["group"], page["sizing"])
    with Directory() as d:
        for view in "wss", "curve", "sizing":
            res = run("report", view, "-o", d.path("x.svg"), "-i", "-", stdin=long)
            ok(res.returncode == 0 and not res.stderr, view + ": a picture", res)
        res = run("report", "wss", "-o", d.path("y.svg"), "-i", "-",
                  stdin=samples.cgroup(b"/docker-" + b"0123456789abcdef" * 8 + b".scope"))
        ok(b"abcdef.scope (total)" in d.read("y.svg"), "of a long path the end is shown", res)
    res = run("report", "raw", "-i", "-", stdin=r.header(T0) + r.record(
        r.GROUP, T0, bytes(32) + b"/unended"))
    ok(res.returncode == 1 and b"a path without an end" in res.stderr, "a path without an end", res)
    for path in b"/system.slice/x.service", b"/", b"/docker-" + b"0123456789abcdef" * 16 + b".scope":
        out = run("export", "openmetrics", "-i", "-", stdin=samples.cgroup(path)).stdout
        ok(b'wsmon_working_set_bytes{cgroup="%s",class="all",window="1"} ' % path in out,
           "openmetrics has the cgroup", out)


def test_exports():
    out = run("export", "openmetrics", "-i", "-", stdin=samples.family()).stdout.decode()
    ok(re.search(r'^wsmon_working_set_bytes\{group="make and 1 more",class="all",window="1"\} '
                 r"%d \d" % (41 * MIB), out, re.M) and
       re.search(r'^wsmon_working_set_low_bytes\{group="make and 1 more",class="anon",.*\} %d ' %
                 (28 * MIB), out, re.M) and out.count('group="make') == 4 * 9 and
       out.endswith("# EOF\n"), "openmetrics has the total", out)
    out = run("export", "openmetrics", "-p", str(samples.PID), "-i", "-", stdin=samples.family()).stdout
    ok(b'group="make' not in out and b'comm="make"' in out, "openmetrics: -p leaves it out", out)
    events = json.loads(run("export", "chrome", "-i", "-", stdin=samples.family()).stdout)["traceEvents"]
    ok([e["args"]["bytes"] >> 20 for e in events if e["name"] == "total working set all, 1 s"] ==
       [41, 42, 43], "chrome has the total", events[:5])
