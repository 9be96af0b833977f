# SPDX-License-Identifier: GPL-2.0
"""Targets with a secondary MMU: all output about such a target says so."""
import json

import records as r
from command import Directory, ok, parsed, run
from fakemodule import Stream

S = 10**9
NOTE = b"7 qemu has a secondary MMU"
FLAG = 0x100
HEAP = 0x100000


def recording(reason=2, flag=FLAG):
    """Process 7 is flagged after an interval, process 8 is not."""
    out = [r.header(0), r.attrs(0), r.target(0, 7, b"qemu"), r.target(0, 8, b"other")]
    for t in range(1, 5):
        if t == 2:
            out.append(r.target(t * S, 7, b"qemu", reason | flag))
        for pid in 7, 8:
            out += [r.area(t * S, pid, "heap", 0, 1, HEAP, HEAP + 0x10000),
                    r.snapshot(t * S, pid, [r.region(HEAP, HEAP + 0x10000, 1, 1, "heap", 0, 0)]),
                    r.wss(t * S, pid, "all", 8192, 4096, 12288, 65536),
                    r.proc(t * S, pid, 65536, 0, 65536)]
        out.append(r.stats(t * S, rounds=10 * t, cpu_ns=10**7 * t * t // 4))
    return b"".join(out) + r.end(5 * S)


def flagged(res):
    """Whether the objects of each pid are flagged."""
    found = {}
    for x in parsed(res):
        if "pid" in x:
            found.setdefault(x["pid"], set()).add(x.get("secondary_mmu", False))
        else:
            assert "secondary_mmu" not in x
    return found


def reports(d):
    file = d.write("data", recording())
    plain = d.write("plain", recording(flag=0))
    for view in "summary", "wss", "regions", "heatmap", "hot", "peaks":
        res = run("report", view, "-i", file)
        ok(res.returncode == 0 and res.stderr.count(NOTE) == 1, view + ": said once", res)
        res = run("report", view, "-i", file, "--pid", "8")
        ok(res.returncode == 0 and NOTE not in res.stderr, "  not of others", res)
    res = run("report", "html", "-i", file)
    ok(res.stderr.count(NOTE) == 1 and b'"secondary_mmu":true' in res.stdout, "html", res.stderr)
    for fmt in "chrome", "openmetrics":
        ok(run("export", fmt, "-i", file).stderr.count(NOTE) == 1, "export " + fmt)
    ok(flagged(run("report", "--json", "-i", file)) == {7: {True}, 8: {False}}, "summary, JSON")
    ok(flagged(run("report", "wss", "--json", "-i", file)) == {7: {False, True}, 8: {False}},
       "wss, JSON: from then on")
    res = [run("report", "--json", "-i", x) for x in (file, plain)]
    cost = [json.loads(x.stdout.splitlines()[-1])["cpu"] for x in res]
    # a repeated TARGET is not the beginning: 40 ms in 4 s
    ok(cost == [0.01, 0.01], "what is told again is not the beginning", cost)
    res = run("report", "--json", "-i", d.write("exec", recording(reason=1)))
    ok(res.stderr.count(NOTE) == 1, "an exec with it", res)


def live(flags):
    with Directory() as d:
        s = Stream(d, [(7, "all", 8192, 65536), (8, "all", 8192, 65536)], flags=flags)
        res = run("top", "--debugfs", d.name, "--repeat=2", "--interval", "10ms", "--json")
        s.close()
        return res


def test_marked():
    with Directory() as d:
        reports(d)
    res = live({7: FLAG | 2})
    ok(res.stderr.count(b"has a secondary MMU") == 1 and
       flagged(res) == {7: {True}, 8: {False}}, "top", res)
    res = live({})
    ok(b"secondary" not in res.stderr and flagged(res) == {7: {False}, 8: {False}},
       "top, nothing to say", res)
