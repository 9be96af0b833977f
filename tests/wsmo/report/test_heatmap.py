# SPDX-License-Identifier: GPL-2.0
"""report heatmap: what its cells hold, how it looks on terminals, pictures."""
import os
import re
import shutil
import struct
import xml.etree.ElementTree as xml

import forms
import records as r
import samples
import screen
from command import Directory, fails, needs, ok, parsed, run

SEC = samples.SEC
MIB = samples.MIB
SIZES = ("80x24", "132x40", "60x12", "200x60")


def recording(*snapshots, start=0, end=0x40000000, names=()):
    """A recording of one area; a snapshot is a list of (start, end, share)."""
    out = r.header(0) + r.target(1, 7, b"drawn")
    out += r.area(2, 7, "anon", 0, 1, start or 4096, end, path=b"/lib/x")
    for i, regions in enumerate(snapshots):
        out += r.snapshot((i + 1) * SEC, 7, [
            r.region(a, z, share, share, "anon", 0, 0) for a, z, share in regions])
    return out + r.end((len(snapshots) + 1) * SEC)


def cells(data, *args):
    return parsed(run("report", "heatmap", "--json", "-i", "-", *args, stdin=data))


def sums(data):
    """Byte seconds mapped and accessed, of adjacent regions."""
    whole = hot = 0
    for kind, _, body in r.parse(data):
        if kind == r.SNAPSHOT:
            for i in range(struct.unpack_from("<I", body, 4)[0]):
                a, z, share = struct.unpack_from("<QQH", body, 32 + 32 * i)
                whole += z - a
                hot += (z - a) * share / r.ONE
    return whole, hot


def mean_share(snapshots, cell):
    """The share of a cell: the mean over its time and addresses, of mapped memory."""
    whole = hot = 0
    for begin, end, pid, regions in snapshots:
        time = min(end, cell["t_end"]) - max(begin, cell["t"])
        if time <= 0 or pid != cell["pid"]:
            continue
        for a, z, share in regions:
            part = max(0, min(z, cell["end"]) - max(a, cell["start"])) * time
            whole += part
            hot += part * share / r.ONE
    return hot / whole


def test_every_cell():
    """Computed anew from the records; times in the output are to 1 ms."""
    data = samples.main()
    snapshots = []
    for kind, t, body in r.parse(data):
        if kind == r.SNAPSHOT:
            pid, nr, _, _, interval = struct.unpack_from("<IIIIQ", body)
            at = (t - samples.T0) / SEC
            snapshots.append((at - interval / SEC, at, pid, [
                struct.unpack_from("<QQH", body, 32 + 32 * i) for i in range(nr)]))
    got = cells(data)
    wrong = []
    for cell in got:
        border = min(abs(s[1] - t) for s in snapshots for t in (cell["t"], cell["t_end"]))
        near = abs(cell["share"] - mean_share(snapshots, cell))
        if near > (0.04 if border < 0.05 else 1e-5):
            wrong.append((near, cell))
    ok(len(got) > 500 and not wrong, "every cell has the mean share of its pages and time", *wrong)


def test_values():
    one = recording([(4 * MIB, 8 * MIB, 0.25), (8 * MIB, 12 * MIB, 0.75)])
    got = cells(one, "--size", "60x12")
    low = {c["share"] for c in got if c["end"] <= 8 * MIB}
    high = {c["share"] for c in got if c["start"] >= 8 * MIB}
    ok(len(got) == 720 and low == {0.25} and high == {0.75},
       "cells have the share of the region they are in", low, high, len(got))
    mixed = {c["share"] for c in cells(one, "--size", "60x13") if c["start"] < 8 * MIB < c["end"]}
    ok(mixed == {0.5}, "and the mean where two meet", mixed)

    odd = recording(*[[(MIB * 3, MIB * 4 + 4096 * i, i / 7),
                       (MIB * 4 + 4096 * i, MIB * 9, 1 - i / 9)]
                      for i in range(7)])
    whole, hot = sums(odd)
    for size in SIZES:
        got = cells(odd, "--size", size)
        area = sum((c["end"] - c["start"]) * (c["t_end"] - c["t"]) for c in got)
        sum_ = sum((c["end"] - c["start"]) * (c["t_end"] - c["t"]) * c["share"]
                   for c in got)
        ok(abs(area / whole - 1) < 0.01 and abs(sum_ / hot - 1) < 0.01,
           "nothing is added or lost at " + size, area / whole, sum_ / hot)

    changed = recording([(4 * MIB, 8 * MIB, 1)]).replace(
        r.end(2 * SEC), r.area(SEC, 7, "heap", 0, 1, 2 * MIB, 12 * MIB) +
        r.snapshot(2 * SEC, 7, [r.region(2 * MIB, 12 * MIB, 0, 0, "heap", 0, 0)])
        + r.end(3 * SEC))
    rows = sorted({(c["start"], c["end"], c["class"]) for c in cells(changed)})
    ok(rows[0][0] == 2 * MIB and rows[-1][1] == 12 * MIB and
       all(a[1] == b[0] for a, b in zip(rows, rows[1:])) and
       {c for a, z, c in rows if 4 * MIB <= a < 8 * MIB} == {"anon"},
       "addresses that were mapped twice are there once", rows)

    late = recording([(MIB, 2 * MIB, 0.5)], [(MIB, 2 * MIB, 0.5),
                                             (2 * MIB, 3 * MIB, 1)])
    got = [c for c in cells(late) if c["start"] >= 2 * MIB]
    ok(got and min(c["t"] for c in got) == 1.0,
       "what is not mapped yet has no cells", got[:2])


