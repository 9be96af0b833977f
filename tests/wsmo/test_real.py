# SPDX-License-Identifier: GPL-2.0
"""Every text view of recordings of three real programs, against golden files.

recordings/make made them.
"""
import os

from tap import GOLDEN, HERE, ok, run

PROGRAMS = ("redis", "cc1", "sort")
VIEWS = (
    ("summary", ()),
    ("wss", ("--class", "all,heap,anon")),
    ("percentiles", ("--percentiles=5,50,95",)),
    ("wss-size", ("--class", "all", "--sort", "size")),
    # of one interval: regions of all would be longer than the recording
    ("regions", ("--time", "INTERVAL")),
    ("raw", ("--time", "INTERVAL")),
    ("peaks", ()),
    ("hot-top", ("--top", "5")),
    ("curve", ()),
    ("sizing", ()),
    ("heatmap", ()),
    ("heatmap-wide", ("--size", "160x50")),
    ("heatmap-256", ("--color", "256", "--size", "100x30")),
    ("heatmap-16", ("--color", "16", "--size", "100x30")),
    ("heatmap-heap", ("--class", "heap,anon", "--time", "PART")),
)
# cc1 is done in three seconds
TIMES = {"INTERVAL": "2,3", "PART": "3,9"}
CC1_TIMES = {"INTERVAL": "2,2.2", "PART": "1,2"}
# What was not recorded, and the exit status then
NOTHING = {("cc1", "peaks"): 0, ("sort", "peaks"): 0, ("redis", "curve"): 1,
           ("redis", "sizing"): 1, ("sort", "curve"): 1, ("sort", "sizing"): 1}


def view_of(name):
    return {"percentiles": "wss"}.get(name, name.split("-")[0])


def main(accept):
    for program in PROGRAMS:
        data = os.path.join(HERE, "recordings", program + ".data")
        for name, options in VIEWS:
            golden = os.path.join(GOLDEN, "real", "%s.%s.txt" % (program, name))
            times = CC1_TIMES if program == "cc1" else TIMES
            res = run("report", view_of(name), *[times.get(x, x) for x in options], "-i", data)
            # what there is nothing of is told
            text = res.stdout + res.stderr
            if accept:
                os.makedirs(os.path.dirname(golden), exist_ok=True)
                with open(golden, "wb") as f:
                    f.write(text)
            with open(golden, "rb") as f:
                want = f.read()
            got = text.decode().splitlines()
            ok(res.returncode == NOTHING.get((program, name), 0) and text == want and
               (len(res.stdout.splitlines()) > 2) == ((program, name) not in NOTHING),
               "%s of %s" % (name, program), res.stderr,
               *[line for line in got if line not in want.decode().splitlines()])
