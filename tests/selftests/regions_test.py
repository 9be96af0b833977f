#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Bounds of the number of regions, and what regions cover."""
import bisect
import time

import wsmontest as w

FAST = "sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000"


def mappings(n, pages=64):
    """A setup with n mappings apart from each other, of two kinds in turn."""
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
    return len(w.lines("regions"))


def bounds(real, low, high):
    with w.Target("time.sleep(1000)", mappings(real)) as t:
        w.must_put("attrs", FAST + " min_regions=%d max_regions=%d" % (low, high))
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("regions", lambda: w.get("wss"))
        for _ in range(8):
            assert low <= count() <= high, "%d regions" % count()
            time.sleep(0.03)
        check_cover(t.pid)


def check_cover(pid):
    """Regions are disjoint; together they hold every page that is mapped."""
    regions = [(int(x["start"], 16), int(x["end"], 16)) for x in w.lines("regions")]
    assert all(a[1] <= b[0] for a, b in zip(regions, regions[1:])), "overlap"
    ends = [e for _, e in regions]
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            if "[vvar" in line or "[vsyscall" in line:
                continue
            lo, hi = (int(x, 16) for x in line.split()[0].split("-"))
            held, i = 0, bisect.bisect_right(ends, lo)
            while i < len(regions) and regions[i][0] < hi:
                held += min(hi, regions[i][1]) - max(lo, regions[i][0])
                i += 1
            assert held == hi - lo, "%s: %d of %d held" % (line, held, hi - lo)


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
            time.sleep(0.11)     # two aggregations and a little
            assert low <= count() <= high, "%d, not %d-%d" % (count(), low, high)
        check_cover(t.pid)


def a_long_window():
    """Samples then serve many intervals; the bounds hold all the same."""
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


def a_terabyte():
    """A reservation costs neither time nor regions out of bounds."""
    setup = ("import ctypes\nlibc = ctypes.CDLL(None)\n"
             "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] +"
             " [ctypes.c_int] * 3 + [ctypes.c_long]\n"
             "libc.mmap.restype = ctypes.c_void_p\n"
             "p = libc.mmap(None, 1 << 40, 0, 0x4022, -1, 0)\n")
    with w.Target("time.sleep(1000)", setup) as t:
        w.must_put("attrs", FAST)
        w.must_put("attrs", "sample_us=50000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(1)
        assert 10 <= count() <= 2000
        s = w.stats()
        assert s["checks"] <= 4000 * s["rounds"]
        check_cover(t.pid)


w.main(ten_real_twenty_to_a_hundred, fifteen_real_three_to_ten, one_region,
       three_thousand_mappings, changed_online, a_long_window,
       mappings_come_and_go, a_terabyte)
