# SPDX-License-Identifier: GPL-2.0
"""wsmo report regions --fine: regions that do not change, sampled by the module's code."""
import json
import random
import struct

import records as r
import sim
from command import Directory, ok, peak_rss, run, skip

PAGE = 4096
BASE = 0x7f0000000
PAGES = 8192
CELL = 64
SEC = 10**9


def snapshots(hot, until, after=0, base=BASE, maps=(), held=1, missed=(), **settings):
    """Records by interval, of regions of CELL pages. hot(page, interval): is it accessed?
    held: samples stay for so many intervals; in the intervals of @missed they are not
    looked at."""
    maps = maps or [(base, base + PAGES, "anon")]
    cells = sum(-(-end // CELL) - start // CELL for start, end, _ in maps)
    pages = [page - base for start, end, _ in maps for page in range(start, end)]
    runs = [(SEC, t not in missed, "".join("09"[bool(hot(page, t))] for page in pages))
            for t in range(after + 1, until + 1)]
    return sim.intervals(maps, runs, now=after * SEC, window=held * SEC, budget=cells, still=1, **settings)


def recording(hot, intervals, pid=7, area=b"", **how):
    return r.header(0) + r.target(0, pid, b"x") + area + b"".join(
        snapshots(hot, intervals, pid=pid, **how)) + r.end((intervals + 1) * SEC)


def maps(data, *options):
    """[(start, end, share, freq)] in pages, by time."""
    res = run("report", "regions", "--json", *options, "-i", "-", stdin=data)
    assert not res.returncode, res.stderr
    found = {}
    for line in res.stdout.splitlines():
        row = json.loads(line)
        found.setdefault(row["t"], []).append((
            row["start"] // PAGE, row["end"] // PAGE, row["share"], row["freq"]))
    return found


def errors(hot, intervals=20, options=("--fine",), base=BASE, **how):
    """Mean |share - truth| over the pages, by interval; and the last map."""
    found = maps(recording(hot, intervals, base=base, **how), *options)
    made = [sum(abs(share - hot(page - base, t)) for start, end, share, _ in rows
                for page in range(start, end) if page >= base) / PAGES for t, rows in sorted(found.items())]
    return made, found[intervals]


def blocks(pages):
    return lambda page, t: page // pages & 1


def scattered(percent):
    chosen = {page for page in range(PAGES)
              if (page * 0x9e3779b97f4a7c15 >> 40) % 100 < percent}
    return lambda page, t: page in chosen


def tiles(rows, base=BASE):
    return rows[0][0] == base and rows[-1][1] == base + PAGES and \
        all(a[1] == b[0] for a, b in zip(rows, rows[1:]))


def test_places():
    """Parts that differ are shown as parts."""
    made, rows = errors(blocks(16))
    mean = sum(made[5:]) / len(made[5:])
    ok(mean < 0.05 and made[-1] < 0.03, "64 KiB blocks in regions of 256 KiB", made)
    ok(tiles(rows), "parts tile what regions did")
    made, _ = errors(blocks(16), options=())
    ok(min(made) > 0.4, "which regions as they are do not show", made)
    # neither aligned to cells, nor a power of two in size
    made, rows = errors(lambda page, t: (page + 7) // 25 & 1, 24)
    ok(made[-1] < 0.12 and tiles(rows), "100 KiB blocks anywhere", made)
    made, rows = errors(lambda page, t: 5003 <= page < 5003 + 700)
    ok(made[-1] < 0.002, "one block", made)
    base = BASE + 21
    made, rows = errors(blocks(16), 30, base=base)
    ok(tiles(rows, base) and made[-1] < 0.13, "a mapping that begins within a cell", made)
    known, _ = errors(blocks(16), 30, base=base, area=r.area(
        0, 7, "anon", 0, 1, base * PAGE, (base + PAGES) * PAGE))
    ok(sum(known) < 0.8 * sum(made) and known[-1] < 0.04,
       "is what divisions are aligned to, if that explains more", known)
    known, _ = errors(blocks(16), area=r.area(
        0, 7, "anon", 0, 1, (BASE - 21) * PAGE, (BASE + PAGES) * PAGE))
    ok(known[-1] < 0.03, "and not if it does not", known)


def test_neighbours():
    """Small regions without parts do not disturb others."""
    for pages in 2, 3, 8, 31:
        small = [(at + a, at + b, cls) for at in range(BASE, BASE + PAGES, CELL)
                 for a, b, cls in ((0, CELL - pages, "anon"), (CELL - pages, CELL, "heap"))]
        made, _ = errors(lambda page, t: page % CELL < CELL - pages and page // 16 & 1, maps=small)
        ok(made[-1] < 0.03, "beside regions of %d pages" % pages, made)


def test_nothing_there():
    """Regions without parts are shown no worse than without --fine."""
    for name, hot in (("every 16th page", lambda page, t: page % 16 == 3),
                      ("5 % of pages", scattered(5)), ("half of the pages", scattered(50))):
        fine, _ = errors(hot)
        plain, _ = errors(hot, options=())
        ok(sum(fine) < 1.05 * sum(plain), name, fine, plain)
    for name, hot, limit in (("every 16th page", lambda page, t: page % 16 == 3, 1.06),
                             ("every 8th page", lambda page, t: page % 8 == 3, 1.06),
                             ("half of the pages", scattered(50), 1.03)):
        fine, _ = errors(hot, 40, held=10)
        plain, _ = errors(hot, 40, options=(), held=10)
        ok(sum(fine) < limit * sum(plain), name + ", samples that stay for ten intervals",
           sum(fine), sum(plain))
    rng = random.Random(3)
    data = recording(lambda page, t: rng.random() < 0.3, 20)
    off = {option: sum(abs(share - 0.3) * (end - start)
                       for start, end, share, _ in maps(data, *option)[20]) / PAGES
           for option in ((), ("--fine",))}
    ok(off["--fine",] < 1.25 * off[()], "pages at random each time", off)


def test_missed():
    """Pages not looked at do not count as idle."""
    def hot(page, t):
        return t > 40 and page // 16 & 1

    late, _ = errors(hot, 74, missed=[t for t in range(75) if t % 8 > 1])
    ok(sum(late[64:]) < 2.2, "intervals nobody looked at", late[64:])


def test_changes():
    """Old evidence does not hide a change."""
    made, _ = errors(lambda page, t: page // 16 + (t > 12) & 1, 24)
    ok(made[11] < 0.05 and made[12] > 0.4 and sum(made[17:]) / 7 < 0.06,
       "hot blocks and cold ones change places", made)
    made, _ = errors(lambda page, t: t > 10 and page // 16 & 1, 22)
    ok(made[-1] < 0.06, "cold memory gets hot blocks", made)
    made, rows = errors(lambda page, t: t <= 10 and page // 16 & 1, 50)
    ok(made[-1] < 0.01 and len(rows) <= PAGES // CELL, "hot blocks get cold", made)


def test_figures():
    """The other columns of a part."""
    _, rows = errors(blocks(16))
    share = sum(s * (b - a) for a, b, s, _ in rows) / PAGES
    freq = sum(f * (b - a) for a, b, _, f in rows) / PAGES
    ok(abs(share - 0.5) < 0.05 and abs(freq - 0.5) < 0.06 and
       all(0 <= s <= 1 and 0 <= f <= 1 for _, _, s, f in rows),
       "shares and frequencies of parts add up to those of regions", share, freq)
    hot = [f for _, _, s, f in rows if s > 0.9]
    cold = [f for _, _, s, f in rows if s < 0.1]
    ok(max(cold) < 0.2 and sum(hot) / len(hot) > 0.8, "frequencies, too, are of the parts",
       max(cold), sum(hot) / len(hot))


def test_records():
    """Snapshots in any order and form."""
    _, whole = errors(blocks(16))
    _, parts = errors(blocks(16), part=9)
    ok(parts == whole, "snapshots in several records", len(parts), len(whole))
    both = r.header(0) + b"".join(x for pair in zip(
        snapshots(blocks(16), 20, part=50), snapshots(blocks(64), 20, pid=8, part=50)) for x in pair)
    rows = maps(both + r.end(21 * SEC), "--fine", "--pid", "7")[20]
    ok(rows == whole, "two targets", len(rows))
    half = recording(blocks(16), 12)[:-24]
    after, = snapshots(blocks(16), 13, 12)
    for name, record in (("EXEC", r.target(12 * SEC, 7, b"y", 1)), ("EXIT", r.exit_(12 * SEC, 7))):
        rows = maps(half + record + after + r.end(14 * SEC), "--fine")[13]
        ok(len(rows) == PAGES // CELL, "nothing is known after " + name, len(rows))
    other = snapshots(blocks(16), 13, pid=8)
    both = r.header(0) + b"".join(x for pair in zip(snapshots(blocks(16), 12), other) for x in pair)
    # without --pid 8: else nothing is known of the other process
    rows = maps(both + r.exit_(12 * SEC, 7) + other[-1] + r.end(14 * SEC),
                "--fine")[13]
    ok(len(rows) > 2 * PAGES // CELL, "of another target all is known", len(rows))
    again = r.target(12 * SEC, 7, b"x", 2)
    rows = maps(half + again + after + r.end(14 * SEC), "--fine")[13]
    ok(len(rows) > 2 * PAGES // CELL, "but if a reader attached", len(rows))
    res = run("report", "regions", "--json", "--fine", "--class", "heap", "-i", "-",
              stdin=recording(blocks(16), 5))
    ok(res.returncode == 1 and not res.stdout and b"nothing is left by --class" in res.stderr, "--class", res)


def test_heatmap():
    """A picture of few addresses shows more than regions."""
    data = recording(blocks(16), 20)
    near = "--address=%d,%d" % (BASE * PAGE, (BASE + 128) * PAGE)
    contrast = []
    for options in (), ("--fine",):
        res = run("report", "heatmap", "--json", "--size", "60x12", near, "--time", "1,",
                  "-i", "-", *options, stdin=data)
        shares = [json.loads(line)["share"] for line in res.stdout.splitlines()
                  if json.loads(line)["t"] > 15]
        contrast.append((min(shares), max(shares)))
    ok(contrast[0][0] > 0.2 and contrast[0][1] < 0.8 and contrast[1][0] < 0.05 and
       contrast[1][1] > 0.95, "heatmap --fine", contrast)


def test_hostile():
    """Files may have anything in them."""
    rng = random.Random(5)
    edge = ((1 << 64) - PAGE, 1 << 63, 1 << 52, 5 * PAGE, PAGE, 0, 4097)
    for seed in range(30):
        data = b""
        for t in range(1, 6):
            entries = []
            at = rng.randrange(1 << 40) * PAGE
            for n in range(60):
                if seed % 2:
                    # in order, of all sizes
                    start = at + rng.choice((0, 0, PAGE, 1 << 40))
                    at = start + rng.choice((1, 2, 3, 63, 64, 65, 127, 4095, 1 << 27)) * PAGE
                    entries.append(struct.pack(
                        "<QQHHHHII", start, at, rng.choice((0, 64, 9000, 32768)),
                        rng.randrange(32769), 5, rng.getrandbits(16), rng.choice((0, 9)), n % 3))
                    continue
                start = rng.choice((rng.choice(edge), rng.randrange(1 << 16) * PAGE))
                end = rng.choice((rng.choice(edge), start + rng.randrange(1, 99) * PAGE))
                end = min(max(end, start + 1), (1 << 64) - 1)
                entries.append(struct.pack("<QQHHHHII", start, end, rng.choice((0, 9000, 32768)),
                                           rng.randrange(32769), 5, rng.getrandbits(16), 0, 0))
            first = rng.choice((0, 0, 60, 1 << 31))
            data += r.snapshot(t * SEC, 7, entries, first, first + 60 + rng.choice((0, 9)))
        head = bytearray(r.header(0))
        head[16:20] = struct.pack("<I", rng.choice((0, 1, 4096, 4096, 65536, 3)))
        res = run("report", "regions", "--fine", "--csv", "-i", "-",
                  stdin=bytes(head) + b"".join(r.area(1, 7, "anon", n, 3, n * PAGE, 1 << 60)
                                               for n in range(3)) + data + r.end(9 * SEC))
        if res.returncode or b"runtime error" in res.stderr or \
                len(res.stdout.splitlines()) < 301:
            ok(False, "anything in a snapshot", seed, res.stderr.decode())
            return
    ok(True, "anything in a snapshot")


def test_greedy():
    """Memory has limits."""
    half = scattered(50)
    made = snapshots(lambda page, t: half(page % PAGES, t), 8, maps=[(BASE, BASE + 12 * PAGES, "anon")])
    files = [r.header(0) + b"".join(r.record(r.SNAPSHOT, t * SEC, made[5 + t % 3][16:])
                                    for t in range(1, snapshots)) + r.end(snapshots * SEC)
             for snapshots in (36, 260)]
    many = r.header(0) + b"".join(
        r.area(1, n, "heap", index, 0xffffffff, PAGE, 9 * PAGE)
        for n in range(5000) for index in (0, 1, 65535, 0xfffffffe)) + b"".join(
            snapshots(half, 1, pid=n)[0] for n in (1, 4999)) + r.end(9 * SEC)
    res = run("report", "regions", "--fine", "--csv", "-i", "-", stdin=many)
    ok(not res.returncode and len(res.stdout.splitlines()) > 2 * PAGES // CELL and
       b"too many processes" in res.stderr, "more targets than there is room for: it says so",
       res.stderr, len(res.stdout.splitlines()))
    with Directory() as d:
        sizes = [peak_rss("report", "regions", "--fine", "-i", d.write("f", data))
                 for data in (*files, many)]
    if None in sizes:
        skip("memory", "out/bin/wsmo is not built")
        return
    # below 14 MiB it is Python's own memory
    ok(sizes[1] < max(sizes[0], 14 << 10) + 1024, "memory does not grow with the file: KiB", sizes)
    ok(sizes[2] < 60 << 10, "nor is it what a file asks for: KiB", sizes)
