#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""wsmo act on a live kernel: cold memory goes, hot memory stays."""
import contextlib
import json
import os
import resource
import signal
import struct
import subprocess
import time

import wsmontest as w
from acttest import MIB, TMP, act, rules, scheme, without_damon, write

FILE = os.path.join(TMP, "data")


@contextlib.contextmanager
def swap():
    if not os.path.exists("/sys/block/zram0"):
        subprocess.run(["/sbin/modprobe", "zram"], check=True)
    with open("/sys/block/zram0/disksize") as f:
        fresh = f.read() == "0\n"
    if fresh:
        write("/sys/block/zram0/disksize", 512 * MIB)
        subprocess.run(["/sbin/mkswap", "/dev/zram0"], check=True, capture_output=True)
    subprocess.run(["/sbin/swapon", "/dev/zram0"], check=True)
    try:
        yield
    finally:
        subprocess.run(["/sbin/swapoff", "/dev/zram0"], check=True)


def hotset(*more, size=64, hot=16):
    """A process that touches the first part of its memory; its pid and range."""
    p = subprocess.Popen(["hotset", "--size", "%dM" % size, "--hot", "%dM" % hot,
                          "--seconds", "0", "--period-ms", "50", *more])
    at = []

    def found():
        with open("/proc/%d/maps" % p.pid) as f:
            for line in f:
                lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
                if hi - lo >= size * MIB:
                    at[:] = [lo]
        return at and rss(p.pid) >= size * MIB
    try:
        w.wait_for("the workload", found, 60)
    except AssertionError:
        p.kill()
        raise
    return p, at[0]


def rss(pid):
    with open("/proc/%d/status" % pid) as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))


def resident(pid, start, size):
    with open("/proc/%d/pagemap" % pid, "rb") as f:
        f.seek(start >> 12 << 3)
        data = f.read(size >> 12 << 3)
    return sum(e >> 63 for e in struct.unpack("<%dQ" % (size >> 12), data)) << 12


@w.measured
def reclaim():
    """The preset takes the cold part, and nothing of the hot part."""
    with swap():
        p, at = hotset()
        try:
            began = time.monotonic()
            # a whole CPU: kernels with checkers take long to reclaim
            acting = subprocess.Popen(["wsmo", "act", "-q", "-s", "reclaim", "-p", str(p.pid),
                                       "--json", "-o", FILE, "--quota-cpu", "100%"],
                                      stdout=subprocess.PIPE, text=True)
            w.wait_for("cold memory to go", lambda: resident(
                p.pid, at + 16 * MIB, 48 * MIB) <= 0.05 * 48 * MIB, 90)
            took = time.monotonic() - began
            hot = resident(p.pid, at, 16 * MIB)
            acting.send_signal(signal.SIGINT)
            out = acting.communicate(timeout=10)[0]
            rule = json.loads(out)
            print("# gone after %.1f s; %s" % (took, rule), flush=True)
            assert acting.returncode == 0
            assert hot >= 0.99 * 16 * MIB, "hot memory was taken"
            assert rule["applied_bytes"] >= 45 * MIB and not rule["failed"]
            assert rule["refaulted_bytes"] <= 0.01 * 16 * MIB
            again = subprocess.run(["wsmo", "report", "act", "--json", "-i", FILE],
                                   capture_output=True, text=True)
            assert rules(again) == [rule], again
        finally:
            acting.kill()
            p.kill()
            p.wait()
    assert not w.kwsmond() and w.attrs()["aggr_us"] == "1000000"


@w.measured
def refaults_back_off():
    """Memory that is taken comes back soon: the governor ends that."""
    with swap():
        p, at = hotset("--period-ms", "500", hot=48)
        try:
            r = act("-s", scheme("4K null null null null null pageout"), "-p", str(p.pid),
                    "-d", "8", "--json", "--class", "anon")
            # 100 is the default
            assert r.returncode == 0 and "came back, --max-refaults is 100" in r.stderr, r
            rule = rules(r)[0]
            assert rule["refaulted_bytes"] > 0, rule
            # a pause of 5 s: not all of it could be taken again and again
            assert rule["applied_bytes"] < 5 * 64 * MIB, rule
        finally:
            p.kill()
            p.wait()


# 4096 pages, every 16th of them used every four seconds
SELDOM = """
while True:
    for at in range(0, len(m), 16 * 4096):
        m[at]
    time.sleep(4)
"""


@w.measured
def what_came_back_stays():
    """Used pages within a hardly used range are taken once, not again and again."""
    setup = "m = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE)\nm[:] = b'x' * len(m)"
    with swap(), w.Target(SELDOM, setup) as target:
        r = act("-s", scheme("1M null null 40% null null pageout"), "-p", str(target.pid), "-d", "30",
                "--json", "--quota-cpu", "100%", "--max-refaults", "1000000", "--class", "anon")
        rule = rules(r)[0]
        print("# %s" % rule, flush=True)
        assert r.returncode == 0 and rss(target.pid) < 16 * MIB, r
        # 256 pages
        assert MIB // 2 <= rule["refaulted_bytes"] <= 2 * MIB, rule


