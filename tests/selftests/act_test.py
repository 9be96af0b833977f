#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""wsmo act on a live kernel: what is cold goes, what is hot stays."""
import contextlib
import json
import os
import signal
import struct
import subprocess
import tempfile
import time

import wsmontest as w

TMP = tempfile.mkdtemp()
FILE = os.path.join(TMP, "data")
MIB = 1 << 20
SCHEME = os.path.join(TMP, "scheme")


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def scheme(*rules):
    write(SCHEME, "\n".join(rules) + "\n")
    return SCHEME


@contextlib.contextmanager
def swap():
    if not os.path.exists("/sys/block/zram0"):
        subprocess.run(["/sbin/modprobe", "zram"], check=True)
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
                          "--seconds", "0", *more])
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


def act(*args, **more):
    r = subprocess.run(["wsmo", "act", *args], capture_output=True, text=True, **more)
    for line in r.stderr.splitlines():
        print("# " + line, flush=True)
    return r


def rules(r):
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    return [line for line in lines if line["type"] == "rule"]


def reclaim():
    """The preset takes the cold part, and none of the hot one."""
    with swap():
        p, at = hotset()
        try:
            began = time.monotonic()
            acting = subprocess.Popen(["wsmo", "act", "-q", "-s", "reclaim", "-p", str(p.pid),
                                       "--json", "-o", FILE], stdout=subprocess.PIPE, text=True)
            w.wait_for("cold memory to go", lambda: resident(
                p.pid, at + 16 * MIB, 48 * MIB) <= 0.05 * 48 * MIB, 60)
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
            p.kill()
            p.wait()
    assert w.idle() and w.attrs()["aggr_us"] == "1000000"


def refaults_back_off():
    """What is taken comes back at once: the governor ends that."""
    with swap():
        p, at = hotset(hot=48)
        try:
            r = act("-s", scheme("4K null null null null null pageout"), "-p", str(p.pid),
                    "-d", "8", "--json", "--class", "anon")
            assert r.returncode == 0 and "backing off" in r.stderr, r
            rule = rules(r)[0]
            assert rule["refaulted_bytes"] > 0, rule
            # a pause of 5 s: it could not take it all again and again
            assert rule["applied_bytes"] < 5 * 64 * MIB, rule
        finally:
            p.kill()
            p.wait()


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


def huge_pages():
    """Hot memory goes into huge pages; what gets cold is split again."""
    write("/sys/kernel/mm/transparent_hugepage/enabled", "madvise")

    def huge(pid):
        with open("/proc/%d/smaps" % pid) as f:
            return sum(int(line.split()[1]) << 10 for line in f
                       if line.startswith("AnonHugePages"))
    # (hotset wants small pages and says so to the kernel)
    with w.Target("while True:\n    m[o:o + n:4096] = b\n    time.sleep(0.02)\n",
                  "import ctypes\nn = 16 << 20\nb = bytes(n >> 12)\n"
                  "m = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "o = -ctypes.addressof(ctypes.c_char.from_buffer(m)) % (2 << 20)\n") as t:
        r = act("-s", scheme("2M null 50% null 2s null hugepage"), "-p", str(t.pid), "-d", "10",
                "--json", "--quota-cpu", "1000")
        assert r.returncode == 0, r
        before = huge(t.pid)
        print("# huge: %d MiB; %s" % (before / MIB, rules(r)[0]), flush=True)
        assert 12 * MIB <= before <= 16 * MIB
        t.process.send_signal(signal.SIGSTOP)
        r = act("-s", scheme("2M null null 5% 5s null nohugepage"), "-p", str(t.pid), "-d", "12",
                "--json")
        assert r.returncode == 0, r
        print("# huge: %d MiB; %s" % (huge(t.pid) / MIB, rules(r)[0]), flush=True)
        assert huge(t.pid) <= before / 8


def exits_in_mid_action():
    with swap():
        for _ in range(3):
            p, at = hotset(size=128, hot=4)
            acting = subprocess.Popen(
                ["wsmo", "act", "-q", "-s", scheme("4K null null 20% 1s null pageout"), "-p",
                 str(p.pid), "--quota-cpu", "1000", "--json"], stdout=subprocess.PIPE, text=True)
            w.wait_for("the first action", lambda: rss(p.pid) < 120 * MIB, 30)
            p.kill()
            p.wait()
            out = acting.communicate(timeout=10)[0]
            assert acting.returncode == 0 and json.loads(out.splitlines()[-1])["applied_bytes"]


def stopped_underneath():
    """Somebody else ends the session, as one does to unload the module."""
    with w.sleeper() as t:
        p = subprocess.Popen(["wsmo", "act", "-q", "-s", scheme("4K null null null 1s null stat"),
                              "-p", str(t.pid)], stdout=subprocess.DEVNULL)
        w.wait_for("monitoring", w.running)
        time.sleep(1)
        w.must_put("target", "\n")
        assert p.wait(10) == 0


def not_permitted():
    """Root without CAP_SYS_NICE may monitor, but not act."""
    with w.sleeper() as t:
        r = act("-s", "reclaim", "-p", str(t.pid), "-d", "1")
        assert r.returncode == 0, r
        r = subprocess.run(["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice",
                            "wsmo", "act", "-s", "reclaim", "-p", str(t.pid), "-d", "1"],
                           capture_output=True, text=True)
        assert r.returncode == 1 and "CAP_SYS_NICE" in r.stderr, r
        assert w.idle()


if __name__ == "__main__":
    w.main(reclaim, refaults_back_off, no_swap, huge_pages, exits_in_mid_action,
           stopped_underneath, not_permitted)
