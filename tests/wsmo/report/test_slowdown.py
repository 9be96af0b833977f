# SPDX-License-Identifier: GPL-2.0
"""report sizing: the cost of a limit in time, from measured or given times of refaults."""
import json
import math

import records as r
from command import every, ok, run
from test_sizing import MIB, N, RATE, lines, random_use, recording

# seconds: of swap, and of files
SWAP, HALF, FILE = 100e-6, 5e-6, 1e-3
SWAP_RECORD = r.refault(0, 0, 100000, half_ns=5000, text=b"/dev/zram0 on zram0")
FILE_RECORD = r.refault(0, 1, 1000000, text=b"/var/tmp on sda1, rotating")
NO_SWAP = r.refault(0, 0, 0, count=0, text=b"there is no swap")


def text(data, *args):
    return run("report", "sizing", "-i", "-", *args, stdin=data)


def test_measured():
    data = recording(random_use, first=SWAP_RECORD)
    got = [x for x in lines("sizing", data) if x["bound"] == ""]
    off = [x for x in got if abs(x["slowdown"] - SWAP * x["refaults_per_s"]) > 1e-5 or
           abs(x["slowdown_low"] - (SWAP - HALF) * x["refaults_low_per_s"]) > 1e-5 or
           abs(x["slowdown_high"] - (SWAP + HALF) * x["refaults_high_per_s"]) > 1e-5]
    ok(len(got) > 10 and not off, "refaults times the mean; both intervals", off)
    share = 0.5
    window = -math.log(1 - share) / RATE
    x = lines("sizing", data, "--limit", str(round(random_use(window))))[0]
    ok(abs(x["slowdown"] / (RATE * N * (1 - share) * SWAP) - 1) < 0.05, "the closed form", x)
    x = lines("sizing", data, "--limit", "1M,1G")
    ok([x[0]["slowdown"], x[0]["slowdown_high"], x[-1]["slowdown"]] == 3 * [None] and
       x[0]["slowdown_low"] > 0 and x[-1]["slowdown_high"] > 0, "one end is known outside of the windows", x)
    res = text(data)
    head = res.stdout.decode().splitlines()[0]
    ok("SLOWDOWN" in head and "A refault from swap takes 100 us, +/- 5 us: mean of 1024 (/dev/zram0 on "
       "zram0) before the recording." in res.stdout.decode() and not res.stderr, "the text", res)


def test_not_measured():
    plain = recording(random_use)
    res = text(plain)
    ok("SLOWDOWN" not in res.stdout.decode() and "A refault" not in res.stdout.decode(),
       "no column without a cost", res.stdout)
    ok(every(x["slowdown"] is x["slowdown_low"] is x["slowdown_high"] is None for x in lines("sizing", plain)),
       "null in JSON")
    res = text(plain, "--max-slowdown", "5%")
    ok(b"--refault-cost" in res.stderr and b"enough" not in res.stdout, "--max-slowdown needs a cost", res)
    data = recording(random_use, first=NO_SWAP + FILE_RECORD)
    ok(every(x["slowdown"] is None for x in lines("sizing", data)) and
       b"from swap was not measured: there is no swap. See --refault-cost." in text(data).stdout,
       "anonymous memory without swap", text(data).stdout)
    got = lines("sizing", data, "--refault-cost", "0.2ms", "--limit", "30M")[0]
    ok(abs(got["slowdown"] / got["refaults_per_s"] - 2e-4) < 1e-6, "--refault-cost is for all", got)
    got = lines("sizing", recording(random_use, first=SWAP_RECORD), "--refault-cost", "1ms", "--limit", "30M")[0]
    ok(abs(got["slowdown"] / got["refaults_per_s"] - 1e-3) < 1e-6 and
       abs(got["slowdown_high"] / got["refaults_high_per_s"] - 1e-3) < 1e-6, "and overrides what was measured", got)


def test_of_files():
    """A quarter of the pages are of a file."""
    def files(window, _=0):
        return random_use(window) / 4
    for name, first, want in (("both are known", SWAP_RECORD + FILE_RECORD, 0.75 * SWAP + 0.25 * FILE),
                              ("the last one counts", FILE_RECORD + SWAP_RECORD + r.refault(0, 1, 2000000),
                               0.75 * SWAP + 0.25 * 2 * FILE)):
        got = [x for x in lines("sizing", recording(random_use, first=first, files=files)) if x["bound"] == ""]
        ok(got and all(abs(x["slowdown"] / x["refaults_per_s"] / want - 1) < 0.02 for x in got),
           "a quarter is from files: " + name, got[:2], want)
    data = recording(random_use, first=NO_SWAP + FILE_RECORD, files=random_use)
    got = lines("sizing", data, "--limit", "30M")[0]
    ok(abs(got["slowdown"] / got["refaults_per_s"] - FILE) < 1e-5, "nothing but files needs no swap", got)
    data = recording(random_use, first=SWAP_RECORD + FILE_RECORD, files=files)
    got = lines("sizing", data, "--class", "file", "--limit", "8M")[0]
    ok(abs(got["slowdown"] / got["refaults_per_s"] - FILE) < 1e-5, "--class file", got)
    got = lines("sizing", recording(random_use, pids=(7, 8), first=SWAP_RECORD + FILE_RECORD, files=files),
                "--limit", "60M")
    whole = [x for x in got if x["pid"] is None][0]
    ok(abs(whole["slowdown"] / whole["refaults_per_s"] / (0.75 * SWAP + 0.25 * FILE) - 1) < 0.02,
       "all together", whole)