def goal(r):
    return [x for x in map(json.loads, r.stdout.splitlines()) if x["type"] == "goal"][0]


def available():
    with open("/proc/meminfo") as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable"))


@w.measured
def goals():
    """A goal out of reach takes all cold memory and nothing hot; another goal is reached and
    ends."""
    with swap():
        p, at = hotset()
        try:
            r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "20",
                    "--json", "--quota-cpu", "100%", "--goal", "pressure=10%")
            left = [resident(p.pid, at, 16 * MIB), resident(p.pid, at + 16 * MIB, 48 * MIB)]
            print("# %s; left %s" % (goal(r), left), flush=True)
            assert r.returncode == 0 and goal(r)["reached"] <= 0.2 and goal(r)["quota_bytes"] > MIB, r
            assert left[0] >= 0.99 * 16 * MIB and left[1] <= 0.1 * 48 * MIB, left
        finally:
            p.kill()
            p.wait()
        p, at = hotset()
        try:
            before = available()
            r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "45",
                    "--json", "--goal", "available=%d" % (before + 20 * MIB))
            taken, more = 64 * MIB - rss(p.pid), available() - before
            print("# %s; %d MiB taken, %d more available" % (goal(r), taken // MIB, more // MIB),
                  flush=True)
            assert goal(r)["reached"] > 0 and 8 * MIB < taken < 40 * MIB and more > 8 * MIB, r
        finally:
            p.kill()
            p.wait()


@w.measured
def no_swap():
    p, at = hotset()
    try:
        r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "8",
                "--json")
        assert r.returncode == 0 and "no swap" in r.stderr, r
        assert resident(p.pid, at, 64 * MIB) == 64 * MIB
        rule = rules(r)[0]
        assert not rule["applied_bytes"] and rule["skipped_bytes"] > 40 * MIB, rule
    finally:
        p.kill()
        p.wait()


@w.measured
def exits_in_mid_action():
    with swap():
        for _ in range(3):
            p, at = hotset(size=128, hot=4)
            acting = subprocess.Popen(
                ["wsmo", "act", "-q", "-s", scheme("4K null null 20% 1s null pageout"), "-p",
                 str(p.pid), "--quota-cpu", "100%", "--json"], stdout=subprocess.PIPE, text=True)
            w.wait_for("the first action", lambda: rss(p.pid) < 120 * MIB, 30)
            p.kill()
            p.wait()
            out = acting.communicate(timeout=10)[0]
            assert acting.returncode == 0 and json.loads(out.splitlines()[-1])["applied_bytes"]


@contextlib.contextmanager
def cgroup():
    """The directory of a cgroup /test; at the end its processes are killed"""
    root = os.path.join(TMP, "cgroup")
    os.mkdir(root)
    subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    os.mkdir(root + "/test")
    try:
        yield root + "/test"
    finally:
        w.wait_for("an empty cgroup", lambda: not open(root + "/test/cgroup.procs").read())
        os.rmdir(root + "/test")
        subprocess.run(["umount", "-l", root], check=True)
        os.rmdir(root)


