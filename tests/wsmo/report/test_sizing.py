# SPDX-License-Identifier: GPL-2.0
"""report curve and sizing: curves known in closed form, filters, errors, pictures."""
import re
import math
import os
import random
import shutil
import statistics

import forms
import records as r
import samples
from command import HERE, every, fails, golden, needs, ok, parsed, plotted, run

SEC = samples.SEC
MIB = samples.MIB
PAGE = 4096
WINDOWS = (1, 2, 4, 8, 15, 30, 60, 120)


def recording(size, windows=WINDOWS, seconds=300, width=0.02, pids=(7,), cls="all", rss=None,
              start=0, again=False, first=b"", files=None):
    """size(window, t) is the working set; an interval a second. As in the module, a window
    longer than the recording so far counts from its start. files(window, t) is that of the
    class file, first are records before all others."""
    out = [r.header(0, windows_us=[10**6 * x for x in windows]), first]
    out += [r.target(start * SEC, pid, b"known", 2 if again else 0) for pid in pids]
    for t in range(start + 1, start + seconds + 1):
        for pid in pids:
            for window in windows:
                s = round(size(min(window, t - start), t))
                out.append(r.wss(t * SEC, pid, cls, s, round(s * (1 - width)),
                                 round(s * (1 + width)), 1 << 40, window_us=round(window * 10**6)))
                if files:
                    s = round(files(min(window, t - start), t))
                    out.append(r.wss(t * SEC, pid, "file", s, s, s, 1 << 40,
                                     window_us=round(window * 10**6)))
            if rss:
                out.append(r.proc(t * SEC + 10**6, pid, round(rss(t)), 0, 1 << 40))
    return b"".join(out) + r.end((start + seconds + 1) * SEC)


def lines(view, data, *args):
    return parsed(run("report", view, "--json", "-i", "-", *args, stdin=data))


# Pages each used at random times, RATE times a second: closed forms exist
N, RATE = 20000, 1 / 20


def random_use(window, _=0):
    return N * PAGE * (1 - math.exp(-RATE * window))


# Two sets of pages, used once in 3 and once in 50 seconds
FEW, MANY, SHORT, LONG = 5000, 12000, 3, 50


def two_periods(window, _=0):
    return PAGE * (FEW * min(1, window / SHORT) + MANY * min(1, window / LONG))


def test_curve():
    got = lines("curve", recording(random_use))
    ok([x["window_us"] for x in got] == [10**6 * window for window in WINDOWS] and
       all(abs(x["bytes"] - random_use(x["window_us"] / 1e6)) < 1 and
           x["p5"] == x["p50"] == x["p95"] == x["bytes"] for x in got),
       "a working set that is always the same", got)
    ok(all(abs(x["low"] / x["bytes"] - 0.98) < 1e-6 and abs(x["high"] / x["bytes"] - 1.02) < 1e-6
           for x in got), "has the interval of its estimates")

    # times at which the longest window is complete: 120, ..., 300
    got = lines("curve", recording(lambda window, t: (100 + t) * MIB if window else 0, width=0))
    ok(all(x["bytes"] == 310 * MIB for x in got) and
       got[0]["p5"] == (100 + 129) * MIB and got[0]["p50"] == (100 + 210) * MIB and
       got[0]["p95"] == (100 + 291) * MIB, "means and percentiles are of the same moments", got)
    half = [x["high"] - x["bytes"] for x in got]
    ok(half == sorted(half) and half[0] > 0 and half[-1] > 5 * half[0],
       "long windows tell less of what changes", half)

    noisy = [s * (1 + 0.3 * (-1) ** i) for i, s in enumerate(map(random_use, WINDOWS))]
    data = recording(lambda window, _: noisy[[x for x in range(8) if WINDOWS[x] >= window][0]])
    got = lines("sizing", data)
    sizes = [x["limit"] for x in got]
    rates = [x["refaults_per_s"] for x in got if x["bound"] == ""]
    ok(len(got) > 12 and sizes == sorted(sizes) and
       all(a + 1e-6 >= b for a, b in zip(rates, rates[1:])) and
       rates[0] > 1000 and min(rates[:-1]) > 100,
       "rates never rise with the limit, whatever the noise", rates)


