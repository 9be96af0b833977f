# SPDX-License-Identifier: GPL-2.0
"""Snapshots as they follow each other in a real recording, from a seed.

Regions are halved and joined, shares move towards what was seen or flip, ages
begin anew: most of a snapshot follows from the one before, but not all of it.
"""
import random

import records as r

PAGE = 4096
CELL = 64 * PAGE
# class, first address, cells of a hundred
AREAS = (("file", 0x400000, 3), ("text", 0x555500000000, 12),
         ("heap", 0x555600000000, 25), ("anon", 0x7f0000000000, 58),
         ("stack", 0x7ffc00000000, 2))


class Region:
    def __init__(self, start, end, area, share, heat, since):
        self.start, self.end, self.area = start, end, area
        self.share, self.heat, self.since = share, heat, since
        self.freq = self.samples = 0

    def part(self, start, end):
        return Region(start, end, self.area, self.share, self.heat, self.since)


class History:
    """regions: how many; step() makes the next snapshot of them."""

    def __init__(self, regions, seed=1, t=5000 * 10**9):
        self.rng = random.Random(seed)
        self.t = t
        self.regions = []
        for area, (_, start, cells) in enumerate(AREAS):
            for n in range(max(1, regions * cells // 100)):
                at = start + n * CELL
                heat = self.rng.choice((0, 0, 0, 0, 0, 0.02, 0.1, 0.5, 1))
                self.regions.append(Region(at, at + CELL, area, 0, heat, t))

    def observe(self, region, rounds):
        checks = 2 * rounds
        hits = 0
        for _ in range(2):
            if self.rng.random() < region.heat:
                hits += rounds if region.heat > 0.3 else \
                    self.rng.randint(1, rounds)
        region.freq = hits * r.ONE // checks
        seen = (hits > 0) * r.ONE // (1 if hits > rounds else 2)
        if abs(region.share - seen) > r.ONE * 3 // 4:
            region.share, region.since = seen, self.t
        else:
            region.share += int((seen - region.share) / 8)
        region.samples = 0
        if r.ONE / 512 <= region.share <= r.ONE * 511 / 512:
            region.samples = 0x8000 | self.rng.getrandbits(14)

    def adapt(self):
        for _ in range(len(self.regions) // 100):
            i = self.rng.randrange(len(self.regions))
            one = self.regions[i]
            half = (one.end - one.start) // 2
            if half >= PAGE and self.rng.random() < 0.5:
                mid = one.start + half
                self.regions[i:i + 1] = [one.part(one.start, mid),
                                         one.part(mid, one.end)]
            elif i + 1 < len(self.regions) and \
                    self.regions[i + 1].start == one.end:
                self.regions[i:i + 2] = [one.part(one.start,
                                                  self.regions[i + 1].end)]

    def entries(self):
        return [r.region(g.start, g.end, g.share / r.ONE, g.freq / r.ONE,
                         AREAS[g.area][0], (self.t - g.since) // 10**6, g.area, g.samples)
                for g in self.regions]

    def step(self, pid, part=2000):
        """The records of the next snapshot, with at most that number of regions in each."""
        interval = 10**9 + self.rng.randint(-10**7, 10**7)
        self.t += interval
        rounds = self.rng.choice((10, 10, 10, 9))
        for region in self.regions:
            self.observe(region, rounds)
        entries = self.entries()
        self.adapt()
        return [r.snapshot(self.t, pid, entries[n:n + part], n, len(entries),
                           interval_ns=interval, rounds=rounds, budget=2000)
                for n in range(0, len(entries), part)]
