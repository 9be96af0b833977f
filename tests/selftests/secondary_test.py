#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Memory used by a virtual machine is unknown, and all output says so."""
import contextlib
import fcntl
import json
import os
import subprocess
import time

import cgroup_test
import wsmontest as w
from acttest import MIB, TMP, act, rules, scheme

FILE = os.path.join(TMP, "guest.data")
SIZE = 32
KVM_CREATE_VM = 0xAE01
NOTE = "has a secondary MMU"
COLD = "1M null null 5% 2s null pageout"


class Guest:
    """The process; run() starts a virtual machine in it, with the memory at self.at."""

    def __enter__(self):
        self.p = subprocess.Popen([GUEST, str(SIZE)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.pid = self.p.pid
        self.at = int(self.p.stdout.readline(), 16)
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()

    def run(self):
        print(file=self.p.stdin, flush=True)
        assert self.p.stdout.readline() == "running\n"


@contextlib.contextmanager
def guest(running=True):
    with Guest() as g:
        if running:
            g.run()
        yield g


def flagged():
    """The processes that the file status flags."""
    for line in w.get("status").splitlines():
        if line.startswith("secondary_mmu:"):
            return [int(pid) for pid in line.split()[1:]]
    return []


def wsmo(*args):
    r = w.wsmo(*args)
    print("# %s: %s" % (" ".join(args), r.stderr.strip()), flush=True)
    assert r.returncode == 0, r
    return r


def status():
    """The note appears during monitoring, for the target that became a virtual machine."""
    with guest(running=False) as g, w.sleeper() as s:
        w.must_put("attrs", "aggr_us=200000 window_us=200000")
        w.must_put("target", "%d %d" % (s.pid, g.pid))
        w.wait_for("intervals", lambda: w.stats()["rounds"] > 10)
        assert flagged() == [], w.get("status")
        g.run()
        w.wait_for("the flag", lambda: flagged() == [g.pid])
        g.p.kill()
        w.wait_for("its end", lambda: flagged() == [])
        w.must_put("target", "\n")
    with guest() as g:
        w.must_put("target", str(g.pid))
        w.wait_for("the flag", lambda: flagged() == [g.pid])
        w.must_put("target", "\n")
        w.wait_for("the end", w.idle)
        assert flagged() == []


def targets(file):
    r = wsmo("report", "raw", "--json", "-i", file)
    return [(x["flags"] & 0xff, x["flags"] & 0x100) for x in map(json.loads, r.stdout.splitlines())
            if x["type"] == "target"], r


@w.measured
def reports():
    with guest() as g:
        r = wsmo("record", "--no-stacks", "-p", str(g.pid), "-d", "4", "-o", FILE)
        assert NOTE in r.stderr
        seen, r = targets(FILE)
        assert (0, 0x100) in seen and NOTE in r.stderr, seen
        r = wsmo("report", "--json", "-i", FILE)
        rows = [json.loads(line) for line in r.stdout.splitlines()]
        assert w.every(x.get("secondary_mmu", False) == ("pid" in x) for x in rows), rows
        # the guest uses all of its memory, the process uses none
        sizes = [x for x in map(json.loads, wsmo("report", "wss", "--json", "-i", FILE).stdout.splitlines())
                 if x["type"] == "wss" and x["class"] in ("anon", "all")]
        print("# of %d MiB in use by the guest: %s" % (SIZE, " ".join("%.1f [%.1f, %.1f]" % (
            x["bytes"] / MIB, x["low"] / MIB, x["high"] / MIB) for x in sizes)), flush=True)
        assert len(sizes) >= 2, rows
        for x in sizes:
            # the upper end is at most the resident memory
            assert x["low"] < SIZE * MIB / 2 and SIZE * MIB <= x["high"] < (SIZE + 8) * MIB, x
        for view in "wss", "regions", "heatmap", "hot":
            assert wsmo("report", view, "-i", FILE).stderr.count(NOTE) == 1
        page = wsmo("report", "html", "-i", FILE).stdout
        assert '"secondary_mmu":true' in page
        r = wsmo("top", "-p", str(g.pid), "--repeat=2", "--json")
        assert r.stderr.count(NOTE) == 1 and '"secondary_mmu":true' in r.stdout


def while_recording():
    """A reader gets the target again, with the flag, when the virtual machine appears."""
    with guest(running=False) as g:
        p = subprocess.Popen(["wsmo", "record", "--no-stacks", "-p", str(g.pid), "-d", "6",
                              "--aggr", "200ms", "--window", "200ms", "-o", FILE])
        w.wait_for("monitoring", w.kwsmond, 20)
        time.sleep(2)
        g.run()
        assert p.wait() == 0
        assert targets(FILE)[0] == [(0, 0), (2, 0x100)], targets(FILE)[0]


def acted(rule, *args):
    """Run act until it acts at all: 73 samples are needed to tell that memory is used for less
    than 5 % of the time, and if CPU time is short, rounds are left out."""
    for seconds in "8", "30", "120":
        r = act("-s", scheme(rule), *args, "-d", seconds, "--json", "-l")
        actions = [x for x in map(json.loads, r.stdout.splitlines()) if x["type"] == "action"]
        if actions:
            break
    return r, actions


def refused():
    """act refuses virtual machines, from the start or once they appear, but not with --force."""
    with guest() as g, w.sleeper() as s:
        r = act("-s", scheme(COLD), "-p", str(g.pid), "-d", "60", "--json")
        assert r.returncode == 1 and NOTE in r.stderr and "--force" in r.stderr, r
        assert not rules(r)[0]["tried"], r
        # with several targets it acts on the others
        r, actions = acted("4K null null 5% 1s null stat", "-p", "%d,%d" % (g.pid, s.pid))
        assert r.returncode == 1 and {x["pid"] for x in actions} == {s.pid}, r
        r, actions = acted("1M null null 5% 1s null stat", "-p", str(g.pid), "--force")
        assert r.returncode == 0 and NOTE in r.stderr and "--force" not in r.stderr, r
        assert any(x["start"] < g.at + SIZE * MIB and x["end"] > g.at for x in actions), r
    with guest(running=False) as g:
        p = subprocess.Popen(["wsmo", "act", "-s", scheme(COLD), "-p", str(g.pid), "-d", "60",
                              "--class", "stack"], stdout=subprocess.DEVNULL)
        w.wait_for("it to act", w.kwsmond, 20)
        time.sleep(1)
        assert p.poll() is None
        g.run()
        assert p.wait(20) == 1
        assert not w.kwsmond()


def of_a_cgroup():
    """Rows of virtual machines are marked, others are not"""
    os.mkdir(cgroup_test.ROOT)
    subprocess.run(["mount", "-t", "cgroup2", "none", cgroup_test.ROOT], check=True)
    out = os.path.join(TMP, "prom")
    try:
        with cgroup_test.Cgroup(), guest() as g, w.sleeper() as s:
            cgroup_test.attach("test/below", g.pid)
            os.mkdir(cgroup_test.ROOT + "/other")
            cgroup_test.attach("other", s.pid)
            r = wsmo("top", "--all", "--repeat=1", "--json")
            rows = {x["name"]: x["guests"] for x in map(json.loads, r.stdout.splitlines())}
            # the other is that of steady_kvm()
            assert rows == {"/": 2, "/test/below": 1, "/other": 0}, rows
            assert r.stderr.count("2 virtual machines") == 1, r
            assert "test/below* " in wsmo("top", "--all", "--repeat=1").stdout
            r = wsmo("record", "-q", "--cgroup", "test", "-d", "3", "-o", FILE)
            assert "1 virtual machine: memory that only its guest accesses reads as idle (/test)" in r.stderr, r
            sizes = [x for x in map(json.loads, wsmo("report", "wss", "--json", "-i", FILE).stdout.splitlines())
                     if x["type"] == "wss" and x["class"] == "all"]
            assert sizes and all(x["low"] < SIZE * MIB / 2 and SIZE * MIB <= x["high"] for x in sizes), sizes
            assert not wsmo("record", "-q", "--cgroup", "other", "-d", "1", "-o", FILE).stderr
            p = subprocess.Popen(["wsmo", "export", "openmetrics", "--live", "--cgroups", "/",
                                  "--interval", "1s", "-o", out])
            try:
                w.wait_for("figures", lambda: os.path.exists(out) and
                           open(out).read().count("wsmon_processes{") == 2, 30)
                found = [line for line in open(out) if line.startswith("wsmon_guests{")]
                assert found == ['wsmon_guests{cgroup="/test/below"} 1\n'], found
            finally:
                p.terminate()
                p.wait()
            s.kill()
            w.wait_for("an empty cgroup", lambda: not open(cgroup_test.ROOT + "/other/cgroup.procs").read())
            os.rmdir(cgroup_test.ROOT + "/other")
    finally:
        subprocess.run(["umount", "-l", cgroup_test.ROOT], check=True)
        os.rmdir(cgroup_test.ROOT)


w.need("wsmo")
GUEST = w.program("guest", "-O1")
for module in "kvm_amd", "kvm_intel":
    subprocess.run(["/sbin/modprobe", "-q", module])
if not os.path.exists("/dev/kvm"):
    w.skip("no KVM in here")


def steady_kvm():
    """The first virtual machine to begin and the last to end patch the scheduler, see
    tests/vm/init. So keep one all the time, begun while no other processor is online."""
    online = "/sys/devices/system/cpu/cpu1/online"
    for on in "01":
        if os.path.exists(online):
            with open(online, "w") as f:
                f.write(on)
        if on == "0":
            machine = fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), KVM_CREATE_VM, 0)
    return machine


if __name__ == "__main__":
    steady_kvm()
    w.main(status, reports, while_recording, refused, of_a_cgroup)
