# SPDX-License-Identifier: GPL-2.0
"""report html: what is in the page, and how it behaves in a browser."""
import json
import os
import re
import shutil
import subprocess

import records as r
import samples
from tap import Directory, fails, ok, run, skip

SEC = samples.SEC
MIB = samples.MIB

# In the page, behind its own script: what a user does, and what comes of it
PROBE = """<script>
"use strict";
window.addEventListener("load", () => setTimeout(() => {
	const map = document.querySelector("canvas.map"), box = map.getBoundingClientRect();
	const at = (type, x, y) => map.dispatchEvent(new PointerEvent(type, { bubbles: true,
		clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
	const tip = document.getElementById("tip");
	const pixel = () => Array.from(map.getContext("2d").getImageData(
		map.width * 0.9, map.height * 0.5, 1, 1).data).join();
	const result = { width: document.documentElement.scrollWidth, inner: innerWidth };

	at("pointermove", 0.95, 0.5);
	result.tip = tip.hidden ? "" : tip.textContent;
	at("pointerleave", 0.95, 0.5);
	result.left = tip.hidden;
	const before = map.toDataURL();
	at("pointerdown", 0.5, 0.2);
	at("pointerup", 0.8, 0.6);
	result.zoomed = map.toDataURL() !== before;
	map.dispatchEvent(new MouseEvent("dblclick"));
	result.back = map.toDataURL() === before;

	const over = document.querySelector(".u-over"), area = over.getBoundingClientRect();
	over.dispatchEvent(new MouseEvent("mouseenter"));
	over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true,
		clientX: area.left + area.width - 2, clientY: area.top + 20 }));
	setTimeout(() => {
		result.legend = Array.from(document.querySelectorAll(".curve:first-of-type .u-series"),
			x => x.textContent.trim());
		result.text = getComputedStyle(document.body).color;
		result.back_color = getComputedStyle(document.body).backgroundColor;
		result.charts = document.querySelectorAll(".uplot").length;
		result.maps = document.querySelectorAll("canvas.map").length;
		result.rows = Array.from(document.querySelectorAll("table"), x => x.rows.length);
		result.ms = performance.now();
		document.title = JSON.stringify(result);
	}, 100);
}, 50));
</script>"""


def page(data, *args):
    return run("report", "html", "-i", "-", *args, stdin=data).stdout.decode()


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                text, re.S).group(1))


def content():
    text = page(samples.main())
    data = embedded(text)
    ok(not re.search(r'(?:src|href)\s*=|https?://(?!github\.com/leeoniya)', text),
       "nothing is fetched", re.findall(r'(?:src|href)=.{40}|https?://.{40}', text)[:5])
    ok("Leon Sorokin" in text and "MIT" in text, "the licence of uPlot is in it")
    lines = [json.loads(x) for x in run("report", "summary", "--json", "-i", "-",
                                        stdin=samples.main()).stdout.splitlines()]
    ok(data["summary"] == lines, "the summary is the summary", data["summary"])
    rows = [json.loads(x) for x in run("report", "wss", "--json", "-i", "-",
                                       stdin=samples.main()).stdout.splitlines()]
    got = sorted((p[0], s["pid"], s["class"], *p[1:])
                 for s in data["wss"] for p in s["points"])
    ok(got == sorted((x["t"], x["pid"], x["class"], x["bytes"], x["low"], x["high"])
                     for x in rows), "every point of a short recording", got)
    ok([(m["pid"], m["bands"][0]["at"][0]) for m in data["maps"]] ==
       [(77, "0x1000"), (4242, "0x555500000000")], "the maps")
    ok(data["names"] == {"77": "a\x1b[31m,\"b\ufffd", "4242": "redis-new"}, "names")

    evil = samples.small().replace(
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192, path=b"[heap]"),
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192,
               path=b"</script><img>")).replace(
        r.target(samples.T0, samples.PID, b"x"),
        r.target(samples.T0, samples.PID, b"</script><b>"))
    text = page(evil)
    data = embedded(text)
    # the path's last part is its name
    ok(data["names"] == {str(samples.PID): "</script><b>"} and
       data["maps"][0]["bands"][0]["name"] == "script><img>" and
       "<b>" not in text and "<img>" not in text, "no name ends the script", data["names"])


