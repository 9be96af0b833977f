# SPDX-License-Identifier: GPL-2.0
"""Programs in small pages, some of which khugepaged makes huge; a row for each recording."""
import collections
import ctypes
import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

import redis_load
import wsmon
import wsmontest as w
from cgroup_test import Cgroup, attach
from guest.groups import mount
from guest.machine import THP, build, read, report, row, say, swap_on_zram, vmstat, write
from guest.services import repeat

PAGE, HUGE, PARTS = 4096, 2 << 20, 512
WINDOW = 1000000000
ASLEEP = "100000000"
# khugepaged's sleep in ms; its other settings stay
SETTINGS = {"off": ASLEEP, "defaults": "10000", "fast": "10"}
BEFORE = 10                     # seconds of a recording before khugepaged is enabled
POLL = 0.1
# Rounds may take this long on a busy machine: memory that grows meanwhile is in a window or not. As
# in tests/selftests/start_test.py
EDGES = 0, -50 * 10**6, 20 * 10**6
# Other memory of a program, in addition to the known use. As in tests/selftests/unused_test.py
SLACK = 16
PAGEMAP_SCAN = 0xc0606610
PRESENT, ZERO, HUGE_ENTRY = 1 << 3, 1 << 5, 1 << 6
PROCESS_MADVISE, PAGEOUT = 440, 21

PYTHON = """
import mmap, signal, sys, time
# khugepaged learns of a process by its first fault where there is room for a huge page
with mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
    room[2 << 20] = 1
def touch(things):
    for thing in things:
        pass
print("up", flush=True)
sys.stdin.readline()
things = [bytes(400) for i in range(100000)]
hot = things[25000:50000]
signal.signal(signal.SIGUSR1, lambda *_: touch(things))
print("filled", flush=True)
while True:
    touch(hot)
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.1)
"""


class Load:
    """A program of a workload; its output goes to a file."""

    def __init__(self, *command):
        self.out = tempfile.NamedTemporaryFile("r")
        with open(self.out.name, "w") as out:
            self.job = subprocess.Popen(command, preexec_fn=lambda: attach("test"), text=True,
                                        stdin=subprocess.PIPE, stdout=out)
        self.begun = 0          # other lines

    def wait(self, text=""):
        w.wait_for("the program", lambda: text + "\n" in read(self.out.name), 300)

    def rounds(self):
        """Ends of rounds: times by which it had touched all of its set again"""
        return [int(line.split()[0]) for line in read(self.out.name).split("\n")[self.begun:-1]]

    def wait_rounds(self, many):
        least = len(self.rounds()) + many
        w.wait_for("rounds", lambda: len(self.rounds()) > least, 300)


class Python(Load):
    """100000 objects, 45 MiB, of which it touches a quarter, all adjacent"""
    cls = "anon"

    def __init__(self):
        super().__init__(sys.executable, "-c", PYTHON)
        self.begun = 2
        self.wait("up")

    def fill(self):
        self.job.stdin.write("\n")
        self.job.stdin.flush()
        self.wait("filled")

    def touch_all(self):
        self.job.send_signal(signal.SIGUSR1)


