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
    ("regions", ("--time", "2,3")),
    ("raw", ("--time", "2,3")),
    ("heatmap", ()),
    ("heatmap-wide", ("--size", "160x50")),
    ("heatmap-256", ("--color", "256", "--size", "100x30")),
    ("heatmap-16", ("--color", "16", "--size", "100x30")),
    ("heatmap-heap", ("--class", "heap,anon", "--time", "3,9")),
)


def view_of(name):
    return {"percentiles": "wss"}.get(name, name.split("-")[0])


def main(accept):
    for program in PROGRAMS:
        data = os.path.join(HERE, "recordings", program + ".data")
        for name, options in VIEWS:
            golden = os.path.join(GOLDEN, "real", "%s.%s.txt" % (program, name))
            res = run("report", view_of(name), *options, "-i", data)
            if accept:
                os.makedirs(os.path.dirname(golden), exist_ok=True)
                with open(golden, "wb") as f:
                    f.write(res.stdout)
            with open(golden, "rb") as f:
                want = f.read()
            got = res.stdout.decode().splitlines()
            ok(res.returncode == 0 and not res.stderr and res.stdout == want and
               len(got) > 2, "%s of %s" % (name, program), res.stderr,
               *[line for line in got if line not in want.decode().splitlines()])
