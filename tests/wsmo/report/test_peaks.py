# SPDX-License-Identifier: GPL-2.0
"""report peaks: golden output, filters, names of real functions, other views."""
import json
import random
import re
import subprocess

import forms
import records as r
import samples
from command import Directory, golden, ok, plotted, run
from recorder import STACKED, Program, fake, peaks, record

SEC = 10**9
NO_NAMES = b"wsmo: no names from 1 file, missing or not as recorded: /nowhere/server\n"


def report(*args, data=None):
    return run("report", "peaks", "-i", "-", *args,
               stdin=samples.stacks() if data is None else data)


def objects(*args, data=None):
    return [json.loads(line) for line in report("--json", *args, data=data).stdout.splitlines()]


def test_golden_files(accept):
    data = samples.stacks()
    for name, args in (("peaks.txt", ("report", "peaks")), ("peaks.raw", ("report", "peaks", "--raw")),
                       ("peaks.folded", ("report", "peaks", "--folded")),
                       ("peaks.wss", ("report", "wss")), ("peaks.chrome", ("export", "chrome"))):
        res = run(*args, "-i", "-", stdin=data)
        golden(name, res.stdout, accept, res.returncode == 0 and
               res.stderr == (NO_NAMES if "peaks" in args else b""), res.stderr)
    golden("peaks.json", run("report", "peaks", "--json", "-i", "-", stdin=data).stdout, accept)


def test_folded():
    """Equal stacks are one, within a peak and across."""
    lines = objects()
    kinds = [line["type"] for line in lines]
    ok(kinds == 4 * ["peak"] + 2 * ["mark"] + 8 * ["stack"] + 9 * ["frame"], "what is there",
       kinds)
    of = [(s["reason"], s["number"], s["stack"], s["threads"]) for s in lines
          if s["type"] == "stack"]
    ok(of == [("peak", n, *x) for n in (1, 2) for x in ((1, 2), (2, 1), (None, 1))] +
       [("mark", 1, 3, 1), ("mark", 1, 4, 1)], "stacks of each", of)
    frames = {}
    for f in lines:
        if f["type"] == "frame":
            frames.setdefault(f["stack"], []).append((f["path"], f["offset"]))
    ok(frames[1] == [("/nowhere/server", 0x1234), ("/nowhere/server", 0x2000),
                     ("/nowhere/lib\x1b;.so (deleted)", 7)],
       "offsets in the files, those told late as well", frames)
    res = report("--folded")
    counts = [int(line.rsplit(b" ", 1)[1]) for line in res.stdout.splitlines()]
    ok(sum(counts) == 5, "each thread counts once in --folded", res.stdout)


def test_filters():
    def numbers(*args):
        return [(x["type"][0], x["number"]) for x in objects(*args)
                if x["type"] in ("peak", "mark")]

    ok(numbers("--time", "6,6.8") == [("p", 3), ("m", 1)], "--time of peaks and marks",
       numbers("--time", "6,6.8"))
    ok(numbers("--time", "4,4.2") == [("p", 1), ("p", 2)], "a peak that lasts",
       numbers("--time", "4,4.2"))
    ok(numbers("--time", "100,") == [("p", 4)], "one without an end", numbers("--time", "100,"))
    ok(numbers("--pid", "77") == [("m", 1), ("m", 2)], "--pid: marks are of all",
       numbers("--pid", "77"))
    ok({x["pid"] for x in objects("--pid", "77") if x["type"] == "stack"} == {77},
       "--pid of stacks")


