# SPDX-License-Identifier: GPL-2.0
"""report html: the content of the page; test_browser.py tests its behaviour."""
import json
import os
import re

import records as r
import samples
import test_sizing as sizes
from forms import page_data
from command import fails, ok, parsed, run
from test_names import cpu_of

SEC = samples.SEC
MIB = samples.MIB

def page(data, *args):
    return run("report", "html", "-i", "-", *args, stdin=data).stdout.decode()


def shown(lines):
    """As the page shows it: escaped, if it steers a terminal or the direction of text"""
    return json.loads(re.sub(r"\\u(?=[0-9a-f]{4})", r"\\\\u", json.dumps(lines, ensure_ascii=False).replace("\x9b", "\\u009b")))


def test_content():
    text = page(samples.main())
    data = page_data(text)
    ok(not re.search(r'(?:src|href)\s*=|https?://(?!github\.com/leeoniya)', text),
       "nothing is fetched", re.findall(r'(?:src|href)=.{40}|https?://.{40}', text)[:5])
    ok("Leon Sorokin" in text and "MIT" in text, "the licence of uPlot is in it")
    lines = parsed(run("report", "summary", "--json", "-i", "-",
                                        stdin=samples.main()))
    ok(data["summary"] == shown(lines), "the summary is the summary", data["summary"])
    rows = parsed(run("report", "wss", "--json", "-i", "-",
                                       stdin=samples.main()))
    got = sorted((p[0], s["pid"], s["class"], *p[1:])
                 for s in data["wss"] for p in s["points"])
    ok(got == sorted((x["t"], x["pid"], x["class"], x["bytes"], x["low"], x["high"])
                     for x in rows), "every point of a short recording", got)
    ok([(m["pid"], m["sections"][0]["at"][0]) for m in data["maps"]] ==
       [(77, "0x1000"), (4242, "0x555500000000")], "the maps")
    hot = parsed(run("report", "hot", "--json", "-i", "-",
                                      stdin=samples.main()))
    ok(len(hot) > 5 and data["hot"] == shown(hot), "the hot regions are those of report hot", data["hot"])
    ok(data["names"] == {"77": "a\\u001b[31m,\"b\ufffd", "4242": "redis-new"}, "names")

    evil = samples.small().replace(
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192, path=b"[heap]"),
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192,
               path=b"</script><img>")).replace(
        r.target(samples.T0, samples.PID, b"x"),
        r.target(samples.T0, samples.PID, b"</script><b>"))
    text = page(evil)
    data = page_data(text)
    # the path's last part is its name
    ok(data["names"] == {str(samples.PID): "</script><b>"} and
       data["maps"][0]["sections"][0]["name"] == "script><img>" and
       "<b>" not in text and "<img>" not in text, "no name ends the script", data["names"])


def test_limits():
    """The working-set curve and the limits are those of the other reports."""
    data = sizes.recording(sizes.random_use, rss=lambda t: 90 * MIB)
    got = page_data(page(data))["sizing"]
    curve = sizes.lines("curve", data)
    rows = sizes.lines("sizing", data)
    ok(len(got) == 1 and [p[1:] for p in got[0]["points"]] ==
       [[x["bytes"], x["low"], x["high"]] for x in curve], "the curve", got[0]["points"])
    ok(len(rows) == len(got[0]["rows"]) > 13 and
       all(abs(r["of"][0] - x["limit"]) < 1 and r["knee"] == (x["mark"] == "enough") and
           (x["refaults_per_s"] is None or abs(r["of"][2] - x["refaults_per_s"]) < 0.01)
           for x, r in zip(rows, got[0]["rows"])), "the limits", got[0]["rows"])
    ok(page_data(page(samples.main()))["sizing"] == [], "none of a recording with one window")


def test_touched():
    """The rows of report who, and its map"""
    data = page_data(page(samples.who()))
    rows = parsed(run("report", "who", "--json", "-i", "-",
                                       stdin=samples.who()))
    code = [x.pop("code", "") for x in data["who"]]
    ok(data["who"] == rows and code[0] == "/nowhere/server+0x1100", "who: the rows of report who", data["who"])
    got = data["touched"]
    ok([x["name"] for x in got["threads"]] == ["server (4242)", "odd;\\u001b[31m (4243)", "x (4251)"] and
       [x["name"] for x in got["objects"]] ==
       ["[heap]", "anonymous 0x7f0000000000, with the stack of thread 4243", "unknown"] and
       [round(x["share"], 3) for x in got["objects"]] == [0.761, 0.217, 0.022], "its threads and objects", got)
    ok([[round(46 * x) for x in cell] for cell in got["cells"]] ==
       [[10, 15], [0, 0], [0, 0], [10, 0], [0, 10], [0, 0], [0, 0], [0, 0], [1, 0]] and
       round(46 * got["max"]) == 15, "its cells", got)
    nothing = r.header(0) + r.who(1, 7, 7, 4096, 4096, 0) + r.end(SEC)
    ok(page_data(page(nothing))["touched"]["cells"] == [[0, 0]], "records that stand for nothing")
    data = page_data(page(samples.main()))
    ok(data["who"] == [] and data["touched"]["cells"] == [], "none of a recording without", data["touched"])


def test_long_recording():
    """The curves of 5000 intervals and many series are thinned, and add up."""
    n = 5000
    data = r.header(0) + b"".join(
        r.wss((i + 1) * SEC, 7, "all", i * MIB, (i - 1) * MIB if i else 0,
              (i + 1) * MIB, 1 << 40) for i in range(n)) + r.end((n + 1) * SEC)
    points = page_data(page(data))["wss"][0]["points"]
    ok(100 < len(points) <= 1500 and points[-1][0] == n and points[0][2] == 0 and
       points[-1][3] == n * MIB and
       all(a[3] >= b[2] - 2 * MIB for a, b in zip(points, points[1:])) and
       abs(sum(p[1] for p in points[:-1]) / (len(points) - 1) / MIB - n / 2) < 10,
       "a long series is thinned out", len(points), points[:2], points[-1])
    many = r.header(0) + b"".join(
        r.wss((i + 1) * SEC, pid, cls, MIB << 10, 0, 1 << 39, 1 << 40)
        for i in range(60) for pid in range(10000, 10150) for cls in r.CLASSES)
    text = page(many + r.end(61 * SEC))
    ok(len(text) < 5 << 20, "a page is below 5 MB", len(text))


def test_output(d):
    name = d.path("r.html")
    res = run("report", "html", "-o", name, "-i", "-", stdin=samples.main())
    ok(res.returncode == 0 and not res.stdout and
       d.read("r.html").decode() == page(samples.main()), "-o")
    fails(run("report", "html", "-o", name, "-i", "-", stdin=b"x"), "-o of junk",
          "not a wsmon record")
    ok(os.listdir(d.name) == ["r.html"], "nothing else is left")


def test_many_objects():
    """Objects in descending order: the page takes no quadratic time."""
    took = {}
    for what in "one object", "many objects":
        data = [r.header(0), r.target(0, 7, b"x")]
        for i in range(80000, 0, -1):
            at, name = (i << 13, b"/x%d" % i) if what[0] == "m" else (1 << 13, b"/x")
            data += [r.mapping(0, 7, at, at + 4096, "rw", name, 0, i), r.who(0, 7, 7, at, at, 4096, comm=b"t")]
        took[what], res = cpu_of(b"".join(data) + r.end(SEC), "html")
        ok(res.returncode == 0 and b"/x" in res.stdout, "a page of " + what, res.stderr)
    ok(took["many objects"] < 4 * took["one object"] + 1, "many objects in a page", took)