def test_pooled():
    """Estimates of longer windows may be smaller: they are pooled into means, not maxima."""
    told = [x * MIB for x in (10, 30, 20, 40, 38, 36, 50, 60)]
    data = recording(lambda window, _: told[[x for x in range(8) if WINDOWS[x] >= window][0]])
    got = lines("curve", data)
    ok([x["bytes"] for x in got] == [x * MIB for x in (10, 25, 25, 38, 38, 38, 50, 60)],
       "means that fall are pooled", [x["bytes"] / MIB for x in got])
    ok(all(abs(x["low"] / size - 0.98) < 1e-6 and abs(x["high"] / size - 1.02) < 1e-6
           for x, size in zip(got, told)), "their intervals are left alone", got)

    rng, pids = random.Random(1), range(1, 61)
    for name, truth in (("always the same", lambda window: 50 * MIB), ("used at random", random_use)):
        data = recording(lambda window, _: truth(window) * (1 + 0.05 * rng.gauss(0, 1)), seconds=160, pids=pids)
        found = {pid: [] for pid in pids}
        for x in lines("curve", data):
            if x["pid"]:
                found[x["pid"]].append(x["bytes"])
        # if nothing rises, pooling moves the ends apart, but keeps the mean of all windows
        errors = [[sum(of) / sum(map(truth, WINDOWS)) - 1] for of in found.values()]
        if truth is random_use:
            errors = [[got / truth(window) - 1 for got, window in zip(of, WINDOWS)] for of in found.values()]
        off = [statistics.mean(x) / (statistics.stdev(x) / math.sqrt(len(x))) for x in zip(*errors)]
        ok(all(len(of) == 8 and of == sorted(of) for of in found.values()) and
           all(abs(x) < 3 for x in off), "the mean of many curves is the truth: " + name,
           "standard errors off:", off)
        limits = [x["limit"] for x in lines("sizing", data, "--pid", "1") if not x["mark"]]
        ok((min(limits), max(limits)) == (found[1][0], found[1][-1]), "limits are of the same curve",
           limits, found[1])


