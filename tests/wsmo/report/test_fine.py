# SPDX-License-Identifier: GPL-2.0
"""wsmo report regions --fine: regions that do not change, samples as the module draws them."""
import json
import random
import struct

import records as r
from tap import Directory, ok, peak_rss, run, skip

PAGE = 4096
BASE = 0x7f0000000
PAGES = 8192
CELL = 64
SEC = 10**9


class Module:
    """Regions of CELL pages that look at two of their pages an interval.

    hot(page, interval): is it accessed? held: for so many intervals samples stay.
    """

    def __init__(self, hot, seed=1, base=BASE, held=1):
        self.hot, self.base, self.rng = hot, base, random.Random(seed)
        self.held, self.at = held, {}
        self.share, self.draws, self.ref, self.since = {}, {}, {}, {}

    def region(self, start, end, t):
        mid = r.middle(start * PAGE, end * PAGE) // PAGE
        if t % self.held == start // CELL % self.held or start not in self.at:
            self.at[start] = self.rng.randrange(start, mid), self.rng.randrange(mid, end)
        at = self.at[start]
        hits = [int(self.hot(a - self.base, t)) for a in at]
        seen, share = sum(hits) / 2, self.share.get(start)
        if share is None or (hits[0] == hits[1] and abs(share - seen) > 0.75):
            share, self.draws[start] = seen, 1
            self.ref[start], self.since[start] = share, t
        else:
            self.draws[start] += 1
            share += (seen - share) / min(self.draws[start], 8)
        if abs(share - self.ref[start]) > 0.25:
            self.ref[start], self.since[start] = share, t
        self.share[start] = share
        samples = r.samples(start * PAGE, end * PAGE, at[0] * PAGE, at[1] * PAGE, hits)
        if (share < 1 / 512 or share > 511 / 512) and self.draws[start] >= 4:
            samples = 0
        return r.region(start * PAGE, end * PAGE, share, seen, "anon",
                        (t - self.since[start]) * 1000, 0, samples)

    def regions(self, t):
        return [self.region(at, min(at + CELL, self.base + PAGES), t)
                for at in range(self.base, self.base + PAGES, CELL)]

    def snapshot(self, t, pid, part):
        regions = self.regions(t)
        return b"".join(r.snapshot(t * SEC, pid, regions[n:n + part], n, len(regions))
                        for n in range(0, len(regions), part))


def recording(module, intervals, pid=7, part=2000, area=b""):
    return r.header(0) + r.target(0, pid, b"x") + area + b"".join(
        module.snapshot(t, pid, part) for t in range(1, intervals + 1)) + \
        r.end((intervals + 1) * SEC)


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


def errors(hot, intervals=20, options=("--fine",), base=BASE, held=1, module=Module, **how):
    """Mean |share - truth| over the pages, by interval; and the last map."""
    found = maps(recording(module(hot, base=base, held=held), intervals, **how), *options)
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