def test_read_around():
    """Half of the files' memory below a limit was read ahead around used pages, and is lost."""
    def files(window, _=0):
        return random_use(window) / 2

    def at(limit, unmapped, *args):
        return lines("sizing", recording(random_use, first=SWAP_RECORD + r.refault(0, 1, 10**6, unmapped=unmapped),
                                         files=files), "--limit", str(limit), *args)[0]
    # half of the refaults are from files
    got, mean, most = at(40 * MIB, 0.4), at(36 * MIB, 0), at(32 * MIB, 0)
    ok(abs(got["refaults_per_s"] / mean["refaults_per_s"] - 1) < 0.02 and got["limit"] == 40 * MIB and
       abs(got["keeps_us"] / mean["keeps_us"] - 1) < 0.02, "half of it is lost", got, mean)
    ok(abs(got["refaults_high_per_s"] / most["refaults_high_per_s"] - 1) < 0.02 and
       got["refaults_low_per_s"] == at(40 * MIB, 0)["refaults_low_per_s"], "between nothing and all of it", got, most)
    ok(abs(got["slowdown"] / mean["slowdown"] - 1) < 0.02, "in time, too", got, mean)
    data = recording(random_use, first=SWAP_RECORD + r.refault(0, 1, 10**6, unmapped=0.4), files=files)
    marked = [x for x in lines("sizing", data, "--max-refaults", "300") if x["mark"]][0]
    around = lines("sizing", data, "--limit", "%d,%d" % (marked["limit"] - 0.5 * MIB, marked["limit"]))
    ok(around[0]["refaults_high_per_s"] > 300 >= around[1]["refaults_high_per_s"], "the knee has room for it",
       marked, around)
    ok(b"40 % of the file pages under a limit are read around accessed pages." in text(data).stdout, "the text", text(data))
    got = lines("sizing", recording(random_use, first=r.refault(0, 1, 10**6, unmapped=2), files=files), "--limit",
                "40M")[0]
    ok(got["refaults_per_s"] == at(40 * MIB, 0)["refaults_per_s"], "more than all is no share", got)


def test_knee():
    data = recording(random_use, first=SWAP_RECORD)

    def marked(*args):
        return [x["limit"] for x in lines("sizing", data, *args) if x["mark"]]
    got = marked("--max-slowdown", "3%")
    around = lines("sizing", data, "--limit", "%d,%d" % (got[0] - 0.5 * MIB, got[0]))
    ok(len(got) == 1 and around[0]["slowdown_high"] > 0.03 >= around[1]["slowdown_high"],
       "--max-slowdown marks the smallest limit that keeps to it", got, around)
    same = marked("--max-refaults", str(round(0.03 / (SWAP + HALF))))
    ok(abs(same[0] / got[0] - 1) < 0.01, "it is that of the refaults it allows", same, got)
    many, few = marked("--max-refaults", "400"), marked("--max-refaults", "200")
    both = marked("--max-refaults", "400", "--max-slowdown", "3%"), marked(
        "--max-refaults", "200", "--max-slowdown", "3%")
    ok(many[0] < got[0] < few[0] and both == (got, few), "of both the stricter one counts", many, few, both)
    res = text(data, "--max-slowdown", "3%").stdout.decode()
    ok("of memory keep the slowdown below 3 %" in res, "the sentence", res)
    res = text(data, "--max-slowdown", "3%", "--max-refaults", "200").stdout.decode()
    ok("of memory keep refaults below 200 a second and the slowdown below 3 %" in res, "of both", res)
    res = text(data, "--max-slowdown", "0.01%").stdout.decode()
    ok("may cause a slowdown above 0.01 %; record longer windows" in res, "if no limit does", res)


def test_errors():
    for args, word in ((("--max-slowdown", "0"), "no refault"), (("--max-slowdown", "x"), "'x'"),
                       (("--max-slowdown", "101%"), "101"), (("--refault-cost", "0"), "0"),
                       (("--refault-cost", "x"), "'x'")):
        res = run("report", "sizing", *args, "-i", "-", stdin=b"")
        ok(res.returncode == 2 and word in res.stderr.decode() and not res.stdout,
           "refused: sizing " + " ".join(args), res.stderr)
    broken = recording(random_use, first=r.record(r.REFAULT, 0, b"x" * 48))
    res = text(broken)
    ok(res.returncode == 1 and b"a text without an end" in res.stderr, "a record without its end", res)
    x = json.loads(run("report", "raw", "--json", "-i", "-", stdin=recording(random_use, seconds=1, first=SWAP_RECORD))
                   .stdout.splitlines()[1])
    ok(x["type"] == "refault" and x["refaults"] == 1024 and x["mean_ns"] == 100000 and
       x["text"] == "/dev/zram0 on zram0", "report raw", x)