def test_closed_forms():
    data = recording(random_use)
    got = [x for x in lines("sizing", data) if x["limit"] < 0.95 * N * PAGE]
    wrong = []
    for x in got:
        left = N - x["limit"] / PAGE
        rate, window = RATE * left, -math.log(left / N) / RATE
        if abs(x["refaults_per_s"] / rate - 1) > 0.05 or abs(x["keeps_us"] / 1e6 / window - 1) > 0.05 \
                or not x["refaults_low_per_s"] <= rate <= x["refaults_high_per_s"]:
            wrong.append((x, rate, window))
    ok(len(got) >= 12 and not wrong, "pages used at random: rate and time within 5 %", wrong)
    misses = [(x["missed"], x["refaults_per_s"] / (random_use(1) / PAGE)) for x in got]
    ok(all(abs(a - b) < 1e-3 for a, b in misses), "missed: of what the shortest window saw", misses)

    data = recording(two_periods, windows=(1, 2, 3, 6, 12, 25, 50, 100))
    few, many = FEW * PAGE, MANY * PAGE
    wrong = []
    # below the first set both are missed, then only the second
    for limit, rate in ((0.6 * few, FEW / SHORT + MANY / LONG), (few + 0.2 * many, MANY / LONG),
                        (few + 0.5 * many, MANY / LONG), (few + 0.9 * many, MANY / LONG)):
        x = lines("sizing", data, "--limit", str(round(limit)))[0]
        if abs(x["refaults_per_s"] / rate - 1) > 0.01:
            wrong.append((x, rate))
    ok(not wrong, "two periods: the rate is a step function", wrong)
    # all of it is on a straight line: the error left is of the number of sample pages,
    # each of which stands for as much as the estimates' intervals of 2 % imply
    x = lines("sizing", data, "--limit", str(round(few + 0.4 * many)))[0]
    piece = (0.02 / 1.96) ** 2 * (few + many)
    half = 1.96 * math.sqrt(piece * (25 - 12) * many / LONG) / (25 - 12) / PAGE
    ok(abs((x["refaults_high_per_s"] - x["refaults_low_per_s"]) / 2 / half - 1) < 0.02 and 12e6 < x["keeps_us"] < 25e6,
       "the interval of a rise", x, half)
    x = lines("sizing", data, "--max-refaults", "300")
    knee = [y for y in x if y["mark"] == "enough"]
    ok(len(knee) == 1 and few <= knee[0]["limit"] <= 1.3 * few, "the knee is where one set fits",
       knee)
    got = [x["limit"] for x in lines("sizing", data, "--max-refaults", "239") if x["mark"]]
    ok(got and got[0] > 0.95 * (few + many), "and where both do", got)

    wide = recording(two_periods, windows=(1, 2, 3, 6, 12, 25, 50, 100), width=0.1)
    x = lines("sizing", wide, "--limit", str(round(few + 0.1 * many)))[0]
    y = lines("sizing", wide, "--limit", str(round(few + 0.04 * many)))[0]
    ok(x["refaults_per_s"] < 400 and x["refaults_high_per_s"] > 1000 and y["refaults_per_s"] > 1000 and
       y["refaults_low_per_s"] < 400, "beside a step the interval has both sides of it", x, y)

    x = lines("sizing", data, "--limit", "1M,1G")
    ok(x[0]["bound"] == ">" and x[0]["refaults_per_s"] is None and x[0]["refaults_high_per_s"] is None and
       x[0]["refaults_low_per_s"] > 0.9 * (FEW / SHORT + MANY / LONG) and x[0]["keeps_us"] is None,
       "less than the shortest window's set: at least so many", x[0])
    ok(x[-1]["bound"] == "<" and x[-1]["refaults_per_s"] is None and x[-1]["refaults_low_per_s"] == 0 and
       x[-1]["refaults_high_per_s"] is not None and x[-1]["missed"] is None,
       "more than the longest window's set: less than so many", x[-1])


def test_growth():
    # 50 pages a second that are used once, beside pages used at random
    def growing(window, _):
        return random_use(window) + 50 * PAGE * window
    data = recording(growing, rss=lambda t: 90 * MIB + 50 * PAGE * t, width=0)
    plain = recording(random_use, width=0)
    for share in (0.3, 0.6, 0.8):
        want = RATE * N * (1 - share)
        window = -math.log(1 - share) / RATE
        limit = str(round(growing(window, 0)))
        x = lines("sizing", data, "--limit", limit)[0]
        ok(abs(x["refaults_per_s"] / want - 1) < 0.05, "first uses are no refaults: %.1f" % share,
           x, want)
    knees = [[x["limit"] for x in lines("sizing", of, "--max-refaults", "300") if x["mark"]][0]
             for of in (data, plain)]
    window = -math.log(300 / RATE / N) / RATE
    ok(abs(knees[0] / growing(window, 0) - 1) < 0.05 and abs(knees[1] / random_use(window) - 1) < 0.05,
       "nor for the knee", knees, growing(window, 0), random_use(window))
    text = run("report", "sizing", "-i", "-", stdin=data).stdout.decode()
    ok("200.0 KiB a second for the first time" in text, "they are told", text)
    text = run("report", "sizing", "-i", "-", stdin=plain).stdout.decode()
    ok("first time" not in text and "known (7)" in text, "if there are any", text)


