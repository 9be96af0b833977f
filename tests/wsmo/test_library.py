# SPDX-License-Identifier: GPL-2.0
"""libwsmon for other programs: installed, found by pkg-config, linked, removed."""
import os
import re
import subprocess
import sys

import packed
import samples
from command import ENV, HERE, TOP, ok, parsed, run

sys.path.insert(0, os.path.join(TOP, "contrib"))
import wsmon  # noqa: E402

PREFIX = "/opt/wsmon"
LIB = os.path.join(TOP, "tools", "libwsmon")


def files(top):
    return {os.path.relpath(os.path.join(path, name), top)
            for path, _, names in os.walk(top) for name in names}


def make(target, destdir):
    """prefix differs from that of the build; no kernel headers are there"""
    return subprocess.run(["make", "-s", target, "prefix=" + PREFIX, "KDIR=/nowhere",
                           "DESTDIR=" + destdir], cwd=TOP, capture_output=True,
                          env=dict(os.environ, MAKEFLAGS=""))


class Consumer:
    """tests/wsmo/programs/consumer.c, built against the installed copy alone."""

    def __init__(self, root, name, *more):
        self.program = os.path.join(root, name)
        self.env = dict(ENV, PKG_CONFIG_SYSROOT_DIR=root, PKG_CONFIG_PATH=root + PREFIX +
                        "/lib/pkgconfig", LD_LIBRARY_PATH=root + PREFIX + "/lib")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", *more, "libwsmon"],
                               env=self.env, capture_output=True, text=True).stdout.split()
        if more:
            flags = ["-l:libwsmon.a" if flag == "-lwsmon" else flag for flag in flags]
        res = subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-std=c11", "-o", self.program,
                              os.path.join(HERE, "programs", "consumer.c"), *flags],
                             cwd=root, capture_output=True, text=True, env=self.env)
        ok(flags and not res.returncode, name + ": builds", flags, res.stderr)

    def run(self, *args, stdin=b""):
        return subprocess.run([self.program, *args], input=stdin, capture_output=True,
                              env=self.env, timeout=60)

    def lines(self, kind, *args):
        return [line.split()[1:] for line in self.run(*args).stdout.decode().splitlines()
                if line.split()[0] == kind]


def report(view, data, *options):
    return parsed(run("report", view, "--json", "-i", data, *options))


def named_regions(data):
    """How many regions have a name, by contrib/wsmon.py"""
    paths, named = {}, 0
    with open(data, "rb") as f:
        for rec in wsmon.read(f)[1]:
            if rec.type == "AREA":
                if not rec.index:
                    paths = {key: path for key, path in paths.items() if key[0] != rec.pid}
                paths[rec.pid, rec.index] = rec.path
            elif rec.type == "SNAPSHOT":
                named += sum(paths.get((rec.pid, g.area), "") != "" for g in rec.regions)
    return named


def numbers(consumer, data):
    """The numbers of wsmo report."""
    name = os.path.basename(data)
    want = [[str(row[key]) for key in ("pid", "class", "window_us", "bytes", "low", "high")]
            for row in report("wss", data) if row["type"] == "wss"]
    ok(want and consumer.lines("wss", data) == want, name + ": working set sizes", want[:3],
       consumer.lines("wss", data)[:3])
    rows, got = report("regions", data), consumer.lines("snapshot", data)
    ok(rows and sum(int(line[1]) for line in got) == len(rows) and
       sum(int(line[2]) for line in got) == sum(row["end"] - row["start"] for row in rows),
       name + ": regions", len(rows), got[:3])
    ok(sum(int(line[3]) for line in got) == named_regions(data) > 0,
       name + ": names of mappings", got[:3])
    ok(consumer.lines("wss", data, "--no-snapshots") == want and
       not consumer.lines("snapshot", data, "--no-snapshots"), name + ": without snapshots")


def series(consumer, data):
    """Series and percentiles are those of wsmo report."""
    name = os.path.basename(data)
    want = sorted([row["pid"], row["window_us"], wsmon.CLASSES.index(row["class"]), row["t"],
                   row["bytes"]] for row in report("wss", data) if row["type"] == "wss")
    got = [[int(pid), int(window), wsmon.CLASSES.index(cls), int(size)]
           for pid, window, cls, size in consumer.lines("row", data)]
    ok(want and got == [row[:3] + row[4:] for row in want], name + ": series by time", want[:3], got[:3])
    rows = report("wss", data, "--percentiles")
    want = [[str(row[key]) for key in ("pid", "class", "window_us", "bytes")]
            for row in rows if row["type"] == "wss_percentile" and row["percentile"] == 50]
    got = consumer.lines("median", data)
    ok(want and sorted(got) == sorted(want), name + ": medians", want, got)