def test_unwatched():
    """Times without observation differ from times without mappings."""
    data = r.header(0) + r.target(1, 7, b"drawn") + r.area(2, 7, "anon", 0, 1, 4096, 9 * MIB)
    for t in 1, 2, 6, 7, 8:
        # at first nothing of the class is mapped
        data += r.snapshot(t * SEC, 7, [r.region(MIB, 2 * MIB, 1, 1, "heap" if t > 1 else "anon", 0, 0)])
    data += r.end(9 * SEC)
    text = run("report", "heatmap", "--class", "heap", "--size", "80x12", "-i", "-", stdin=data).stdout.decode()
    row = [line.split("|")[1] for line in text.splitlines() if "|" in line][0]
    ok([row[len(row) * t // 16] for t in range(1, 16, 2)] == list(" @///@@@") and "/: not observed." in text,
       "in characters", text)
    color = run("report", "heatmap", "--color", "16", "-i", "-", stdin=data).stdout.decode()
    ok(re.search(r"\x1b\[0m/+\x1b\[0", color), "in colours", repr(color))
    map_ = forms.page_data(run("report", "html", "-i", "-", stdin=data).stdout.decode())["maps"][0]
    cells_ = map_["cells"][:map_["columns"]]
    ok({cells_[len(cells_) * t // 16] for t in (5, 7, 9)} == {"/"} and cells_[0] != "/" != cells_[-1],
       "on the page", cells_)
    ok("not observed" not in run("report", "heatmap", "-i", "-", stdin=recording([(MIB, 2 * MIB, 1)])).stdout.decode(),
       "no word of it if there are none")
    if shutil.which("gnuplot"):
        with Directory() as d:
            run("report", "heatmap", "-o", d.path("a.svg"), "-i", "-", stdin=data)
            words = "".join(xml.fromstring(d.read("a.svg")).itertext())
            ok("hatched: not observed" in words, "in a picture", words)


def test_everything_is_there():
    data = samples.main()
    for size in SIZES:
        got = [c for c in cells(data, "--size", size) if c["pid"] == samples.PID]
        missing = [hex(a[1]) for a in samples.AREAS
                   if not [c for c in got if c["start"] < a[2] and
                           c["end"] > a[1]]]
        ok(not missing, "every mapping is on the map of " + size, missing)
    far = recording([(i << 36, (i << 36) + 4096 * (i + 1), i < 150)
                     for i in range(1, 300)], start=1 << 36, end=1 << 46)
    got = cells(far, "--size", "60x12")
    text = run("report", "heatmap", "-i", "-", "--size", "80x24", stdin=far)
    ok(min(c["start"] for c in got) == 1 << 36 and
       max(c["end"] for c in got) == (299 << 36) + 4096 * 300 and
       b"Gaps not shown: " in text.stdout,
       "hundreds of mappings share the lines there are", text.stdout.decode())
    shares = [c["share"] for c in sorted(got, key=lambda c: c["start"])
              if c["t"] == 0]
    ok(shares[0] == 1 and shares[-1] == 0 and
       shares == sorted(shares, reverse=True), "in the order of addresses", shares)


def test_filters():
    data = samples.main()
    got = cells(data, "--time", "1.5,2")
    ok(got and min(c["t"] for c in got) == 1.5 and
       max(c["t_end"] for c in got) == 2, "--time", got[:1])
    heap = samples.AREAS[2]
    for low, high in ((heap[1] + 4096, heap[2] - 8192), (heap[1], heap[1] + 4096)):
        for form in ("%d,%d", "0x%x,0x%x"):
            got = cells(data, "--address", form % (low, high))
            ok(got and min(c["start"] for c in got) == low and
               max(c["end"] for c in got) == high, "--address " + form, got[:1])
    two = recording([(4 * MIB, 8 * MIB, 0.25), (8 * MIB, 12 * MIB, 0.75)])
    got = cells(two, "--address", "%d,%d" % (4 * MIB, 8 * MIB))
    ok({c["share"] for c in got} == {0.25}, "--address ends where a region does", got[:1])
    for args in (("--address", ",1"), ("--time", "90,"), ("--pid", "1")):
        fails(run("report", "heatmap", *args, "-i", "-", stdin=data),
              "nothing left: " + args[0], "nothing to draw", args[0])


def test_refused():
    for args, word in ((("--address", "1"), "A,B"), (("--address", "2,1"), "not below"),
                       (("--address", "x,"), "not an address"),
                       (("--address", "0x,"), "not an address"),
                       (("--address", "99999999999999999999,"), "not an address"),
                       (("--size", "59x24"), "60x12"), (("--size", "80x11"), "60x12")):
        res = run("report", "heatmap", *args, "-i", "-", stdin=samples.main())
        ok(res.returncode == 2 and word in res.stderr.decode() and
           not res.stdout, "refused: " + " ".join(args), res.stderr)
    late = r.header(5 * SEC) + r.snapshot(5 * SEC + 1, 7, [
        r.region(4096, 8192, 1, 1, "anon", 0, 0)]) + r.end(6 * SEC)
    res = run("report", "heatmap", "-i", "-", stdin=late)
    ok(res.returncode == 0 and b"column: 0 s" in res.stdout,
       "an interval that began before the recording", res)


def test_terminals(d):
    name = d.write("data", samples.start() + samples.interval(0) +
                   samples.interval(1) + r.end(samples.T0 + 3 * SEC))
    args = ("report", "heatmap", "-i", name)
    for columns, lines in ((80, 24), (132, 43), (60, 16), (40, 24)):
        status, text = screen.run(*args, columns=columns, lines=lines,
                                  env={"TERM": "xterm-256color"})
        rows = screen.plain(text).splitlines()
        ok(status == 0 and len(rows) < lines and
           max(map(len, rows)) <= columns, "fits %dx%d" % (columns, lines),
           *rows)
    looks = {}
    for env, form in (({"TERM": "xterm-256color"}, "38;5;"),
                      ({"TERM": "xterm"}, "\x1b\\[0;3[0-9]"),
                      ({"TERM": "xterm", "COLORTERM": "truecolor"}, "38;5;"),
                      ({"TERM": "dumb"}, None), ({"TERM": ""}, None),
                      ({"TERM": "xterm-256color", "NO_COLOR": "1"}, None)):
        text = screen.run(*args, env=env)[1]
        ok(re.search(form, text) if form else "\x1b" not in text,
           "colours with %s" % env, repr(text[:300]))
        looks[str(env)] = screen.plain(text)
    text = screen.run(*args, env={"TERM": "xterm", "LC_ALL": "C"})[1]
    ok(text.isascii(), "no block characters in the C locale")
    for color, want in (("256", b"48;5;"), ("16", b"\033[0;3"), ("never", None)):
        out = run(*args, "--color", color).stdout
        ok(want in out if want else b"\033" not in out, "--color " + color)


def size_of(png):
    return struct.unpack(">II", png[16:24])


@needs(shutil.which("gnuplot"), "gnuplot is not installed")
def test_pictures():
    nasty = samples.small().replace(
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192, path=b"[heap]"),
        r.area(samples.T0, samples.PID, "heap", 0, 1, 4096, 8192,
               path=b"`touch x`'\"%s$(id)\\n\xff")).replace(
        r.target(samples.T0, samples.PID, b"x"),
        r.target(samples.T0, samples.PID, b"`touch y`'%d"))
    with Directory() as d:
        for suffix in "png", "pdf", "svg":
            for what, data in (("main", samples.main()), ("nasty", nasty)):
                run("report", "heatmap", "-o", d.path(what + "." + suffix), "-i", "-", stdin=data, cwd=d.name)
        made = sorted(os.listdir(d.name))
        ok(len(made) == 6, "names are not commands", made)
        words = " ".join(forms.svg_texts(d.read("main.svg")))
        ok(all(w in words for w in ("redis-new (4242)", "41.7 TiB not mapped",
                                    "[heap]", "0x7f0000000000", "time, s",
                                    "100 %", "64.0 MiB", "stack")),
           "labels of a picture", words)
        words = "".join(xml.fromstring(d.read("nasty.svg")).itertext())
        ok("\u2019touch x\u2019\u2019\"%s$" in words and "\u2019touch y\u2019\u2019%d (4242)" in words,
           "names are shown as they are, but for quotes", words[-600:])
        ok(size_of(d.read("main.png")) == (1200, 1400) and
           size_of(d.read("nasty.png")) == (1200, 700), "a map for each process")
        fails(run("report", "heatmap", "-o", d.path("no.png"), "--size",
                  "640x400", "-i", "-", stdin=samples.main()),
              "two maps in too small a picture", "--pid")
        ok(not os.path.exists(d.path("no.png")), "no picture after a failure")
