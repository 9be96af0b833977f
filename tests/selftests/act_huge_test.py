#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""wsmo act on a live kernel: huge pages, sessions that end, missing permissions."""
import signal
import subprocess
import time

import wsmontest as w
from acttest import MIB, act, rules, scheme, without_damon, write


@w.measured
def huge_pages():
    """Hot memory is collapsed into huge pages, and split again when it becomes cold."""
    write("/sys/kernel/mm/transparent_hugepage/enabled", "madvise")

    def huge(pid):
        with open("/proc/%d/smaps" % pid) as f:
            return sum(int(line.split()[1]) << 10 for line in f
                       if line.startswith("AnonHugePages"))
    # (not hotset, which asks the kernel for small pages)
    with w.Target("while True:\n    m[o:o + n:4096] = b\n    time.sleep(0.02)\n",
                  "import ctypes\nn = 16 << 20\nb = bytes(n >> 12)\n"
                  "m = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "o = -ctypes.addressof(ctypes.c_char.from_buffer(m)) % (2 << 20)\n") as t:
        r = act("-s", scheme("2M null 50% null 2s null hugepage"), "-p", str(t.pid), "-d", "10",
                "--json", "--quota-cpu", "100%")
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


def stopped_underneath():
    """Another user ends the session in debugfs, as before unloading the module."""
    with w.without_device(), w.sleeper() as t:
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
        assert not w.kwsmond()


if __name__ == "__main__":
    w.need("wsmo")
    without_damon()
    w.main(huge_pages, stopped_underneath, not_permitted)
