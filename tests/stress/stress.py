# SPDX-License-Identifier: GPL-2.0
"""Shared by the stress tests: targets that churn, readers, the machine."""
import io
import os
import re
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "selftests"))

import wsmontest as w                                      # noqa: E402
from wsmontest import read, write                          # noqa: E402
import wsmon                                               # noqa: E402

CHURN = os.path.join(TOP, "out", "bin", "churn")
SECS = int(os.environ.get("STRESS_SECS", "10"))
FAST = ("cpu_permille=1000 sample_us=1000 aggr_us=10000 update_us=10000 "
        "window_us=10000 min_regions=10 max_regions=%s" % os.environ.get("STRESS_REGIONS", "2000"))
# Seconds: long, because churn notices its end late, and the checks of the debug
# kernel make everything several times slower.
PATIENCE = 120
CGROUP = "/sys/fs/cgroup/"
# The longest call of this test: (seconds, name)
longest = (0, "none")


def timed(what, call, *args):
    """Return: the result of a call on a file of the module; note how long it took."""
    global longest
    began = time.monotonic()
    try:
        return call(*args)
    finally:
        longest = max(longest, (time.monotonic() - began, what))


def timed_get(name):
    fd = timed("open " + name, os.open, w.DIR + name, os.O_RDONLY)
    try:
        text = b""
        while part := timed("read " + name, os.read, fd, 1 << 20):
            text += part
        return text.decode()
    finally:
        os.close(fd)


put = w.put
w.get = timed_get
w.put = lambda name, data: timed("write " + name, put, name, data)


class Skip(Exception):
    pass


def note(text):
    print("# " + text, flush=True)


def try_write(path, text):
    try:
        write(path, text)
        return True
    except OSError:
        return False


def run(*cmd):
    return subprocess.run(cmd, check=True, capture_output=True,
                          text=True).stdout.strip()


class Churn:
    """A churning process; cgroup: where it is started."""

    def __init__(self, mode, secs, cgroup=None, **env):
        def enter():
            if cgroup:
                write(CGROUP + cgroup + "/cgroup.procs", os.getpid())
        self.mode = mode
        self.process = subprocess.Popen(
            [CHURN, mode, str(secs)], env={**os.environ, **env},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=enter)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def check(self):
        """It ended in time, and no data was lost."""
        out, said = self.process.communicate(timeout=PATIENCE)
        said = self.said = said.decode().strip()
        if self.process.returncode == 77:
            raise Skip(said)
        assert self.process.returncode == 0, "%d: %s" % (
            self.process.returncode, said)
        note(said)


class Reader:
    """Reads the buffer to a file until the session ends."""
    PATH = "/dev/shm/stream"

    def __init__(self):
        with open(self.PATH, "wb") as f:
            self.process = subprocess.Popen(["cat", w.DIR + "buffer"], stdout=f)

    def finish(self):
        """Check the stream. Return: number of records by type."""
        assert self.process.wait(PATIENCE) == 0
        counts = {}
        with open(self.PATH, "rb") as f:
            part = f.read(1 << 20)
            for _ in wsmon.read(io.BytesIO(part))[1]:
                pass
            size = f.seek(0, 2)
            at = struct.unpack_from("<I", part, 12)[0]
            while at < size:
                f.seek(at)
                kind, length, _ = struct.unpack("<IIQ", f.read(16))
                assert 16 <= length <= 65536 and length % 8 == 0, (at, length)
                counts[kind] = counts.get(kind, 0) + 1
                at += length
        assert at == size, "a stream that does not end with a record"
        os.unlink(self.PATH)
        return counts

    def kill(self):
        self.process.kill()
        self.process.wait()


TARGET, SNAPSHOT, EXIT, LOST, END = 2, 4, 9, 10, 12


def start(*pids, attrs=None):
    w.must_put("attrs", attrs or FAST)
    w.must_put("target", " ".join(map(str, pids)) + "\n")


def stop():
    """Stopping must be quick, whatever the target does."""
    began = time.monotonic()
    w.must_put("target", "\n")
    took = time.monotonic() - began
    assert took < 10, "stopping took %.1f s" % took


def rounds():
    return w.stats()["rounds"]


def rounds_go_on():
    before = rounds()
    w.wait_for("more rounds", lambda: rounds() > before + 3, 20)


def cgroup(name, controllers=""):
    path = CGROUP + name
    for c in controllers.split():
        if not try_write(CGROUP + "cgroup.subtree_control", "+" + c):
            raise Skip("no cgroup controller " + c)
    os.makedirs(path, exist_ok=True)
    return path + "/"


def modprobe(name):
    subprocess.run(["modprobe", name], capture_output=True)


def loop_device(name, megabytes):
    """A block device in memory that is not swapped itself"""
    modprobe("loop")
    at = "/run/" + name
    os.makedirs(at, exist_ok=True)
    for option in (",noswap", ""):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dM%s" % (
                megabytes + 1, option), "tmpfs", at],
                capture_output=True).returncode == 0:
            break
    # filled here: else its memory belongs to the cgroup whose pages go there
    with open(at + "/image", "wb") as f:
        for _ in range(megabytes):
            f.write(bytes(1 << 20))
    return run("losetup", "--find", "--show", at + "/image")


class Swap:
    """Swap space while in the block, on zram or on a loop device.

    Pages that come back from zram lose their copy there at once. From other devices
    they keep it and stay clean: only there can a lost Dirty bit lose data.
    """
    made = {}

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        if self.kind not in self.made:
            if self.kind == "zram":
                modprobe("zram")
                if not os.path.exists("/sys/block/zram0"):
                    raise Skip("no zram")
                # another test may have left its size
                write("/sys/block/zram0/reset", 1)
                write("/sys/block/zram0/disksize", 256 << 20)
                self.made["zram"] = "/dev/zram0"
            else:
                self.made["loop"] = loop_device("swap", 64)
            run("mkswap", self.made[self.kind])
        run("swapon", self.made[self.kind])

    def __exit__(self, *exc):
        run("swapoff", self.made[self.kind])


COMPLAINT = re.compile(
    r"WARNING:|BUG:|Oops|KASAN|UBSAN|possible (circular|recursive|irq lock)"
    r"|inconsistent lock|suspicious RCU|blocked for more than|soft lockup"
    r"|general protection|unable to handle|[Bb]ad page|[Bb]ad rss|rcu.*stall")
# races that KCSAN finds in other code, or in reads of a folio's flags: the module sets these
# by an atomic operation
ELSEWHERE = re.compile(r"BUG: KCSAN: ([^\[]*$|data-race in accessed_report / folio_batch_move_lru)")


def unused():
    """Wait until nobody has a file of the module open."""
    w.wait_for("the files to be closed", lambda: read(
        "/sys/module/wsmon/refcnt") == "0\n", 20)


def kernel_is_quiet():
    bad = [line for line in run("dmesg").splitlines()
           if COMPLAINT.search(line) and not ELSEWHERE.search(line)]
    assert not bad, "the kernel says: " + "; ".join(bad[:3])