@w.measured
def of_a_cgroup():
    """Acts on the processes of the cgroup, also on one that begins later, and on no others"""
    started = []
    with swap(), cgroup() as path:
        try:
            for procs in "/cgroup.procs", "/../cgroup.procs":
                started.append(hotset())
                write(path + procs, started[-1][0].pid)
            acting = subprocess.Popen(
                ["wsmo", "act", "-s", scheme("4K null null 20% 2s null pageout"), "--cgroup", "test",
                 "-d", "30", "--json", "-l", "--goal", "pressure=5%"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(3)
            started.append(hotset())
            write(path + "/cgroup.procs", started[-1][0].pid)
            out, err = acting.communicate(timeout=120)
            left = [resident(p.pid, at, 64 * MIB) // MIB for p, at in started]
            print("# of 64 MiB, 16 in use, are resident: %s; %s" % (left, err.strip()))
            assert acting.returncode == 0 and "LOST" not in err and "be read" not in err, err
            assert left[1] == 64 and all(16 <= x <= 24 for x in (left[0], left[2])), left
            lines = [json.loads(line) for line in out.splitlines()]
            assert {x["pid"] for x in lines if x["type"] == "action"} == {
                started[0][0].pid, started[2][0].pid}
            r = act("-s", "reclaim", "--cgroup", "/none")
            assert r.returncode == 1 and "no such cgroup (of version 2): /none" in r.stderr, r
        finally:
            for p, _ in started:
                p.kill()
                p.wait()


@w.measured
def two_acts():
    """Two would take from each other memory that came back: the second one refuses"""
    with swap(), cgroup() as path:
        p, at = hotset()
        try:
            write(path + "/cgroup.procs", p.pid)
            first = subprocess.Popen(["wsmo", "act", "-q", "-s", "reclaim", "-p", str(p.pid)],
                                     stdout=subprocess.DEVNULL)
            w.wait_for("the first one to begin", w.kwsmond)
            r = act("-s", "reclaim", "-p", str(p.pid), "-d", "1")
            assert r.returncode == 1 and "another wsmo act acts on process %d" % p.pid in r.stderr, r
            r = act("-s", scheme("4K null null null null null pageout"), "--cgroup", "test", "-d", "3",
                    "-l", "--json")
            assert r.returncode == 1 and "%d: it is left alone" % p.pid in r.stderr, r
            assert not r.stdout and resident(p.pid, at, 16 * MIB) == 16 * MIB, r
            first.kill()
            first.wait()
            r = act("-s", scheme("4K null null null null null pageout"), "--cgroup", "test", "-d", "3",
                    "-l", "--json")
            assert r.returncode == 0 and rules(r)[0]["applied_bytes"], r
        finally:
            p.kill()
            p.wait()


KDAMONDS = "/sys/kernel/mm/damon/admin/kdamonds/"


@contextlib.contextmanager
def kdamond(pid):
    """DAMON watches a process, every 20 ms"""
    context = KDAMONDS + "0/contexts/0/"
    write(KDAMONDS + "nr_kdamonds", 1)
    write(KDAMONDS + "0/contexts/nr_contexts", 1)
    write(context + "operations", "vaddr")
    write(context + "monitoring_attrs/intervals/sample_us", 20000)
    write(context + "targets/nr_targets", 1)
    write(context + "targets/0/pid_target", pid)
    write(KDAMONDS + "0/state", "on")
    try:
        yield
    finally:
        write(KDAMONDS + "0/state", "off")
        write(KDAMONDS + "nr_kdamonds", 0)


@w.measured
def beside_damon():
    """DAMON clears the Accessed bits first: wsmo does nothing while DAMON runs"""
    if not os.path.exists(KDAMONDS):
        raise w.Skip("this kernel has no DAMON")
    with swap():
        p, at = hotset()
        try:
            with kdamond(p.pid):
                r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "10",
                        "--json", "--quota-cpu", "100%")
                assert r.returncode == 0 and "DAMON runs (thread kdamond." in r.stderr, r
                assert resident(p.pid, at, 64 * MIB) == 64 * MIB and not rules(r)[0]["tried"], r
            r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "10",
                    "--json", "--quota-cpu", "100%")
            assert "DAMON" not in r.stderr and rules(r)[0]["applied_bytes"] > MIB, r
        finally:
            p.kill()
            p.wait()


@w.measured
def cgroup_without_swap():
    """No action is tried where the kernel would refuse it; one message says so"""
    with swap(), cgroup() as path:
        write(path + "/../cgroup.subtree_control", "+memory")
        os.mkdir(path + "/below")
        os.mkdir(path + "/../other")
        p, at = hotset()
        other = w.sleeper()
        try:
            write(path + "/below/cgroup.procs", p.pid)
            write(path + "/../other/cgroup.procs", other.pid)
            write(path + "/../other/memory.swap.max", 0)
            for limit in "0", "max":
                write(path + "/memory.swap.max", limit)
                r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p",
                        "%d,%d" % (p.pid, other.pid), "-d", "10", "--json", "--quota-cpu", "100%")
                rule = rules(r)[0]
                said = [r.stderr.count("cgroup /%s has no swap left" % x) for x in ("test", "other")]
                assert r.returncode == 0 and said == [limit == "0", 1], r
                assert bool(rule["tried"]) == bool(rule["applied_bytes"]) == (limit == "max"), rule
                assert rule["gone_bytes"] <= 64 * MIB, rule
        finally:
            other.kill()
            p.kill()
            p.wait()
            w.wait_for("an empty cgroup", lambda: not open(path + "/below/cgroup.procs").read())
            os.rmdir(path + "/below")
            w.wait_for("an empty cgroup", lambda: not open(path + "/../other/cgroup.procs").read())
            os.rmdir(path + "/../other")


@w.measured
def cgroup_with_little_swap():
    """Above memory.swap.high the kernel stops the processes for seconds: act stays below it"""
    with swap(), cgroup() as path:
        write(path + "/../cgroup.subtree_control", "+memory")
        write(path + "/memory.swap.high", 8 * MIB)
        # memory is charged where it is allocated
        write(path + "/cgroup.procs", os.getpid())
        try:
            p, _ = hotset()
        finally:
            write(path + "/../cgroup.procs", os.getpid())
        try:
            r = act("-s", scheme("4K null null 20% 2s null pageout"), "-p", str(p.pid), "-d", "10",
                    "--json", "--quota-cpu", "100%")
            with open(path + "/memory.swap.current") as f:
                swapped = int(f.read())
            assert r.stderr.count("cgroup /test has no swap left") == 1, r
            assert 4 * MIB <= swapped <= 8 * MIB and not rules(r)[0]["failed"], (swapped, r)
        finally:
            p.kill()
            p.wait()


