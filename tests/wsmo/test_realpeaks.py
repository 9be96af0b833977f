# SPDX-License-Identifier: GPL-2.0
"""A recording with peaks and stacks of a real program, Python's JSON tool: golden files.

It is bench/find-peak's, up to its eleventh second. Its files are taken to be nowhere, so that
no machine has names for them.
"""
import os

from tap import GOLDEN, HERE, ok, run

VIEWS = (
    ("summary", "txt", ()),
    ("peaks", "txt", ()),
    *(("peaks", form, ("--" + form,)) for form in ("json", "csv", "folded")),
    ("hot", "txt", ("--top", "3")),
    *(("hot", form, ("--" + form,)) for form in ("json", "csv")),
)


def main(accept):
    with open(os.path.join(HERE, "recordings", "json.data"), "rb") as f:
        data = f.read()
    assert data.count(b"/usr/") > 2
    data = data.replace(b"/usr/", b"/non/")
    for view, form, options in VIEWS:
        name = "json.%s.%s" % (view, form)
        path = os.path.join(GOLDEN, "real", name)
        res = run("report", view, *options, "-i", "-", stdin=data)
        if accept:
            with open(path, "wb") as f:
                f.write(res.stdout)
        with open(path, "rb") as f:
            want = f.read()
        told = res.stderr.splitlines()
        words = (view != "summary") * [b"no names from"] + [b"no end"]
        ok(res.returncode == 0 and res.stdout == want and len(want) > 200 and
           len(told) == len(words) and all(w in line for w, line in zip(words, told)),
           "golden " + name, res.stderr,
           *[line for line in res.stdout.decode().splitlines()
             if line not in want.decode().splitlines()])