def long_recording():
    """What is drawn of 5000 intervals and many series is thinned, and adds up."""
    n = 5000
    data = r.header(0) + b"".join(
        r.wss((i + 1) * SEC, 7, "all", i * MIB, (i - 1) * MIB if i else 0,
              (i + 1) * MIB, 1 << 40) for i in range(n)) + r.end((n + 1) * SEC)
    points = embedded(page(data))["wss"][0]["points"]
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


def refused():
    for args in (("--json",), ("--csv",), ("--raw",), ("--size", "80x24"),
                 ("--address", "1,2"), ("--plot", "x.png")):
        res = run("report", "html", *args, "-i", "-", stdin=samples.main())
        ok(res.returncode == 2 and not res.stdout and b"wsmo: " in res.stderr,
           "refused: html " + " ".join(args), res.stderr)
    with Directory() as d:
        name = d.path("r.html")
        res = run("report", "html", "-o", name, "-i", "-", stdin=samples.main())
        ok(res.returncode == 0 and not res.stdout and
           d.read("r.html").decode() == page(samples.main()), "-o")
        fails(run("report", "html", "-o", name, "-i", "-", stdin=b"x"), "-o of junk",
              "not a wsmon record")
        ok(os.listdir(d.name) == ["r.html"], "nothing else is left")


def browse(d, name, width, *options):
    """Open a page; Return: the probe's result, and what the console said."""
    res = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--enable-logging=stderr", "--virtual-time-budget=20000",
         "--user-data-dir=" + d.path("profile"), "--window-size=%d,900" % width,
         *options, "file://" + d.path(name)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=170)
    title = re.search(r"<title>(\{.*?\})</title>", res.stdout.decode(), re.S)
    console = [x for x in res.stderr.decode(errors="replace").splitlines()
               if ":CONSOLE" in x]
    text = title.group(1).replace("&lt;", "<").replace("&gt;", ">") \
        .replace("&amp;", "&") if title else "{}"
    return json.loads(text), console


def browser():
    if not shutil.which("chromium"):
        skip("the page in a browser", "chromium is not installed")
        return
    with Directory() as d:
        d.write("page.html", (page(samples.main(), "--pid", "4242") + PROBE).encode())
        d.write("broken.html", (page(samples.main()) + "<script>nothing.there();</script>"
                                + PROBE).encode())
        got, console = browse(d, "page.html", 1200)
        ok(got and not console, "no error in the console", console, got)
        ok(got.get("charts") == 1 and got.get("maps") == 1 and
           all(n > 1 for n in got.get("rows", [0])), "everything is drawn", got)
        ok("% accessed" in got.get("tip", "") and "anon" in got["tip"] and got["left"],
           "hovering over the map tells its value", got)
        ok(got.get("zoomed") and got.get("back"), "the map can be zoomed", got)
        legend = got.get("legend", [])
        ok("all44.0 MiB" in [re.sub(r"[: ]*(?=\d)", "", x, count=1) for x in legend] or
           any("44.0 MiB" in x for x in legend), "hovering over curves tells values", legend)
        light = got.get("back_color")
        got, console = browse(d, "page.html", 1200, "--blink-settings=preferredColorScheme=0")
        ok(got.get("back_color") not in (light, None) and not console,
           "dark mode is dark", got)
        got, console = browse(d, "page.html", 400)
        ok(got.get("inner", 999) <= 500 and got["width"] <= got["inner"] and not console,
           "nothing is wider than a narrow window", got)
        _, console = browse(d, "broken.html", 1200)
        ok(console, "an error would have been seen")


def main(_accept):
    content()
    long_recording()
    refused()
    browser()
