# SPDX-License-Identifier: GPL-2.0
"""Shared by the selftests of wsmo act."""
import json
import os
import subprocess
import tempfile

from wsmontest import write                                # noqa: F401

TMP = tempfile.mkdtemp()
MIB = 1 << 20
SCHEME = os.path.join(TMP, "scheme")


def without_damon():
    """DAMON may watch all memory from boot on (Linux 6.17 and later), and wsmo act refuses
    to act beside it"""
    enabled = "/sys/module/damon_stat/parameters/enabled"
    if os.path.exists(enabled):
        with open(enabled) as f:
            runs = f.read() == "Y\n"
        if runs:
            write(enabled, "N")


def scheme(*rules):
    write(SCHEME, "\n".join(rules) + "\n")
    return SCHEME


def act(*args, **more):
    r = subprocess.run(["wsmo", "act", *args], capture_output=True, text=True, **more)
    for line in r.stderr.splitlines():
        print("# " + line, flush=True)
    return r


def rules(r):
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    return [line for line in lines if line["type"] == "rule"]
