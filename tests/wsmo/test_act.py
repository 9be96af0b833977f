# SPDX-License-Identifier: GPL-2.0
"""wsmo act, against a fake of the module, on a real process."""
import contextlib
import json
import mmap
import os
import signal
import subprocess
import time

import records as r
from acting import Victim, regions, script
from fakemodule import ATTRS, Module, now
from tap import ENV, WSMO, Directory, fails, ok, run, skip

MIB = 1 << 20
COLD = "4K null null 5% 500ms null pageout"


@contextlib.contextmanager
def fake(snapshot, size=8 * MIB, pace=0.004, flags=mmap.MAP_PRIVATE, **kw):
    """A victim, and a module that says of it what snapshot(victim) is."""
    with Directory() as d, Directory() as debug, Victim(d, size, flags) as v:
        module = Module(debug, interval=pace, script=script(snapshot(v), **kw))
        try:
            yield d, module, v
        finally:
            module.close()


def args(d, module, victim, *rules, more=(), seconds="60", classes="file"):
    d.write("scheme", "\n".join(rules).encode() + b"\n")
    return ("act", "--debugfs", module.dir.name, "-s", d.path("scheme"), "-p",
            str(victim.pid), "-d", seconds, "--json", "--class", classes,
            # whatever else this machine does
            "--max-pressure", "100%", *more)


def objects(result, kind):
    return [x for x in map(json.loads, result.stdout.splitlines()) if x["type"] == kind]


def half_hot(v):
    """The first half is in use."""
    return {v.pid: regions(v.at, v.size, 64, hot=range(32))}


def mapped(v, share=(0, 1)):
    return v.resident(v.at + int(v.size * share[0]), int(v.size * (share[1] - share[0])))


def reclaim():
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
           "each action is told", actions)
        ok(rule[0]["applied_bytes"] == v.size // 2 == rule[0]["tried_bytes"] and
           rule[0]["tried"] == rule[0]["applied"] == len(actions) and not rule[0]["failed"] and
           rule[0]["text"] == COLD and rule[0]["dry_run"] == 0, "so is their sum", rule)
        ok(min(a["t"] for a in actions) > 0.49, "not before it is sure", actions)
        attrs = dict(line.split("=") for line in m.attrs.split())
        ok(attrs["aggr_us"] == attrs["window_us"] == "200000" and
           m.dir.read("attrs") == b"sample_us=100000 aggr_us=1000000 window_us=1000000 cpu_permille=30\n",
           "attributes for the session alone", m.attrs, m.dir.read("attrs"))
        rep = run("report", "act", "--json", "-i", d.path("data"))
        ok(objects(rep, "rule") == rule, "the file has it", rep)
        kinds = [kind for kind, _, _ in r.parse(d.read("data"))]
        ok(kinds.count(r.ACT) >= 3 and kinds[-1] == r.END and kinds[-2] == r.ACT,
           "once a second, and before the end", kinds[-6:])
        rep = run("report", "act", "--json", "--time", "0,0.001", "-i", d.path("data"))
        ok(not rep.stdout and b"no rules were applied" in rep.stderr, "report --time", rep)


def dry_run():
    with fake(half_hot) as (d, m, v):
        res = run(*args(d, m, v, COLD, "4K null null 10% 1s null cold", more=("-n",)))
        rules = objects(res, "rule")
        actions = objects(res, "action")
        ok(mapped(v) == v.size, "a dry run does nothing", mapped(v))
        ok(rules[0]["tried_bytes"] == v.size // 2 == sum(a["tried_bytes"] for a in actions) and
           rules[0]["applied_bytes"] == 0 and rules[0]["dry_run"] == 1 and
           all(a["result"] == "would" for a in actions), "and tells what would be done",
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
           "a rule that is hidden is told at once", res)


