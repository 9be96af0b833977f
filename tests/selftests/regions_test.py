#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The number of regions stays within bounds, and regions cover all memory in use."""
import bisect
import io
import os
import signal
import time

import wsmontest as w
import wsmon

FAST = ("sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000 "
        "cpu_permille=1000")


def mappings(n, pages=64):
    """A setup with n separate mappings, of two kinds in turn."""
    return ("base = mmap.mmap(-1, %d << 12)\n" % (2 * n * pages) +
            "import ctypes\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
            "libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]\n"
            "at = ctypes.addressof(ctypes.c_char.from_buffer(base))\n"
            "for i in range(%d):\n"
            "    libc.munmap(at + (2 * i + 1) * %d, %d)\n"
            % (n, pages << 12, pages << 12))


def count():
    """From stats, a single moment: the file regions may show parts of several"""
    return w.stats()["regions"]


def bounds(real, low, high):
    with w.Target("time.sleep(1000)", mappings(real)) as t:
        w.must_put("attrs", FAST + " min_regions=%d max_regions=%d" % (low, high))
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("regions", lambda: w.get("wss"))
        for _ in range(8):
            assert low <= count() <= high, "%d regions" % count()
            time.sleep(0.03)
        check_cover(t.pid)


def smaps(pid):
    """(start, end, permissions, resident bytes) of each mapping"""
    found = []
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            words = line.split()
            if "-" in words[0]:
                lo, hi = (int(x, 16) for x in words[0].split("-"))
                found.append([lo, hi, words[1], 0])
                if "[vvar" in line or "[vsyscall" in line:
                    found.pop()
                    found.append([0, 0, "----", 0])
            elif words[0] == "Rss:":
                found[-1][3] = int(words[1]) << 10
    return found


def check_cover(pid):
    """Regions are disjoint; together they hold every page that can be in use: small
    mappings as a whole, and the parts of large ones that have page tables."""
    regions = [(int(x["start"], 16), int(x["end"], 16)) for x in w.lines("regions")]
    assert all(a[1] <= b[0] for a, b in zip(regions, regions[1:])), "overlap"
    ends = [e for _, e in regions]
    for lo, hi, allowed, rss in smaps(pid):
        held, i = 0, bisect.bisect_right(ends, lo)
        while i < len(regions) and regions[i][0] < hi:
            held += min(hi, regions[i][1]) - max(lo, regions[i][0])
            i += 1
        least = 0 if allowed.startswith("---") else \
            hi - lo if hi - lo < 4 << 20 else rss
        assert least <= held <= hi - lo, "%x-%x %s: %d of %d held" % (
            lo, hi, allowed, held, hi - lo)


def ten_real_twenty_to_a_hundred():
    bounds(10, 20, 100)


def fifteen_real_three_to_ten():
    bounds(15, 3, 10)


def one_region():
    bounds(15, 1, 1)


def three_thousand_mappings():
    bounds(3000, 10, 1000)


