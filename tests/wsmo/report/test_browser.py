# SPDX-License-Identifier: GPL-2.0
"""report html in a browser: actions of a user, and their effects."""
import os
import re

import chromium
import records as r
import samples
import test_sizing as sizes
from command import Directory, ok, run

SKIP = "" if chromium.CHROMIUM else "chromium is not installed"
SEC = samples.SEC
MIB = samples.MIB

# Time from an event to the frame that shows its effect
STOPWATCH = """(() => {
	window.frames_ms = [];
	for (const type of ["pointermove", "mousemove", "pointerup", "mouseup", "dblclick"])
		document.addEventListener(type, () => {
			const from = performance.now();

			requestAnimationFrame(() => setTimeout(() => frames_ms.push(performance.now() - from)));
		}, true);
})()"""

# WCAG requires 4.5 for text
CONTRAST = """(() => {
	const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
		.map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
	const light = c => rgb(c).reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
	const back = light(getComputedStyle(document.body).backgroundColor);
	const all = ["body", ".why", "th", "td", ".u-legend", "h3", "pre", "#tip", "#threads th"];

	return all.map(sel => document.querySelector(sel)).filter(e => e).map(e => {
		const l = light(getComputedStyle(e).color);

		return (Math.max(l, back) + 0.05) / (Math.min(l, back) + 0.05);
	});
})()"""

# Elements beyond the right edge, and in no box that scrolls
TOO_WIDE = """Array.from(document.querySelectorAll("body *")).filter(e => !e.closest(".wide") &&
	e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80))"""

# Pixels differ where something is drawn
INK = """(canvas => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0,
	canvas.width, canvas.height).data.buffer)).size)"""


def page(d, name, data, *args):
    with open(d.path(name), "wb") as f:
        f.write(run("report", "html", "-i", "-", *args, stdin=data).stdout)
    return d.path(name)


def box(b, selector):
    """Scroll there; Return: left, top, width, height"""
    return b.run("""(() => {
        const e = document.querySelector(%r);

        e.scrollIntoView({ block: "center" });
        return new Promise(done => requestAnimationFrame(() => setTimeout(() => {
            const r = e.getBoundingClientRect();

            done([r.left, r.top, r.width, r.height]);
        }, 100)));
    })()""" % selector)


def settle(b):
    b.run("new Promise(done => setTimeout(done, 150))")


def at(area, x, y):
    return area[0] + x * area[2], area[1] + y * area[3]


def picture(b, selector):
    return b.run("document.querySelector(%r).toDataURL()" % selector)


def zoomed(b, over, canvas):
    """Drag, then double click; Return: pixels before, then and after"""
    area = box(b, over)
    b.mouse("Moved", 1, 1)
    settle(b)
    shown = [picture(b, canvas)]
    b.drag(*at(area, 0.5, 0.2), *at(area, 0.8, 0.6))
    settle(b)
    shown.append(picture(b, canvas))
    b.double_click(*at(area, 0.6, 0.5))
    settle(b)
    return shown + [picture(b, canvas)]


def used(b, path):
    """Everything is there, and works"""
    b.shape(1200)
    b.open(path)
    box(b, ".curve")
    got = b.run("""({ charts: document.querySelectorAll(".curve .uplot").length,
        rows: Array.from(document.querySelectorAll("table"), x => x.rows.length) })""")
    ok(got["charts"] == 1 and all(n > 1 for n in got["rows"]) and len(got["rows"]) >= 5 and
       b.run(INK + "(document.querySelector('.curve canvas'))") > 10 and
       b.run(INK + "(document.querySelector('canvas.map'))") > 10, "everything is drawn", got)
    explained = b.run("""Array.from(document.querySelectorAll("section")).filter(s =>
        !s.hidden).map(s => [s.querySelector("h2").textContent,
        s.querySelector("p.why").textContent.length])""")
    ok(len(explained) >= 7 and all(n > 100 for _, n in explained), "sections say what they are",
       explained)

    area = box(b, "canvas.map")
    b.mouse("Moved", *at(area, 0.95, 0.5))
    tip = b.run("document.getElementById('tip').textContent")
    ok("% accessed" in tip and "anon" in tip, "hovering over the map tells its value", tip)
    b.mouse("Moved", 1, 1)
    ok(b.run("document.getElementById('tip').hidden"), "and no more outside of it")
    before, then, after = zoomed(b, "canvas.map", "canvas.map")
    ok(before != then and before == after, "the map can be zoomed")
    area = box(b, "canvas.map")
    b.mouse("Moved", area[0] + 200, area[1] + area[3] / 2)
    all_of_it = b.run("document.getElementById('tip').textContent")
    b.drag(*at(area, 0.6, 0.2), *at(area, 0.9, 0.6))
    b.mouse("Moved", area[0] + 200, area[1] + area[3] / 2)
    part = b.run("document.getElementById('tip').textContent")
    want = b.run("""(data => { const m = data.maps[0], left = (0.6 * %f - 190) / (%f - 190);
        return m.from + left * (m.to - m.from); }""" %
                 (area[2], area[2]) + ")(JSON.parse(document.getElementById('data').textContent))")
    ok(all_of_it.startswith("0.0 s") and abs(float(part.split()[0]) - want) < 0.15,
       "and is of the part that was chosen then", all_of_it, part, want)
    b.double_click(*at(area, 0.6, 0.5))

    area = box(b, ".curve .u-over")
    b.mouse("Moved", *at(area, 0.999, 0.1))
    settle(b)
    legend = b.run("""Array.from(document.querySelectorAll(".curve .u-series"),
        x => x.textContent.trim())""")
    ok(any(re.search(r"^all\W*44.0 MiB", x) for x in legend), "hovering over curves tells values",
       legend)
    before, then, after = zoomed(b, ".curve .u-over", ".curve canvas")
    ok(before != then and before == after, "curves can be zoomed")
    ok(not b.console, "no error in the console", b.console)


