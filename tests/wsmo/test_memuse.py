# SPDX-License-Identifier: GPL-2.0
"""wsmo mem: processes that vanish, other users, pages, growth, use, a thousand processes."""
import os
import random
import re
import struct
import subprocess
import time

import fakedevice
import fakemodule
import records as r
import samples
from command import DAMAGE, ENV, TOP, WSMO, Directory, fails, ok, run, skip
from test_mem import MIB, ROOT, Proc, kib, mapping, processes, read, rows, total

WAIT = "import os, signal; os.write(1, b'%d\\n' % os.getpid()); signal.pause()"
LEFT_OUT = rb"(wsmo: \d+ of \d+ processes (may not be read|ended meanwhile) and are left out.*\n)*"
# above any process id
NOBODY = 4194305, 4194306
PLAIN = os.path.join(TOP, "out", "bin", "wsmo")


VANISH = """while :; do sleep 0.01 & sleep 0.01 & wait; done 2>/dev/null &
for i in $(seq 20); do "$0" mem --json || exit 1; done
kill $!
"""


def test_vanish():
    """Processes may come and go without an error."""
    # a pid namespace of its own: root could read all other processes
    alone = ["unshare", "--pid", "--fork", "--mount-proc"] if ROOT else []
    with subprocess.Popen([*alone, "sh", "-c", VANISH, WSMO], start_new_session=True, env=ENV,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        err = p.stderr.read()
        ok(not p.wait() and re.fullmatch(LEFT_OUT, err), "processes vanish meanwhile", p.returncode, err)


def test_privilege():
    if not ROOT:
        skip("other users", "needs root")
        return
    with processes("import os, signal; os.setuid(65534); " + WAIT):
        res = run("mem", "--by", "class", "--json", user=65534)
        ok(not res.returncode or b"\"class\":\"all\"" in res.stdout, "one's own processes", res)
        said = [line for line in res.stderr.splitlines() if b" ended meanwhile " not in line]
        ok(len(said) == 1 and b"may not be read and are left out" in said[0], "that others are missing is said",
           res.stderr)
    res = run("mem", "-p", "1", user=65534)
    fails(res, "a process of root", "may not be read")
    code = "import ctypes, os, signal; os.setuid(65534)\n" \
        "ctypes.CDLL(None).prctl(4, 1, 0, 0, 0); " + WAIT
    with processes(code) as (pid,):
        res = run("mem", "-p", str(pid), "--pages", "--class", "stack", user=65534)
        ok(not res.returncode and b"only root" in res.stderr and b"resident" in res.stdout,
           "pages, without the kernel's flags", res)
        fails(run("mem", "-p", str(pid), "--frames", user=65534), "frames need root", "only root")


PAGES = r"""import ctypes, mmap, os, signal
m = mmap.mmap(-1, 64 * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in list(range(0, 64, 4)) + list(range(0, 8)):
    m[i * 4096] = 1
os.write(1, b"%d\n" % os.getpid())
signal.pause()
"""


def test_pages():
    with processes(PAGES) as (pid,):
        form = "--frames" if ROOT else "--pages"
        found, res = rows("-p", str(pid), form)
        smaps = read("/proc/%d/smaps" % pid)
        resident = total([row for row in found if row["state"] == "resident" and "zero_page" not in row["flags"]],
                         "size")
        ok(not res.returncode and resident == kib(smaps)["Rss"], "resident pages are RSS", resident, res.stderr)
        runs = [row for row in found if row["class"] == "anon" and row["state"] == "resident" and
                "zero_page" not in row["flags"]]
        if not ROOT:
            skip("frames", "needs root")
            return
        # the kernel may move a page meanwhile
        for _ in range(3):
            bad = []
            with open("/proc/%d/pagemap" % pid, "rb") as f:
                for row in runs:
                    for i in range(row["size"] // 4096):
                        f.seek((row["start"] // 4096 + i) * 8)
                        frame = struct.unpack("<Q", f.read(8))[0] & (1 << 55) - 1
                        if frame != row["frame"] + i:
                            bad.append(row)
            if runs and not bad:
                break
            runs = [row for row in rows("-p", str(pid), form)[0] if row["class"] == "anon" and
                    row["state"] == "resident" and "zero_page" not in row["flags"]]
        ok(runs and not bad and all("anon" in row["flags"] for row in runs), "frames are those of pagemap", bad)
        found, _ = rows("-p", str(pid), "--pages", "--class", "anon")
        shape = [row["size"] // 4096 for row in found]
        ok("3, 1, " * 12 in str(shape), "pages: each fourth", shape)


GROW = r"""import os, sys, time
keep = []
os.write(1, b"%d\n" % os.getpid())
while True:
    keep.append(bytearray(b"x" * (1 << 18)))
    time.sleep(0.01)
"""


def test_growth():
    with processes(GROW) as (pid,):
        found, res = rows("-p", str(pid), "--growth", "1s")
        first = found[0]
        ok(not res.returncode and first["type"] == "mem_growth" and first["low"] > MIB and
           first["bytes"] - first["first"] > MIB and first["high"] > first["growth"] > first["low"],
           "what grows", first, res.stderr)
        # on a busy machine it may hardly run within a second
        for span in "1s", "4s", "16s":
            text = run("mem", "-p", str(pid), "--growth", span).stdout
            if b"MiB/s (" in text:
                break
        ok(b"MiB/s (" in text, "for people", text)
    with processes(WAIT) as (pid,):
        time.sleep(0.2)
        res = run("mem", "-p", str(pid), "--growth", "0.3", "--class", "anon,heap")
        ok(not res.returncode and b"Nothing grew" in res.stdout, "what does not grow", res)


HEAP, ANON = 0x2000000, 0x7f0000000000


def recording(real, group=False, comm=b"fake"):
    t = fakemodule.now()
    data = r.header(t, real_ns=real) + r.attrs(t)
    for pid in (7, 8):
        data += r.target(t, pid, comm)
    for i in range(4):
        t += 10**9
        for pid in (7, 8):
            data += r.snapshot(t, pid, [r.region(HEAP, HEAP + MIB, 0.5, 0.5, "heap", 1, 0),
                                        r.region(HEAP + MIB, HEAP + 2 * MIB, i % 2, 0.5, "heap", 1, 0),
                                        r.region(ANON, ANON + 8 * MIB, 0.25, 0.5, "anon", 1, 1)])
        if group:
            data += r.group(t, 2) + r.total(t, "all", (4 + i) * MIB, 0, 0, 0) + \
                r.total(t, "heap", MIB, 0, 0, 0) + r.total(t, "all", 100 * MIB, 0, 0, 0, 60 * 10**6)
        data += r.stats(t, rounds=5)
    return data + r.end(t)


def test_ended():
    """The recorded process has ended: its memory is missing"""
    with Proc() as d:
        d.add(7, mapping(HEAP, 2048, "rw-p", "[heap]", Rss=2048, Pss=2048, Private_Dirty=2048))
        found, res = rows("--sysroot", d.name, "-i", "-", stdin=recording(time.time_ns()))
        ok(not res.returncode and found and res.stderr ==
           b"wsmo: 1 of 2 processes ended meanwhile and are left out\n", "a process that has ended", res)


def test_in_use():
    with Proc() as d:
        for pid in (7, 8, 9):
            d.add(pid, mapping(HEAP, 2048, "rw-p", "[heap]", Rss=2048, Pss=2048, Private_Dirty=2048) +
                  mapping(ANON, 4096, "rw-s", "/memfd:x", 3, "00:01", Rss=1024, Pss=512, Shared_Dirty=1024))
        data = recording(time.time_ns())
        found, res = rows("--sysroot", d.name, "-i", "-", stdin=data)
        want = {"heap": MIB, "shmem": MIB}
        ok(not res.returncode and not res.stderr and {row["pid"] for row in found} == {7, 8} and
           all(row["in_use"] == want[row["class"]] for row in found), "in use, by address", found, res)
        found, _ = rows("--sysroot", d.name, "-i", "-", "--by", "class", stdin=data)
        ok([(row["class"], row["in_use"]) for row in found] ==
           [("all", 4 * MIB), ("heap", 2 * MIB), ("shmem", 1 * MIB)],
           "of several processes at most what is resident", found)
        found, _ = rows("--sysroot", d.name, "-i", "-", "--by", "class", stdin=recording(time.time_ns(), True))
        ok([row["in_use"] for row in found[:2]] == [5.5 * MIB, MIB], "the group's own figures", found)
        found, _ = rows("--sysroot", d.name, "-i", "-", "--all", "--by", "process", stdin=data)
        ok({row["pid"]: row["in_use"] for row in found} == {7: 2 * MIB, 8: 2 * MIB, 9: None}, "--all", found)
        text = run("mem", "--sysroot", d.name, "-i", "-", stdin=data).stdout.decode()
        ok("IN USE" in text, "the column is there", text)
        for name, data in (("long ago", recording(10**18)), ("another name", recording(time.time_ns(), comm=b"x"))):
            found, res = rows("--sysroot", d.name, "-i", "-", stdin=data)
            ok(found and not any(row["in_use"] for row in found) and
               res.stderr.count(b"that was recorded: which memory") == 2, "a process of that number: " + name, res)
        status = [run("mem", "--sysroot", d.name, "-i", "-", stdin=data[:cut]).returncode
                  for cut in range(0, len(data), 499)]
        ok(set(status) <= {0, 1}, "recordings that are cut off", status)
        fails(run("mem", "-i", d.path("none")), "no recording", "none: cannot be read")
        fails(run("mem", "-i", "-", stdin=b"junk" * 100), "no recording at all", "standard input: ")
    with processes(WAIT) as (pid,), \
            Directory() as d:
        heap = fakemodule.heap_of(pid)
        figures = [(pid, "all", MIB, MIB)], [(pid, "heap", *heap, 0.5)]
        s = fakemodule.Stream(d, *figures)
        s.show(*figures)
        found, res = rows("--debugfs", d.name, "--live", "--by", "process,class")
        ok([row["in_use"] for row in found if row["class"] == "heap"] == [(heap[1] - heap[0]) // 2],
           "a session that runs", found, res)
        s.close()


def test_outside(d):
    """A recording may name any text as its cgroup: nothing outside of the cgroups is read, and
    mem does not wait for a pipe."""
    device = fakedevice.Device(d)
    for name in "evil", "cgroups/pipe", "cgroups/a..b":
        os.mkdir(d.path(name))
        if name.endswith("b"):
            with open(d.path(name + "/cgroup.procs"), "w") as f:
                f.write("%d\n" % os.getpid())
        else:
            os.mkfifo(d.path(name + "/cgroup.procs"))
    for cgroup, good in (b"/../evil", False), (b"/x/../../evil", False), (b"evil", False), (b"/..", False), \
            (b"/pipe", False), (b"/a..b", True):
        res = run("mem", "-i", "-", "--json", stdin=samples.cgroup(cgroup, pids=NOBODY), timeout=20, env=device.env)
        ok(good == (not res.returncode) and res.stderr.count(b"\n") <= 1, "cgroup %s" % cgroup.decode(), res)
    device.close()


THOUSAND = r"""import os, signal
for i in range(999):
    if not os.fork():
        break
else:
    os.write(1, b"%d\n" % os.getpid())
signal.pause()
"""


def test_thousand():
    """A thousand processes: compared with the time of reading the same files."""
    if not os.path.exists(PLAIN):
        skip("a thousand processes", "out/bin/wsmo is not built")
        return
    with processes(THOUSAND) as (first,):
        pids = [str(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if read_group(pid) == first]
        ok(len(pids) >= 900, "a thousand processes", len(pids))
        ratios, all_ours = [], []
        for _ in range(3):
            began, cpu = time.time(), os.times()
            for pid in pids:
                with open("/proc/%s/smaps" % pid, "rb") as f:
                    f.read()
            mid, plain = time.time(), os.times()
            subprocess.run([PLAIN, "mem", "--top", "3", "-p", ",".join(pids)], env=ENV, check=True,
                           stdout=subprocess.PIPE)
            took = os.times()
            # CPU time: other processes run here, too
            reading = plain.user + plain.system - cpu.user - cpu.system
            ours = took.children_user + took.children_system - plain.children_user - plain.children_system
            print("# %d processes: %.2f s, %.2f s of CPU; reading smaps alone %.2f s, %.2f s" % (
                len(pids), time.time() - mid, ours, mid - began, reading))
            ratios.append(ours / reading)
            all_ours.append(ours)
        ok(min(ratios) < 4 and min(all_ours) < 5, "in less than 5 s, not much more than reading takes",
           ratios, all_ours)


def read_group(pid):
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def test_damaged():
    """Output that no kernel gives does no harm."""
    rng = random.Random(1)
    text = read("/proc/self/smaps")
    bad = []
    for _ in range(400 // DAMAGE):
        flipped = list(text)
        for _ in range(rng.randrange(1, 40)):
            flipped[rng.randrange(len(text))] = rng.choice("\n \0:-0fAZ9\x7f\xff\\012")
        with Proc() as d:
            d.add(1, "".join(flipped)[:rng.randrange(len(text))])
            res = run("mem", "--sysroot", d.name, "--by", "process,class,file")
            bad += [res] if res.returncode not in (0, 1) else []
    ok(not bad, "damaged smaps", *bad[:2])
