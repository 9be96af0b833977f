#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Reclaim takes no hot pages from targets whose samples are drawn in the same entries.

One pair each of the stress tests' comparison: stock kernels are where it
matters, as they have no young flag (6.1), and more pairs take minutes.
"""
import os
import sys

os.environ["STRESS_PAIRS"] = "1"
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "stress"))

import wsmontest as w                                      # noqa: E402
import stress as s                                         # noqa: E402
import reclaim                                             # noqa: E402

if not os.path.exists(s.CHURN):
    print("no %s: make stress" % s.CHURN, file=sys.stderr)
    sys.exit(1)
w.main(*reclaim.DRAWN_AGAIN)
