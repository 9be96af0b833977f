# SPDX-License-Identifier: GPL-2.0
"""A recording with peaks and stacks of a real program, Python's JSON tool: golden files.

It is bench/examples/find-peak's, up to its eleventh second. Its files count as missing, so that no
machine has names for them.
"""
import os

from command import HERE, golden, run

VIEWS = (
    ("summary", "txt", ()),
    ("peaks", "txt", ()),
    ("peaks", "folded", ("--folded",)),
    ("hot", "txt", ("--top", "3")),
)


def test_peaks(accept):
    with open(os.path.join(HERE, "recordings", "json.data"), "rb") as f:
        data = f.read()
    assert data.count(b"/usr/") > 2
    data = data.replace(b"/usr/", b"/non/")
    for view, form, options in VIEWS:
        res = run("report", view, *options, "-i", "-", stdin=data)
        notes = res.stderr.splitlines()
        words = (view != "summary") * [b"no names from"] + [b"no end"]
        golden("real/json.%s.%s" % (view, form), res.stdout, accept,
               res.returncode == 0 and len(notes) == len(words) and
               all(w in line for w, line in zip(words, notes)), res.stderr)
