# SPDX-License-Identifier: GPL-2.0
"""wsmo act, against a fake of the module, on a real process: actions and their results."""
import contextlib
import mmap
import os
import re
import subprocess
import time

import records as r
from command import ENV, WSMO, Directory, every, fails, ok, run, skip
from fakemodule import ATTRS, Module
from fuse import Locked
from victim import COLD, Victim, args, fake, half_hot, mapped, objects, regions, script

SKIP = "not root" if os.geteuid() else ""

MIB = 1 << 20


def test_reclaim():
    with fake(half_hot, pace=0.015) as (d, m, v):
        res = run(*args(d, m, v, COLD, more=("-l", "-o", d.path("data"))))
        rule = objects(res, "rule")
        ok(res.returncode == 0 and len(rule) == 1, "act ends well", res)
        ok(mapped(v, (0.5, 1)) == 0, "what is cold is gone", mapped(v, (0.5, 1)))
        ok(mapped(v, (0, 0.5)) == v.size // 2, "what is hot stays", mapped(v, (0, 0.5)))
        actions = objects(res, "action")
        ok(actions and all(a["start"] >= v.at + v.size // 2 and a["result"] == "ok" and
                           a["age_ns"] >= 500 * 10**6 and a["share"] == 0 and a["pid"] == v.pid
                           for a in actions) and
           sum(a["applied_bytes"] for a in actions) == v.size // 2,
           "each action is reported", actions)
        ok(rule[0]["applied_bytes"] == v.size // 2 == rule[0]["tried_bytes"] and
           rule[0]["tried"] == rule[0]["applied"] == len(actions) and not rule[0]["failed"] and
           rule[0]["text"] == COLD and rule[0]["dry_run"] == 0, "so is their sum", rule)
        ok(min(a["t"] for a in actions) > 0.49, "not before it is sure", actions)
        attrs = dict(line.split("=") for line in m.attrs.split())
        ok(attrs["aggr_us"] == attrs["window_us"] == "200000" and
           m.dir.read("attrs") == b"follow=0 sample_us=100000 aggr_us=1000000 "
           b"window_us=1000000 cpu_permille=30\n" and
           attrs["follow"] == "0",
           "attributes for the session alone", m.attrs, m.dir.read("attrs"))
        rep = run("report", "act", "--json", "-i", d.path("data"))
        ok(objects(rep, "rule") == rule, "the file has it", rep)
        kinds = [kind for kind, _, _ in r.parse(d.read("data")) if kind != r.INDEX]
        ok(kinds.count(r.ACT) >= 3 and kinds[-1] == r.END and kinds[-2] == r.ACT,
           "once a second, and before the end", kinds[-6:])
        rep = run("report", "act", "--json", "--time", "0,0.001", "-i", d.path("data"))
        ok(not rep.stdout and b"no rules were applied" in rep.stderr, "report --time", rep)


def test_dry_run_in_words():
    with fake(half_hot) as (d, m, v):
        text = run(*[x for x in args(d, m, v, COLD, more=("-n",)) if x != "--json"]).stdout.decode()
        want = "Dry run: would page out %.1f MiB of " % (v.size / 2 / 2**20)
        ok(re.search(re.escape(want) + r"[0-9.]+ MiB resident\.$", text, re.M), "a dry run in words", text)


def test_dry_run():
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, COLD, "4K null null 10% 1s null cold", more=("-n",)))
        rules = objects(res, "rule")
        actions = objects(res, "action")
        ok(mapped(v) == v.size, "a dry run does nothing", mapped(v))
        ok(rules[0]["tried_bytes"] == v.size // 2 == sum(a["tried_bytes"] for a in actions) and
           rules[0]["applied_bytes"] == 0 and rules[0]["dry_run"] == 1 and
           all(a["result"] == "would" for a in actions), "and reports what would be done",
           rules, actions)
        ok(b"rules 1 (4K null null 5% 500ms null pageout) and 2" in res.stderr and
           b"the first one is applied" in res.stderr and
           rules[1]["shadowed_bytes"] == v.size // 2 and not rules[1]["tried"],
           "conflicting rules: the first wins, and that is said", rules, res.stderr)
        res = run("act", "-s", d.path("scheme"), "--show")
        ok(res.returncode == 0 and not res.stderr and b"cold" in res.stdout, "--show", res)
    with Directory() as d:
        d.write("s", b"4K null null 5% 5s null pageout\n1M 2M null 2% 6s null stat\n")
        res = run("act", "-s", d.path("s"), "--show")
        ok(b"rule 2 (1M 2M null 2% 6s null stat) is never applied: rule 1" in res.stderr,
           "a rule that is hidden is reported at once", res)


