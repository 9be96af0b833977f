# SPDX-License-Identifier: GPL-2.0
"""Recordings for the tests; the golden files are reports of them."""
import records as r

T0 = 5000 * 10**9
SEC = 10**9
MIB = 1 << 20
PID = 4242
ODD = 77
ODD_NAME = b"a\x1b[31m,\"b\xff"
ODD_PATH = b"/tmp/\x1b]0;owned\x07 \xc2\x9b \xc3\xa9 \xff, \"x\""

AREAS = (
    ("text", 0x555500000000, 0x555500200000, b"/usr/bin/redis-server"),
    ("data", 0x555500400000, 0x555500410000, b"/usr/bin/redis-server"),
    ("heap", 0x555501000000, 0x555505000000, b"[heap]"),
    ("anon", 0x7f0000000000, 0x7f0010000000, b""),
    ("mixed", 0x7f0020000000, 0x7f0020400000,
     b"/usr/lib/x86_64-linux-gnu/libc.so.6 +7"),
    ("stack", 0x7ffc00000000, 0x7ffc00021000, b"[stack]"),
)


def interval(i):
    """Records of the module for the i-th aggregation interval."""
    t = T0 + (i + 1) * SEC
    regions = [r.region(a[1], a[2], (n + i) % 5 / 4, n / 10, a[0],
                        1000 * i, n) for n, a in enumerate(AREAS)]
    out = b""
    if i == 1:
        out += r.snapshot(t, PID, regions[:4], 0, 6)
        out += r.snapshot(t, PID, regions[4:], 4, 6)
    else:
        out += r.snapshot(t, PID, regions)
    for cls, size, mapped in (("all", 40, 400), ("text", 1, 2),
                              ("heap", 30, 64), ("anon", 9, 256)):
        size = (size + 2 * i) * MIB
        out += r.wss(t, PID, cls, size, size - size // 16,
                     size + size // 16, mapped * MIB)
    # first a record from before there was a PSS, last one whose PSS was not read
    out += r.proc(t, PID, (80 + i) * MIB, i * 4096, 500 * MIB, (None, 48 * MIB, 0)[i])
    # the last ones are of a module with a CPU budget
    newer = dict(budget=1500, sample_ns=125 * 10**6, remote_ns=7000,
                 idle_rounds=3, late_p50_ns=57344, late_p99_ns=1310720,
                 late_max_ns=2000001) if i > 1 else {}
    out += r.stats(t, rounds=10 * (i + 1), late_rounds=i, missed=1,
                   checks=20000 * (i + 1), arms=4000, flushes=10 * (i + 1),
                   walk_ns=9 * 10**6 * (i + 1), flush_ns=123456 * (i + 1),
                   adapt_ns=10**6, emit_ns=10**5,
                   cpu_ns=(20 + 18 * i) * 10**6, max_hold_ns=251000,
                   lost_records=3 if i > 1 else 0,
                   lost_bytes=3000 if i > 1 else 0, regions=6, samples=12,
                   targets=2, **newer)
    return out


def start():
    out = r.header(T0) + r.attrs(T0 + 1000)
    out += r.target(T0 + 2000, PID, b"redis-server")
    for n, (cls, first, last, path) in enumerate(AREAS):
        out += r.area(T0 + 3000, PID, cls, n, len(AREAS), first, last,
                      path=path)
    return out


def acts(t, n):
    """Results of two rules."""
    return r.act(t, 0, 2, 1, b"4K null null 5% 10s null pageout", tried=7 * n, applied=6 * n,
                 tried_bytes=70 * n * MIB, applied_bytes=64 * n * MIB,
                 refaulted_bytes=n << 12, skipped_bytes=8192, gone_bytes=n << 20,
                 cpu_ns=1234567 * n, errors=((12, n), (3, 1))) + \
        r.act(t, 1, 2, 9, b"odd \x1b[31m\xff, \"x\"", flags=1, shadowed_bytes=1 << 63,
              errors=((22, 1), (4000, 2), (1, 3), (2, 4), (3, 5), (4, 6)))


def peaks():
    """A peak with both edges, and one that does not end."""
    start = T0 + 2 * SEC + 8
    sizes = dict(window_us=1000000, low=3 * MIB, high=5 * MIB, baseline=MIB, threshold=MIB // 2)
    return r.peak(start, PID, 1, size=4 * MIB, height=4 * MIB, **sizes) + \
        r.peak(start + 1, PID, 2, group=2, sign=-1, size=0, height=0, **sizes) + \
        r.peak(start + 2, PID, 1, edge=1, start_ns=start, end_ns=start + 2, size=MIB,
               height=4 * MIB, **sizes) + \
        r.peak(start + 3, ODD, 1, group=7, edge=9, threshold=(1 << 64) - 1)


def main():
    """Two targets, all kinds of records, a loss, a regular end."""
    out = start() + interval(0)
    out += r.target(T0 + SEC + 5, ODD, ODD_NAME)
    out += r.area(T0 + SEC + 6, ODD, "file", 0, 1, 4096, 12288, path=ODD_PATH)
    out += r.mapping(T0 + SEC + 6, ODD, 4096, 12288, "rws", ODD_PATH, 8192, 7, b"\x01\xab", 78)
    out += r.record(99, T0 + SEC + 7, b"from the future")
    out += interval(1)
    out += r.snapshot(T0 + 2 * SEC, ODD,
                      [r.region(4096, 12288, 1 / 3, 1, "file", 4294967295, 0)])
    out += r.wss(T0 + 2 * SEC, ODD, "all", 4096, 0, 8192, 8192)
    out += r.lost(T0 + 2 * SEC + 5, 2, 2000)
    out += r.attrs(T0 + 2 * SEC + 6, cpu_permille=20)
    out += r.attrs(T0 + 2 * SEC + 6, cpu_permille=20, peak=(1, 30, 5000, 250))
    out += acts(T0 + 2 * SEC + 7, 1)
    out += peaks()
    out += interval(2)
    out += r.target(T0 + 3 * SEC + 1, PID, b"redis-new", 1)
    out += r.exit_(T0 + 3 * SEC + 2, ODD)
    out += r.exit_(T0 + 3 * SEC + 500 * 10**6, PID)
    out += acts(T0 + 3 * SEC + 500 * 10**6, 2)
    return out + r.end(T0 + 3 * SEC + 500 * 10**6, 1)


def hostile(data):
    """A recording with its names replaced by odd ones of the same lengths"""
    for old, new in ((ODD_NAME, b"=\xe2\x80\xae\x7f\xc2\x9b\x1b\xff1"),
                     (ODD_PATH, b"@\xe2\x81\xa6\xc2\x85\xe2\x80\xa8\xd8\x9c\x07")):
        data = data.replace(old, new.ljust(len(old), b"-"))
    return data


def stacks():
    """Peaks, marks, and stacks in files that do not exist."""
    main, lib, old = 0x555500000000, 0x7f0000000000, 0x7f1000000000
    out = r.header(T0) + r.attrs(T0 + 1000) + r.target(T0 + 2000, PID, b"server")
    out += r.target(T0 + 2500, ODD, ODD_NAME)
    out += r.mapping(T0 + 3000, PID, main, main + (1 << 20), "rx", b"/nowhere/server",
                     0, 17, bytes(range(20)))
    for i in range(8):
        t = T0 + (i + 1) * SEC
        size = (90 if i in (2, 3, 6) else 5 if i == 4 else 20) * MIB
        out += r.snapshot(t, PID, [r.region(1 << 30, 2 << 30, size / (100 * MIB), 0.5, "heap",
                                            0, 0)])
        out += r.wss(t, PID, "all", size, size - MIB, size + MIB, 400 * MIB)
        edge = dict(size=size, low=size - MIB, high=size + MIB, baseline=20 * MIB,
                    threshold=12 * MIB)
        if i == 2:
            # a peak of all memory and one of the rest at once: the same stacks
            out += r.peak(t, PID, 1, 0, height=size, **edge)
            out += r.peak(t, PID, 2, 2, height=size, **edge)
            for tid in range(3):
                out += r.stack(t + 5 * 10**6, PID, PID + tid, 1,
                               [main + 0x1234, main + 0x2000 + tid // 2, lib + 7],
                               threads=5, comm=b"worker" if tid else b"server",
                               stopped_ns=20000 + tid)
            out += r.stack(t + 6 * 10**6, PID, PID + 3, 1, error=1, threads=5,
                           comm=b"guarded")
            # the mapping may be reported after the stacks
            out += r.mapping(t + 7 * 10**6, PID, lib, lib + 4096, "rx",
                             b"/nowhere/lib\x1b;.so (deleted)", 0, 18)
        elif i == 4:
            for number, group in (1, 0), (2, 2):
                out += r.peak(t, PID, number, group, 1, start_ns=t - 2 * SEC, end_ns=t,
                              **dict(edge, height=92 * MIB))
            out += r.peak(t, PID, 3, 0, sign=-1, height=size, **edge)
        elif i == 5:
            out += r.peak(t, PID, 3, 0, 1, sign=-1, start_ns=t - SEC, end_ns=t,
                          height=5 * MIB, **edge)
            out += r.mark(t + SEC // 2, 1, b"load; begins \xc3\xa9")
            out += r.stack(t + SEC // 2 + 9, PID, PID, 1, [main + 0x1234, old],
                           reason=1, threads=5, comm=b"server", flags=1)
            out += r.stack(t + SEC // 2 + 8, ODD, ODD, 1, [old], reason=1,
                           comm=ODD_NAME)
        elif i == 6:
            # its end is missing, and its stacks came too soon
            out += r.peak(t, PID, 4, 1, height=size, **edge)
            out += r.mark(t + 10, 2, b"odd \x1b[31m\xff, \"x\"")
    return out + r.end(T0 + 9 * SEC)


def allocs():
    """A program that allocates at three places, then frees all of it, which no snapshot shows."""
    main, big, small, mapped = 0x555500000000, 0x7f0000000000, 0x7f1000000000, 0x7f2000000000
    blocks = [small + i * MIB for i in range(64)]
    out = r.header(T0) + r.attrs(T0 + 1000) + r.target(T0 + 2000, PID, b"server")
    out += r.target(T0 + 2000, ODD, ODD_NAME)
    # allocations of the program that the process executed before do not count
    out += r.alloc(T0 + 2500, PID, 0, size=512) + r.alloc(T0 + 2600, PID, 1, big, 1 << 30, 9)
    out += r.alloc(T0 + 3000, PID, 0, size=MIB)
    out += r.mapping(T0 + 4000, PID, main, main + MIB, "rx", b"/nowhere/server", 0, 17)
    for number, pcs in (1, [main + 0x1000, main + 0x9000]), (2, [main + 0x2000, main + 0x9000]), \
            (3, [main + 0x3000]), (4, [main + 0x2000, main + 0xa000]):
        out += r.stack(T0 + 5000, PID, PID, number, pcs, reason=2, flags=number == 3)
    out += r.alloc(T0 + 6000, PID, 1, big, 16 * MIB, 1)
    for i, block in enumerate(blocks):
        out += r.alloc(T0 + 7000 + i, PID, 1, block, 64 << 10, 2 + 2 * (i % 4 == 3))
    out += r.alloc(T0 + 8000, PID, 3, mapped, 8 * MIB, 3)
    out += r.alloc(T0 + 8001, PID, 4, mapped + 6 * MIB, 4 * MIB)
    out += r.alloc(T0 + 8002, PID, 2, blocks[0]) + r.alloc(T0 + 8003, PID, 2, 12345)
    for i, seconds in enumerate((1, 30, 90)):
        t = T0 + seconds * SEC
        out += r.snapshot(t, PID, [
            r.region(big, big + 16 * MIB, 0.25, 0.5, "heap", 1000 * (seconds - 1), 0),
            r.region(small, small + 32 * MIB, 0, 0, "anon", 1000 * (seconds - 1), 1),
            r.region(small + 32 * MIB, small + 64 * MIB, 1, 1, "anon", 1000 * (seconds - 1), 1),
            r.region(mapped, mapped + 6 * MIB, 0.5, 0.5, "anon", 15000, 2)])
        out += r.snapshot(t, ODD, [r.region(4096, 8192, 1, 1, "anon", 0, 0)])
    t = T0 + 90 * SEC
    out += r.alloc(t + 5, PID, 5, size=3)
    out += b"".join(r.alloc(t + 6, PID, 2, block) for block in [big, *blocks])
    return out + r.alloc(t + 7, PID, 4, mapped, 8 * MIB) + r.end(t + 8, 1)


def family():
    """Two targets with children from the second interval on, and their total."""
    out = r.header(T0) + r.attrs(T0 + 1000, cpu_permille=30, peak=(1, 30, 5000, 250), follow=1)
    out += r.target(T0 + 2000, PID, b"make") + r.target(T0 + 2000, ODD, ODD_NAME)
    for i in range(4):
        t = T0 + (i + 1) * SEC
        for pid, mib in ((PID, 3), (ODD, 5 + i)):
            out += r.snapshot(t, pid, [r.region(1 << 30, 2 << 30, mib / 1024, 0.5, "anon", 0, 0)])
            out += r.wss(t, pid, "all", mib * MIB, (mib - 1) * MIB, (mib + 1) * MIB, 10 * MIB)
            out += r.proc(t, pid, 20 * MIB, 0, 90 * MIB)
        if i:
            out += r.group(t, 2 + 4 * i, came=10 * i, went=8 * i, missed=3 * (i == 2))
            for cls, mib in (("all", 40 + i), ("anon", 30), ("file", 10 + i)):
                out += r.total(t, cls, mib * MIB, (mib - 2) * MIB, (mib + 2) * MIB, 400 * MIB)
    out += r.exit_(T0 + 4 * SEC + 1, ODD) + r.exit_(T0 + 4 * SEC + 2, PID)
    return out + r.end(T0 + 4 * SEC + 3, 1)


def cgroup(path=b"/system.slice/x.service", seconds=4, windows=(1,), pids=(300, 301)):
    """A cgroup: its totals, and the memory of its largest processes."""
    out = r.header(T0) + r.attrs(T0 + 1000, cpu_permille=30, peak=(1, 30, 5000, 250))
    out += r.target(T0 + SEC, pids[0], b"php") + r.target(T0 + SEC, pids[1], b"nginx")
    for i in range(seconds):
        t = T0 + (i + 1) * SEC
        out += r.group(t, 3 + i, came=1, path=path)
        for pid, mib in zip(pids, (20, 60 + i)):
            out += r.proc(t, pid, mib * MIB, 0, 2 * mib * MIB, (mib - 8) * MIB)
        for window in windows:
            for cls, mib in (("all", 40 + i % 4 + window), ("anon", 30), ("file", 10 + i % 4)):
                out += r.total(t, cls, mib * MIB, (mib - 2) * MIB, (mib + 2) * MIB, 400 * MIB,
                               window * 1000000)
    out += r.exit_(t, pids[0])
    t += 1
    return out + r.stats(t, budget=2000, members=6) + r.end(t, 1)


def who():
    """Threads that touch memory, with code in files that do not exist."""
    main, heap, anon = 0x555500000000, 0x555501000000, 0x7f0000000000
    out = r.header(T0) + r.attrs(T0 + 1000, cpu_permille=30, peak=(1, 30, 5000, 250), who_rate=100)
    out += r.target(T0 + 2000, PID, b"server")
    out += r.mapping(T0 + 3000, PID, main, main + (1 << 20), "rx", b"/nowhere/server", 0, 17,
                     bytes(range(20)))
    out += r.mapping(T0 + 3000, PID, heap, heap + (1 << 20), "rw", b"[heap]")
    for i in range(40):
        t = T0 + (i + 1) * SEC // 10
        worker, far = i % 4, i % 8 == 5
        out += r.who(t, PID, PID + worker // 2, (anon if worker == 3 else heap) + 4096 * i + i,
                     main + 0x1000 + 0x100 * worker, (2 if far else 1) * MIB, worker % 2,
                     b"odd;\x1b[31m" if worker > 1 else b"server", cpu=i % 2, node=0,
                     cpu_node=i % 2)
    # the mapping may be reported after it; a library and a thread that are unknown
    out += r.mapping(t, PID, anon, anon + (1 << 20), "rw", b"", tid=PID + 1)
    out += r.who(t + 1, PID, PID + 9, 4096, 8192, MIB, 2 | 4 | 8, b"x", node=-1)
    out += r.stats(t + 2, budget=2000, who_armed=60, who_absent=2, who_seen=41, who_restored=20,
                   who_skipped=1, who_huge=15)
    return out + r.end(t + 3)


def small():
    """A record of each kind whose size can be wrong."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    out += r.area(T0, PID, "heap", 0, 1, 4096, 8192, path=b"[heap]")
    out += r.snapshot(T0 + SEC, PID,
                      [r.region(4096, 8192, 0.5, 0.1, "heap", 10, 0)])
    out += r.wss(T0 + SEC, PID, "all", 2048, 0, 4096, 4096)
    out += acts(T0 + SEC, 1)
    out += r.peak(T0 + SEC, PID, 1)
    out += r.stack(T0 + SEC, PID, PID, 1, [4096, 8192], comm=b"x")
    out += r.mark(T0 + SEC, 1, b"mark")
    out += r.group(T0 + SEC, 3) + r.total(T0 + SEC, "all", 4096, 0, 8192, 8192)
    out += r.who(T0 + SEC, PID, PID, 4096, 4096, 4096, comm=b"x")
    out += r.alloc(T0 + SEC, PID, 1, 4096, 64, 1)
    out += r.refault(T0 + SEC, 0, 90000)
    return out + r.end(T0 + 2 * SEC)


def few():
    """Snapshots that differ little, one of them split into two records."""
    out = r.header(T0) + r.target(T0, PID, b"x")
    for i in range(3):
        t = T0 + (i + 1) * SEC
        regions = [r.region(4096 * n, 4096 * (n + 1 + i % 2 * (n == 3)), n % (i + 2) / 4,
                            n / 10, "heap" if n < 2 else "anon", 1000 * i * (n > 1), n // 2)
                   for n in range(4)]
        if i == 1:
            out += r.snapshot(t, PID, regions[:2], 0, 4)
            out += r.snapshot(t, PID, regions[2:], 2, 4)
        else:
            out += r.snapshot(t, PID, regions)
        out += r.wss(t, PID, "all", 2048, 0, 4096, 4096)
    return out + r.end(T0 + 4 * SEC)


def many(intervals, regions=1000):
    """A long recording, with more rows than a table prints at once."""
    out = [r.header(T0), r.target(T0, PID, b"many")]
    for i in range(intervals):
        t = T0 + (i + 1) * SEC
        out.append(r.snapshot(t, PID, [
            r.region(4096 * n, 4096 * (n + 1), 0.5, 0.5, "anon", i, 0)
            for n in range(regions)]))
        out.append(r.wss(t, PID, "all", i * MIB, 0, 2 * i * MIB, 1 << 40))
    out.append(acts(T0 + intervals * SEC, 1))
    out.append(r.end(T0 + (intervals + 1) * SEC))
    return b"".join(out)