def shapes(b, pages):
    """Light and dark, wide and narrow"""
    backs = set()
    for name, path in pages:
        for width in 1200, 400:
            for dark in False, True:
                b.shape(width, dark=dark)
                b.open(path)
                b.run("dispatchEvent(new Event('beforeprint'))")
                backs.add((dark, b.run("getComputedStyle(document.body).backgroundColor")))
                wide, ratios = b.run(TOO_WIDE), b.run(CONTRAST)
                ok(not b.console and not wide and min(ratios) >= 4.5 and
                   b.run("innerWidth") == width and
                   b.run("document.documentElement.scrollWidth") <= width,
                   "%s: %d pixels, %s: nothing sticks out, text is readable" %
                   (name, width, "dark" if dark else "light"), b.console, wide, ratios)
    ok(len(backs) == 2, "dark mode is dark", backs)


def limits(b, path):
    b.shape(1200)
    b.open(path)
    box(b, "#sizing")
    got = b.run("""({ charts: document.querySelectorAll("#sizing .uplot").length,
        rows: document.querySelector("#sizing .wide table").rows.length,
        text: document.querySelector("#sizing").textContent })""")
    ok(not b.console and got["charts"] == 2 and got["rows"] > 13 and "enough" in got["text"],
       "the working-set curve, and limits", b.console, got)


def events(b, path):
    b.shape(1200)
    b.open(path)
    text = b.run("document.querySelector('#events').innerText")
    ok(not b.console and "Peaks and marks" in text and "/nowhere/server" in text,
       "peaks and their stacks", b.console, text)


def touched(b, path, without):
    b.shape(1200)
    b.open(without)
    ok(b.run("document.querySelector('#touched').hidden"), "nothing of who touches memory where nobody knows")
    b.open(path)
    area = box(b, "#threads")
    rows = b.run("""Array.from(document.querySelectorAll("#threads tr"),
        tr => Array.from(tr.children, x => x.innerText))""")
    ok(not b.console and area[3] > 100 and rows[0][:2] == ["", "[heap]"] and
       rows[2] == ["server (4242)", "21.7 %\n32.6 %", "", "", "54.3 %"] and
       rows[4][3:] == ["2.2 %", "2.2 %"], "threads and objects", b.console, rows)
    top, bottom, none = b.run("""Array.from(document.querySelectorAll("#threads tr:nth-child(3) div"),
        x => getComputedStyle(x).backgroundColor).slice(0, 3)""")
    red, _, blue = zip(*[map(float, re.findall(r"[\d.]+", x)[:3]) for x in (top, bottom)])
    ok(len({top, bottom, none}) == 3 and red[0] < blue[0] and red[1] > blue[1], "in colours", top, bottom, none)
    text = b.run("document.querySelector('#who').innerText")
    ok("/nowhere/server+0x1100" in text and "remote" in text and "odd;\\033[31m (4243)" in text,
       "and the functions", text)


def cgroup(b, path):
    b.shape(1200)
    b.open(path)
    text = b.run("document.body.innerText")
    ok(not b.console and "/system.slice/x.service (total)" in text and
       "How large it has to be" in text and "Hot " not in text and "Which addresses" not in text,
       "of a cgroup nothing about addresses", b.console, text)


