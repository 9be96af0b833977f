# SPDX-License-Identifier: GPL-2.0
"""wsmo report idle: bytes by the age of their regions."""
import json

import records as r
import samples
from command import ok, run, same_numbers

SEC = samples.SEC
MIB = samples.MIB
AGES = (0, 999, 1000, 9999, 10000, 59999, 60000, 299999, 300000, 4294967295)
COLUMNS = ("idle_1s", "idle_10s", "idle_1min", "idle_5min", "idle_longer")


def recording():
    """Ten regions of each of two areas; at the end they are all used"""
    out = r.header(0) + r.target(1, 7, b"idler")
    for n, cls in enumerate(("heap", "anon")):
        out += r.area(2, 7, cls, n, 2, n + 1 << 30, n + 2 << 30, path=b"[area %d]" % n)
    regions = [r.region((n + 1 << 30) + i * MIB, (n + 1 << 30) + (i + 1) * MIB, n / 4, 0, cls, age, n)
               for n, cls in enumerate(("heap", "anon")) for i, age in enumerate(AGES)]
    # in two parts
    out += r.snapshot(SEC, 7, regions[:9], 0, 20) + r.snapshot(SEC, 7, regions[9:], 9, 20)
    out += r.area(SEC + 1, 7, "anon", 0, 1, 1 << 40, 2 << 40, path=b"[a later area 0]")
    out += r.snapshot(2 * SEC, 7, [r.region(1 << 30, (1 << 30) + MIB, 1, 1, "heap", 0, 0)])
    return out + r.end(3 * SEC)


def idle(*args):
    res = run("report", "idle", "--json", "-i", "-", *args, stdin=recording())
    ok(res.returncode == 0 and not res.stderr, "report idle " + " ".join(args), res.stderr)
    return [json.loads(line) for line in res.stdout.splitlines()]


def main(_accept):
    rows = idle("--time", ",1")
    ok([(x["class"], x["path"], x["mapped"], x["used"], {x[age] for age in COLUMNS}, x["t"]) for x in rows] ==
       [("all", None, 20 * MIB, 10 * MIB // 4, {7 * MIB // 2}, 1), ("heap", None, 10 * MIB, 0, {2 * MIB}, 1),
        ("anon", None, 10 * MIB, 10 * MIB // 4, {3 * MIB // 2}, 1)], "bytes by age, at the end of --time", rows)
    rows = idle("--time", ",1", "--mappings", "--class", "heap,anon")
    ok([(x["class"], x["path"], x["mapped"]) for x in rows] ==
       [("heap", "[area 0]", 10 * MIB), ("anon", "[area 1]", 10 * MIB)], "mappings", rows)
    rows = idle()
    ok([(x["class"], x["used"], x["mapped"], x["idle_1s"]) for x in rows] ==
       [("all", MIB, MIB, 0), ("heap", MIB, MIB, 0)], "the last snapshot counts", rows)
    many = r.header(0) + r.snapshot(SEC, 7, [r.region(1 << 30, 1 << 31, 1, 1, "heap", 0, 0)], 0,
                                        (1 << 32) - 1) + r.end(SEC)
    res = run("report", "idle", "-i", "-", stdin=many)
    ok(res.returncode == 0, "a snapshot that lacks most of its parts", res)
    same_numbers("idle", "report", "idle", "-i", "-", "--mappings", stdin=recording(), not_raw=["t", "comm"])