class Redis(Load):
    """10000 values of a page; a scattered twentieth of them is requested all the time"""
    cls, keys = "anon", 10000

    def __init__(self):
        super().__init__(*redis_load.server(tempfile.gettempdir()), "--disable-thp", "no",
                         "--logfile", "/dev/null")
        self.ends = []
        self.client = redis_load.Client(0)

    def fill(self):
        self.client = redis_load.Client(self.keys)
        hot = random.Random(1).sample(range(self.keys), self.keys // 20)
        mine = redis_load.Client(0)

        def ask():
            for first in range(0, len(hot), 100):
                mine.get(hot[first:first + 100])
            self.ends.append(time.monotonic_ns())
        repeat(ask, 0.05)

    def rounds(self):
        return self.ends

    def touch_all(self):
        for first in range(0, self.keys, 100):
            self.client.get(range(first, first + 100))


class Heap(Load):
    """It reports what it touches: see bench/programs/khugepaged.c."""
    cls = "heap"

    def __init__(self):
        super().__init__(build("khugepaged"))
        self.wait()

    def touched(self):
        """({block: pages} touched all the time, [(time_ns, block, pages)] of new pieces)"""
        always, *grown = [[int(x) for x in line.split()]
                          for line in read(self.out.name).split("\n")[:-1]]
        _, at, size, step = always
        counts = collections.Counter(a // HUGE for a in range(at, at + size, step))
        return counts, [(t, b, n) for t, at, size, _ in grown for b, n in
                        collections.Counter(a // HUGE for a in range(at, at + size, PAGE)).items()]


WORKLOADS = {"redis": Redis, "python": Python, "heap": Heap}


def scan(pid, ranges, what, but=0):
    """[(begin, end)] in @ranges of pages with flags @what, and without @but"""
    found, room = [], ctypes.create_string_buffer(24 * 4096)
    with open("/proc/%d/pagemap" % pid) as f:
        for begin, end in ranges:
            while begin < end:
                arg = bytearray(struct.pack("12Q", 96, 0, begin, end, 0, ctypes.addressof(room),
                                            4096, 0, but, what | but, 0, what))
                n = fcntl.ioctl(f, PAGEMAP_SCAN, arg)
                begin = struct.unpack_from("Q", arg, 32)[0]
                found += [struct.unpack_from("2Q", room, 24 * i) for i in range(n)]
    return found


def blocks(pid):
    return {a // HUGE for begin, end in scan(pid, [(0, (1 << 47) - PAGE)], HUGE_ENTRY)
            for a in range(begin, end, HUGE)}


def private(pid):
    """Ranges of its memory of class anon"""
    lines = [line.split(None, 5) for line in read("/proc/%d/maps" % pid).splitlines()]
    ends = {line[0].split("-")[1] for line in lines if line[4] != "0"}
    return [tuple(int(x, 16) for x in line[0].split("-")) for line in lines
            if line[1] == "rw-p" and line[4] == "0" and not line[5:] and
            line[0].split("-")[0] not in ends]


def page_out(pid, ranges):
    libc, fd = ctypes.CDLL(None, use_errno=True), os.pidfd_open(pid)
    for begin, end in ranges:
        vec = struct.pack("2Q", begin, end - begin)
        if libc.syscall(PROCESS_MADVISE, fd, vec, ctypes.c_size_t(1), PAGEOUT, 0) < 0:
            say("process_madvise: %s" % os.strerror(ctypes.get_errno()))
    os.close(fd)


def present(pid, ranges):
    return {a // PAGE for begin, end in scan(pid, ranges, PRESENT, ZERO)
            for a in range(begin, end, PAGE)}


def oracle(load):
    """The pages of a round: swapped in again in each of three rounds, and in any"""
    pid, sets, stayed = load.job.pid, [], set()
    subprocess.run(["/sbin/swapon", "/dev/zram0"], stderr=subprocess.DEVNULL)
    for _ in range(3):
        ranges = private(pid)
        os.kill(pid, signal.SIGSTOP)
        for _ in range(5):
            # pages in a processor's batch are not on the LRU yet, and left out: this drains
            # the batches
            write("/proc/sys/vm/compact_memory", "1")
            page_out(pid, ranges)
            stay = present(pid, ranges)
            if not stay:
                break
        os.kill(pid, signal.SIGCONT)
        load.wait_rounds(3)
        back = present(pid, ranges)
        sets.append(back - stay)
        stayed |= stay & back
        say("oracle: %d of %d pages, %d stayed" % (
            len(back), sum(e - b for b, e in ranges) // PAGE, len(stay)))
    subprocess.run(["/sbin/swapoff", "/dev/zram0"], check=True)
    load.touch_all()
    load.wait_rounds(3)
    return [collections.Counter(page // PARTS for page in pages)
            for pages in (set.intersection(*sets), set.union(stayed, *sets))]


def poll(recorder, pid, setting):
    """[(time_ns, huge blocks, huge pages made by khugepaged)] until the recorder ends"""
    polls, begin, loose = [], time.monotonic(), False
    while recorder.poll() is None:
        if not loose and time.monotonic() > begin + BEFORE:
            write(THP + "khugepaged/scan_sleep_millisecs", SETTINGS[setting])
            write(THP + "enabled", "always")
            loose = True
        # at the end of the span it stands for
        huge = blocks(pid)
        polls.append((time.monotonic_ns(), huge, vmstat("thp_collapse_alloc")))
        time.sleep(POLL)
    return polls


def whole(t, ends):
    """Did a round begin and end in the window before @t? If not, its touches are unknown."""
    return sum(t - WINDOW < end <= t for end in ends) > 1


def truth(t, least, most, grown, polls):
    """(pages in small pages, minimum in pages as mapped, maximum, number made huge)"""
    before = [p for p in polls if p[0] <= t - WINDOW][-1:]
    after = [p for p in polls if p[0] >= t][:1]
    if not before or not after:
        return None
    least, most = collections.Counter(least), collections.Counter(most)
    for at, block, pages in grown:
        if t - WINDOW < at <= t:
            least[block] += pages
            most[block] += pages
    begin, end = before[0][1], after[0][1]
    # a piece touched before the collapse counts as small pages, after it as a huge one
    low = sum(PARTS if b in begin & end else n for b, n in least.items())
    high = sum(PARTS if b in begin | end else n for b, n in most.items())
    return sum(least.values()), low, high + SLACK, len(end - begin)


def one(name, setting, scope, seconds):
    path = os.path.join(os.environ["WSMON_OUT"],
                        "khugepaged-%s-%s%s.data" % (name, setting, scope.replace("--", "-")))
    write(THP + "khugepaged/scan_sleep_millisecs", ASLEEP)
    write(THP + "enabled", "always")
    with Cgroup():
        load, grown = WORKLOADS[name](), []
        pid = load.job.pid
        try:
            if name != "heap":
                # registered with khugepaged, but in small pages
                write(THP + "enabled", "never")
                load.fill()
                time.sleep(3)
                least, most = oracle(load)
            recorder = subprocess.Popen(
                ["wsmo", "record", "-q", "-o", path, "-d", str(seconds),
                 *(["-p", str(pid)] if scope == "-p" else ["--cgroup", "/test"])])
            polls = poll(recorder, pid, setting)
            if name == "heap":
                least, grown = load.touched()
                most = least
            ends = load.rounds()
        finally:
            load.job.kill()
            load.job.wait()
    with open(path, "rb") as f:
        header, records = wsmon.read(f)
        records = list(records)
    sizes = [r for r in records if r.type == ("WSS" if scope == "-p" else "TOTAL") and
             r.cls == load.cls]
    found, unknown = [], 0
    for r in sizes:
        if not whole(r.time_ns, ends):
            unknown += 1
            continue
        trues = [truth(r.time_ns + by, least, most, grown, polls) for by in EDGES]
        if all(trues):
            small, low, high, made = zip(*trues)
            found.append([(r.time_ns - header.mono_ns) / 1e9, r.bytes, r.low, r.high,
                          small[0] * PAGE, min(low) * PAGE, max(high) * PAGE, max(made)])
    # a peak of a class is also one of all
    peaks = sorted({(p["t"], p["sign"]) for p in report(path, "peaks") if p["type"] == "peak"})
    row(workload=name, setting=setting, scope=scope, intervals=found, unknown=unknown,
        peaks=peaks, got=polls[-1][2] - polls[0][2],
        huge=[len(polls[0][1]), len(polls[-1][1])])


def main(todo):
    w.load()
    mount()
    swap_on_zram()
    for _ in range(todo["rounds"]):
        for name in todo["workloads"]:
            for setting in todo["settings"]:
                for scope in "-p", "--cgroup":
                    one(name, setting, scope, todo["seconds"][setting])