def big_recording(path):
    """Three processes for 1600 s, two windows: 100 MB of regions"""
    classes = ("text", 1 << 30, 20), ("heap", 2 << 30, 200), ("anon", 8 << 30, 440)
    with open(path, "wb") as f:
        f.write(r.header(0) + r.attrs(1))
        for pid in 100, 200, 300:
            f.write(r.target(2, pid, b"server"))
            for n, (cls, start, nr) in enumerate(classes):
                f.write(r.area(3, pid, cls, n, 3, start, start + nr * MIB))
        regions = [[r.region(start + j * MIB, start + (j + 1) * MIB, (j * 7 + k) % 32 / 31, 0.5,
                             cls, 1000, n)
                    for n, (cls, start, nr) in enumerate(classes) for j in range(nr)]
                   for k in range(32)]
        for i in range(1600):
            t = (i + 1) * SEC
            for pid in 100, 200, 300:
                f.write(r.snapshot(t, pid, regions[i % 32]))
                for window in 1, 60:
                    for n, cls in enumerate(("all", "text", "heap", "anon")):
                        size = (300 + i * 7919 % 200 * window) * MIB >> n
                        f.write(r.wss(t, pid, cls, size, size * 7 // 8, size * 9 // 8, 660 * MIB,
                                      window * 10**6))
                f.write(r.proc(t, pid, 500 * MIB, 0, 700 * MIB))
                if i % 100 in (50, 53):
                    f.write(r.peak(t, pid, i // 100 + 1, edge=int(i % 100 == 53), size=400 * MIB,
                                   start_ns=(i // 100 * 100 + 51) * SEC, baseline=200 * MIB))
        f.write(r.end(1601 * SEC))


# time to a frame in which the page does nothing, on a machine that does nothing else
FRAME_MS = 4


def frames(b, act, *args):
    """Return: times from events to the next frame during an action, ms, in order"""
    b.run("frames_ms.length = 0")
    act(*args)
    settle(b)
    return sorted(b.run("frames_ms"))


def quick(b, d):
    """A page of a large recording is small, and answers at once"""
    big_recording(d.path("big.data"))
    res = run("report", "html", "-i", d.path("big.data"), "-o", d.path("big.html"))
    recorded, size = (os.path.getsize(d.path("big." + x)) for x in ("data", "html"))
    ok(not res.returncode and recorded > 100 * 10**6 and size < 5 * 10**6,
       "%d MB recorded are a page of %.1f MB" % (recorded // 10**6, size / 10**6), res)
    b.shape(1200)
    b.open(d.path("big.html"))
    paint, load = b.run("""[performance.getEntriesByName("first-contentful-paint")[0].startTime,
        performance.timing.loadEventEnd - performance.timing.navigationStart]""")
    ok(paint < 3000 and load < 5000 and not b.console,
       "it is painted after %d ms, loaded after %d ms" % (paint, load), b.console)
    b.run(STOPWATCH)
    for name, selector in ("curve", ".curve .u-over"), ("map", "canvas.map"):
        area, nothing = box(b, selector), box(b, "h1")

        def moves(over):
            for i in range(20):
                b.mouse("Moved", *at(over, 0.3 + i / 50, 0.5))

        def zooms():
            b.drag(*at(area, 0.4, 0.3), *at(area, 0.7, 0.7))
            b.double_click(*at(area, 0.5, 0.5))

        # a frame in which the page does nothing shows how busy the machine is
        before, hover = frames(b, moves, nothing), frames(b, moves, area)
        zoom, after = frames(b, zooms), frames(b, moves, nothing)
        busy = max(before[len(before) // 2], after[len(after) // 2]) / FRAME_MS
        ok(len(hover) > 10 and len(zoom) > 3 and hover[len(hover) // 2] < 200 * max(busy, 1) and
           zoom[len(zoom) // 2] < 300 * max(busy, 1),
           "%s: a frame %d ms after the pointer moved, %d ms after a zoom (medians; %.1f times as busy)" %
           (name, hover[len(hover) // 2], zoom[len(zoom) // 2], busy), hover, zoom)


def test_page():
    with Directory() as d, chromium.browser() as b:
        plain = page(d, "page.html", samples.main(), "--pid", "4242")
        sizing = page(d, "limits.html", sizes.recording(sizes.random_use, rss=lambda t: 90 * MIB))
        stacks = page(d, "stacks.html", samples.stacks())
        used(b, plain)
        limits(b, sizing)
        events(b, stacks)
        who = page(d, "who.html", samples.who())
        touched(b, who, plain)
        cgroup(b, page(d, "cgroup.html", samples.cgroup()))
        shapes(b, (("all sections", plain), ("limits", sizing), ("stacks", stacks), ("who", who)))
        with open(plain, "a") as f:
            f.write("<script>nothing.there();</script>")
        b.open(plain)
        ok(b.console, "an error would have been seen")
        quick(b, d)
