#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hot memory has names: a program that walks through 2 MiB of its own text, and
through a static array, once a second."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile

import wsmontest as w
import wsmon

TMP = tempfile.mkdtemp()
FILE = os.path.join(TMP, "data")
PROGRAM = os.path.join(TMP, "textwalk")
TEXT = 2 << 20
FUNCTIONS = {"walk_%d" % i for i in range(32)}


def hot(*args):
    r = subprocess.run(["wsmo", "report", "hot", "--json", "-i", FILE, *args],
                       capture_output=True, text=True)
    assert r.returncode == 0, r
    return [json.loads(line) for line in r.stdout.splitlines()], r.stderr


def named(rows):
    return {s.split()[0]: row for row in rows for s in row["symbols"].split(", ")
            if row["symbols"] and not s.startswith("+")}


def record():
    shutil.copy(shutil.which("textwalk"), PROGRAM)
    r = subprocess.run(["wsmo", "record", "-q", "-o", FILE, "--seed", "1", "-d", "20", "--",
                        PROGRAM, "22"], capture_output=True, text=True)
    assert r.returncode == 0, r
    shutil.copy(FILE, os.environ.get("WSMON_OUT", TMP) + "/textwalk.data")


@w.measured
def text_wss():
    record()
    with open(FILE, "rb") as f:
        sizes = [r.bytes for r in wsmon.read(f)[1]
                 if r.type == "WSS" and r.cls == "text" and r.bytes]
    # in the first intervals regions still adapt to the hot text
    median = statistics.median(sizes[3:])
    print("# text: median %.3f MiB of %d intervals" % (median / (1 << 20), len(sizes)))
    assert len(sizes) >= 15 and abs(median - TEXT) <= TEXT / 10, sizes


def functions():
    rows, err = hot("--class", "text", "--top", "100")
    found = {name: row for name, row in named(rows).items() if name in FUNCTIONS}
    # a region with many functions names sixteen of them
    assert len(found) >= 16 and not err, (rows, err)
    assert sum(row["end"] - row["start"] for row in {
        row["start"]: row for row in found.values()}.values()) < 1.5 * TEXT, rows
    for row in found.values():
        assert row["path"] == PROGRAM and row["hottest"] > 0, row
    # after the text that sleep() uses each second
    top = hot("--class", "text", "--top", "3")[0]
    assert set(named(top)) & FUNCTIONS, top


def objects():
    rows, _ = hot("--class", "data,anon,heap", "--top", "100")
    assert "touched_table" in named(rows), rows


def changed():
    """Another file of the same name has no names to give."""
    os.unlink(PROGRAM)
    shutil.copy("/bin/true", PROGRAM)
    rows, err = hot("--class", "text")
    assert rows and not named(rows), rows
    assert err.count("\n") == 1 and PROGRAM in err and "not as recorded" in err, err


w.need("wsmo", "textwalk")
w.main(text_wss, functions, objects, changed)
