#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a sample page costs against what a region costs DAMON: no more than a third.

It is about an eighth of it for as few as these; bench/run overhead measures it
properly, this is here so that it cannot rot.
"""
import os
import sys

import wsmontest as w

sys.path.insert(0, os.path.join(w.TOP, "bench"))
from guest import overhead                                 # noqa: E402
from peers import damon                                    # noqa: E402


@w.measured
def third_of_damon():
    with overhead.target(256 << 20, "4K") as t:
        rows = [(overhead.wsmon_cost(t.pid, 1000, 2)["ns"],
                 overhead.damon_cost(t.pid, 1000, 4)["ns"]) for _ in range(4)]
    # other things this machine does only add to either
    ratio = min(theirs for _, theirs in rows) / min(ours for ours, _ in rows)
    print("# ns for a page, for a region of DAMON: %s: %.1f times as much" % (
        ", ".join("%.0f %.0f" % r for r in rows), ratio))
    assert ratio >= 3, ratio


if not os.path.exists(damon.ADMIN):
    w.skip("no DAMON in this kernel")
w.main(third_of_damon)