def test_sizes():
    def islands(v):
        # 1 MiB, 512 KiB, 256 KiB of cold memory between hot regions of 128 KiB
        cold = {*range(1, 9), *range(10, 14), *range(15, 17)}
        return {v.pid: regions(v.at, v.size, 64, hot=set(range(64)) - cold)}
    with fake(islands) as (d, m, v):
        res = run(*args(d, m, v, "512K 768K null 5% 500ms null pageout", more=("-l",)))
        step = v.size // 64
        ok([(a["start"], a["end"]) for a in objects(res, "action")] ==
           [(v.at + 10 * step, v.at + 14 * step)], "a size is that of all that is alike", res)


def test_limits():
    with fake(half_hot, size=64 * MIB, pace=0.015) as (d, m, v):
        began = time.monotonic()
        res = run(*args(d, m, v, COLD, more=("--quota-bytes", "2M")))
        took = time.monotonic() - began
        done = objects(res, "rule")[0]["applied_bytes"]
        # a second's budget at once, and one for each second; blocks of 2 MiB
        ok(2 * MIB <= done <= 2 * MIB * took + 4 * MIB and done < v.size // 2,
           "a quota of bytes", done, took)
        ok(mapped(v, (0.5, 1)) == v.size // 2 - done, "is what is gone", mapped(v, (0.5, 1)))
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, COLD, more=("--when-available", "1M")))
        ok(res.returncode == 0 and mapped(v) == v.size and
           not objects(res, "rule")[0]["tried"], "enough memory: nothing to do", res)
    with fake(half_hot) as (d, m, v):
        run(*args(d, m, v, COLD, more=("--when-available", "99%")))
        ok(mapped(v, (0.5, 1)) == 0, "little memory: something to do", mapped(v))
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, COLD, more=("--when-pressure", "99%")))
        ok(mapped(v) == v.size, "no pressure: nothing to do", mapped(v), res.stderr)