def changed_online():
    with w.Target("time.sleep(1000)", mappings(15)) as t:
        w.must_put("attrs", FAST + " min_regions=10 max_regions=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("many regions", lambda: count() > 500)
        for low, high in ((3, 7), (50, 70), (1500, 2000), (3, 7)):
            w.must_put("attrs", "min_regions=%d max_regions=%d" % (low, high))
            time.sleep(0.11)     # two intervals and a little
            assert low <= count() <= high, "%d, not %d-%d" % (count(), low, high)
        check_cover(t.pid)


@w.measured
def a_long_window():
    """With a window of many intervals the bounds hold, too."""
    with w.Target("time.sleep(1000)", mappings(15)) as t:
        w.must_put("attrs", FAST)
        w.must_put("attrs", "window_us=1000000 max_regions=500")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("many regions", lambda: count() > 300)
        time.sleep(1.5)
        assert 300 < count() <= 500
        w.must_put("attrs", "min_regions=3 max_regions=7")
        time.sleep(0.11)
        assert 3 <= count() <= 7, count()


def mappings_come_and_go():
    code = ("while True:\n"
            "    m = mmap.mmap(-1, 32 << 20)\n"
            "    m[:] = bytes(len(m))\n"
            "    m.close()\n")
    with w.Target(code) as t:
        w.must_put("attrs", FAST + " max_regions=200")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("regions", lambda: w.get("wss"))
        for _ in range(30):
            assert 10 <= count() <= 200
            time.sleep(0.02)


def changed_while_read():
    """The file is generated piecewise. Regions change meanwhile, but lines ascend and
    have no gaps."""
    code = ("while True:\n"
            "    for i in range(0, 32, 4):\n"
            "        for _ in range(10):\n"
            "            m[i << 20:i + 4 << 20:4096] = b'x' * 1024\n"
            "            time.sleep(0.005)\n")
    with w.Target(code, "m = mmap.mmap(-1, 32 << 20)\nm[::4096] = b'x' * 8192\n") as t:
        w.must_put("attrs", FAST + " max_regions=500")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("many regions", lambda: count() > 200, 30)
        for _ in range(5):
            fd, text = os.open(w.DIR + "regions", os.O_RDONLY), b""
            assert len(os.pread(fd, 1 << 20, 0)) <= 16384
            while part := os.read(fd, 4096):
                text += part
                time.sleep(0.06)
            os.close(fd)
            held = [[int(x[4:], 16) if x.startswith("end=") else int(x[6:], 16)
                     for x in line.split()[2:4]] for line in text.decode().splitlines()
                    if "class=shmem" in line]
            assert len(held) > 50, len(held)
            wrong = [(a, b) for a, b in zip(held, held[1:]) if a[1] != b[0]]
            assert not wrong, wrong
            assert held[-1][1] - held[0][0] == 32 << 20, held[::len(held) - 1]


def records(fd):
    """The content of the buffer, once monitoring has ended"""
    data = b""
    while part := os.read(fd, 1 << 20):
        data += part
    os.close(fd)
    return list(wsmon.read(io.BytesIO(data))[1])


def no_snapshot_has_more():
    """Samples serve twenty intervals, while mappings come and go all the time."""
    code = ("import random\n"
            "keep = []\n"
            "while True:\n"
            "    keep.append(mmap.mmap(-1, random.randrange(1, 256) << 12))\n"
            "    keep[-1][::4096] = bytes(len(keep[-1]) >> 12)\n"
            "    if len(keep) > 60:\n"
            "        keep.pop(random.randrange(60)).close()\n"
            "    time.sleep(0.002)\n")
    with w.Target(code) as t:
        w.must_put("attrs", "sample_us=20000 aggr_us=100000 update_us=100000 "
                   "window_us=2000000 cpu_permille=1000 max_regions=150")
        fd = os.open(w.DIR + "buffer", os.O_RDONLY)
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(8)
        w.must_put("target", "\n")
    totals = [r.total for r in records(fd) if r.type == "SNAPSHOT" and not r.first]
    print("# regions: %d to %d in %d snapshots" % (min(totals), max(totals), len(totals)))
    assert len(totals) >= 10 and 100 < max(totals) <= 150


RESERVE = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mmap.restype = ctypes.c_void_p
p = libc.mmap(None, 1 << 40, 0, 0x4022, -1, 0)
"""


def a_terabyte():
    """A reservation costs neither time nor more regions than the limit."""
    with w.Target("time.sleep(1000)", RESERVE) as t:
        w.must_put("attrs", FAST)
        w.must_put("attrs", "sample_us=50000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(1)
        assert 10 <= count() <= 2000
        s = w.stats()
        assert s["checks"] <= 4000 * s["rounds"]
        check_cover(t.pid)


@w.measured
def scattered_in_a_terabyte():
    """The used parts of a reservation are found: 32 pieces of 4 MiB, half of them hot."""
    touch = ("m = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
             "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
             "def touch(n):\n"
             "    for i in range(n):\n"
             "        at = (i * i << 30) + (i << 21)\n"
             "        m[at:at + (4 << 20):4096] = b'x' * 1024\n")
    with w.Target("while True:\n    touch(16)\n    time.sleep(0.02)\n",
                  touch + "touch(32)\n") as t:
        # with a small budget, areas of several classes are coalesced
        w.must_put("attrs", "cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("an estimate", lambda: w.get("wss"))
        time.sleep(4)
        anon = [x for x in w.lines("wss") if x["class"] == "anon"][0]
        size, mapped = int(anon["bytes"]) >> 20, int(anon["mapped"]) >> 20
        assert 128 <= mapped < 300, "%d MiB mapped" % mapped
        assert 60 <= size <= 70, "%d MiB of 64" % size
        check_cover(t.pid)


def kernel_data():
    """[vvar] is the kernel's, even if mapped like ordinary pages."""
    with w.Target("while True:\n    time.time()\n") as t:
        w.must_put("attrs", "cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("an estimate", lambda: w.get("wss"))
        with open("/proc/%d/maps" % t.pid) as f:
            at = next(int(line.split("-")[0], 16) for line in f if "[vvar]" in line)
        held = [x for x in w.lines("regions") if int(x["start"], 16) <= at < int(x["end"], 16)]
        assert not held, held


def a_reading_is_bounded():
    """A mapping with a page in every gigabyte: half of it is searched for holes, the
    rest is taken as a whole."""
    touch = ("m = mmap.mmap(-1, 4 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
             "m.madvise(mmap.MADV_NOHUGEPAGE)\n"
             "for i in range(4096):\n"
             "    m[(i << 30) + 4096 * i] = 1\n")
    with w.Target("while True:\n    time.sleep(1)\n", touch) as t:
        w.must_put("attrs", "cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("an estimate", lambda: w.get("wss"))
        anon = [x for x in w.lines("wss") if x["class"] == "anon"][0]
        mapped = int(anon["mapped"]) >> 30
        assert 2000 < mapped < 2100, "%d GiB of 4096" % mapped
        check_cover(t.pid)


@w.measured
def memory_that_is_new():
    """Memory that appeared during an interval counts at once, and once."""
    code = ("keep = []\n"
            "while True:\n"
            "    m = mmap.mmap(-1, 64 << 20)\n"
            "    m[::4096] = b'x' * (64 << 8)\n"
            "    keep = keep[-5:] + [m]\n"
            "    print(len(keep), flush=True)\n"
            "    time.sleep(1)\n")
    with w.Target(code) as t:
        w.must_put("attrs", "sample_us=50000 aggr_us=500000 update_us=500000 "
                   "window_us=500000 cpu_permille=1000")
        fd = os.open(w.DIR + "buffer", os.O_RDONLY)
        t.process.stdout.readline()
        time.sleep(0.3)
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("the first map", lambda: w.get("wss"))
        cycles = 6
        for _ in range(cycles):
            t.process.stdout.readline()
        time.sleep(0.6)
        w.must_put("target", "\n")
    sizes = [r.bytes >> 20 for r in records(fd) if r.type == "WSS" and r.cls == "shmem"]
    print("# %s MiB" % sizes)
    # a kernel with checkers reads mappings slowly, and therefore seldom
    least = 0 if os.environ.get("WSMON_KERNEL") in ("debug", "kcsan") else 0.5
    assert least < sum(sizes) / (64 * cycles) < 1.3, sizes


@w.measured
def shared_hugetlb():
    """2 GiB shared by two targets, with their page tables; every 16th page is in use."""
    pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    code = ("child = os.fork()\n"
            "if child:\n"
            "    print(child, flush=True)\n"
            "while True:\n"
            "    for i in range(0, 1024, 16):\n"
            "        m[i << 21] = 1\n"
            "    time.sleep(0.05)\n")
    try:
        with open(pool, "w") as f:
            f.write("64")
    except OSError:
        print("# no hugetlb")
        return
    # MAP_HUGETLB, MAP_NORESERVE
    with w.Target(code, "m = mmap.mmap(-1, 2 << 30, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | "
                  "0x44000)\n") as t:
        child = int(t.process.stdout.readline())
        try:
            w.must_put("attrs", "sample_us=50000 aggr_us=500000 update_us=500000 "
                       "window_us=500000 cpu_permille=1000 max_regions=2000")
            w.must_put("target", "%d %d\n" % (t.pid, child))
            time.sleep(5)
            huge = [x for x in w.lines("wss") if x["class"] == "hugetlb"]
        finally:
            os.kill(child, signal.SIGKILL)
    with open(pool, "w") as f:
        f.write("0")
    assert [int(x["mapped"]) for x in huge] == [2 << 30] * 2, huge
    sizes = [int(x["bytes"]) >> 20 for x in huge]
    print("# %d and %d MiB of 128" % tuple(sizes))
    assert all(120 <= size <= 136 for size in sizes), sizes


w.main(ten_real_twenty_to_a_hundred, fifteen_real_three_to_ten, one_region,
       three_thousand_mappings, changed_online, changed_while_read, a_long_window,
       mappings_come_and_go, no_snapshot_has_more, a_terabyte, scattered_in_a_terabyte,
       kernel_data, a_reading_is_bounded, memory_that_is_new, shared_hugetlb)
