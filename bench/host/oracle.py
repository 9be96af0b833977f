#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Estimates beside the truth, for programs as Debian has them.

Boots an emulator that sees every access (bench/programs/oracle_plugin.c) and has wsmo record
programs, most of them from their first instruction on. Prints tables: of all intervals, of
the first and of the second. Takes about 5 minutes.

The truth is a range: from pages accessed in epochs of 25 ms that are wholly in the window,
and mapped at its end, to pages accessed in epochs that overlap it, mapped or not. An
interval holds if the ranges overlap; an error is the distance of the estimate from the
nearer end of the truth, 0 within.
"""
import array
import bisect
import collections
import json
import os
import random
import statistics
import subprocess

import wsmon
from guest.machine import cc1, write
from host.lib import OUT, TOP, mib, percent, table

NEED = ("redis-server", "redis-tools", "sqlite3", "gcc", "perl", "mawk", "xz-utils", "bzip2")
KEY = ("name", "n")
RAW = os.path.join(OUT, "oracle")
PAGE_BITS, SPACE_SHIFT, EPOCH_SHIFT = 12, 35, 48            # as in the plugin
EPOCH_MS = 25
# In the emulator a look at a page costs about ten times as much.
OPTIONS = ["--cpu", "30%"]

PYTHON = """
import json
rows = []
for n in range(60000):
    rows.append({"id": n, "name": "row %d" % n, "tags": [n % 7, n % 11, str(n)]})
text = json.dumps(rows)
while True:
    rows = json.loads(text)
    groups = {}
    for row in rows:
        groups.setdefault(row["tags"][0], []).append(row)
    for group in groups.values():
        group.sort(key=lambda row: row["name"])