def test_rates():
    """Half of the pages are accessed in each interval, in few of its rounds."""
    def seldom(v, freq=0.04):
        step = v.size // 64
        return {v.pid: [r.region(v.at + i * step, v.at + (i + 1) * step, 0.5,
                                 freq if i < 32 else 0.6, "file", 60000, 0) for i in range(64)]}
    freq = "min-size max-size min-freq max-freq min-age max-age action\n"
    damon = "min_sz max_sz min_acc max_acc min_age max_age action\n"
    with fake(seldom) as (d, m, v):
        res = run(*args(d, m, v, COLD.replace("5%", "10%")))
        ok(mapped(v) == v.size, "a share is of the pages", mapped(v), res)
    for head, bound in (freq, "10%"), (damon, "10"):
        with fake(seldom) as (d, m, v):
            res = run(*args(d, m, v, head + COLD.replace("5%", bound), more=("-l",)))
            ok(mapped(v, (0, 0.5)) == 0 and mapped(v, (0.5, 1)) == v.size // 2,
               "a rate is of the rounds", mapped(v), res)
            ok(every(abs(a["freq"] - 0.04) < 0.001 and a["share"] == 0.5
                   for a in objects(res, "action")) and
               objects(res, "rule")[0]["text"] == COLD.replace("5%", bound) + " (freq)",
               "  and is reported", res)
    with fake(seldom) as (d, m, v):
        res = run(*args(d, m, v, freq + "4K null 50% null 500ms null stat", more=("-l",)))
        actions = objects(res, "action")
        ok(actions and all(a["start"] >= v.at + v.size // 2 for a in actions), "a minimum rate", res)
    with fake(lambda v: seldom(v, 0.09)) as (d, m, v):
        run(*args(d, m, v, freq + COLD.replace("5%", "10%")))
        ok(mapped(v) == v.size, "a rate that is not sure", mapped(v))
    with fake(half_hot) as (d, m, v):
        run(*args(d, m, v, damon + "4K max min min 500ms max pageout"))
        ok(mapped(v, (0, 0.5)) == v.size // 2 and mapped(v, (0.5, 1)) == 0, "never accessed",
           mapped(v))


def test_pieces_in_parts():
    """If a budget ends within a piece, the rest has its turn later, though no record
    tells it apart."""
    for action in "cold", "pageout":
        with fake(lambda v: {v.pid: regions(v.at, v.size, 1)}, pace=0.03) as (d, m, v):
            # one region, with two samples an interval: 30 ages
            res = run(*args(d, m, v, "4K null null 5% 20ms null " + action,
                            more=("-l", "--quota-bytes", "3M")))
            spans = [(a["start"], a["applied_bytes"]) for a in objects(res, "action")]
            ok(len(spans) > 1 and sum(size for _, size in spans) <= v.size and
               all(at == v.at + sum(size for _, size in spans[:i])
                   for i, (at, _) in enumerate(spans)),
               "%s: a piece goes on where the budget ended" % action, spans, res.stderr)


def test_again():
    """Memory that was accessed in between may be taken again, but not before it is cold."""
    with fake(half_hot) as (d, m, v):
        def used(i):
            hot = range(32) if not 180 <= i < 190 else range(64)
            return {v.pid: regions(v.at, v.size, 64, hot=hot)}
        m.script = script(used, 400, events={180: lambda: v.tell("touch", v.at, v.size)})
        res = run(*args(d, m, v, "4K null null 10% 500ms null pageout", more=("-l",)))
        sums, times = {}, {}
        for a in objects(res, "action"):
            sums[a["start"] // v.size] = sums.get(a["start"] // v.size, 0) + a["applied_bytes"]
            times.setdefault(round(a["t"] * 2), 0)
        # pages just faulted in wait for the LRU, in lists of their CPU, where reclaim leaves them
        waiting = 32 * os.cpu_count() * mmap.PAGESIZE
        ok(0 <= v.size - sum(sums.values()) <= waiting and
           mapped(v, (0.5, 1)) <= waiting and mapped(v, (0, 0.5)) == v.size // 2,
           "taken twice", sums, sorted(times))


def test_several():
    with Directory() as d, Directory() as e, Directory() as debug, Victim(d) as v, \
            Victim(e) as u:
        m = Module(debug, interval=0.004, script=script(
            {v.pid: regions(v.at, v.size, 64), u.pid: regions(u.at, u.size, 64, hot=range(64))}))
        res = run(*args(d, m, v, COLD, more=("-p", str(u.pid))))
        ok(res.returncode == 0 and mapped(v) == 0 and mapped(u) == u.size,
           "several targets", mapped(v), mapped(u), res.stderr)
        m.close()


def test_many():
    """More processes than wsmo has readers of their files"""
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(Victim(stack.enter_context(Directory()), 2 * MIB))
                for _ in range(12)]
        d, debug = (stack.enter_context(Directory()) for _ in range(2))
        m = Module(debug, interval=0.004, script=script(
            {v.pid: regions(v.at, v.size, 64) for v in many}))
        more = [word for v in many[1:] for word in ("-p", str(v.pid))]
        res = run(*args(d, m, many[0], COLD, more=more))
        rule = objects(res, "rule")[0]
        ok(res.returncode == 0 and not any(map(mapped, many)) and not rule["failed"],
           "many targets: each is acted on", [mapped(v) for v in many], rule, res.stderr)
        m.close()


def test_other_actions():
    if not os.path.exists("/sys/kernel/mm/transparent_hugepage"):
        skip("huge pages", "this kernel has none")
    else:
        # 64 regions of 128 KiB, hot from the middle of the second huge page to the end
        hot = lambda v: {v.pid: regions(v.anon, v.size, 64, hot=range(24, 64),  # noqa: E731
                                        cls="anon")}
        with fake(hot) as (d, m, v):
            res = run(*args(d, m, v, "2M null 50% null 500ms null hugepage", classes="anon",
                            more=("-l",)))
            rule = objects(res, "rule")[0]
            ok([(a["start"], a["end"]) for a in objects(res, "action")] ==
               [(v.anon + 4 * MIB, v.anon + 8 * MIB)] and rule["applied_bytes"] == 4 * MIB and
               v.huge(v.anon) == 4 * MIB, "huge pages, where whole ones fit", res, v.huge(v.anon))
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, "4K null 50% null 300ms null stat",
                        "4K null null 10% 300ms null cold"))
        stat, cold = objects(res, "rule")
        ok(mapped(v) == v.size and stat["applied_bytes"] == cold["applied_bytes"] == v.size // 2
           and not stat["failed"] and not cold["failed"], "counted, and made cold", stat, cold)
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, "4K null null 10% 300ms null willneed"))
        ok(not objects(res, "rule")[0]["tried"], "nothing is in swap, nothing is needed", res)


