# SPDX-License-Identifier: GPL-2.0
"""Is a small hot block found in a large mapping? wsmon and DAMON, both at their defaults."""
import time

import wsmontest as w
from guest.machine import Session
from peers import damon

FOUND = 0.9		# part of the hot block that the found bounds must include
BESIDES = 0.1		# they may include this much beside it, as a part of the block


def found(regions, block):
    """Do the hot regions of (start, end, share) show where the block is?"""
    lo, hi = block
    hot = [(start, end) for start, end, share in regions if share >= 0.5]
    inside = sum(min(end, hi) - max(start, lo) for start, end in hot if start < hi and end > lo)
    besides = sum(end - start for start, end in hot) - inside
    return inside >= FOUND * (hi - lo) and besides <= BESIDES * (hi - lo)


def within(regions, bounds):
    """Regions of the mapping alone: code and stacks of the workload are in use, too."""
    lo, hi = bounds
    return [(max(start, lo), min(end, hi), share) for start, end, share in regions
            if start < hi and end > lo]


def with_wsmon(pids, hot, bounds, limit):
    """Seconds until wsmon's regions show the hot block, or None."""
    began = time.monotonic()
    with Session(pids, "sample_us=100000 aggr_us=1000000 update_us=1000000 window_us=1000000\n"):
        while (passed := time.monotonic() - began) < limit + 1:
            regions = [(int(r["start"], 0), int(r["end"], 0), float(r["share"]))
                       for r in w.lines("regions")]
            if found(within(regions, bounds), hot):
                return passed
            time.sleep(0.5)
    return None


def with_damon(pids, hot, bounds, limit):
    """The same for DAMON, by the reading of its counts that shows it first."""
    d = damon.Damon(pids)
    try:
        while (passed := time.monotonic() - d.began) < limit + 1:
            for _, _, regions in damon.parse(d.read(0.5)):
                regions = within(regions, bounds)
                for need in 1, damon.CHECKS // 2:
                    if found([(s, e, n >= need) for s, e, n in regions], hot):
                        return passed
    finally:
        d.stop()
    return None