def test_together():
    alone = lines("sizing", recording(random_use), "--limit", "30M")[0]
    got = lines("sizing", recording(random_use, pids=(7, 8)), "--limit", "30M,60M")
    ours = [x for x in got if x["pid"] is None]
    ok({x["pid"] for x in got} == {7, 8, None} and len(ours) == 3 and
       abs(ours[1]["refaults_per_s"] / alone["refaults_per_s"] - 2) < 0.01 and
       ours[1]["refaults_high_per_s"] / ours[1]["refaults_per_s"] <
       alone["refaults_high_per_s"] / alone["refaults_per_s"], "two processes share a limit", got)
    curves = lines("curve", recording(random_use, pids=(7, 8)), "--pid", "8")
    ok({x["pid"] for x in curves} == {8}, "--pid leaves no sum", curves)
    data = recording(random_use, cls="heap")
    ok(not lines("curve", data) and len(lines("curve", data, "--class", "heap")) == 8,
       "the whole target, or --class")
    got = lines("curve", recording(random_use), "--window", "1,8,60")
    ok([x["window_us"] for x in got] == [1000000, 8000000, 60000000], "--window", got)
    got = lines("curve", recording(lambda window, t: t * MIB, width=0), "--time", "200,220")
    ok(len(got) == 7 and got[0]["p5"] == 201 * MIB and got[0]["bytes"] == 210 * MIB,
       "--time; windows longer than it allows are left out", got)


def test_whole_windows():
    short = recording(random_use, seconds=90)
    res = run("report", "curve", "--json", "-i", "-", stdin=short)
    got = parsed(res)
    ok([x["window_us"] for x in got] == [10**6 * window for window in WINDOWS[:-1]] and res.returncode == 0 and
       b"windows above 1m00s, up to 2m00s, do not count" in res.stderr and
       all(abs(x["bytes"] - random_use(x["window_us"] / 1e6)) < 1 for x in got),
       "windows that are not whole do not count", res)
    def with_target(flags, name):
        """The size rises with time; at 200 s there is another TARGET record."""
        data = recording(lambda window, t: t * MIB, seconds=340, width=0)
        first = r.wss(200 * SEC, 7, "all", 200 * MIB, 200 * MIB, 200 * MIB, 1 << 40,
                      window_us=10**6)
        assert data.count(first) == 1
        return data.replace(first, r.target(200 * SEC, 7, name, flags) + first)
    got = lines("curve", with_target(2, b"known"))
    ok(len(got) == 8 and got[0]["bytes"] == 230 * MIB, "a reader that comes back changes nothing",
       got)
    got = lines("curve", with_target(1, b"other"))
    ok(len(got) == 7 and got[0]["bytes"] == 300 * MIB, "another program begins anew", got)


def test_errors():
    one = recording(random_use, windows=(1,))
    for view in ("curve", "sizing"):
        fails(run("report", view, "-i", "-", stdin=one), view + " of one window",
              "takes 3 windows", "wsmo record --sizing")
        fails(run("report", view, "-i", "-", stdin=recording(random_use, windows=(1, 2))),
              view + " of two", "takes 3 windows")
        fails(run("report", view, "-i", "-", stdin=recording(random_use, seconds=3)),
              view + " of three seconds", "wsmo record --sizing")
        fails(run("report", view, "-i", "-", stdin=r.header(0) + r.end(SEC)),
              view + " of nothing", "no working set")
        fails(run("report", view, "--pid", "99", "-i", "-", stdin=recording(random_use)),
              view + " of nobody", "no working set")
        fails(run("report", view, "--window", "1,2,3", "-i", "-", stdin=recording(random_use)),
              view + " of a window that is not there", "3 windows")
    twice = recording(random_use)
    head = twice.index(r.wss(SEC, 7, "all", 0, 0, 0, 0)[:8])
    twice = twice[:head] + b"".join(r.wss(250 * SEC, 7, "all", s, s, s, 1 << 40, window_us=window)
                                    for s in (1, 1 << 63) for window in (0, 10**6, 2 * 10**6)) + \
        twice[head:]
    got = lines("sizing", twice)
    ok(len(got) > 12 and all(x["limit"] > 0 and (x["refaults_per_s"] or 0) >= 0 for x in got),
       "a file that tells the same twice, and a window of nothing", got)
    zero = recording(lambda window, t: 0)
    ok(every(x["refaults_high_per_s"] == 0 for x in lines("sizing", zero) if x["refaults_high_per_s"] is not None),
       "a process that uses nothing", lines("sizing", zero))
    for args, word in ((("--limit", "x"), "'x'"), (("--limit", "0"), "'0'"), (("--limit", ""), "''"),
                       (("--limit", ",".join(["1M"] * 65)), "64"),
                       (("--max-refaults", "0"), "'0'"), (("--max-refaults", "-1"), "'-1'")):
        res = run("report", "sizing", *args, "-i", "-", stdin=b"")
        ok(res.returncode == 2 and word in res.stderr.decode() and not res.stdout,
           "refused: sizing " + " ".join(args)[:40], res.stderr)


