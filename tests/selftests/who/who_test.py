#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hint faults: who touches memory, for a program with known proportions. No access is
attributed wrongly, no data changes, and nothing faults once a session is over.
New memory is distinguished from old, and one NUMA node from another.
"""
import errno
import glob
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import act_test                                            # noqa: E402
import wsmontest as w                                      # noqa: E402
import wsmon                                               # noqa: E402

FAST = "sample_us=20000 aggr_us=500000 update_us=500000 window_us=500000 cpu_permille=1000"
MIB = 1 << 20
STREAM = "/dev/shm/who"
PARTS = {"a": 8, "b": 4, "c": 4, "d": 8, "e": 16}
OF = {"read_a": "a", "write_b": "b", "read_c": "c", "write_c": "c", "copy_e": "e"}
# only a quarter of e is in use: its pages are drawn less often, and have more weight
SHARES = {"read_a": 8 / 20, "write_b": 4 / 20, "read_c": 3 / 20, "write_c": 1 / 20,
          "copy_e": 4 / 20}
# The source line of each access, by a part of its text
LINES = {("read_a", 0): "sum += a[", ("write_b", 1): "++b_now", ("read_c", 0): "sum += c[",
         ("write_c", 1): "++c_now", ("copy_e", 0): "was = e[", ("copy_e", 1): "= was;"}


class Touch:
    """The program; addresses of its parts and functions"""

    def __enter__(self):
        self.process = subprocess.Popen([w.program("touch")], stdout=subprocess.PIPE, text=True)
        self.at = {}
        for _ in range(11):
            name, at = self.process.stdout.readline().split()
            self.at[name] = int(at, 16)
        self.pid = self.process.pid
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.terminate()
        assert self.process.communicate(timeout=60)[0] == "intact\n"

    def part(self, address):
        for name, size in PARTS.items():
            if self.at[name] <= address < self.at[name] + size * MIB:
                return name
        return None

    def function(self, ip):
        below = [n for n in self.at if n not in PARTS and self.at[n] <= ip < self.at[n] + 256]
        return max(below, key=lambda n: self.at[n]) if below else None


def hint_faults():
    with open("/proc/vmstat") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("numa_hint_faults "))


def balancing(mode):
    """Set NUMA balancing, if the kernel has it in another mode. Return: its mode before."""
    path = "/proc/sys/kernel/numa_balancing"
    if not os.path.exists(path):
        return mode
    with open(path) as f:
        before = f.read().strip()
    if before != mode:
        with open(path, "w") as f:
            f.write(mode)
    with open(path) as f:
        assert f.read().strip() == mode
    return before


def record(pid, attrs, seconds, begun=lambda: None, least=0):
    """Return: the WHO records of a session, at least @least if possible, and the last counters"""
    w.must_put("attrs", FAST + " " + attrs)
    with open(STREAM, "wb") as f, subprocess.Popen(["cat", w.DIR + "buffer"], stdout=f) as cat:
        w.must_put("target", "%d\n" % pid)
        begun()
        time.sleep(seconds * (2 if w.CHECKERS else 1))
        # a busy machine needs longer
        end = time.monotonic() + 120
        while w.stats()["who_seen"] < least and time.monotonic() < end:
            time.sleep(1)
        w.must_put("target", "\n")
        cat.wait(60)
    with open(STREAM, "rb") as f:
        records = list(wsmon.read(io.BytesIO(f.read()))[1])
    assert not [r for r in records if r.type == "LOST"]
    return [r for r in records if r.type == "WHO"], w.stats()


def writes(t, function, address):
    """Is it a write? copy_e() reads the first of eight pages, and writes the fifth"""
    if function == "copy_e":
        return bool((address - t.at["e"]) >> 12 & 4)
    return function.startswith("write")


def names(t, r):
    """The function of an access if its record is consistent, else the contradiction"""
    function, part = t.function(r.ip), t.part(r.address)
    if part is None:
        return None
    write, comm = bool(r.flags & 1), "alpha" if part in "ae" else "beta"
    if part == "d" or OF.get(function) != part or write != writes(t, function, r.address) or \
            r.comm != comm or r.tid == r.pid or r.flags & 2:
        return "wrong: %s %s %s" % (function, part, r)
    return function


@w.measured
def shares():
    """Each share is within its interval, and no access is attributed wrongly, even with NUMA
    balancing if the kernel enables it"""
    balancing(os.environ.get("BALANCING", "0"))
    with Touch() as t:
        time.sleep(1)
        who, stats = record(t.pid, "who_rate=400", 10)
        found = [names(t, r) for r in who]
        wrong = [n for n in found if n and n.startswith("wrong")]
        assert not wrong, wrong[:3]
        assert len(who) == stats["who_seen"], "%d records, %d seen" % (len(who), stats["who_seen"])
        pages = {n: sum(r.bytes for r, f in zip(who, found) if f == n) for n in SHARES}
        total = sum(pages.values())
        sizes = [r.bytes for r, f in zip(who, found) if f in SHARES]
        n = total * total / sum(size * size for size in sizes)
        print("# %d records, of the arrays like %d; armed %d absent %d restored %d huge %d" % (
            len(who), n, stats["who_armed"], stats["who_absent"], stats["who_restored"],
            stats["who_huge"]))
        assert n > 300, n
        for name, share in SHARES.items():
            sigma = (share * (1 - share) / n) ** 0.5
            print("# %s: %.3f of %.3f, sigma %.3f" % (name, pages[name] / total, share, sigma))
            assert abs(pages[name] / total - share) < 4 * sigma
        t.end()


def lines():
    """wsmo report who names the function, file and line of each access"""
    with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                           "programs", "touch.c")) as f:
        source = f.read().splitlines()
    data = os.path.join(tempfile.mkdtemp(), "data")
    with Touch() as t:
        w.must_put("attrs", "who_rate=0")
        subprocess.run(["wsmo", "record", "-q", "--who=1000", "-d", "6",
                        "-o", data, "-p", str(t.pid)], check=True)
        out = subprocess.run(["wsmo", "report", "who", "--json", "-i", data], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        t.end()
    rows = [json.loads(line) for line in out.splitlines()]
    seen = set()
    for row in rows:
        for way, number in enumerate((row["reads"], row["writes"])):
            text = LINES.get((row.get("function"), way))
            # variables of the program are also used elsewhere
            if row.get("function") not in OF or not number or \
                    not (row.get("object") or "").startswith("array_"):
                continue
            line = source[row["line"] - 1]
            assert row["file"].endswith("touch.c") and text and text in line, (row, line)
            seen.add(text)
    assert seen == set(LINES.values()), seen


def in_top():
    """wsmo top --who: the function with most accesses"""
    with Touch() as t:
        out = subprocess.run(["wsmo", "top", "--who=1000", "-p", str(t.pid), "--json",
                              "--no-classes", "--repeat=8"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
        rows = [json.loads(line) for line in out.splitlines()]
        assert rows[-1]["who"] == "read_a" and 0.3 < rows[-1]["who_share"] < 0.5, rows[-1]
        t.end()


def handled_and_seen(pid):
    """At the highest rate, the kernel handles no fault of an armed page: each is seen, and the
    entry is repaired before. Return: the records"""
    time.sleep(1)
    before = hint_faults()
    who, stats = record(pid, "who_rate=10000", 5, least=2000)
    handled = hint_faults() - before
    seen = sum(not r.flags & 8 for r in who)
    print("# %d armed; %d faults handled, %d seen" % (stats["who_armed"], handled, seen))
    assert len(who) == stats["who_seen"] and seen > 1000
    # the lock of a page table may be contended for too long
    assert handled <= seen * 0.002 + 5
    return who


def none_lost():
    with Touch() as t:
        who = handled_and_seen(t.pid)
        wrong = [n for n in (names(t, r) for r in who) if n and n.startswith("wrong")]
        assert not wrong, wrong[:3]
        t.end()


def none_lost_of_many():
    """The same for memory with more pages than are armed in a second"""
    setup = ("m = mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
             "m.madvise(mmap.MADV_NOHUGEPAGE)\nn = 256 << 8\ni = 0\nm[::4096] = bytes(n)\n")
    with w.Target("while True:\n assert m[::4096] == bytes([i % 256]) * n\n i += 1\n"
                  " m[::4096] = bytes([i % 256]) * n\n", setup=setup) as t:
        handled_and_seen(t.pid)
        # the program has found no byte changed
        with open("/proc/%d/stat" % t.pid) as f:
            assert f.read().rsplit(") ")[1][0] != "Z"


# Two threads touch each page once; the first touches three pages for each page of the second
FRESH = """
import ctypes, random, signal, threading
SIZE = 32 << 20
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
m = mmap.mmap(-1, SIZE, %s | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
pages = list(range(SIZE >> 12))
random.Random(1).shuffle(pages)
barrier = threading.Barrier(3)
def work(first):
    print(threading.get_native_id(), flush=True)
    mine = [page for page in pages if (page %% 4 > 0) == first]
    step = 12 if first else 4
    while True:
        barrier.wait()
        for i in range(0, len(mine), step):
            for page in mine[i:i + step]:
                m[page << 12] = 1
            time.sleep(0.01)
        barrier.wait()
"""
START = """
for first in True, False:
    threading.Thread(target=work, args=(first,), daemon=True).start()
    time.sleep(0.2)
print("%%x" %% ctypes.addressof(ctypes.c_char.from_buffer(m)), flush=True)
for advice in %s:
    signal.sigwait([signal.SIGUSR1])
    barrier.wait()
    barrier.wait()
    m.madvise(advice)
    print("touched", flush=True)
time.sleep(1000)
"""
NORMAL, DONTNEED, PAGEOUT = 0, 4, 21


class Fresh(w.Target):
    """Runs FRESH; each time it has touched its memory it applies the next @advice."""

    def __init__(self, sharing, *advice):
        super().__init__(START % (advice,), setup=FRESH % sharing)
        self.tids = [int(self.process.stdout.readline()) for _ in range(2)]
        self.at = int(self.process.stdout.readline(), 16)

    def turn(self):
        """Return: the records of its memory, while it touches all of it once more"""
        def begun():
            # by then the memory has regions
            time.sleep(1.5)
            os.kill(self.pid, signal.SIGUSR1)

        who, _ = record(self.pid, "who_rate=4000", 6, begun)
        assert self.process.stdout.readline() == "touched\n"
        who = [r for r in who if self.at <= r.address < self.at + (32 << 20)]
        wrong = [r for r in who if not r.flags & 1 or
                 r.tid != self.tids[(r.address - self.at) >> 12 & 3 == 0]]
        new = sum(bool(r.flags & 8) for r in who)
        print("# %d records, %d of new memory, %d of no node" % (len(who), new, sum(r.node < 0 for r in who)))
        assert len(who) > 30 and not wrong, wrong[:3]
        return who


def all_new(who):
    """All records are of new memory; except that a touch faults once more if its page is
    armed between the fault and the retry"""
    again = [r for r in who if not r.flags & 8]
    for r in again[:9]:
        print("# not new: %s" % (r,))
    assert len(again) <= len(who) // 100
    assert all((r.node == -1) == bool(r.flags & 8) for r in who)


def none_new(who):
    assert not any(r.flags & 8 for r in who)


@w.measured
def first_touch():
    """Memory never touched, or given back, is new; mapped or swapped-out memory is not"""
    balancing("0")
    with act_test.swap(), Fresh("mmap.MAP_PRIVATE", NORMAL, PAGEOUT, DONTNEED, NORMAL) as t:
        who = t.turn()
        all_new(who)
        n = sum(r.bytes for r in who) ** 2 / sum(r.bytes ** 2 for r in who)
        share = sum(r.bytes for r in who if r.tid == t.tids[0]) / sum(r.bytes for r in who)
        print("# %.3f of 0.75 by the first thread, of like %d records" % (share, n))
        none_new(t.turn())
        who = t.turn()
        none_new(who)
        assert sum(r.node < 0 for r in who) > 30
        all_new(t.turn())
        assert abs(share - 0.75) < 4 * (0.75 * 0.25 / n) ** 0.5, share


def mapped_again():
    """Shared memory that lost only its entries counts as first touched, too: it has no entry"""
    balancing("0")
    with Fresh("mmap.MAP_SHARED", NORMAL, DONTNEED, NORMAL) as t:
        all_new(t.turn())
        none_new(t.turn())
        all_new(t.turn())


# Each of two threads, on a processor of its own, writes memory bound to each of two nodes
NODES = """
import ctypes, threading
SIZE = 16 << 20
libc = ctypes.CDLL(None, use_errno=True)
parts = []
for node in range(2):
    m = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    mask = ctypes.c_ulong(1 << node)
    # mbind(), MPOL_BIND
    assert not libc.syscall(237, ctypes.c_ulong(at), ctypes.c_ulong(SIZE), 2, ctypes.byref(mask),
                            ctypes.c_ulong(64), 0)
    m[::4096] = bytes(SIZE >> 12)
    parts.append(m)
    print("%x" % at, flush=True)
def work(cpu):
    os.sched_setaffinity(0, {cpu})
    print(threading.get_native_id(), flush=True)
    while True:
        for page in range(cpu, SIZE >> 12, 2):
            for m in parts:
                m[page << 12] = 1
        time.sleep(0.01)
"""


def nodes():
    """Each record has the node of the page, and of the processor"""
    if not os.path.exists("/sys/devices/system/node/node1"):
        raise w.Skip("one node")
    balancing("0")
    data = os.path.join(tempfile.mkdtemp(), "data")
    with w.Target("for cpu in 0, 1:\n threading.Thread(target=work, args=(cpu,), daemon=True).start()\n"
                  " time.sleep(0.2)\ntime.sleep(1000)\n", setup="print('ready')\n" + NODES) as t:
        at = [int(t.process.stdout.readline(), 16) for _ in range(2)]
        assert t.process.stdout.readline() == "ready\n"
        tids = [int(t.process.stdout.readline()) for _ in range(2)]
        node_of = [{int(path.rsplit("node")[-1]) for path in
                    glob.glob("/sys/devices/system/cpu/cpu%d/node*" % cpu)} for cpu in range(2)]
        who, _ = record(t.pid, "who_rate=2000", 5)
        seen = set()
        for r in who:
            for node in range(2):
                if at[node] <= r.address < at[node] + (16 << 20):
                    cpu = tids.index(r.tid)
                    assert r.node == node and r.cpu == cpu and r.cpu_node in node_of[cpu], r
                    seen.add((r.cpu_node, node))
        print("# of %d records, node of the processor and of memory: %s" % (len(who), sorted(seen)))
        assert {node for _, node in seen} == {0, 1}
        w.must_put("attrs", "who_rate=0")
        subprocess.run(["wsmo", "record", "-q", "--who=2000", "-d", "6", "-o", data, "-p", str(t.pid)],
                       check=True)
        out = subprocess.run(["wsmo", "report", "who", "--by", "thread", "--json", "-i", data], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        rows = {row["tid"]: row for row in map(json.loads, out.splitlines())}
        for tid in tids:
            print("# remote: %.3f of 0.5" % rows[tid]["remote"])
            assert 0.35 < rows[tid]["remote"] < 0.65, rows[tid]


# A thread touches memory first, on the first node; then another thread does, on the second
STAYS = """
import ctypes
SIZE = 32 << 20
os.sched_setaffinity(0, {0})
m = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
m[::4096] = bytes(SIZE >> 12)
print("%x" % ctypes.addressof(ctypes.c_char.from_buffer(m)), flush=True)
os.sched_setaffinity(0, {1})
"""
FOREVER = """
while True:
    m[::4096] = bytes(SIZE >> 12)
    time.sleep(0.01)
"""
# The same in a child, whose memory was armed while it belonged to its parent
CHILDREN = """
while True:
    child = os.fork()
    m[::4096] = bytes(SIZE >> 12)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
"""


def pages_on_node(pid, at, node):
    with open("/proc/%d/numa_maps" % pid) as f:
        line, = (line for line in f if int(line.split()[0], 16) == at)
    return sum(int(word.split("=")[1]) for word in line.split() if word.startswith("N%d=" % node))


def migrated():
    with open("/proc/vmstat") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("numa_pages_migrated "))


@w.figures
def stays():
    """Without NUMA balancing, hint faults do not move memory between nodes: neither memory of
    the target, nor of its children"""
    if not os.path.exists("/sys/devices/system/node/node1"):
        raise w.Skip("one node")
    balancing("0")
    for code in FOREVER, CHILDREN:
        with w.Target(code, setup="print('ready')\n" + STAYS) as t:
            at = int(t.process.stdout.readline(), 16)
            assert t.process.stdout.readline() == "ready\n"
            before, moved = pages_on_node(t.pid, at, 1), migrated()
            who, stats = record(t.pid, "who_rate=1000", 5, least=1000)
            after = pages_on_node(t.pid, at, 1)
            moved = migrated() - moved
            print("# of 8192 pages %d, then %d on the second node; %d moved, %d seen" % (
                before, after, moved, stats["who_seen"]))
            assert stats["who_seen"] >= 1000
            if code is FOREVER:
                assert before < 100, before
                assert after - before <= stats["who_seen"] // 20 + 5
            # the lock of a page table may be contended for too long, if others run most of the time
            assert moved <= stats["who_seen"] // 20 + 5


TRACING = "/sys/kernel/tracing/"


def attached():
    """Is the probe attached? If so, it sees the faults of a program that starts."""
    def put(name, text):
        with open(TRACING + name, "w") as f:
            f.write(text)

    put("current_tracer", "nop")
    put("set_ftrace_filter", "fault_probe")
    put("current_tracer", "function")
    subprocess.run(["true"], check=True)
    put("tracing_on", "0")
    with open(TRACING + "trace") as f:
        calls = f.read().count("fault_probe <-")
    put("current_tracer", "nop")
    put("set_ftrace_filter", "")
    put("tracing_on", "1")
    return calls > 0


def detached():
    """The probe is attached only while a session has hint faults"""
    if not os.path.exists(TRACING + "set_ftrace_filter"):
        raise w.Skip("this kernel has no function tracer")
    with w.sleeper() as t:
        w.must_put("attrs", FAST + " who_rate=0")
        w.must_put("target", "%d\n" % t.pid)
        for _ in range(2):
            assert not attached()
            w.must_put("attrs", "who_rate=100")
            assert attached()
            w.must_put("attrs", "who_rate=0")
        assert not attached()
        w.must_put("attrs", "who_rate=100")
        w.must_put("target", "\n")
        # the ended session can still be read
        assert w.get("stats") and not attached()
        w.must_put("attrs", "who_rate=200")
        assert not attached()
        # a session that ends by itself
        w.must_put("target", "%d\n" % t.pid)
        assert attached()
        # refused attributes change nothing
        assert w.put("attrs", "who_rate=10001") == errno.ERANGE
        assert attached()
        w.must_put("target", "\n")
        # a session without targets
        fd = os.open("/dev/wsmon", os.O_RDWR)
        try:
            os.write(fd, (FAST + " who_rate=100 cgroup=/").encode())
            assert not attached()
        finally:
            os.close(fd)
        w.must_put("target", "%d\n" % t.pid)
        assert attached()
    w.wait_for("the end of the session", w.idle)
    w.wait_for("the probe's end", lambda: not attached())


def restored():
    """Pages not touched during the session do not fault after its end."""
    with Touch() as t:
        _, stats = record(t.pid, "who_rate=10000", 3)
        few = 10 if w.CHECKERS else 1
        assert stats["who_armed"] > 1000 / few and stats["who_restored"] > 100 / few, stats
        # one more touch, for entries that were seen while others were being restored
        time.sleep(0.5)
        before = hint_faults()
        t.process.send_signal(10)
        assert t.process.stdout.readline() == "woken\n"
        time.sleep(0.5)
        assert hint_faults() == before, "%d faults" % (hint_faults() - before)
        t.end()


def killed_recorder():
    """The same when a file of the device is closed, and when the module is unloaded."""
    with Touch() as t:
        fd = os.open("/dev/wsmon", os.O_RDWR)
        os.write(fd, (FAST + " who_rate=10000 pid=%d" % t.pid).encode())
        time.sleep(2)
        os.close(fd)
        before = hint_faults()
        t.process.send_signal(10)
        assert t.process.stdout.readline() == "woken\n"
        assert hint_faults() == before
        w.must_put("attrs", FAST + " who_rate=10000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(1)
        w.unload()
        before = hint_faults()
        t.process.send_signal(10)
        assert t.process.stdout.readline() == "woken\n"
        assert hint_faults() == before
        t.end()
    w.load()


def attribute():
    assert w.attrs()["who_rate"] == "0"
    assert w.put("attrs", "who_rate=10001") == errno.ERANGE
    w.must_put("attrs", "who_rate=10000")
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        w.must_put("attrs", "who_rate=0")
        w.must_put("attrs", "who_rate=7")
        w.must_put("target", "\n")


w.need("wsmo", "gcc")
if os.uname().machine != "x86_64":
    w.skip("hint faults are for x86-64")
w.steady_faults()
if balancing("0") == "1":
    # pages armed by balancing continue to fault: begin anew, with memory that is not armed
    os.environ["BALANCING"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.argv])
# slow kernels skip tests of figures, and of the command alone
stock = [] if w.CHECKERS else [lines, in_top, none_lost_of_many, none_lost, mapped_again, shares]
w.main(attribute, detached, *stock, restored, killed_recorder, first_touch, stays, nodes)
