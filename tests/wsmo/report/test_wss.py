# SPDX-License-Identifier: GPL-2.0
"""report wss: percentiles, order, bars, the picture."""
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess

import forms
import records as r
import samples
import screen
from command import Directory, fails, needs, ok, parsed, run

SEC = samples.SEC
MIB = samples.MIB


def recording(sizes, cls="all", window_us=1000000, proc=True):
    """A recording with an interval a second, its ends a tenth below and above."""
    out = r.header(0) + r.target(1, 7, b"sized")
    for i, size in enumerate(sizes):
        out += r.wss((i + 1) * SEC, 7, cls, size, size - size // 10,
                     size + size // 10, 1 << 40, window_us=window_us)
        if proc:
            out += r.proc((i + 1) * SEC, 7, 900 * MIB, 0, 1 << 40)
    return out + r.end((len(sizes) + 1) * SEC)


def lines(data, *args):
    return parsed(run("report", "wss", "--json", "-i", "-", *args, stdin=data))


def test_percentiles():
    rng = random.Random(7)
    for n in (1, 2, 3, 4, 10, 99, 100, 101, 1000):
        sizes = [rng.randrange(1, 1 << 30) for _ in range(n)]
        want = ",".join(map(str, range(101)))
        got = []
        for part in (range(0, 32), range(32, 64), range(64, 96), range(96, 101)):
            got += lines(recording(sizes), "--percentiles=" +
                         ",".join(map(str, part)))
        right = [x for x in got if
                 sum(s <= x["bytes"] for s in sizes) * 100 >= x["percentile"] * n and
                 sum(s < x["bytes"] for s in sizes) * 100 <= x["percentile"] * n and
                 sizes[round(x["t"]) - 1] == x["bytes"] and
                 x["low"] == x["bytes"] - x["bytes"] // 10]
        ok(len(got) == 101 == len(right) and got[0]["bytes"] == min(sizes) and
           got[100]["bytes"] == max(sizes), "percentiles of %d intervals" % n,
           [x for x in got if x not in right], want)
    got = lines(samples.main(), "--percentiles")
    ok([x["percentile"] for x in got] == 5 * [0, 25, 50, 75, 100] and
       {x["type"] for x in got} == {"wss_percentile"}, "of each target and class", got)
    got = lines(samples.main(), "--percentiles=50", "--class", "heap", "--time", "2,")
    ok(len(got) == 1 and got[0]["bytes"] == 32 * MIB, "filters hold for them", got)


def test_order():
    sizes = [5, 3, 9, 1, 7]
    got = [x["bytes"] for x in lines(recording(sizes), "--sort", "size")]
    ok(got == sorted(sizes), "--sort size", got)
    got = [x["bytes"] for x in lines(recording(sizes), "--sort", "time")]
    ok(got == sizes, "--sort time", got)
    got = [(x["pid"], x["class"], x["bytes"])
           for x in lines(samples.main(), "--sort", "size")]
    groups = [g[:2] for i, g in enumerate(got) if not i or got[i - 1][:2] != g[:2]]
    ok(len(groups) == len(set(groups)) == 5, "classes stay together", groups)


def test_bars():
    data = recording([100 * MIB, 50 * MIB, 0], proc=False)
    for locale, low, high in (("C.UTF-8", "\u2588", "\u2591"), ("C", "#", "-")):
        out = run("report", "wss", "-i", "-", stdin=data,
                  env={"LC_ALL": locale}).stdout.decode()
        got = [line.split("MiB")[-1].strip() for line in out.splitlines()[1:3]]
        # 110 MiB is 10 columns, 90 are 8
        ok(got == [8 * low + 2 * high, 4 * low + high], "bars in " + locale, out)
    with Directory() as d:
        name = d.write("data", data)
        for columns in (80, 100, 200):
            out = screen.run("report", "wss", "-i", name, columns=columns)[1]
            widths = [len(line.rstrip()) for line in out.splitlines()]
            ok(min(columns, 130) - 10 <= max(widths) <= columns,
               "as wide as %d columns" % columns, max(widths), out)


def test_refused():
    for args, word in ((("--percentiles=101",), "percentile"),
                       (("--percentiles=1,",), "percentile"),
                       (("--percentiles=x",), "percentile"),
                       (("--percentiles=" + ",".join(["1"] * 33),), "at most")):
        res = run("report", "wss", *args, "-i", "-", stdin=samples.main())
        ok(res.returncode == 2 and word in res.stderr.decode() and
           not res.stdout, "refused: " + " ".join(args), res.stderr)


@needs(shutil.which("gnuplot"), "gnuplot is not installed")
def test_picture(d):
    run("report", "wss", "-o", d.path("w.svg"), "-i", "-", stdin=samples.main())
    text = " ".join(forms.svg_texts(d.read("w.svg")))
    ok(all(w in text for w in ("redis-new (4242) working set, window 1 s",
                               "resident (4242)", "time, s", "size, MiB",
                               "95 % interval", "(77)")), "its labels", text)
    run("report", "wss", "-o", d.path("h.svg"), "--class", "heap", "-i", "-",
        stdin=samples.main())
    text = " ".join(forms.svg_texts(d.read("h.svg")))
    ok("(4242) heap" in text and "working set" not in text, "--class", text)

    run("report", "wss", "-o", d.path("c.svg"), "-i", "-", "--size",
        "1000x600", stdin=recording([100 * MIB, 200 * MIB]))
    svg = d.read("c.svg").decode()
    # the band runs along the upper ends and back along the lower ones
    band = re.findall(r"points = '([^']*)'", svg) or \
        re.findall(r"<polygon[^>]*points *= *['\"]([^'\"]*)", svg)
    points = [tuple(map(float, p.split(","))) for p in band[0].split()]
    ys = [y for _, y in points]
    # the four ends are 90, 110, 180 and 220 MiB: equal steps, equal distances
    y = sorted(set(ys), reverse=True)
    ok(len(y) == 4 and abs((y[0] - y[1]) / (y[2] - y[3]) - 0.5) < 0.02 and
       abs((y[0] - y[2]) / (y[1] - y[3]) - 90 / 110) < 0.02,
       "the band is the interval", points)

    fails(run("report", "wss", "-o", d.path("n.png"), "--time", "90,", "-i",
              "-", stdin=samples.main()), "nothing to draw", "--time")
    many = r.header(0) + b"".join(
        r.wss(SEC, pid, "all", 1, 1, 1, 1) for pid in range(1, 10))
    many += r.end(2 * SEC)
    fails(run("report", "wss", "-o", d.path("n.png"), "-i", "-", stdin=many),
          "too many curves", "9 curves", "--pid")
    ok(not os.path.exists(d.path("n.png")), "no picture after a failure")


def test_odd_gnuplots():
    """Other programs of this name in PATH: no waiting, and no picture"""
    for body, said in (("exit 3", "gnuplot failed"), ("kill -9 $$", "gnuplot failed"), ("exit 0", "gnuplot drew nothing"),
                       ("cat >/dev/null; exec sleep 1000", "gnuplot hangs"),
                       ("exec >&-; exec sleep 1000", "gnuplot hangs"), ("sleep 1000 & echo $! >pid; echo picture", None)):
        with Directory() as d:
            d.write("gnuplot", b"#!/bin/sh\n%s\n" % body.encode())
            os.chmod(d.path("gnuplot"), 0o755)
            try:
                res = run("report", "wss", "-o", d.path("w.svg"), "-i", "-", stdin=samples.main(), cwd=d.name, timeout=60,
                          stderr=subprocess.DEVNULL if said is None else subprocess.PIPE,
                          env={"PATH": d.name + ":" + os.environ["PATH"]})
                name = "a gnuplot that does: " + body
                if said is None:
                    ok(not res.returncode and d.read("w.svg") == b"picture\n", name, res)
                else:
                    fails(res, name, said)
                    ok(not os.path.exists(d.path("w.svg")), "  no picture")
            finally:
                with contextlib.suppress(OSError):
                    os.kill(int(d.read("pid")), signal.SIGKILL)


@needs(shutil.which("gnuplot"), "gnuplot is not installed")
def test_ignored_children(d):
    """Who ignores SIGCHLD, as some daemons do, gets a picture, too."""
    res = run("report", "wss", "-o", d.path("w.svg"), "-i", "-", stdin=samples.main(), timeout=60,
              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    ok(res.returncode == 0 and d.read("w.svg").startswith(b"<?xml"), "SIGCHLD is ignored", res)
