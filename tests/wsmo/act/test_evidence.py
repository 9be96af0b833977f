# SPDX-License-Identifier: GPL-2.0
"""wsmo act, against a fake of the module, on a real process: memory that it leaves alone."""
import json
import mmap
import os
import signal
import subprocess
import time

import records as r
from command import ENV, WSMO, Directory, fails, ok, preloaded, run, skip
from fakemodule import Module, now
from victim import COLD, Victim, args, fake, half_hot, mapped, objects, regions, script

SKIP = "not root" if os.geteuid() else ""

MIB = 1 << 20


def test_lucky_samples():
    """A different region in 16 is hot each time: none is cold for sure."""
    def snapshot(v):
        return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(i % 16, 64, 16))}
    with fake(snapshot) as (d, m, v):
        # nearly all regions are unused for 100 ms at most times
        res = run(*args(d, m, v, "4K null null 3% 100ms null pageout"))
        ok(res.returncode == 0 and mapped(v) == v.size and not objects(res, "rule")[0]["tried"],
           "what is cold by luck alone is left alone", mapped(v), res.stderr)
    with fake(snapshot) as (d, m, v):
        res = run(*args(d, m, v, "4K null null 20% 100ms null pageout"))
        ok(mapped(v) == 0, "(it would have been taken)", mapped(v))

    def cut(v):
        # regions are split in 16 right before they are old enough
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

    # one interval's samples see a burst: with few samples, act waits for more bursts
    for parts, gone in (4, False), (32, True):
        with fake(lambda v: {v.pid: regions(v.at, v.size, parts)}) as (d, m, v):
            run(*args(d, m, v, "4K null null 5% 500ms null pageout"))
            ok(mapped(v) == (0 if gone else v.size), "%d regions for the process" % parts, mapped(v))
    with fake(lambda v: {v.pid: regions(v.at, v.size, 4)}, intervals=500) as (d, m, v):
        run(*args(d, m, v, "4K null null 5% 500ms null pageout"))
        ok(mapped(v) == 0, "  a few are enough in the end", mapped(v))

    def bursts(v):
        # bursts each 400 ms; from 1 s on, by chance, no sample is in the used part
        return lambda i: {v.pid: regions(v.at, v.size, 64, hot=range(64) if i % 40 == 0 and i < 100
                                         else ())}
    with fake(bursts) as (d, m, v):
        run(*args(d, m, v, "4K null null 10% 500ms null pageout"))
        ok(mapped(v) == v.size, "one burst that was not seen is no proof", mapped(v))
    with fake(bursts, intervals=300) as (d, m, v):
        run(*args(d, m, v, "4K null null 10% 500ms null pageout"))
        ok(mapped(v) == 0, "  three are", mapped(v))

    # Wilson's interval: no hit among 73 samples is at most 5 % at 95 %; 52 at 90 %, 127 at 99 %
    for samples, gone in (70, False), (78, True):
        with fake(lambda v: {v.pid: regions(v.at, v.size, 1)}, intervals=samples // 2) as (d, m, v):
            run(*args(d, m, v, "4K null null 5% null null pageout"))
            ok(mapped(v) < v.size if gone else mapped(v) == v.size, "%d samples of 5 %%" % samples, mapped(v))

    def few(v):
        # reported as cold, but on too few samples
        return lambda i: {v.pid: regions(v.at, v.size, 64) if i < 20 else []}
    with fake(few) as (d, m, v):
        run(*args(d, m, v, "4K null null 5% null null pageout"))
        ok(mapped(v) == v.size, "age alone is not enough", mapped(v))


def test_unseen():
    """Regions without CPU time: no samples, and no age."""
    def snapshot(v, seen):
        return lambda i: {v.pid: [r.region(at, at + v.size // 64, 0, 0, "file", 60000, 0,
                                           0 if seen(i) else r.SAMPLES_MISSED)
                                  for at in range(v.at, v.at + v.size, v.size // 64)]}
    for name, seen, gone in (("never", lambda i: False, False), ("now and then", lambda i: not i % 4, False),
                             ("mostly", lambda i: i % 4, True)):
        with fake(lambda v: snapshot(v, seen)) as (d, m, v):
            run(*args(d, m, v, "4K null null 10% 500ms null pageout"))
            ok(mapped(v) == (0 if gone else v.size), "samples are visited %s" % name, mapped(v))


def test_doubt():
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


def test_left_alone():
    whole = lambda v: {v.pid: regions(v.at, v.size, 64)}  # noqa: E731
    with fake(whole) as (d, m, v):
        res = run(*args(d, m, v, COLD, classes="anon,heap"))
        ok(mapped(v) == v.size and not objects(res, "rule")[0]["tried"],
           "classes that were not asked for", mapped(v))
    # the present mapping decides, whatever class the module reports
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
    with Directory() as e:
        with fake(whole, flags=mmap.MAP_SHARED, file=e.path("deaf.so")) as (d, m, v):
            res = run(*args(d, m, v, COLD, classes="file"), timeout=100, env=preloaded(e, "deaf.c"))
            ok(res.returncode == 0 and mapped(v) == 0, "one whose server does not answer, too", mapped(v), res)
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


def test_changes():
    with fake(lambda v: {v.pid: regions(v.at, v.size, 64)}) as (d, m, v):
        v.tell("unmap", v.at + v.size // 4, v.size // 2)
        res = run(*args(d, m, v, COLD))
        rule = objects(res, "rule")[0]
        ok(mapped(v) == 0 and rule["gone_bytes"] == v.size // 2 and
           rule["applied_bytes"] == v.size // 2 and not rule["failed"],
           "a gap since: a no-op that is counted", rule)
    with fake(lambda v: {v.pid: regions(v.at + v.size, 2 * MIB, 64)}) as (d, m, v):
        v.tell("unmap", v.at + v.size, 2 * MIB)
        res = run(*args(d, m, v, COLD))
        rule = objects(res, "rule")[0]
        ok(rule["gone_bytes"] == 2 * MIB and not rule["tried"], "nothing is there any more", rule)
    # coalesced mappings: the gap between them was never mapped
    with fake(lambda v: {v.pid: regions(v.at, 2 * v.size, 64)}) as (d, m, v):
        m.script = script({v.pid: regions(v.at, 2 * v.size, 64)}, events={0: lambda: r.area(
            now(), v.pid, "file", 0, 1, v.at, v.at + 2 * v.size, v.size)})
        v.tell("unmap", v.at + v.size, 2 * MIB)
        rule = objects(run(*args(d, m, v, COLD)), "rule")[0]
        ok(rule["applied_bytes"] >= v.size and not rule["gone_bytes"], "gaps are not gone", rule)
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
                             # background processes start with SIGINT ignored
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
        # records from before an exec are about the old address space
        return lambda i: {v.pid: regions(v.at, v.size, 64)}
    with fake(after_exec) as (d, m, v):
        event = {i: lambda: r.target(now(), v.pid, b"new", flags=1) for i in range(0, 1000, 20)}
        m.script = script({v.pid: regions(v.at, v.size, 64)}, events=event)
        run(*args(d, m, v, COLD))
        ok(mapped(v) == v.size, "an exec begins anew", mapped(v))


def test_secondary():
    """A virtual machine is left alone as soon as it is known to be one."""
    flag = 0x100

    def flagged(v, at, reason, every=10**6):
        return {i: lambda: r.target(now(), v.pid, b"qemu", reason | flag)
                for i in range(at, 1000, every)}
    with fake(half_hot, intervals=10**6) as (d, m, v):
        m.script = script(half_hot(v), 10**6, events=flagged(v, 0, 2))
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
            m.script = script(cools(v), 300, events=flagged(v, 80, 2))
            res = run(*args(d, m, v, COLD, more=force))
            ok(res.returncode == (0 if force else 1) and
               mapped(v) == (0 if force else v.size // 2) and
               res.stderr.count(b"secondary MMU") == 1 and
               (b"--force" in res.stderr) != bool(force),
               "--force acts on it" if force else "nothing more is done when it appears",
               mapped(v), res)
    with fake(half_hot) as (d, m, v):
        m.script = script(half_hot(v), events=flagged(v, 0, 1, 20))
        run(*args(d, m, v, COLD, more=("--force",)))
        ok(mapped(v) == v.size, "an exec begins anew with it, too", mapped(v))
    with Directory() as d, Directory() as e, Directory() as debug, Victim(d) as v, Victim(e) as u:
        m = Module(debug, interval=0.004, script=script(
            {p.pid: regions(p.at, p.size, 64) for p in (u, v)}, events=flagged(u, 0, 0)))
        res = run(*args(d, m, v, COLD, more=("-p", str(u.pid))))
        ok(res.returncode == 1 and mapped(v) == 0 and mapped(u) == u.size,
           "others are acted on", mapped(v), mapped(u), res.stderr)
        m.close()


def test_behind():
    """wsmo act was stopped; memory that was cold before is in use now."""
    def used(v):
        return lambda i: {v.pid: regions(v.at, v.size, 8, hot=() if i < 100 else range(8))}
    for stop in True, False:
        with fake(used, pace=0.002) as (d, m, v):
            # everything has to fit into a pipe: eight regions, for four ages
            p = subprocess.Popen([WSMO, *args(d, m, v, COLD.replace("500ms", "100ms"))], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            events = {20: lambda: p.send_signal(signal.SIGSTOP)} if stop else {}
            m.script = script(used(v), events=events)
            if stop:
                # the last interval is at 1.5 s, and acting began at 0.4 s
                m.running.wait(5)
                time.sleep(3.5)
                p.send_signal(signal.SIGCONT)
            _, err = p.communicate(timeout=60)
            ok(p.returncode == 0 and mapped(v) == (v.size if stop else 0) and
               (b"s behind" in err) == stop,
               "old evidence is not acted upon" if stop else "(it would have been)",
               mapped(v), err)


def test_often_behind():
    """One message a minute, and the count at the end"""
    with fake(half_hot) as (d, m, v):
        def play(module, pids):
            module.begin(pids)
            for lag in (3 * 10**9, 0) * 3:
                t = now() - lag
                # more than it reads at once
                module.send(3 * (r.snapshot(t, v.pid, regions(v.at, v.size, 64)) + r.stats(t)))
                time.sleep(0.5)
            module.send(r.end(now(), 0))
        m.script = play
        res = run(*args(d, m, v, "4K null null 5% 500ms null stat"))
        ok(res.returncode == 0 and res.stderr.count(b"s behind: no actions") == 1 and
           b"was behind 3 times" in res.stderr, "often behind: that is said once", res.stderr)