def test_commands():
    with fake(half_hot) as (d, m, v):
        d.write("scheme", COLD.encode())
        res = run("act", "--debugfs", m.dir.name, "-q", "-s", d.path("scheme"), "--", "sh", "-c",
                  "sleep 0.3; exit 7", timeout=30)
        ok(res.returncode == 7 and b"THE RULE" in res.stdout, "a command: its exit status", res)
    me = str(os.getpid())
    with fake(half_hot) as (d, m, v):
        fails(run(*args(d, m, v, COLD, more=("-p", "2147483647"))), "no such process",
              "no process 2147483647")
        ok(m.dir.read("attrs").decode() == ATTRS and not m.targets, "  and nothing was begun")
        if os.geteuid() == 0:
            cap = ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice", WSMO]
            res = subprocess.run(cap + list(args(d, m, v, COLD)), env=ENV, capture_output=True)
            if b"setpriv" not in res.stderr:
                fails(res, "without CAP_SYS_NICE", "CAP_SYS_NICE")
                ok(not m.targets and mapped(v) == v.size, "  nothing was done")
    with fake(half_hot) as (d, m, v):
        res = run("act", "--debugfs", "/no/such/dir", "-s", "reclaim", "-p", me)
        fails(res, "no module", "'wsmo check' says why")


def test_locked():
    """A held mmap lock of one target does not delay actions on another."""
    with Directory() as mount, Locked(mount.name) as held:
        if not held.works:
            return skip("a target whose mmap lock is held", "no FUSE")
        with open("/proc/%d/maps" % held.pid) as f:
            start, end = (int(x, 16) for x in f.readline().split()[0].split("-"))

        def both(v):
            return {**half_hot(v), held.pid: regions(start, end - start, 1)}
        with fake(both, pace=0.015, events={0: held.lock}) as (d, m, v):
            argv = args(d, m, v, COLD)
            pids = argv.index("-p") + 1
            res = run(*argv[:pids], "%d,%d" % (held.pid, v.pid), *argv[pids + 1:], timeout=60)
            ok(res.returncode == 0 and mapped(v, (0.5, 1)) == 0, "a target whose mmap lock is held holds up nothing",
               res, mapped(v))
            ok(res.stderr.count(b"memory of process %d cannot be read" % held.pid) == 1, "  that is said once", res.stderr)
