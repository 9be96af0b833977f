# SPDX-License-Identifier: GPL-2.0
"""wsmo diff: means and their intervals, rows, and the verdict of --fail-above."""
import json
import math
import os
import random
import statistics

import records as r
import samples
import test_hot as hot
import test_json
from command import HERE, ok, parsed, run, same_numbers

SEC = samples.SEC
MIB = samples.MIB
A = 0x7f0000000000


def recording(sizes, half=0, window_us=1000000, aggr_us=1000000, cls="heap", comm=b"sized", pid=7):
    """A recording with an interval a second, of a class and of all."""
    out = r.header(0, windows_us=(window_us,), aggr_us=aggr_us) + r.target(1, pid, comm)
    for i, size in enumerate(sizes):
        for name in ("all", cls):
            out += r.wss((i + 1) * SEC, pid, name, size, size - half, size + half, 1 << 40,
                         window_us=window_us)
    return out + r.end((len(sizes) + 1) * SEC)


def diff(d, a, b, *args):
    """Return: {name: row}, the result"""
    res = run("diff", d.write("a", a), d.write("b", b), "--json", *args)
    rows = parsed(res)
    return {row["name"]: row for row in rows}, res


def within(t, freedom):
    """P(|T| <= t), by Simpson's rule"""
    n = 2000
    step = t / n
    total = sum((1 if i in (0, n) else 4 if i % 2 else 2) *
                (1 + (i * step) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(n + 1))
    return 2 * total * step / 3 * math.exp(
        math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)


def test_intervals(d):
    rng = random.Random(3)
    for n, count, half, window in ((5, 5, 0, 1), (32, 32, MIB, 1), (33, 16, 0, 1), (1000, 31, MIB, 1),
                                   (64, 4, 0, 16)):
        a, b = ([rng.randrange(50, 60 + 3 * n) * MIB for _ in range(n)] for _ in range(2))
        row = diff(d, recording(a, half, window * 1000000), recording(b, half, window * 1000000))[0]["total"]
        length = n // count
        parts, sampled = [], []
        for sizes in a, b:
            means = [statistics.mean(sizes[i * length:(i + 1) * length]) for i in range(count)]
            parts.append(statistics.variance(means) / count)
            sampled.append((half / 1.96) ** 2 / n * window)
        variance = sum(parts) + sum(sampled)
        freedom = int(variance ** 2 / sum(p * p / (count - 1) for p in parts))
        t = (row["high"] - row["low"]) / 2 / math.sqrt(variance)
        ok(abs(row["change"] - statistics.mean(b) + statistics.mean(a)) < 2 and
           abs(row["a"] - statistics.mean(a)) < 2 and abs(row["high"] + row["low"] - 2 * row["change"]) < 4 and
           abs(within(t, freedom) - 0.95) < 1e-4,
           "%d moments: the mean of %d batches, Student's t" % (n, count), row, t, freedom)
    row, res = diff(d, recording([MIB] * 20, 0, 16000000), recording([9 * MIB] * 20, 0, 16000000),
                    "--fail-above", "5%")
    ok(row["total"]["low"] is None and row["total"]["above"] == "no" and not res.returncode and
       b"too short" in res.stderr, "no interval of what is too short", row, res.stderr)
    longest = recording([MIB] * 40, 0, 1000000 << 40)
    row, res = diff(d, longest, longest)
    ok(not res.returncode and row["total"]["low"] is None, "a window of centuries", res)
    row, _ = diff(d, recording([MIB] * 40), recording([MIB] * 40))
    ok(row["total"]["low"] == row["total"]["high"] == 0, "nothing changed", row)


def test_verdict(d):
    """The first line says in words what the rows show; then files, subjects and times."""
    same, more, noisy = [100 * MIB, 102 * MIB] * 30, [110 * MIB, 112 * MIB] * 30, [90 * MIB, 150 * MIB] * 4
    for a, b, words in ((same, more, "B surely uses 10.0 MiB (10 %) more than A."),
                        (more, same, "B surely uses 10.0 MiB (9 %) less than A."),
                        (same, noisy, "No difference is certain: B uses 19.0 MiB (19 %) more than A, +/- "),
                        ([MIB] * 40, [MIB] * 40, "B uses as much as A."),
                        ([MIB], [MIB], "Too short to tell whether B uses more than A.")):
        res = run("diff", d.write("a", recording(a)), d.write("b", recording(b)))
        lines = res.stdout.decode().splitlines()
        ok(res.returncode == 0 and lines[0].startswith(words) and b"same program" not in res.stderr, words, lines,
           res.stderr)
    res = run("diff", d.path("a"), d.write("b", recording(same, comm=b"idle\x1b")))
    lines = res.stdout.decode().splitlines()
    ok(b"A is a recording of sized, B of idle\\033: not the same program" in res.stderr and
       lines[1].startswith("A: %s, sized, of 20" % d.path("a")) and lines[1].endswith(", 1 s") and
       lines[2].startswith("B: %s, idle\\033, of 20" % d.path("b")) and lines[2].endswith(", 1m00s"),
       "names, programs, dates, lengths", lines, res.stderr)


def test_fail_above(d):
    """Noise does not fail, growth does; rows that grew are judged by the total."""
    rng = random.Random(5)

    def noisy(mean, n=300):
        x, sizes = 0, []
        for _ in range(n):
            x = 0.9 * x + rng.gauss(0, 1)
            sizes.append(int((mean + 3 * x) * MIB))
        return recording(sizes, MIB)

    wrong = sum(diff(d, noisy(100), noisy(100), "--fail-above", "0%")[1].returncode for _ in range(40))
    ok(wrong <= 3, "40 pairs that differ by chance: at most 3 fail", wrong)
    missed = 20 - sum(diff(d, noisy(100), noisy(120), "--fail-above", "5%")[1].returncode for _ in range(20))
    ok(missed <= 2, "20 % more is found", missed)
    for more, limit, status in ((4, "5%", 0), (6, "5%", 1), (-50, "5", 0), (6, "7", 0)):
        res = diff(d, recording([100 * MIB, 102 * MIB] * 30),
                   recording([(100 + more) * MIB, (102 + more) * MIB] * 30), "--fail-above", limit)[1]
        ok(res.returncode == status and (b"grew by more" in res.stderr) == bool(status),
           "%d %% more with --fail-above %s: %d" % (more, limit, status), res)
    small = [recording([100 * MIB] * 30) + r.wss(31 * SEC, 7, "stack", x, x, x, MIB) for x in (0, MIB)]
    rows, res = diff(d, *small, "--fail-above", "5%")
    ok(not res.returncode and rows["stack"]["ratio"] is None, "new, but small", rows)


def test_rows(d):
    a = os.path.join(HERE, "recordings", "redis.data")
    b = os.path.join(HERE, "recordings", "sort.data")
    with open(a, "rb") as f, open(b, "rb") as g:
        a, b = f.read(), g.read()
    means = {x["class"]: x["mean"] for x in parsed(run(
        "report", "--json", "-i", d.write("a", a))) if x["type"] == "wss_summary"}
    got, res = diff(d, a, b)
    ok(not res.returncode and {name: row["a"] for name, row in got.items() if row["a"]} ==
       {name.replace("all", "total"): mean for name, mean in means.items() if mean},
       "classes: the means of the summary", got, means)
    got, _ = diff(d, a, b, "--by", "process")
    ok(list(got) == ["total", "sort", "redis-server"] and got["redis-server"]["b"] == 0 and
       got["sort"]["a"] == 0 and got["sort"]["b"] == got["total"]["b"], "processes by name", got)
    for by in "mapping", "function":
        got, _ = diff(d, a, b, "--by", by, "--top", "10000")
        total = got.pop("total")
        ok("[heap]" in got and abs(sum(x["b"] for x in got.values()) - total["b"]) < len(got) and
           {x["by"] for x in got.values()} == {by}, "by %s: the parts of the total" % by, total, got)
    changes = [abs(x["change"]) for x in got.values()]
    ok(changes == sorted(changes, reverse=True), "the largest change first", changes)
    ok(len(diff(d, a, b, "--by", "mapping", "--top", "3")[0]) == 4, "--top")
    family = samples.family()
    got, _ = diff(d, family, family)
    sizes = {}
    for x in parsed(run("report", "wss", "--json", "--class", "all", "-i", "-",
                                 stdin=family)):
        sizes.setdefault(x["t"], {"group": [], "process": []})[x["scope"]].append(x["bytes"])
    want = statistics.mean(sum(x["group"] or x["process"]) for x in sizes.values())
    ok(abs(got["total"]["a"] - want) < 1, "the total of a group where there is one", got, sizes)
    got, res = diff(d, samples.cgroup(), samples.cgroup(), "--by", "mapping")
    ok(res.returncode == 2 and not got and b"a cgroup was recorded" in res.stderr, "a cgroup has no mappings", res)
    several = samples.cgroup(windows=(1, 8))
    totals = [diff(d, several, several, *more)[0].get("total") for more in ((), ("--window", "8"))]
    ok(totals[1] and totals[0]["a"] + 7 * MIB == totals[1]["a"] and totals[1]["window_us"] == 8000000,
       "--window of a cgroup", totals)


def test_functions(d):
    program, build_id, symbols, segments = hot.build(d)
    (first, size), (second, other) = symbols["first_function"], symbols["second_function"]
    data = [hot.of_program(program, build_id, segments, [region]) for region in
            ((first, first + size, "text"), (first, second + other, "text"))]
    got, _ = diff(d, *data, "--by", "function")
    ok(got["first_function"]["a"] == got["first_function"]["b"] == size and
       got["second_function"]["a"] == 0 and got["second_function"]["b"] == other, "functions", got)


def test_filters(d):
    a, b = recording([MIB] * 20 + [9 * MIB] * 20), recording([MIB] * 40)
    got, _ = diff(d, a, b, "--time", "0,20.5")
    ok(got["total"]["change"] == 0 and got["total"]["a"] == MIB, "--time, of both", got)
    wide = recording([MIB] * 40, window_us=2000000)
    got, res = diff(d, a, wide)
    ok(res.returncode == 2 and not got and b"windows are 1 s and 2 s" in res.stderr, "windows differ", res)
    res = diff(d, a, wide, "--window", "1s")[1]
    ok(res.returncode == 2 and b"no working set with a window of 1 s" in res.stderr, "no such window", res)
    res = diff(d, r.header(0) + r.end(1), a)[1]
    ok(res.returncode == 2 and b"no working sets to compare" in res.stderr, "an empty recording", res)
    res = run("diff", d.path("nowhere"), d.path("a"), "--fail-above", "5")
    ok(res.returncode == 2 and b"does not exist" in res.stderr, "no recording", res)


def test_forms(d):
    names = [d.write("a", recording([MIB, 3 * MIB] * 20)), d.write("b", recording([2 * MIB, 3 * MIB] * 20))]
    same_numbers("diff", "diff", *names, "--fail-above", "50%", not_raw=["by"])
    text = run("diff", *names).stdout.decode().splitlines()
    text = text[4:]
    ok(text[0].split() == ["NAME", "WINDOW", "A", "B", "CHANGE", "LOW", "HIGH", "OF", "A"] and
       "+512.0 KiB" in text[1] and "25.0 %" in text[1], "for people", *text)
    kinds = test_json.documented()[0]["diff"]
    bad = [test_json.wrong("diff", kinds["diff"], json.loads(line)) for line in
           run("diff", *names, "--json").stdout.splitlines()]
    ok(bad and not any(bad), "as documented", bad)