def lucky_samples():
    """One region in 16 is hot each time, another each time: none is cold for sure."""
    def snapshot(v):
        return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(i % 16, 64, 16))}
    with fake(snapshot) as (d, m, v):
        # never for 100 ms is true of all of them most of the time
        res = run(*args(d, m, v, "4K null null 3% 100ms null pageout"))
        ok(res.returncode == 0 and mapped(v) == v.size and not objects(res, "rule")[0]["tried"],
           "what is cold by luck alone is left alone", mapped(v), res.stderr)
    with fake(snapshot) as (d, m, v):
        res = run(*args(d, m, v, "4K null null 20% 100ms null pageout"))
        ok(mapped(v) == 0, "(it would have been taken)", mapped(v))

    def cut(v):
        # regions are cut in 16 right before they are old enough
        return lambda i: {v.pid: regions(v.at, v.size, 64 if i < 40 else 1024)}
    for parts, gone in ((cut, False), (lambda v: {v.pid: regions(v.at, v.size, 64)}, True)):
        with fake(parts, intervals=50) as (d, m, v):
            run(*args(d, m, v, "4K null null 5% 410ms null pageout"))
            ok(mapped(v) == (0 if gone else v.size), "a part has its part of the samples",
               mapped(v))

    def grows(v):
        return lambda i: {v.pid: regions(v.at, v.size // 2 if i < 60 else v.size, 1)}
    with fake(grows, intervals=110) as (d, m, v):
        run(*args(d, m, v, "4K null null 5% 700ms null pageout"))
        ok(mapped(v) == v.size, "nothing is known of new memory", mapped(v))

    def was_hot(v):
        return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(64) if i < 60 else ())}
    with fake(was_hot, intervals=200) as (d, m, v):
        run(*args(d, m, v, COLD))
        ok(mapped(v) == 0, "what was hot once is not so for ever", mapped(v))

    def few(v):
        # the module says it is cold, but had too few samples to know
        return lambda i: {v.pid: regions(v.at, v.size, 64) if i < 20 else []}
    with fake(few) as (d, m, v):
        run(*args(d, m, v, "4K null null 5% null null pageout"))
        ok(mapped(v) == v.size, "age alone is not enough", mapped(v))


def doubt():
    with fake(half_hot, missed=1) as (d, m, v):
        run(*args(d, m, v, COLD))
        ok(mapped(v) == v.size, "samples that were not visited prove nothing", mapped(v))
    with fake(half_hot, events={i: lambda: r.lost(now(), 1, 100) for i in range(0, 1000, 20)}) \
            as (d, m, v):
        run(*args(d, m, v, COLD))
        ok(mapped(v) == v.size, "nor does what was lost", mapped(v))

    def parts(v):
        def broken(i):
            return {v.pid: regions(v.at, v.size, 1024, hot=range(512))}
        return broken
    with fake(parts) as (d, m, v):
        run(*args(d, m, v, "4K null null 10% 500ms null pageout"))
        ok(mapped(v, (0, 0.5)) == v.size // 2 and not mapped(v, (0.5, 1)),
           "snapshots in several records", mapped(v, (0, 0.5)), mapped(v, (0.5, 1)))


def sizes():
    def islands(v):
        # 1 MiB, 512 KiB, 256 KiB of cold memory between hot regions of 128 KiB
        cold = {*range(1, 9), *range(10, 14), *range(15, 17)}
        return {v.pid: regions(v.at, v.size, 64, hot=set(range(64)) - cold)}
    with fake(islands) as (d, m, v):
        res = run(*args(d, m, v, "512K 768K null 5% 500ms null pageout", more=("-l",)))
        step = v.size // 64
        ok([(a["start"], a["end"]) for a in objects(res, "action")] ==
           [(v.at + 10 * step, v.at + 14 * step)], "a size is that of all that is alike", res)


def limits():
    with fake(half_hot, size=64 * MIB, pace=0.015) as (d, m, v):
        began = time.monotonic()
        res = run(*args(d, m, v, COLD, more=("--quota-bytes", "2M")))
        took = time.monotonic() - began
        done = objects(res, "rule")[0]["applied_bytes"]
        # budget of the first second, and of those behind; blocks of 2 MiB
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


