# SPDX-License-Identifier: GPL-2.0
"""The cost of wsmo record --alloc for programs that allocate a lot.

Each program runs in turn alone, under wsmo record --alloc (against a fake of the module)
with sparse and with denser samples, and under heaptrack, which notes every allocation. It
prints its own CPU time, which is compared with that of the run alone in the same round.
The first program only allocates and frees. Needs no guest.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from command import ENV, Directory
from fakemodule import Module
from host.lib import TOP, at_least, percent, table

NEED = ("gcc", "libc6-dev", "perl", "heaptrack")
KEY = ("program", "how")
WSMO = os.path.join(TOP, "out", "bin", "wsmo")
LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void *p[10000];
int main(void)
{
	unsigned x = 1, i;
	for (i = 0; i < 30000000; i++) {
		unsigned k = ((x = x * 1103515245 + 12345) >> 8) % 10000;
		free(p[k]);
		p[k] = malloc(16 + (x >> 4 & 127));
	}
	printf("cpu %f\n", (double)clock() / CLOCKS_PER_SEC);
}
"""
# About 4 million strings, arrays and hash entries, and half of them freed again
PERL = ("my %h; for my $i (1..900000) { $h{'key' . $i} = [$i, 'value' . $i x 3]; "
        "delete $h{'key' . ($i - 200000)} } my @t = times; printf(\"cpu %f\\n\", $t[0] + $t[1])")
HOW = ("as it is", "512 KiB", "64 KiB", "heaptrack")


def options(parser):
    parser.add_argument("--rounds", type=at_least(1), default=15, help="of which the median counts (15)")


def programs(tmp):
    loop = os.path.join(tmp, "loop")
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-x", "c", "-o", loop, "-"], input=LOOP.encode(),
                   check=True)
    return {"malloc and free": [loop], "perl, a hash": ["perl", "-e", PERL]}


def cpu(text):
    return float([line for line in text.splitlines() if line.startswith("cpu ")][0].split()[1])


def recorded(tmp, command, rate):
    with Directory() as fake:
        module = Module(fake)
        try:
            res = subprocess.run(
                [WSMO, "record", "--debugfs", fake.name, "-o", os.path.join(tmp, "data"),
                 "--no-stacks", "--alloc=" + rate, "--", *command], env=ENV, capture_output=True,
                text=True, check=True)
        finally:
            module.close()
    if "LOST" in res.stderr:
        sys.exit(res.stderr)
    words = [line.split() for line in res.stderr.splitlines() if line.startswith("wsmo: sampled ")]
    return cpu(res.stdout), int(words[0][2])


def one(tmp, command, how):
    """CPU time in s, samples"""
    if how == "as it is":
        return cpu(subprocess.run(command, env=ENV, capture_output=True, text=True,
                                  check=True).stdout), 0
    if how == "heaptrack":
        res = subprocess.run(["heaptrack", "-o", os.path.join(tmp, "heaptrack"), *command],
                             env=ENV, capture_output=True, text=True, check=True)
        return cpu(res.stdout), 0
    return recorded(tmp, command, how.replace(" KiB", "K"))


def measure(args, _run):
    if not os.path.exists(WSMO):
        sys.exit("out/bin/wsmo is not there: make wsmo")
    rows = {}
    with tempfile.TemporaryDirectory() as tmp:
        for name, command in programs(tmp).items():
            for n in range(args.rounds):
                # the order alternates
                for how in HOW if n % 2 else HOW[::-1]:
                    # it makes every allocation slow
                    if how == "heaptrack" and (n > 2 or not shutil.which(how)):
                        continue
                    seconds, samples = one(tmp, command, how)
                    row = rows.setdefault((name, how), {"program": name, "how": how, "cpu": [],
                                                        "samples": 0})
                    row["cpu"].append(seconds)
                    row["samples"] = samples
    return [rows[name, how] for name in programs_of(rows) for how in HOW if (name, how) in rows]


def programs_of(rows):
    return list(dict.fromkeys(name for name, _ in rows))


def slower(row, plain):
    """Slowdowns, as pairs of a round, sorted"""
    return sorted(a / b - 1 for a, b in zip(row["cpu"], plain["cpu"]))


def cells(row, plain):
    ratios = slower(row, plain)
    quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    same = row is plain
    return [row["program"], row["how"], "%.2f" % statistics.median(row["cpu"]),
            "-" if same else percent(statistics.median(ratios), 1, "+"),
            "-" if same else "%s to %s" % (percent(quartiles[0], 1, "+"), percent(quartiles[2], 1, "+")),
            "%.0f" % (row["samples"] / statistics.median(row["cpu"])) if row["samples"] else "-"]


def tables(rows):
    plain = {row["program"]: row for row in rows if row["how"] == HOW[0]}
    return {"alloc": table(
        ["program", "a sample each", "s of CPU", "slower", "quartiles", "samples/s"],
        [cells(row, plain[row["program"]]) for row in rows])}


def notes(rows):
    return []