def places():
    """What has parts is told in parts."""
    made, rows = errors(blocks(16))
    mean = sum(made[5:]) / len(made[5:])
    ok(mean < 0.05 and made[-1] < 0.03, "64 KiB blocks in regions of 256 KiB", made)
    ok(tiles(rows), "parts tile what regions did")
    made, _ = errors(blocks(16), options=())
    ok(min(made) > 0.4, "which regions as they are do not show", made)
    # neither aligned to the cells, nor of a power of two
    made, rows = errors(lambda page, t: (page + 7) // 25 & 1, 24)
    ok(made[-1] < 0.12 and tiles(rows), "100 KiB blocks anywhere", made)
    made, rows = errors(lambda page, t: 5003 <= page < 5003 + 700)
    ok(made[-1] < 0.002, "one block", made)
    base = BASE + 21
    made, rows = errors(blocks(16), base=base)
    ok(tiles(rows, base) and made[-1] < 0.13, "a mapping that begins within a cell", made)
    known, _ = errors(blocks(16), base=base, area=r.area(
        0, 7, "anon", 0, 1, base * PAGE, (base + PAGES) * PAGE))
    ok(sum(known) < 0.8 * sum(made) and known[-1] < 0.04,
       "is what divisions are aligned to, if that explains more", known)
    known, _ = errors(blocks(16), area=r.area(
        0, 7, "anon", 0, 1, (BASE - 21) * PAGE, (BASE + PAGES) * PAGE))
    ok(known[-1] < 0.03, "and not if it does not", known)


class Small(Module):
    """Beside each region one of few pages, that are never accessed."""

    pages = 2

    def region(self, start, end, t):
        small = r.region((start - self.pages) * PAGE, start * PAGE, 0, 0, "anon", t * 1000, 0)
        # the place of the small one is taken from the region before
        return small + super().region(start, end - self.pages, t)

    def regions(self, t):
        both = b"".join(super().regions(t))
        return [both[n:n + 32] for n in range(0, len(both), 32)]


def neighbours():
    """Small regions that tell nothing do not disturb others."""
    for pages in 2, 3, 8, 31:
        Small.pages = pages
        made, _ = errors(lambda page, t: page % CELL < CELL - pages and page // 16 & 1,
                         module=Small)
        ok(made[-1] < 0.03, "beside regions of %d pages" % pages, made)


def nothing_there():
    """What has none is not told worse than as it is."""
    for name, hot in (("every 16th page", lambda page, t: page % 16 == 3),
                      ("5 % of pages", scattered(5)), ("half of the pages", scattered(50))):
        fine, _ = errors(hot)
        plain, _ = errors(hot, options=())
        ok(sum(fine) < 1.05 * sum(plain), name, fine, plain)
    for name, hot in (("every 16th page", lambda page, t: page % 16 == 3),
                      ("every 8th page", lambda page, t: page % 8 == 3),
                      ("half of the pages", scattered(50))):
        fine, _ = errors(hot, 40, held=10)
        plain, _ = errors(hot, 40, options=(), held=10)
        ok(sum(fine) < 1.03 * sum(plain), name + ", samples that stay for ten intervals",
           sum(fine), sum(plain))
    rng = random.Random(3)
    data = recording(Module(lambda page, t: rng.random() < 0.3), 20)
    off = {option: sum(abs(share - 0.3) * (end - start)
                       for start, end, share, _ in maps(data, *option)[20]) / PAGES
           for option in ((), ("--fine",))}
    ok(off["--fine",] < 1.25 * off[()], "pages at random each time", off)


class Missed(Module):
    """Nobody looks at anything in most intervals."""

    def region(self, start, end, t):
        if t % 8 < 2:
            return super().region(start, end, t)
        share = self.share.get(start, 0)
        return r.region(start * PAGE, end * PAGE, share, 0, "anon", 1000, 0, 0x4000)


def missed():
    """What was not looked at was not seen idle."""
    def hot(page, t):
        return t > 40 and page // 16 & 1

    late, _ = errors(hot, 74, module=Missed)
    ok(sum(late[64:]) < 2.2, "intervals nobody looked at", late[64:])


def changes():
    """Old evidence does not hold up what is new."""
    made, _ = errors(lambda page, t: page // 16 + (t > 12) & 1, 24)
    ok(made[11] < 0.05 and made[12] > 0.4 and sum(made[17:]) / 7 < 0.06,
       "hot blocks and cold ones change places", made)
    made, _ = errors(lambda page, t: t > 10 and page // 16 & 1, 20)
    ok(made[-1] < 0.06, "cold memory gets hot blocks", made)
    made, rows = errors(lambda page, t: t <= 10 and page // 16 & 1, 50)
    ok(made[-1] < 0.01 and len(rows) <= PAGES // CELL, "hot blocks get cold", made)


def figures():
    """What else a part is told to have."""
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


def records():
    """However snapshots come."""
    _, whole = errors(blocks(16))
    _, parts = errors(blocks(16), part=9)
    ok(parts == whole, "snapshots in several records", len(parts), len(whole))
    one, other = Module(blocks(16)), Module(blocks(64), 2)
    both = r.header(0) + b"".join(m.snapshot(t, pid, 50) for t in range(1, 21)
                                  for m, pid in ((one, 7), (other, 8)))
    rows = maps(both + r.end(21 * SEC), "--fine", "--pid", "7")[20]
    ok(rows == whole, "two targets", len(rows))
    half = recording(Module(blocks(16)), 12)[:-24]
    after = Module(blocks(16), 2)
    for name, record in (("EXEC", r.target(12 * SEC, 7, b"y", 1)), ("EXIT", r.exit_(12 * SEC, 7))):
        rows = maps(half + record + after.snapshot(13, 7, 2000) + r.end(14 * SEC), "--fine")[13]
        ok(len(rows) == PAGES // CELL, "nothing is known after " + name, len(rows))
    one, other = Module(blocks(16)), Module(blocks(16), 2)
    both = r.header(0) + b"".join(m.snapshot(t, pid, 2000) for t in range(1, 13)
                                  for m, pid in ((one, 7), (other, 8)))
    # not --pid 8: then nobody hears of the other
    rows = maps(both + r.exit_(12 * SEC, 7) + other.snapshot(13, 8, 2000) + r.end(14 * SEC),
                "--fine")[13]
    ok(len(rows) > 2 * PAGES // CELL, "of another target all is known", len(rows))
    again = r.target(12 * SEC, 7, b"x", 2)
    rows = maps(half + again + after.snapshot(13, 7, 2000) + r.end(14 * SEC), "--fine")[13]
    ok(len(rows) > 2 * PAGES // CELL, "but if a reader attached", len(rows))
    old = maps(recording(Module(blocks(16)), 5), "--fine", "--class", "heap")
    ok(not old, "--class", old)


def heatmap():
    """A picture of few addresses has more in it than regions."""
    data = recording(Module(blocks(16)), 20)
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


def hostile():
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
    res = run("report", "wss", "--fine", "-i", "-")
    ok(res.returncode == 2 and
       b"'--fine'" in res.stderr,
       "--fine of another report", res.stderr.decode())


def greedy():
    """Memory has limits."""
    made = [Module(scattered(50), n, BASE + n * PAGES) for n in range(12)]
    regions = [[one for m in made for one in m.regions(t)] for t in range(1, 9)][5:]
    files = [r.header(0) + b"".join(r.snapshot(t * SEC, 7, regions[t % 3])
                                    for t in range(1, snapshots)) + r.end(snapshots * SEC)
             for snapshots in (36, 260)]
    many = r.header(0) + b"".join(
        r.area(1, n, "heap", index, 0xffffffff, PAGE, 9 * PAGE)
        for n in range(5000) for index in (0, 1, 65535, 0xfffffffe)) + b"".join(
            Module(scattered(50)).snapshot(1, n, 2000) for n in (1, 4999)) + r.end(9 * SEC)
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
    # what is below 14 MiB is Python's
    ok(sizes[1] < max(sizes[0], 14 << 10) + 1024, "memory does not grow with the file: KiB", sizes)
    ok(sizes[2] < 60 << 10, "nor is it what a file asks for: KiB", sizes)


def main(_accept):
    places()
    neighbours()
    nothing_there()
    missed()
    changes()
    figures()
    records()
    heatmap()
    hostile()
    greedy()