def curves(consumer, data, *none):
    """Curves, limits and knees are those of wsmo report; @none have no curve."""
    classes = ",".join(wsmon.CLASSES)
    name = os.path.basename(data)
    rows = report("curve", data, "--class", classes)
    want = [[str(row[key]) for key in ("pid", "class", "window_us", "bytes", "low", "high", "p50")]
            for row in rows]
    got = consumer.lines("point", data)
    ok(want and got == want, name + ": curves", want[:3], got[:3])
    limits, knees = consumer.lines("limit", data), consumer.lines("knee", data)
    ok([[str(len(limits))]] == consumer.lines("curves", data) and len(knees) == len(limits) > 1,
       name + ": number of curves", limits, knees)
    for (pid, cls, size, rate, high), knee in zip(limits, knees):
        # a limit of 0 cannot be given
        at, *more = sorted(report("sizing", data, "--class", cls, "--limit", max(size, "1", key=int)),
                           key=lambda row: row["limit"] != int(size))
        marked = [row["limit"] for row in [at, *more] if row["mark"] == "enough"]
        ok(size == "0" or
           (at["refaults_per_s"] is None or abs(at["refaults_per_s"] - float(rate)) < 0.01) and
           (at["refaults_high_per_s"] is None and high == "inf" or
            abs(at["refaults_high_per_s"] - float(high)) < 0.01),
           name + ": a limit for " + cls, at, rate, high)
        ok([pid, cls] == knee[:2] and knee[2] == (str(marked[0]) if marked else "inf"),
           name + ": a knee for " + cls, marked, knee)
    for data in none:
        ok(consumer.lines("curves", data) == [["0"]], os.path.basename(data) + ": no curve")


def files_and_streams(consumer, d):
    plain = d.write("plain", samples.main())
    ok(consumer.lines("snapshot", plain) and consumer.lines("wss", plain, "--no-snapshots") and
       not consumer.lines("snapshot", plain, "--no-snapshots"), "snapshots that are not packed")
    whole = packed.pack(samples.main())
    res = consumer.run(stdin=whole)
    ok(res.returncode == 0 and not res.stderr and res.stdout, "a stream from standard input",
       res.stderr)
    cut = consumer.run(stdin=whole[:-5])
    ok(cut.returncode == 1 and b"cut off inside a record" in cut.stderr and
       cut.stdout == res.stdout, "a cut file is read up to its last record", cut)
    foreign = consumer.run(stdin=b"#!/bin/sh\n")
    ok(foreign.returncode == 1 and b"error not a wsmon record" in foreign.stderr,
       "another file", foreign)
    ok(b"error empty" in consumer.run(stdin=b"").stderr, "an empty file")
    ok(b"cannot be opened" in consumer.run("/nowhere").stderr, "no file")


def symbols(root):
    """The version map, the header and the library have the same functions."""
    with open(os.path.join(LIB, "libwsmon.map")) as f:
        in_map = re.findall(r"^\t(\w+);$", f.read(), re.M)
    with open(os.path.join(LIB, "libwsmon.h")) as f:
        header = f.read()
    declared = re.findall(r"^[a-z].*?\b(wsmon_\w+)\(", header, re.M)
    documented = re.findall(r"^(?:/\*\*| \*) (wsmon_\w+)\(\) - ", header, re.M)
    lib = root + PREFIX + "/lib/libwsmon.so.0"
    exported = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", lib],
                              capture_output=True, text=True).stdout.split("\n")
    exported = [line.split()[0].split("@@") for line in exported
                if line and " A" not in line]
    ok(in_map and sorted(name for name, _ in exported) == in_map == sorted(declared),
       "it exports what the map and the header have", in_map, exported, declared)
    ok({version for _, version in exported} == {"LIBWSMON_0.1"}, "with a version", exported)
    ok(documented == declared, "each function is documented", documented, declared)
    static = subprocess.run(["nm", "-g", "--defined-only", "--format=posix",
                             root + PREFIX + "/lib/libwsmon.a"],
                            capture_output=True, text=True).stdout
    ok(sorted(re.findall(r"^(\w+) [A-Z] ", static, re.M)) == in_map,
       "the static one has no other symbols", static)
    dynamic = subprocess.run(["readelf", "-d", lib], capture_output=True, text=True).stdout
    ok("[libwsmon.so.0]" in dynamic and set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic)) ==
       {"libzstd", "libm", "libc"}, "its name, and what it needs", dynamic)


def test_installed(d):
    root = d.path("root")
    res = make("install-user", root)
    installed = files(root)
    want = {PREFIX[1:] + "/" + name for name in (
        "include/libwsmon.h", "include/wsmon.h", "include/wsmon_records.h", "lib/libwsmon.a",
        "lib/libwsmon.so", "lib/libwsmon.so.0", "lib/pkgconfig/libwsmon.pc", "bin/wsmo")}
    ok(not res.returncode and want <= installed, "installs without the module", res.stderr,
       want - installed)
    shared = Consumer(root, "shared")
    for name in ("real.data", "recordings/cc1.data", "recordings/json.data"):
        numbers(shared, os.path.join(HERE, name))
        series(shared, os.path.join(HERE, name))
    windows = os.path.join(HERE, "recordings", "windows.data")
    series(shared, windows)
    curves(shared, windows, os.path.join(HERE, "real.data"))
    files_and_streams(shared, d)
    static = Consumer(root, "static", "--static")
    data = os.path.join(HERE, "real.data")
    ok(static.run(data).stdout == shared.run(data).stdout != b"", "static: the same output")
    symbols(root)
    os.remove(static.program)
    os.remove(shared.program)
    res = make("uninstall", root)
    ok(not res.returncode and not files(root), "uninstall removes all", files(root))