def test_other_views():
    """Peaks have the same numbers in the map, the pictures and the page."""
    data = samples.stacks()
    lines = run("report", "heatmap", "--size", "100x20", "-i", "-", stdin=data).stdout.decode()
    where = [line for line in lines.splitlines() if line.startswith("peaks, dips, marks")]
    ok(len(where) == 1 and where[0].split()[3:] == ["^p1", "^d3", "^m1", "^m2"], "on the map",
       lines)
    with Directory() as d:
        for *args, mark in ("wss", "-o", b"load; begins"), ("heatmap", "-o", b"mark 1"):
            res = run("report", *args, d.path("a.svg"), "-i", "-", stdin=data)
            svg = d.read("a.svg") if res.returncode == 0 else b""
            ok(all(b">%s" % word in svg for word in (b"peak 1", b"dip 3", b"peak 4")) and
               mark in svg, "in the picture of " + args[0],
               res.stderr, svg[-3000:])
    page = run("report", "html", "-i", "-", stdin=data).stdout.decode()
    found = forms.page_data(page)
    text = report().stdout.decode()
    ok(found["stacks"] == text and [p["number"] for p in found["peaks"]] == [1, 2, 3, 4] and
       found["peaks"][3]["to"] is None and
       [m["text"] for m in found["marks"]][0] == "load; begins \xe9", "in the page",
       found["peaks"], found["marks"], found["stacks"])
    page = run("report", "html", "-i", "-", stdin=samples.few())
    ok(b'"stacks":""' in page.stdout and not page.stderr.count(b"peaks"), "a page without",
       page.stderr)


def test_shaded():
    """The points of a peak are in its band: it begins and ends half an interval before."""
    data = r.header(0, cpu_permille=30, peak=(1, 30, 5000, 250)) + r.target(1, 7, b"x")
    for t in range(1, 9):
        data += r.snapshot(t * SEC, 7, [r.region(1 << 30, 2 << 30, 1, 1, "anon", 0, 0)])
        data += r.wss(t * SEC, 7, "all", (9 if t in (4, 5) else 1) << 20, 0, 10 << 20, 20 << 20)
        if t in (4, 6):
            data += r.peak(t * SEC, 7, 1, 0, t == 6, 1, 4 * SEC, 6 * SEC * (t == 6), size=9 << 20)
    data += r.end(9 * SEC)
    told = plotted(data, ("report", "wss"), ("report", "heatmap"))
    band = re.search(r"rectangle from ([0-9.]+), graph 0 to ([0-9.]+), graph 1 behind fc rgb '#fdeed8'", told)
    label = re.findall(r"label ['\"]peak 1['\"] at ([0-9.]+)", told)
    ok(band and band.groups() == ("3.5", "5.5") and label == ["3.5", "3.5"],
       "the band is around the points of the peak", band, label)


