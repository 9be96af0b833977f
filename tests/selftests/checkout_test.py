#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests that need the whole checkout: short runs of parts of bench/ and tests/stress.

A sample page costs no more than a third of the cost of a region of DAMON. With so few
samples it is about an eighth; bench/run overhead measures it properly, and this test
keeps that code working.

Reclaim takes no hot pages from targets whose samples are drawn in the same entries: one
pair each of the stress tests' comparison. Stock kernels matter most, as they have no
young flag (6.1), and more pairs take minutes.
"""
import os
import sys

os.environ["STRESS_PAIRS"] = "1"
sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "stress"), os.path.join(HERE, "..", "..", "bench")]

import wsmontest as w                                      # noqa: E402
import stress as s                                         # noqa: E402
import reclaim                                             # noqa: E402
from guest import overhead                                 # noqa: E402
from peers import damon                                    # noqa: E402


@w.measured
def third_of_damon():
    with overhead.target(256 << 20, "4K") as t:
        rows = [(overhead.wsmon_cost(t.pid, 1000, 2)["ns"],
                 overhead.damon_cost(t.pid, 1000, 4)["ns"]) for _ in range(4)]
    # other load on this machine can only increase both costs: take the minima
    ratio = min(theirs for _, theirs in rows) / min(ours for ours, _ in rows)
    print("# ns for a page, for a region of DAMON: %s: %.1f times as much" % (
        ", ".join("%.0f %.0f" % r for r in rows), ratio))
    assert ratio >= 3, ratio


if not os.path.exists(s.CHURN):
    print("no %s: make stress" % s.CHURN, file=sys.stderr)
    sys.exit(1)
# 6.1 has no DAMON
w.main(*([third_of_damon] if os.path.exists(damon.ADMIN) else []), *reclaim.DRAWN_AGAIN)
