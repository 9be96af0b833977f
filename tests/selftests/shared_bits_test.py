#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Folios of 64 KiB. On arm64 their entries share one translation and one Access flag
(contpte): a block counts in full if one of its pages is used. On x86 each page has its
bit.
"""
import atexit
import os
import time

import wsmontest as w

FOLIOS = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/"
MIB = 1 << 20


def choose(size, value, name="enabled"):
    """Until the test ends"""
    path = FOLIOS.replace("64kB", size) + name
    with open(path) as f:
        before = f.read().split("[")[1].split("]")[0]

    def write(text):
        with open(path, "w") as f:
            f.write(text)

    atexit.register(write, before)
    write(value)


def allocated():
    with open(FOLIOS + "stats/anon_fault_alloc") as f:
        return int(f.read())


def estimate(advice):
    """Working set of 16 MiB (in MiB), of which one page in each 64 KiB is used each
    second. That is seldom, and samples are few: without hardware that sets the flag, each
    access after a look is a fault with 16 flushes, which are slow in an emulator."""
    code = ("m = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m.madvise(mmap.%s)\n"
            "m[::4096] = b'x' * (4 << 10)\n"
            "print('filled', flush=True)\n"
            "while True:\n"
            "    m[::2 << 16] = b'x' * 128\n"
            "    time.sleep(0.02)\n" % advice)
    sizes = []
    with w.Target(code) as t:
        assert t.process.stdout.readline() == "filled\n"
        w.must_put("attrs", "sample_us=500000 aggr_us=1000000 update_us=1000000 window_us=1000000 "
                   "max_regions=1000 cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        time.sleep(4)
        for _ in range(10):
            time.sleep(1)
            sizes += [int(x["bytes"]) / MIB for x in w.lines("wss") if x["class"] == "anon"]
        w.must_put("target", "\n")
    print("# %s: %s MiB" % (advice, " ".join("%.1f" % s for s in sizes)), flush=True)
    return sorted(sizes)[len(sizes) // 2]


@w.measured
def pages_alone():
    assert estimate("MADV_NOHUGEPAGE") < 4


@w.measured
def folios():
    before = allocated()
    size = estimate("MADV_HUGEPAGE")
    assert allocated() - before > 200, "no folios of 64 KiB"
    if os.uname().machine == "aarch64":
        assert 7 < size < 11, size
    else:
        assert size < 4, size


@w.measured
def folios_of_a_file():
    """A fault marks all pages of its folio. If the processor sets the flags, faults mark no
    pages around."""
    choose("16kB", "advise", "shmem_enabled")
    with w.Target("while True:\n"
                  "    time.sleep(3)\n"
                  "    m = mmap.mmap(-1, 32 << 20)\n"
                  "    m.madvise(mmap.MADV_HUGEPAGE)\n"
                  "    m[::16 << 10]\n"
                  "    time.sleep(3)\n"
                  "    m.close()\n") as t:
        w.must_put("attrs", "sample_us=100000 aggr_us=1000000 update_us=1000000 "
                   "window_us=1000000 max_regions=1000 cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        end, found = time.monotonic() + 30, []
        while not found and time.monotonic() < end:
            time.sleep(0.1)
            found = [x for x in w.lines("wss")
                     if x["class"] == "shmem" and int(x["bytes"]) > 9 * MIB]
        w.must_put("target", "\n")
    print("# %s" % found, flush=True)
    assert all(int(x["low"]) < 8 * MIB for x in found), "its interval does not hold 8 MiB"
    assert found


if not os.path.exists(FOLIOS + "stats"):
    w.skip("this kernel has no folios of 64 KiB")
choose("2048kB", "never")
choose("64kB", "madvise")
tests = [pages_alone, folios]
if os.path.exists(FOLIOS + "shmem_enabled"):
    tests.append(folios_of_a_file)
w.main(*tests)
