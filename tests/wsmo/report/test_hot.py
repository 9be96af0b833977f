# SPDX-License-Identifier: GPL-2.0
"""wsmo report hot: sums over snapshots, and names."""
import csv
import io
import os
import random
import re
import subprocess
import time

import records as r
import samples
from command import HERE, Directory, fails, golden, ok, parsed, peak_rss, run, skip
from samples import PID, SEC, T0

A = 0x7f0000000000
PAGE = 4096


def hot(data, *args):
    res = run("report", "hot", "--json", "-i", "-", *args, stdin=data)
    return parsed(res), res


def test_golden_files(accept):
    real = os.path.join(HERE, "recordings", "redis.data")
    for name, args, stdin in (("hot.txt", ("-i", "-"), samples.main()),
                              ("real/redis.hot.txt", ("-i", real), b"")):
        res = run("report", "hot", *args, stdin=stdin)
        golden(name, res.stdout, accept, not res.returncode and not res.stderr, res.stderr)
    res = run("report", "hot", "--json", "-i", "-", stdin=samples.main())
    golden("hot.json", res.stdout, accept)


def recording(*snapshots, seconds=1):
    """Snapshots of (start page, end page, share, freq) of anonymous memory."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i, regions in enumerate(snapshots):
        out += r.snapshot(T0 + (i + 1) * seconds * SEC, PID, [
            r.region(A + a * PAGE, A + b * PAGE, share, freq, "anon", 1000 * i, 0)
            for a, b, share, freq in regions], interval_ns=seconds * SEC)
    return out + r.end(T0 + (len(snapshots) + 1) * seconds * SEC)


def pages(rows):
    return [((row["start"] - A) // PAGE, (row["end"] - A) // PAGE, row["share"],
             row["freq"], row["hottest"], row["hottest_t"]) for row in rows]


def test_sums():
    # bounds change: the history of each address counts
    rows, _ = hot(recording([(0, 4, 1, 1), (4, 8, 0, 0)], [(0, 8, 0.5, 0.5)]),
                  "--sort", "address")
    ok(pages(rows) == [(0, 4, 0.75, 0.75, 1, 1), (4, 8, 0.25, 0.25, 0.5, 2)],
       "regions that are joined later keep their past", pages(rows))
    rows, _ = hot(recording([(0, 8, 0.5, 0.5)], [(0, 4, 1, 1), (4, 8, 0, 0)]),
                  "--sort", "address")
    ok(pages(rows) == [(0, 4, 0.75, 0.75, 1, 2), (4, 8, 0.25, 0.25, 0.5, 1)],
       "and those that are split have the whole's", pages(rows))
    rows, _ = hot(recording([(0, 2, 1, 1)], [], [(0, 2, 1, 1)], [(2, 4, 0.5, 0.25)]),
                  "--sort", "address")
    ok(pages(rows) == [(0, 2, 0.5, 0.5, 1, 1), (2, 4, 0.125, 0.0625, 0.25, 4)],
       "what is not there is not accessed", pages(rows))
    rows, _ = hot(recording([(0, 2, 1, 1), (2, 4, 1, 0.99), (4, 6, 0.1, 0.1)]),
                  "--sort", "address")
    ok([row[:2] for row in pages(rows)] == [(0, 4), (4, 6)], "what is alike is one row",
       pages(rows))
    rows, _ = hot(recording([(0, 1, 1, 1)], [(0, 1, 0, 0)]), "--time", "0,1.5")
    ok(pages(rows)[0][3] == 1, "--time", pages(rows))
    # a longer interval weighs more
    out = r.header(T0) + r.target(T0, PID, b"x")
    for t, seconds, freq in ((1, 1, 0), (4, 3, 1)):
        out += r.snapshot(T0 + t * SEC, PID, [r.region(A, A + PAGE, freq, freq, "anon", 0, 0)],
                          interval_ns=seconds * SEC)
    rows, _ = hot(out + r.end(T0 + 5 * SEC))
    ok(rows[0]["freq"] == 0.75, "means are over time, not over intervals", rows)


def test_brute_force():
    """Random regions against a sum for each page."""
    rng = random.Random(7)
    size, count = 64, 40
    snapshots, want = [], [[0.0, 0.0] for _ in range(size)]
    for _ in range(count):
        cuts = sorted(rng.sample(range(size + 1), rng.randrange(2, 12)))
        regions = []
        for a, b in zip(cuts, cuts[1:]):
            if rng.random() < 0.2:
                continue
            share, freq = rng.randrange(0, 9) / 8, rng.randrange(0, 9) / 8
            regions.append((a, b, share, freq))
            for i in range(a, b):
                want[i][0] += share / count
                want[i][1] += freq / count
        snapshots.append(regions)
    rows, _ = hot(recording(*snapshots), "--sort", "address", "--top", "1000")
    worst = total = 0
    for first, last, share, freq, _, _ in pages(rows):
        worst = max([worst, *(abs(want[i][1] - freq) for i in range(first, last))])
        total += (last - first) * share
    ok(rows and worst < 0.15 and abs(total - sum(s for s, _ in want)) < 0.01 * total,
       "random regions: the sum of each page", worst, total)


def test_order():
    data = samples.main()
    rows, _ = hot(data, "--pid", str(PID))
    classes = [row["class"] for row in rows]
    ok(sorted(set(classes), key=classes.index) ==
       [c for c in r.CLASSES if c in classes], "by class", classes)
    data = recording([(0, 2, 0.2, 0.9), (10, 14, 0.9, 0.5), (20, 21, 0.5, 0.1)])
    for key, want in (("freq", [0, 10, 20]), ("share", [10, 20, 0]), ("size", [10, 0, 20]),
                      ("address", [0, 10, 20])):
        rows, _ = hot(data, "--sort", key)
        ok([p[0] for p in pages(rows)] == want, "--sort " + key, rows)
    ok(len(hot(data, "--top", "2")[0]) == 2, "--top")


def build(d):
    """The program, its build ID and {symbol: (address, size)}"""
    program = d.path("program")
    subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-Wl,--build-id", "-o", program,
                    os.path.join(HERE, "programs", "hot.c")], check=True)
    notes = subprocess.run(["readelf", "-nW", program], stdout=subprocess.PIPE).stdout.decode()
    loads = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE).stdout.decode()
    names = subprocess.run(["nm", "-S", program], stdout=subprocess.PIPE).stdout.decode()
    symbols = {line.split()[3]: (int(line.split()[0], 16), int(line.split()[1], 16))
               for line in names.splitlines() if len(line.split()) == 4}
    segments = [[int(x, 16) for x in m] for m in
                re.findall(r"LOAD +(\S+) (\S+) \S+ (\S+) (\S+)", loads)]
    return program, bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes)[1]), symbols, segments


def of_program(path, build_id, segments, regions, bias=0, more=b""):
    """A recording of a program, with the kernel's mappings of it."""
    out = r.header(T0) + r.target(T0, PID, b"program")
    for offset, addr, filesz, memsz in segments:
        start = (bias + addr) & -PAGE
        end = -(-(bias + addr + filesz) // PAGE) * PAGE
        last = -(-(bias + addr + memsz) // PAGE) * PAGE
        out += r.mapping(T0, PID, start, end, "rw", path.encode(), offset & -PAGE, 77, build_id)
        if last > end:
            out += r.mapping(T0, PID, end, last, "rw", b"")
    out += more
    out += r.snapshot(T0 + SEC, PID, [r.region(bias + a, bias + b, 1, 1, cls, 0, 0)
                                      for a, b, cls in sorted(regions)])
    return out + r.end(T0 + 2 * SEC)


def test_names(d):
    program, build_id, symbols, segments = build(d)
    page = {name: (at, at + max(PAGE, size), cls) for name, cls in
            (("first_function", "text"), ("second_function", "text"),
             ("filled_table", "data"), ("zeroed_table", "data"))
            for at, size in (symbols[name],)}
    for bias in (0, 0x10000000):
        what = " (loaded elsewhere)" if bias else ""
        for name, region in page.items():
            rows, res = hot(of_program(program, build_id, segments, [region], bias))
            first = rows[0]["symbols"].split(", ")[0].split() if rows else []
            ok(len(rows) == 1 and first == [name, str(symbols[name][1])] and not res.stderr,
               name + " is named" + what, rows, res.stderr)
            if region[2] != "text":
                continue
            line = next(n for n, text in enumerate(open(os.path.join(
                HERE, "programs", "hot.c")), 1) if name in text)
            ok(re.search(r"programs/hot\.c:(%d|%d)$" % (line, line + 1), rows[0]["source"]),
               "  with its source line", rows[0]["source"])
    data = of_program(program, build_id, segments, [page["first_function"]])
    res = run("report", "hot", "-i", "-", stdin=data)
    ok(re.search(rb"program\+0x\w+: first_function \d+ %.*; hot\.c:\d+\n", res.stdout),
       "for people", res.stdout)
    both = (page["first_function"][0], page["second_function"][1], "text")
    rows, _ = hot(of_program(program, build_id, segments, [both]))
    sizes = [int(s.split()[1]) for s in rows[0]["symbols"].split(", ")]
    ok(len(sizes) == 2 and sizes == sorted(sizes, reverse=True), "several, most first",
       rows[0]["symbols"])
    rows, res = hot(of_program(program, build_id[::-1], segments, [page["first_function"]]))
    ok(rows[0]["symbols"] == "" and res.stderr.count(b"\n") == 1 and
       b"not as recorded" in res.stderr, "another build has no names", rows, res.stderr)
    rows, res = hot(of_program(program, b"", segments, [page["first_function"]]))
    ok(rows[0]["symbols"] == "", "nor one without a build ID whose inode is another", rows)
    rows, res = hot(of_program(program + " (deleted)", build_id, segments,
                               [page["first_function"]]))
    ok("first_function" in rows[0]["symbols"], "a deleted one that is there again", rows)
    fifo = d.path("fifo")
    os.mkfifo(fifo)
    writer = subprocess.Popen(["sh", "-c", ': >"$0"', fifo])
    rows, res = hot(of_program(fifo, build_id, segments, [page["first_function"]]))
    ok(rows and not rows[0]["symbols"] and b"no names" in res.stderr,
       "a pipe of its name is not waited for", rows, res.stderr)
    time.sleep(0.2)
    ok(writer.poll() is None, "nor opened, as little as a device", writer.returncode)
    writer.kill()
    writer.wait()
    stripped = d.path("stripped")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    rows, res = hot(of_program(stripped, build_id, segments, [page["first_function"]]))
    ok(rows and not rows[0]["symbols"], "a stripped one has none", rows)
    # another file in its place is not the program
    other = r.mapping(T0 + 1, PID, symbols["first_function"][0] & -PAGE,
                      (symbols["first_function"][0] & -PAGE) + PAGE, "rx", b"/other", 0, 5)
    rows, res = hot(of_program(program, build_id, segments, [page["first_function"]],
                               more=other))
    ok(rows[0]["path"] == "/other" and not rows[0]["symbols"], "a mapping replaces another",
       rows)
    gone = r.target(T0 + 1, PID, b"new", 1)
    rows, res = hot(of_program(program, build_id, segments, [page["first_function"]],
                               more=gone))
    ok(rows[0]["path"] == "", "an executed program voids them", rows)


def test_kinds():
    """Memory without symbols."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    want = []
    for i, (path, tid, cls, text) in enumerate((
            (b"[heap]", 0, "heap", "[heap]+0x1000"),
            (b"[stack]", PID, "stack", "[stack]+0x1000"),
            (b"", 4711, "anon", "stack of thread 4711+0x1000"),
            (b"[anon:java heap]", 0, "anon", "[anon:java heap]+0x1000"),
            (b"/var/lib/data\x1b[31m", 0, "file", "data\\033[31m+0x6000"),
            (b"", 0, "anon", "anonymous+0x1000"))):
        start = A + i * 0x100000
        out += r.mapping(T0, PID, start, start + 0x10000, "rw", path, 0x5000 if cls == "file" else 0,
                         9 if cls == "file" else 0, tid=tid)
        want.append((start + 0x1000, cls, text))
    out += r.snapshot(T0 + SEC, PID, [r.region(a, a + 0x1000, 1, 1, cls, 0, 0)
                                      for a, cls, _ in want]) + r.end(T0 + 2 * SEC)
    res = run("report", "hot", "-i", "-", stdin=out)
    ok(all(text in res.stdout.decode() for _, _, text in want) and not res.stderr,
       "heap, stacks, named and unnamed memory, files", res.stdout, res.stderr)
    res = run("report", "hot", "--csv", "-i", "-", stdin=out)
    rows = list(csv.DictReader(io.StringIO(res.stdout.decode())))
    ok(len(rows) == 6 and rows[0]["offset"] == "4096" and
       [row["tid"] for row in rows if row["tid"]] == [str(PID), "4711"], "as CSV", rows)


def test_memory():
    rng = random.Random(3)
    with Directory() as d:
        sizes = []
        for count in (20, 400):
            out = [r.header(T0)]
            for i in range(count):
                cuts = sorted(rng.sample(range(1 << 24), 1001))
                out.append(r.snapshot(T0 + (i + 1) * SEC, PID, [
                    r.region(A + a * PAGE, A + b * PAGE, rng.random(), rng.random(), "anon", 0, 0)
                    for a, b in zip(cuts, cuts[1:])]))
            name = d.write("f", b"".join(out) + r.end(T0 + 500 * SEC))
            sizes.append(peak_rss("report", "hot", "-i", name))
        if None in sizes:
            skip("memory is bounded", "out/bin/wsmo is not built")
            return
        ok(sizes[1] < 32 << 10, "memory is bounded", sizes)
        res = run("report", "hot", "-i", name)
        ok(res.returncode == 0 and b"merged" in res.stderr, "and that is told", res.stderr)


def test_broken():
    whole = r.header(T0) + r.mapping(T0, PID, A, A + PAGE, "r", b"/x", 0, 1)
    body = bytearray(whole)
    at = len(r.header(T0))
    for name, offset, value, word in (("the range", 32, 1, "ends before"),
                                      ("the build ID", 16 + 72, 33, "too long")):
        damaged = bytearray(body)
        if name == "the range":
            damaged[at + 24:at + 40] = (A + PAGE).to_bytes(8, "little") + A.to_bytes(8, "little")
        else:
            damaged[at + offset] = value
        fails(run("report", "hot", "-i", "-", stdin=bytes(damaged)), "damage to " + name, word)
    fails(run("report", "hot", "-i", "-", stdin=whole[:-8] + b"/xxxxxxx"), "a path without an end",
          "without an end")