def few_files():
    """A process that cannot be opened counts as running"""
    with w.sleeper() as p:
        r = act("-s", scheme("4K null null null null null stat"), "-p", str(p.pid), "-d", "1",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6)))
        assert r.returncode == 1 and "cannot be opened: Too many open files" in r.stderr, r


def reads(pid):
    with open("/proc/%d/io" % pid) as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("syscr"))


def of_many_cgroups():
    """Users can make cgroups: wsmo does not read all of them each second"""
    with cgroup() as path, w.sleeper() as p:
        below = [path + "/%d" % i for i in range(1000)]
        for name in below:
            os.mkdir(name)
        write(below[0] + "/cgroup.procs", p.pid)
        acting = subprocess.Popen(["wsmo", "act", "-q", "-s", scheme("4K null null null null null stat"),
                                   "--cgroup", "test"], stdout=subprocess.DEVNULL)
        try:
            w.wait_for("it to begin", w.kwsmond, 60)
            before = reads(acting.pid)
            time.sleep(8)
            more = reads(acting.pid) - before
            print("# %d reads" % more, flush=True)
            assert more < 3 * len(below), more
        finally:
            acting.kill()
            acting.wait()
            p.kill()
            w.wait_for("an empty cgroup", lambda: not open(below[0] + "/cgroup.procs").read())
            for name in below:
                os.rmdir(name)


def a_part_mounted_elsewhere():
    """A path below the mounted part is not mistaken for another cgroup"""
    with cgroup() as path, w.sleeper() as p:
        write(path + "/cgroup.procs", p.pid)
        part = os.path.join(TMP, "part")
        os.makedirs(path + "/../other/test")
        os.mkdir(part)
        subprocess.run(["mount", "--bind", path + "/../other", part], check=True)
        try:
            for name, fails in (part + "/test", 1), (path, 0):
                r = act("-s", scheme("4K null null null null null stat"), "--cgroup", name, "-d", "1")
                assert r.returncode == fails and ("no such cgroup" in r.stderr) == fails, r
        finally:
            p.kill()
            subprocess.run(["umount", part], check=True)
            for name in path + "/../other/test", path + "/../other":
                os.rmdir(name)


@w.measured
def few_regions():
    """With many processes each has few regions: memory used every five seconds still stays, as
    it does for a single process"""
    with swap():
        others = [hotset(size=4, hot=4)[0] for _ in range(16)]
        p, at = hotset("--period-ms", "5000", "--pattern", "blocks:4M")
        try:
            r = act("-s", "reclaim", "--all", "-d", "45", "--json")
            used = [sum(resident(p.pid, at + i * 8 * MIB + k * 4 * MIB, 4 * MIB) for i in range(8))
                    for k in range(2)]
            with open("/proc/%d/stat" % p.pid) as f:
                faults = int(f.read().split()[11])
            print("# used %d, unused %d MiB left, %d major faults" % (
                used[0] // MIB, used[1] // MIB, faults), flush=True)
            assert used[0] >= 31 * MIB and faults <= 256, (used, faults)
        finally:
            for x in (p, *others):
                x.kill()
                x.wait()


# twenty children at any time; each lives for 0.2 s or less, with the memory of a Python
SHORT = """
import random
children = 0
while True:
    if children == 20:
        os.wait()
        children -= 1
    if not os.fork():
        time.sleep(random.random() / 5)
        os._exit(0)
    children += 1
"""


def of_processes_that_end():
    """Processes end while the session begins, or is renewed for others: it goes on with the rest"""
    with cgroup() as path:
        with w.Target(SHORT, "open('%s/cgroup.procs', 'w').write('0')" % path):
            for seconds in [1] * 5 + [13]:
                r = act("-s", scheme("4K null null null null null stat"), "--cgroup", "test",
                        "-d", str(seconds), "--json")
                assert r.returncode == 0 and "process" not in r.stderr, r
            assert rules(r)[0]["tried_bytes"], r


if __name__ == "__main__":
    w.need("wsmo", "hotset")
    without_damon()
    w.main(reclaim, refaults_back_off, what_came_back_stays, goals, no_swap, exits_in_mid_action,
           of_a_cgroup, of_processes_that_end, of_many_cgroups, a_part_mounted_elsewhere, two_acts,
           few_files, beside_damon, cgroup_without_swap, cgroup_with_little_swap, few_regions)