"""
PERL = """
my %seen;
while (1) {
    open(my $in, "<", "TEXT");
    while (<$in>) { $seen{$_}++ for split /[^a-z]+/; $seen{$.}++ }
    my @top = sort { $seen{$b} <=> $seen{$a} } keys %seen;
    %seen = () if @top > 200000;
}
"""
SQL = """
create table t(id integer primary key, k integer, v text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
  insert into t select i, (i * 7919) % 60000, printf('value %d, %100d', i, i) from n;
create index tk on t(k);
""" + 40 * """
select count(*), sum(length(a.v)) from t a join t b on a.k = b.id;
update t set v = v || 'x' where k % 3 = 0;
"""


def raw(name, text):
    """Return: the path of a file with @text"""
    path = os.path.join(RAW, name)
    write(path, text)
    return path


def c_source(rng):
    """Input for a compiler"""
    names = ["f%d" % i for i in range(2500)]
    parts = ["struct s { int a[16]; double b; struct s *next; };\n"]
    for i, name in enumerate(names):
        other = rng.choice(names[:i] or [name])
        parts.append("int %s(struct s *s, int n)\n{\n\tint sum = %d;\n"
                     "\tfor (int i = 0; i < n; i++) {\n\t\tsum += s->a[i & 15] * %d;\n"
                     "\t\tif (sum %% %d == 0)\n\t\t\tsum ^= %s(s->next, n / 2);\n"
                     "\t\ts->b += sum / (1.0 + i);\n\t}\n\treturn sum;\n}\n" % (
                         name, i, rng.randrange(99), rng.randrange(2, 99), other))
    return "".join(parts)


def programs():
    """The programs to run; writes their input"""
    rng = random.Random(1)
    os.makedirs(RAW, exist_ok=True)
    numbers = raw("numbers", "".join("%d\n" % rng.randrange(1 << 31) for _ in range(3000000)))
    words = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randrange(2, 9)))
             for _ in range(30000)]
    text = raw("text", "".join(" ".join(words[int(rng.paretovariate(0.5)) % len(words)]
                                          for _ in range(12)) + "\n" for _ in range(300000)))
    redis = ["redis-server", "--port", "7777", "--save", ""]
    load = ["sh", "-c", "until redis-cli -p 7777 ping; do sleep 0.1; done; exec redis-benchmark "
            "-p 7777 -q -t set,get -d 400 -r 40000 -n 10000000 -c 4"]
    return [
        started("sort", "sort", "-n", "--parallel=1", numbers),
        started("xz", "xz", "-6", "-T1", "-c", text),
        started("bzip2", "bzip2", "-c", text),
        started("python3", "python3", raw("rows.py", PYTHON)),
        started("cc1", cc1(), "-quiet", "-O2", raw("source.c", c_source(rng)), "-o", "/dev/null"),
        started("sqlite3", "sqlite3", "-batch", "-init", raw("sql", SQL), ":memory:", ".quit"),
        started("perl", "perl", raw("words.pl", PERL.replace("TEXT", text))),
        started("mawk", "mawk", "{ for (i = 1; i <= NF; i++) n[$i, NR % 9]++ }", text),
        started("grep", "grep", "-cE", r"([a-z])([a-z])([a-z])\3\2\1", *[text] * 20),
        {**started("redis-server", *redis), "beside": [load]},
        {**started("redis-server -p", *redis), "before": [redis, load], "pid": True, "command": []},
    ]


def started(name, *command):
    return {"name": name, "command": command, "seconds": 16, "options": OPTIONS, "before": [],
            "beside": [], "pid": False, "settle": 15}


def build_plugin():
    """Return: the environment in which QEMU loads the plugin"""
    plugin = os.path.join(RAW, "plugin.so")
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-shared", "-fPIC", "-pthread", "-o", plugin,
                    os.path.join(TOP, "bench/programs/oracle_plugin.c")], check=True)
    return {"WSMON_OUT": RAW, "WSMON_PLUGIN": "%s,out=%s,epoch_ms=%d" % (
        plugin, os.path.join(RAW, "log").replace(",", ",,"), EPOCH_MS)}


class Log:
    """The plugin's output during one program."""

    def __init__(self, events, syncs):
        times = [time for what, time, _ in events if what == "sync"]
        assert len(times) == len(syncs), "%d syncs of %d" % (len(times), len(syncs))
        # offset of the host's clock and the guest's, by the closest pairs at both ends
        half = len(syncs) // 2
        closest = [min(range(a, b), key=lambda i: syncs[i][1] - syncs[i][0])
                   for a, b in ((0, half), (half, len(syncs)))]
        (h0, g0), (h1, g1) = [(times[i], sum(syncs[i]) / 2) for i in closest]
        self.epochs = {number: g0 + (time - h0) * (g1 - g0) / (h1 - h0)
                       for what, time, number in events if what == "epoch"}
        self.first = min(self.epochs)
        begin = next(number for what, _, number in events if what == "on")
        end = next(number for what, _, number in events if what == "off")
        self.records = array.array("Q")
        with open(os.path.join(RAW, "log.accesses"), "rb") as f:
            f.seek(begin)
            self.records.frombytes(f.read(end - begin))

    def of(self, stack):
        """{epoch: pages} of the program with this stack"""
        low, high = (x >> PAGE_BITS for x in stack)
        mask = (1 << SPACE_SHIFT) - 1
        spaces = collections.Counter(r >> SPACE_SHIFT & 0x1fff for r in self.records
                                     if low <= r & mask < high)
        space = spaces.most_common(1)[0][0]
        assert spaces[space] > 0.9 * sum(spaces.values()), spaces
        pages = {}
        for r in self.records:
            if r >> SPACE_SHIFT & 0x1fff == space:
                pages.setdefault(r >> EPOCH_SHIFT, set()).add(r & mask)
        return pages

    def bounds(self, pages, moves, begin, end):
        """Pages surely and perhaps accessed between two times, at their addresses after moves"""
        surely, perhaps = set(), set()
        for epoch, accessed in pages.items():
            start, stop = self.epochs[epoch], self.epochs.get(epoch + 1, 1 << 63)
            if stop > begin and start < end:
                for time, *move in moves:
                    if start <= time:
                        old, new, size = (x >> PAGE_BITS for x in move)
                        accessed = {p - old + new if old <= p < old + size else p for p in accessed}
                perhaps |= accessed
                if start >= begin and stop <= end:
                    surely |= accessed
        return surely, perhaps


def mapped(maps, pages):
    starts = [start >> PAGE_BITS for start, _, _ in maps]
    ends = [end >> PAGE_BITS for _, end, _ in maps]
    return {p for p in pages for i in [bisect.bisect_right(starts, p) - 1]
            if i >= 0 and p < ends[i]}


def stack_of(maps):
    return next(((start, end) for start, end, path in maps if path == "[stack]"), None)


def truth(log, pages, meta, polls, begin, end):
    """Minimum and maximum of bytes accessed in between; memory unmapped at the end may count"""
    # the looks at the mappings before and after
    i = bisect.bisect_right(meta["checks"], end)
    around = meta["checks"][max(i - 1, 0):i + 1]
    known = [(time, maps) for n, (time, maps) in enumerate(polls) if time <= around[-1] and
             (n + 1 == len(polls) or polls[n + 1][0] > around[0])] or polls[:1]
    low, high = [], []
    for time, maps in known:
        moves = [m for m in meta["moves"] if m[0] <= max(time, around[0])]
        bounds = log.bounds(pages, moves, begin, end)
        low.append(len(mapped(maps, bounds[0])))
        high.append(len(bounds[1]))
    return min(low) << PAGE_BITS, max(high) << PAGE_BITS


def judge(meta, events):
    """The intervals of a program, from the first one on"""
    log = Log(events, meta["syncs"])
    stack = stack_of(meta["polls"][-1][1])
    polls = [p for p in meta["polls"] if stack_of(p[1]) and stack_of(p[1])[1] == stack[1]]
    pages = log.of(stack)
    with open(os.path.join(RAW, meta["name"] + ".data"), "rb") as f:
        records = list(wsmon.read(f)[1])
    begin = max(r.time_ns for r in records if r.type == "TARGET")
    rows = []
    for r in records:
        if r.type != "WSS" or r.cls != "all" or r.time_ns < begin:
            continue
        low, high = truth(log, pages, meta, polls, r.time_ns - r.window_us * 1000, r.time_ns)
        rows.append({"name": meta["name"], "n": len(rows) + 1, "t": (r.time_ns - begin) / 1e9,
                     "bytes": r.bytes, "low": r.low, "high": r.high, "true": (low + high) / 2,
                     "true_low": low, "true_high": high,
                     "holds": r.low <= high and low <= r.high})
    return rows


def error(row):
    nearest = min(max(row["bytes"], row["true_low"]), row["true_high"])
    return row["bytes"] / nearest - 1 if nearest else 0


def half(row, prefix=""):
    return (row[prefix + "high"] - row[prefix + "low"]) / 2 / row["true"] if row["true"] else 0


def line(name, rows):
    """One row of the table of all intervals"""
    return [name, str(len(rows)), mib(statistics.median(r["true"] for r in rows)),
            percent(statistics.median(half(r, "true_") for r in rows), 1),
            percent(statistics.median(abs(error(r)) for r in rows), 1),
            percent(statistics.median(error(r) for r in rows), 1, "+"),
            percent(max(map(error, rows), key=abs), 1, "+"),
            percent(statistics.median(map(half, rows)), 1),
            "%d of %d" % (sum(r["holds"] for r in rows), len(rows))]


def interval_table(rows, n):
    return table(["interval %d" % n, "at", "truth from", "to", "estimate", "low", "high", "error",
                  "holds"],
                 [[r["name"], "%.2f" % r["t"],
                   *(mib(r[k]) for k in ("true_low", "true_high", "bytes", "low", "high")),
                   percent(error(r), 1, "+"), "yes" if r["holds"] else "no"]
                  for r in rows if r["n"] == n])


def tables(rows):
    names = list(dict.fromkeys(r["name"] for r in rows))
    return {"oracle: all": table(
        ["program", "intervals", "truth, MiB", "±", "error, size", "error", "worst", "interval ±",
         "holds"],
        [line(name, [r for r in rows if r["name"] == name]) for name in names] + [line("all", rows)]),
        "oracle: first": interval_table(rows, 1), "oracle: second": interval_table(rows, 2)}


def notes(rows):
    late = sum(b["t"] - a["t"] > 1.1 for a, b in zip(rows, rows[1:]) if b["n"] > 1)
    return ["%d of %d intervals took over 1.1 s, as the machine was busy." % (late, len(rows))]


NAMES = ("sort", "xz", "bzip2", "python3", "cc1", "sqlite3", "perl", "mawk", "grep", "redis-server",
         "redis-server -p")


def options(parser):
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME",
                        help="this program; may be repeated: " + ", ".join(NAMES))
    parser.add_argument("--no-fault-around", action="store_true", help="have the kernel "
                        "map no neighbours of a page of a file, which it does as if accessed")
    parser.add_argument("--again", action="store_true", help="evaluate the last run again")


def measure(args, run):
    path = os.path.join(RAW, "guest.json")
    if not args.again:
        todo = [p for p in programs() if p["name"] in (args.only or NAMES)]
        metas = list(run.guest({"programs": todo, "no_fault_around": args.no_fault_around},
                               mem="3G", timeout=1200, **build_plugin()))
        write(path, json.dumps(metas))
        if run.status:
            return []
    with open(path) as f:
        metas = json.load(f)
    with open(os.path.join(RAW, "log.events")) as f:
        events = [(what, int(time), int(number)) for what, time, number in map(str.split, f)]
    begins = [i for i, e in enumerate(events) if e[0] == "on"] + [len(events)]
    return [row for meta, begin, end in zip(metas, begins, begins[1:])
            for row in judge(meta, events[begin:end])]
