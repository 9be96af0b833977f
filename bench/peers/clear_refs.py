# SPDX-License-Identifier: GPL-2.0
"""The method of wss: clear Accessed bits, wait for a window, read smaps."""
import time


def referenced(pid, bounds):
    """Referenced bytes by smaps, of the mappings within bounds."""
    total, inside = 0, False
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            if line.startswith("Referenced:"):
                total += inside * int(line.split()[1]) << 10
            elif line[0] in "0123456789abcdef":
                lo, hi = (int(x, 16) for x in line.split(None, 1)[0].split("-"))
                inside = lo < bounds[1] and hi > bounds[0]
    return total


def watch(pids, bounds, window_s, cycles):
    """[(time_ns, index of the process, bytes)], and the CPU seconds spent"""
    rows, cpu = [], 0
    for _ in range(cycles):
        start = time.process_time()
        for pid in pids:
            with open("/proc/%d/clear_refs" % pid, "w") as f:
                f.write("1")
        cpu += time.process_time() - start
        time.sleep(window_s)
        start = time.process_time()
        for i, pid in enumerate(pids):
            before = time.monotonic_ns()
            size = referenced(pid, bounds[i])
            rows.append(((before + time.monotonic_ns()) // 2, i, size))
        cpu += time.process_time() - start
    return rows, cpu