def left_alone():
    whole = lambda v: {v.pid: regions(v.at, v.size, 64)}  # noqa: E731
    with fake(whole) as (d, m, v):
        res = run(*args(d, m, v, COLD, classes="anon,heap"))
        ok(mapped(v) == v.size and not objects(res, "rule")[0]["tried"],
           "classes that were not asked for", mapped(v))
    # whatever the module calls it, the mapping of now decides
    wrong = lambda v: {v.pid: regions(v.at, v.size, 64, cls="anon")}  # noqa: E731
    with fake(wrong) as (d, m, v):
        res = run(*args(d, m, v, COLD, classes="anon"))
        ok(mapped(v) == v.size and objects(res, "rule")[0]["skipped_bytes"] == v.size,
           "mappings that are something else now", mapped(v), res.stdout)
    with fake(whole, flags=mmap.MAP_SHARED) as (d, m, v):
        run(*args(d, m, v, COLD, classes="shmem,anon"))
        ok(mapped(v) == v.size, "a shared file is no shared memory", mapped(v))
    with fake(whole, flags=mmap.MAP_SHARED) as (d, m, v):
        run(*args(d, m, v, COLD, classes="file"))
        ok(mapped(v) == 0, "but a file", mapped(v))
    mixed = lambda v: {v.pid: regions(v.at, v.size, 64, cls="mixed")}  # noqa: E731
    with fake(mixed) as (d, m, v):
        run(*args(d, m, v, COLD))
        ok(mapped(v) == 0, "mappings taken together are sorted by what they are", mapped(v))
    with fake(whole) as (d, m, v):
        v.tell("lock", v.at, v.size // 2)
        res = run(*args(d, m, v, COLD))
        rule = objects(res, "rule")[0]
        ok(mapped(v, (0, 0.5)) == v.size // 2 and mapped(v, (0.5, 1)) == 0 and
           rule["skipped_bytes"] == v.size // 2 and not rule["failed"], "locked memory",
           mapped(v, (0, 0.5)), rule)
    anon = lambda v: {v.pid: regions(v.anon, v.size, 64, cls="anon")}  # noqa: E731
    with open("/proc/swaps") as f:
        swap = len(f.readlines()) > 1
    if swap:
        skip("no swap", "there is swap")
        return
    with fake(anon) as (d, m, v):
        res = run(*args(d, m, v, COLD, classes="anon"))
        rule = objects(res, "rule")[0]
        ok(res.returncode == 0 and b"no swap space" in res.stderr and not rule["tried"] and
           rule["skipped_bytes"] == v.size and v.resident(v.anon, v.size) == v.size,
           "no swap: said, and nothing is done", rule, res.stderr)


def changes():
    with fake(lambda v: {v.pid: regions(v.at, v.size, 4)}) as (d, m, v):
        v.tell("unmap", v.at + v.size // 4, v.size // 2)
        res = run(*args(d, m, v, COLD))
        rule = objects(res, "rule")[0]
        ok(mapped(v) == 0 and rule["gone_bytes"] == v.size // 2 and
           rule["applied_bytes"] == v.size // 2 and not rule["failed"],
           "a gap since: a no-op that is counted", rule)
    with fake(lambda v: {v.pid: regions(v.at + v.size, 2 * MIB, 4)}) as (d, m, v):
        v.tell("unmap", v.at + v.size, 2 * MIB)
        res = run(*args(d, m, v, COLD))
        rule = objects(res, "rule")[0]
        ok(rule["gone_bytes"] == 2 * MIB and not rule["tried"], "nothing is there any more", rule)
    with fake(half_hot, intervals=10**6) as (d, m, v):
        p = subprocess.Popen([WSMO, *args(d, m, v, COLD)], env=ENV,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        m.running.wait(5)
        time.sleep(0.3)
        v.p.kill()
        v.p.wait()
        out, err = p.communicate(timeout=10)
        ok(p.returncode == 0 and json.loads(out)["failed"] == 0,
           "the target exits: the end, and no failure", out, err)
    with fake(half_hot, intervals=10**6) as (d, m, v):
        p = subprocess.Popen([WSMO, *args(d, m, v, COLD)], env=ENV,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             # in the background it is ignored
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        m.running.wait(5)
        end = time.monotonic() + 60
        while mapped(v) > v.size // 2 and time.monotonic() < end:
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=10)
        ok(p.returncode == 0 and m.targets[-1] == "\n" and
           json.loads(out)["applied_bytes"] == v.size // 2, "Ctrl-C ends it", out, err)

    def after_exec(v):
        # what is said before an exec holds for the old address space
        return lambda i: {v.pid: regions(v.at, v.size, 64)}
    with fake(after_exec) as (d, m, v):
        event = {i: lambda: r.target(now(), v.pid, b"new", flags=1) for i in range(0, 1000, 20)}
        m.script = script({v.pid: regions(v.at, v.size, 64)}, events=event)
        run(*args(d, m, v, COLD))
        ok(mapped(v) == v.size, "an exec begins anew", mapped(v))


def secondary():
    """A virtual machine is left alone, from the moment it is known to be one."""
    flag = 0x100

    def told(v, at, reason, every=10**6):
        return {i: lambda: r.target(now(), v.pid, b"qemu", reason | flag)
                for i in range(at, 1000, every)}
    with fake(half_hot, intervals=10**6) as (d, m, v):
        m.script = script(half_hot(v), 10**6, events=told(v, 0, 2))
        res = run(*args(d, m, v, COLD))
        fails(subprocess.CompletedProcess([], res.returncode, b"", res.stderr.split(b"wsmo: in")[0]),
              "a secondary MMU: refused", "%d qemu has a secondary MMU" % v.pid, "--force")
        ok(mapped(v) == v.size and m.targets[-1] == "\n", "  nothing is done, monitoring ends",
           mapped(v), m.targets)

    def cools(v):
        # the second half is cold from the start, the first one from 80 on
        return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(32) if i < 80 else ())}
    for force in (), ("--force",):
        with fake(cools) as (d, m, v):
            m.script = script(cools(v), 300, events=told(v, 80, 2))
            res = run(*args(d, m, v, COLD, more=force))
            ok(res.returncode == (0 if force else 1) and
               mapped(v) == (0 if force else v.size // 2) and
               res.stderr.count(b"secondary MMU") == 1 and
               (b"--force" in res.stderr) != bool(force),
               "--force acts on it" if force else "nothing more is done when it appears",
               mapped(v), res)
    with fake(half_hot) as (d, m, v):
        m.script = script(half_hot(v), events=told(v, 0, 1, 20))
        run(*args(d, m, v, COLD, more=("--force",)))
        ok(mapped(v) == v.size, "an exec begins anew with it, too", mapped(v))
    with Directory() as d, Directory() as e, Directory() as debug, Victim(d) as v, Victim(e) as u:
        m = Module(debug, interval=0.004, script=script(
            {p.pid: regions(p.at, p.size, 64) for p in (u, v)}, events=told(u, 0, 0)))
        res = run(*args(d, m, v, COLD, more=("-p", str(u.pid))))
        ok(res.returncode == 1 and mapped(v) == 0 and mapped(u) == u.size,
           "others are acted on", mapped(v), mapped(u), res.stderr)
        m.close()


def rates():
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
            ok(all(abs(a["freq"] - 0.04) < 0.001 and a["share"] == 0.5
                   for a in objects(res, "action")) and
               objects(res, "rule")[0]["text"] == COLD.replace("5%", bound) + " (freq)",
               "  and is told", res)
    with fake(seldom) as (d, m, v):
        res = run(*args(d, m, v, freq + "4K null 50% null 500ms null stat", more=("-l",)))
        actions = objects(res, "action")
        ok(actions and all(a["start"] >= v.at + v.size // 2 for a in actions), "a least rate", res)
    with fake(lambda v: seldom(v, 0.09)) as (d, m, v):
        run(*args(d, m, v, freq + COLD.replace("5%", "10%")))
        ok(mapped(v) == v.size, "a rate that is not sure", mapped(v))
    with fake(half_hot) as (d, m, v):
        run(*args(d, m, v, damon + "4K max min min 500ms max pageout"))
        ok(mapped(v, (0, 0.5)) == v.size // 2 and mapped(v, (0.5, 1)) == 0, "never accessed",
           mapped(v))


def behind():
    """What was cold a while ago, when wsmo act was stopped, is in use since."""
    def used(v):
        return lambda i: {v.pid: regions(v.at, v.size, 8, hot=() if i < 100 else range(8))}
    for stop in True, False:
        with fake(used, pace=0.002) as (d, m, v):
            p = subprocess.Popen([WSMO, *args(d, m, v, COLD)], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            events = {20: lambda: p.send_signal(signal.SIGSTOP)} if stop else {}
            m.script = script(used(v), events=events)
            if stop:
                # the last interval is of 1.5 s, and acting began at 0.5 s
                m.running.wait(5)
                time.sleep(3.5)
                p.send_signal(signal.SIGCONT)
            _, err = p.communicate(timeout=60)
            ok(p.returncode == 0 and mapped(v) == (v.size if stop else 0) and
               (b"s behind" in err) == stop,
               "old evidence is not acted upon" if stop else "(it would have been)",
               mapped(v), err)


def pieces_in_parts():
    """What a budget leaves of one piece has its turn, too, though nothing shows."""
    for action in "cold", "pageout":
        with fake(lambda v: {v.pid: regions(v.at, v.size, 1)}, pace=0.03) as (d, m, v):
            res = run(*args(d, m, v, "4K null null 5% 500ms null " + action,
                            more=("-l", "--quota-bytes", "3M")))
            spans = [(a["start"], a["applied_bytes"]) for a in objects(res, "action")]
            ok(len(spans) > 1 and sum(size for _, size in spans) <= v.size and
               all(at == v.at + sum(size for _, size in spans[:i])
                   for i, (at, _) in enumerate(spans)),
               "%s: a piece goes on where the budget ended" % action, spans, res.stderr)


def again():
    """What was accessed in between may be taken again, not before it is cold."""
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
        # pages just faulted in wait on their CPU for the LRU: reclaim leaves them
        waiting = 32 * os.cpu_count() * mmap.PAGESIZE
        ok(0 <= v.size - sum(sums.values()) <= waiting and
           mapped(v, (0.5, 1)) <= waiting and mapped(v, (0, 0.5)) == v.size // 2,
           "taken twice", sums, sorted(times))


def several():
    with Directory() as d, Directory() as e, Directory() as debug, Victim(d) as v, \
            Victim(e) as u:
        m = Module(debug, interval=0.004, script=script(
            {v.pid: regions(v.at, v.size, 64), u.pid: regions(u.at, u.size, 64, hot=range(64))}))
        res = run(*args(d, m, v, COLD, more=("-p", str(u.pid))))
        ok(res.returncode == 0 and mapped(v) == 0 and mapped(u) == u.size,
           "several targets", mapped(v), mapped(u), res.stderr)
        m.close()


def other_actions():
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


def commands():
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
        fails(res, "no module", "/no/such/dir")


def schemes():
    for name, actions in (("reclaim", ["pageout"]), ("thp", ["hugepage", "nohugepage"])):
        res = run("act", "-s", name, "--show", "--json")
        rules = objects(res, "scheme")
        ok(res.returncode == 0 and not res.stderr and [x["action"] for x in rules] == actions,
           "preset " + name, res)
    res = run("act", "--show", "--json", "-s", "/dev/stdin", stdin=b"""
# a comment
  4K 2MiB 1% 12.5% 500ms 1m30s stat # another
\tnull null null null null null pageout\r
min max min max min max cold
0 18446744073709551615 0% 100% 0 5 willneed
""")
    rules = objects(res, "scheme")
    for rule in rules:
        del rule["type"], rule["rule"]
    ok(rules[:2] == [
        {"line": 3, "min_size": 4096, "max_size": 2 << 20, "min_share": 0.01, "max_share": 0.125,
         "min_freq": None, "max_freq": None,
         "min_age_ns": 500 * 10**6, "max_age_ns": 90 * 10**9, "action": "stat"},
        {"line": 4, "min_size": 0, "max_size": None, "min_share": 0.0, "max_share": 1.0,
         "min_freq": None, "max_freq": None,
         "min_age_ns": 0, "max_age_ns": None, "action": "pageout"}] and
       rules[2]["min_size"] == 0 and rules[2]["max_age_ns"] is None and
       rules[3]["max_age_ns"] == 5 * 10**9, "sizes, shares, times, comments", *rules, res.stderr)
    res = run("act", "--show", "--json", "-s", "/dev/stdin", stdin=b"""
4K null 1% 5% 5s null pageout
 min-size\tmax-size min-freq max-freq min-age max-age action # from here on
4K null 1% 5% 5s null pageout
min-size max-size min-share max-share min-age max-age action
4K null 1% 5% 5s null pageout
min_sz max_sz min_acc max_acc min_age max_age action
4K max 1 5 5s max pageout
4K max min min max max stat
""")
    bounds = [[rule[k] for k in ("min_share", "max_share", "min_freq", "max_freq")]
              for rule in objects(res, "scheme")]
    ok(bounds == 2 * [[0.01, 0.05, None, None], [None, None, 0.01, 0.05]] +
       [[None, None, 0, 0]] and objects(res, "scheme")[4]["min_age_ns"] == 2**64 - 1 and
       # rule 3 by 1, 4 by 2: a share hides no rate
       res.stderr.count(b"is never applied") == 2, "names of columns", bounds, res.stderr)
    freq = b"min-size max-size min-freq max-freq min-age max-age action\n"
    damon = b"min_sz max_sz min_acc max_acc min_age max_age action\n"
    good = b"4K null null 5% 5s null pageout"
    for text, where, words in (
            (b"", "", "has no rules"),
            (b"# nothing\n\n", "", "has no rules"),
            (b"4K", ":1:3", "max-size is missing"),
            (b"\n4K null null 5% 5s null", ":2:24", "action is missing"),
            (good + b" twice", ":1:33", "only a comment may follow"),
            (good + b"\n\n  4X null null 5% 5s null pageout", ":3:3", "'4X' is not a size"),
            (b"4K -1 null 5% 5s null pageout", ":1:4", "'-1' is not a size"),
            (b"4K 16777216T null 5% 5s null pageout", ":1:4", "too large"),
            (b"4K 99999999999999999999 null 5% 5s null pageout", ":1:4", "too large"),
            (b"4K null 5 5% 5s null pageout", ":1:9", "'5' is not a share"),
            (b"4K null null 101% 5s null pageout", ":1:14", "'101%' is not a share"),
            (b"4K null null nan% 5s null pageout", ":1:14", "not a share"),
            (b"4K null null 0x5% 5s null pageout", ":1:14", "not a share"),
            (b"4K null null 5% 5q null pageout", ":1:17", "'5q' is not a time"),
            (b"4K null null 5% 5s null evict", ":1:25", "'evict' is not an action"),
            (b"2M 4K null 5% 5s null pageout", ":1:4", "max-size is less"),
            (b"2M min null 5% 5s null pageout", ":1:4", "max-size is less"),
            (b"4K null 9% 5% 5s null pageout", ":1:12", "max-share is less than min-share"),
            (freq + b"4K null null 101% 5s null pageout", ":2:14", "max-freq '101%' is not a rate"),
            (freq + b"4K null 9 5 5s null pageout", ":2:11", "max-freq is less than min-freq"),
            (damon + b"4K null 5x 5 5s null pageout", ":2:9", "min_acc '5x' is not a rate"),
            (damon + b"4K null", ":2:8", "min_acc is missing; a rule is: min_sz"),
            (b"4K null null 5 5s null pageout", ":1:14", "of a scheme for DAMON name the columns"),
            (freq, "", "has no rules"),
            (b"4K null null 5% 5s 4s pageout", ":1:20", "max-age is less"),
            (b"4K null null 5% 5s null " + 90 * b"x", ":1:25", "too long"),
            (good + b"\n4K \0 null", ":2:4", "NUL"),
            ((good + b"\n") * 33, ":33:1", "more than 32 rules")):
        res = run("act", "--show", "-s", "/dev/stdin", stdin=text)
        fails(res, "bad scheme: %s" % words, "/dev/stdin" + where + ":", words, status=2)
    fails(run("act", "--show", "-s", "nosuch"), "no such scheme", "nosuch", "preset", status=2)
    fails(run("act", "--show", "-s", "/"), "a directory for a scheme", status=2)


def main(_accept):
    schemes()
    if os.geteuid():
        skip("acting", "not root")
        return
    reclaim()
    dry_run()
    lucky_samples()
    doubt()
    sizes()
    limits()
    left_alone()
    changes()
    secondary()
    rates()
    behind()
    pieces_in_parts()
    again()
    several()
    other_actions()
    commands()
