# SPDX-License-Identifier: GPL-2.0
"""Is the CPU budget kept when looking at a page costs ten times as much?

Builds a second module whose look at a page waits nine times as long as a look takes, and
lets both monitor a busy target at the default attributes in a virtual machine: with the
default budget, and without one. Takes three minutes.
"""
import os
import shutil
import tempfile

from host.lib import TOP, say, table

NEED = ()
KEY = ("module", "permille")
WALK = "module/wsmon_walk.c"
VISIT = "		seen = walk_sample_addr("


def options(parser):
    pass


def slower(run, ns):
    """The same with a module whose looks take @ns more"""
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o755)
        tree = os.path.join(tmp, "tree")
        shutil.copytree(TOP, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        shutil.rmtree(os.path.join(tree, "out/module"), ignore_errors=True)
        path = os.path.join(tree, WALK)
        with open(path) as f:
            text = f.read()
        assert text.count(VISIT) == 1
        with open(path, "w") as f:
            f.write("#include <linux/delay.h>\n" + text.replace(VISIT, "		ndelay(%d);\n" % ns + VISIT))
        return list(run.guest({}, timeout=600, tree=tree))


def measure(args, run):
    rows = list(run.guest({}, timeout=600))
    say("ten times as costly...")
    more = slower(run, round(9 * rows[0]["ns"])) if rows else []
    return [dict(row, module=name) for name, found in (("as it is", rows), ("slower", more))
            for row in found]


def tables(rows):
    return {"budget": table(
        ["a check costs", "budget", "CPU used in 10 s", "regions in force"],
        [["%.1f µs" % (r["ns"] / 1000),
          "none" if r["permille"] == 1000 else "%d/1000" % r["permille"],
          "%.0f to %.0f/1000" % (min(r["used"]), max(r["used"])), r["regions"]] for r in rows])}


def notes(rows):
    return []