@needs(shutil.which("gnuplot"), "gnuplot is not installed")
def test_pictures(d):
    for name, view, size in (("curve", "curve", random_use), ("sizing", "sizing", random_use),
                             ("steps", "sizing", two_periods)):
        res = run("report", view, "-o", d.path(name + ".svg"), "-i", "-", stdin=recording(size))
        ok(res.returncode == 0 and not res.stdout and not res.stderr, name + ".svg", res)
    for name, *words in (("curve", "known (7)", "window", "2m00s", "working set, MiB",
                          "95 % interval"),
                         ("sizing", "known (7)", "limit, MiB", "refaults a second", "ends at 100")):
        text = " ".join(forms.svg_texts(d.read(name + ".svg")))
        ok(all(word in text for word in words), "labels of %s" % name, text)
    fails(run("report", "sizing", "-o", d.path("n.png"), "-i", "-",
              stdin=recording(random_use, windows=(1,))), "no picture of one window", "3 windows")
    fails(run("report", "curve", "-o", d.path("n.png"), "-i", "-",
              stdin=recording(random_use, pids=range(1, 10), seconds=200)),
          "nor of ten curves", "10 curves")
    ok(not os.path.exists(d.path("n.png")), "nothing is left of those")


def test_real():
    """patterns zipf, recorded: the number of distinct pages of 2000 draws a second is known. In
    the first 15 s the machine was too busy for so many: windows that reach back so far are left
    out."""
    data = os.path.join(HERE, "recordings", "windows.data")
    got = parsed(run("report", "curve", "--json", "--window", "3,4,6,9,12,16", "-i", data,
               "--time", "31,"))
    pages = 64 * MIB // PAGE
    chance = [math.log1p(1 / rank) / math.log(pages + 1) for rank in range(1, pages + 1)]
    wrong = []
    for x in got:
        truth = PAGE * sum(1 - (1 - p) ** (2e-3 * x["window_us"]) for p in chance)
        if not x["low"] <= truth <= x["high"] or abs(x["bytes"] / truth - 1) > 0.1:
            wrong.append((x, truth))
    ok(len(got) == 6 and not wrong, "a real recording: the truth is within the intervals", wrong)


def test_golden_files(accept):
    random_uses = recording(random_use, rss=lambda t: 90 * MIB)
    steps = recording(two_periods, pids=(7, 8))
    data = os.path.join(HERE, "recordings", "windows.data")
    for name, args, stdin in (("random", ("-i", "-"), random_uses), ("steps", ("-i", "-"), steps),
                              ("real", ("-i", data), b"")):
        for view in ("curve", "sizing"):
            res = run("report", view, *args, stdin=stdin)
            golden("sizing/%s.%s.txt" % (name, view), res.stdout, accept,
                   not res.returncode and not res.stderr, res.stderr)


def test_dot():
    """The dot of a picture is at the end of its band on the dashed line."""
    with open(os.path.join(HERE, "recordings", "windows.data"), "rb") as f:
        data = f.read()
    told = plotted(data, ("report", "sizing", "--max-refaults", "700"))
    dots = re.findall(r"\$points\d+ << END\n(\S+) (\S+)\n", told)
    line = re.findall(r"set arrow from graph 0, first (\d+) ", told)
    ok(dots and line == ["700"] and all(630 < float(y) <= 700 for _, y in dots) and
       "enough" in told and "refaults a second (dashed)" in told, "dot, axis and dashed line say the same", dots, line)
