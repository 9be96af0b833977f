# SPDX-License-Identifier: GPL-2.0
"""Where the working set is: a monitor's regions against the truth."""
import bisect

SETTLE = 5		# intervals after a change until the map counts


def error(regions, truth, bounds):
    """Mean over the bytes within bounds of |reported share - true share|.

    Both are lists of (start, end, share), disjoint and in order; the rest has
    share 0.
    """
    lo, hi = bounds
    edges = {lo, hi}
    for segments in regions, truth:
        for start, end, _ in segments:
            edges.update(x for x in (start, end) if lo < x < hi)
    edges = sorted(edges)
    reported, true = (_shares(segments, edges) for segments in (regions, truth))
    return sum(abs(a - b) * (end - start) for a, b, start, end in
               zip(reported, true, edges, edges[1:])) / (hi - lo)


def _shares(segments, edges):
    """The share between each two edges."""
    starts = [s[0] for s in segments]
    shares = []
    for at in edges[:-1]:
        i = bisect.bisect_right(starts, at) - 1
        shares.append(segments[i][2] if i >= 0 and segments[i][1] > at else 0)
    return shares


def settled(truth, window_ns, t):
    """Has the truth been unchanged for a while at t?

    Memory that becomes hot, and memory that falls out of the window one window later,
    are one change: its first time counts.
    """
    changed = None
    for when in sorted({m[0] for m in truth.maps}):
        if when > t:
            break
        if changed is None or when - last > 1.5 * window_ns:
            changed = when
        last = when
    return changed is None or t - changed >= SETTLE * window_ns