def early(sizes, found=(), **attrs):
    """A recording of these working sets in MiB, one a second, and of peaks (when, until)"""
    mib, sec = 1 << 20, 10**9
    attrs = {"cpu_permille": 30, "peak": (1, 30, 5000, 250), **attrs}
    out = [r.header(0, **attrs), r.target(1, 7, b"x")]
    for i, size in enumerate(sizes):
        t = (i + 1) * sec
        for n, (begin, end) in enumerate(found, 1):
            if i + 1 in (begin, end):
                out.append(r.peak(t, 7, n, 0, i + 1 == end, start_ns=begin * sec,
                                  end_ns=t * (i + 1 == end), size=size * mib))
        if size == "exec":
            out.append(r.target(t, 7, b"y", 1))
            continue
        out.append(r.wss(t, 7, "all", size * mib, (size - 1) * mib, (size + 1) * mib, 400 * mib))
        # other classes and windows must have no effect
        out.append(r.wss(t, 7, "text", size * mib * (1 + i % 2 * 9), 0, mib, 400 * mib))
        out.append(r.wss(t, 7, "all", 300 * mib * (i % 3), 0, mib, 400 * mib, 10 * sec // 1000))
    lines = objects(data=b"".join(out) + r.end(10**12))
    return [(p["t"], p["duration_ns"], p["found"], p["number"]) for p in lines if p["type"] == "peak"]


def test_afterwards():
    """Peaks that the module could not find yet, and no others"""
    usual = [12, 13, 12, 11]
    start = [12, 12, 100, 102, 12] + 10 * usual
    ok(early(start) == [(3.0, 2 * 10**9, "afterwards", None)], "a burst among the first", early(start))
    some = start[:11] + [80, 90, 12] + 10 * usual
    ok(early(some, [(12, 14)]) == [(3.0, 2 * 10**9, "afterwards", None),
                                   (12.0, 2 * 10**9, "live", 1)], "beside one that was found",
       early(some, [(12, 14)]))
    ok(early(some, [(3, 5), (12, 14)]) == [(3.0, 2 * 10**9, "live", 1), (12.0, 2 * 10**9, "live", 2)],
       "none twice", early(some, [(3, 5), (12, 14)]))
    ok(not early([1, 100, 90] + 10 * usual), "how a program starts")
    ok(not early([12] * 40 + [100] + 10 * usual), "what the module judged itself")
    ok(not early(start, peak=(2, 30, 5000, 250)) and not early(start, peak=(0, 30, 5000, 250)),
       "with fano, and without any: none")
    ok(early([100] * 20 + ["exec"] + start) == [(24.0, 2 * 10**9, "afterwards", None)],
       "each program by itself", early([100] * 20 + ["exec"] + start))
    data = r.header(0, cpu_permille=30, peak=(1, 30, 5000, 250)) + b"".join(
        r.wss((i + 1) * 10**9, 7, "all", (50 if i == 2 else 5) << 20, (49 if i == 2 else 4) << 20,
              51 << 20, 99 << 20) for i in range(9)) + r.end(10**11)
    text = report(data=data).stdout.decode().splitlines()
    ok(len(text) == 2 and text[0].endswith("FOUND") and text[1].split()[-1] == "afterwards",
       "as people read it", text)


def test_from_nothing():
    """The size of a peak is that at its start, even if it is 0."""
    start, end = (r.peak(t * 10**9, 7, 1, 0, t == 5, -1, 3 * 10**9, 5 * 10**9 * (t == 5), size=size)
                  for t, size in ((3, 0), (5, 8 << 20)))
    for edges, want in ((start + end, 0), (end, 8 << 20)):
        lines = objects(data=r.header(0) + r.target(0, 7, b"x") + edges + r.end(9 * 10**9))
        ok([x["bytes"] for x in lines] == [want], "a peak down to %d bytes" % want, lines)


def test_damage():
    """Any file: report the valid part, with messages."""
    good = samples.stacks()
    rng = random.Random(11)
    wrong = []
    for n in range(400):
        broken = bytearray(good if n % 4 else good[:rng.randrange(200, len(good))])
        for _ in range(rng.choice((1, 1, 2, 16)) if n % 4 else 0):
            bit = rng.randrange(200 * 8, len(broken) * 8)
            broken[bit // 8] ^= 1 << bit % 8
        form = ((), ("--json",), ("--folded",), ("--csv",))[n // 4 % 4]
        res = report(*form, data=bytes(broken))
        said = res.stderr.splitlines()
        if res.returncode not in (0, 1) or res.returncode and not said or \
                not all(line.startswith(b"wsmo: ") for line in said):
            wrong.append((n, res.returncode, res.stderr[-2000:]))
    ok(not wrong, "damaged files", *wrong)
    for record, words in ((r.stack(1, 7, 7, 1, [1], nr=2), b"more frames than fit"),
                          (r.stack(1, 7, 7, 1, [1], comm=16 * b"x"), b"a name without an end"),
                          (r.record(r.MARK, 1, 8 * b"x" + 8 * b"y"), b"a text without an end")):
        res = report(data=r.header(0) + record)
        ok(res.returncode == 1 and words in res.stderr, "refused: " + words.decode(), res)


def test_nothing():
    for args, words in ((), b"no peaks and no marks"), (("--folded",), b"no stacks"):
        res = report(*args, data=samples.few())
        ok(res.returncode == 0 and words in res.stderr, "nothing there %s" % (args,), res)


def test_many():
    """A thousand peaks with sixteen stacks each take seconds at most."""
    out = [r.header(0) + r.target(1, 7, b"x")]
    for n in range(1, 1001):
        t = n * 10**9
        out.append(r.peak(t, 7, n))
        out += [r.stack(t, 7, 7 + i, n, [4096 * (n % 50), i % 3], threads=16)
                for i in range(16)]
    data = b"".join(out) + r.end(2000 * 10**9)
    lines = objects(data=data)
    stacks = [x for x in lines if x["type"] == "stack"]
    ok(len(stacks) == 3000 and sum(x["threads"] for x in stacks) == 16000 and
       max(x["stack"] for x in stacks) == 150, "many peaks", len(stacks))


def test_real():
    """Functions and lines of a real program; none if another file has replaced it."""
    with fake(script=peaks(lambda t, pid: r.area(t, pid, "heap", 0, 1, 4096, 8192),
                           lambda t, pid: r.peak(t, pid, 1))) as (d, m):
        with Program(d, 2, 1) as p:
            record(d, m, p.pid, "--mark-at", "0.1")
        data = d.read("data")
        there = objects(data=data)
        text = report(data=data).stdout.decode()
        lines = report("--folded", data=data).stdout.decode().splitlines()
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", p.file], check=True)
        res = report(data=data)
    names = [f["function"] for f in there if f["type"] == "frame" and f["stack"] == 1]
    ok(names[:6] == ["innermost", "inlined", "work_here", "descend", "descend", "main"],
       "functions, inlined ones as well", there)
    source = open(STACKED).read().splitlines()
    lines_of = [source[f["line"] - 1].strip() for f in there
                if f["type"] == "frame" and f["stack"] == 1 and f["frame"] in (1, 2)]
    ok(lines_of == ["innermost();", "inlined();"], "and where they were called", lines_of)
    first = [f for f in there if f["type"] == "frame"][0]
    ok(first["file"].endswith("tests/lib/stacked.c") and first["line"] > 30 and
       first["path"].endswith("/stacked"), "source lines", first)
    ok("innermost (stacked.c:" in text and ", inlined)" in text and "again, wait_here (stacked.c:" in text and
       "2 of 3 threads of" in text, "as people read it", text)
    ok(any(line.startswith("stacked;") and line.endswith(";descend;descend;work_here;inlined;innermost 2")
           for line in lines), "as flame graphs are made of", lines)
    ok(b"/stacked+0x" in res.stdout and b"stacked.c" not in res.stdout and
       b"no names from" in res.stderr and b"/stacked" in res.stderr,
       "another file in its place: no names", res.stdout, res.stderr)


def test_optimized():
    """Functions inlined from another unit, as link time optimization does."""
    with fake(script=peaks(lambda t, pid: r.area(t, pid, "heap", 0, 1, 4096, 8192))) as (d, m):
        with Program(d, 0, 1, options=("-O2", "-flto")) as p:
            record(d, m, p.pid, "--mark-at", "0.1")
        frames = [f for f in objects(data=d.read("data")) if f["type"] == "frame"]
    source = open(STACKED).read().splitlines()
    found = [(f["function"], source[f["line"] - 1].strip()) for f in frames[:3]]
    ok([f[0] for f in found] == ["innermost", "inlined", "work_here"] and
       [f[1] for f in found[1:]] == ["innermost();", "inlined();"],
       "functions inlined at link time", frames)


def test_too_many():
    """More marks than there is room for are not left out silently."""
    marks = b"".join(r.mark(SEC + i, i + 1, b"m") for i in range((1 << 16) + 3))
    for view in "peaks", "wss", "heatmap":
        res = run("report", view, "-i", "-", stdin=r.header(0) + r.target(0, 7, b"x") + marks + r.wss(
            2 * SEC, 7, "all", 4096, 4096, 4096, 4096) + r.snapshot(2 * SEC, 7, [r.region(0, 4096, 1, 1, "heap", 0, 0)]) + r.end(2 * SEC))
        ok(b"3 records of peaks and marks are left out" in res.stderr, view + ": said", res.returncode, res.stderr)
