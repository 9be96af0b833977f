#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Changes that the kernel makes are no accesses: the working set stays the same.

Collapsing pages to a huge page, merging them or moving them makes new page-table entries,
some of them with the Accessed bit set. Documentation/internals/design.rst lists them.
"""
import contextlib
import os
import subprocess
import tempfile

import wsmontest as w
import truth
import wsmon

UNUSED = w.program("unused")
MIB = 1 << 20
SIZE, HOT = 64, 6
THP = "/sys/kernel/mm/transparent_hugepage/"
KSM = "/sys/kernel/mm/ksm/"
SECONDS = 7
QUICK = ["--sample", "50ms", "--aggr", "500ms", "--update", "500ms", "--window", "500ms",
         "--cpu", "100%"]


def number(path):
    return int(w.read(path))


@contextlib.contextmanager
def set_to(**values):
    """Settings of khugepaged, for the time of a recording"""
    before = {}
    for name, value in values.items():
        before[name] = w.read(THP + "khugepaged/" + name)
        w.write(THP + "khugepaged/" + name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            w.write(THP + "khugepaged/" + name, value)


@contextlib.contextmanager
def damon():
    """DAMON watches all memory, at its defaults, as it does since boot from Linux 6.17 on."""
    stat = "/sys/module/damon_stat/parameters/enabled"
    if os.path.exists(stat) and open(stat).read() == "Y\n":
        yield
        return
    admin = "/sys/kernel/mm/damon/admin/kdamonds/"
    with open("/proc/iomem") as f:
        ram = [[int(x, 16) for x in line.split(" : ")[0].split("-")] for line in f
               if line.endswith(" : System RAM\n") and not line.startswith(" ")]
    w.write(admin + "nr_kdamonds", "1")
    try:
        w.write(admin + "0/contexts/nr_contexts", "1")
        context = admin + "0/contexts/0/"
        w.write(context + "operations", "paddr")
        w.write(context + "targets/nr_targets", "1")
        w.write(context + "targets/0/regions/nr_regions", str(len(ram)))
        for i, (first, last) in enumerate(ram):
            w.write(context + "targets/0/regions/%d/start" % i, str(first))
            w.write(context + "targets/0/regions/%d/end" % i, str(last + 1))
        w.write(admin + "0/state", "on")
        yield
    finally:
        if "on" in open(admin + "0/state").read():
            w.write(admin + "0/state", "off")
        w.write(admin + "nr_kdamonds", "0")


class Seen:
    """Recording of a program that has 64 MiB and uses 6 of them"""

    def __init__(self, how, options=(), cls="anon", cgroup=False, program=UNUSED):
        with tempfile.TemporaryDirectory() as tmp:
            data, path = os.path.join(tmp, "data"), os.path.join(tmp, "truth")
            job = subprocess.Popen([program, how, str(SIZE), str(HOT), path], text=True,
                                   stdout=subprocess.PIPE)
            try:
                w.wait_for("the program", lambda: os.path.exists(path) and
                           "truth" in open(path).read(), 300)
                scope = ["-p", str(job.pid)]
                if cgroup:
                    scope = ["--cgroup", group_of(job.pid)]
                subprocess.run(["wsmo", "record", "-q", "-o", data, "-d", str(SECONDS), *QUICK,
                                *options, *scope], check=True)
                self.merged = number(KSM + "pages_sharing") if os.path.exists(KSM) else 0
            finally:
                job.terminate()
                self.done = int(job.communicate()[0].split()[0])
            with open(data, "rb") as f:
                records = self.records = list(wsmon.read(f)[1])
            for r in records:
                if cgroup and r.type == "TOTAL":
                    r.type, r.pid = "WSS", 0
            self.rows = truth.rows(records, truth.read_truth(path), cls, None if cgroup else job.pid)
            self.peaks = sum(r.type == "PEAK" for r in records)
        self.how = how

    def covered(self):
        """How many intervals hold the truth; the program may use some more pages of the class."""
        return sum(low <= size + 64 * 1024 and size <= high for size, _, low, high, _ in self.rows)

    def show(self):
        print("# %s: %s" % (self.how, " ".join("%.1f[%.1f,%.1f]" % tuple(
            x / MIB for x in r[1:4]) for r in self.rows)), flush=True)
        print("# %s: %d times; the truth is in %d of %d intervals; %d peaks" % (
            self.how, self.done, self.covered(), len(self.rows), self.peaks), flush=True)

    def holds(self, done):
        """It happened at least @done times, and the intervals hold."""
        self.show()
        assert self.done >= done, self.done
        assert len(self.rows) >= 8, len(self.rows)
        # two of 14 are missed by chance one time in 30
        assert self.covered() >= len(self.rows) - 2, self.rows
        assert not self.peaks, self.peaks
        return self

    def narrow(self, width):
        """The median width of the intervals is at most @width (MiB)"""
        widths = sorted(hi - lo for _, _, lo, hi, _ in self.rows)
        assert widths[len(widths) // 2] <= width * MIB, widths
        return self


def group_of(pid):
    """A cgroup of its own"""
    root = os.path.join(tempfile.mkdtemp(), "cgroup")
    os.makedirs(root)
    subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    path = os.path.join(root, "unused-%d" % pid)
    os.mkdir(path)
    w.write(os.path.join(path, "cgroup.procs"), str(pid))
    return path


def nothing_happens():
    """The reference for the other tests"""
    Seen("none").holds(0).narrow(3)


def madvise_collapses():
    Seen("collapse").holds(SIZE // 4).narrow(8)


def madvise_collapses_without_rounds():
    """With rounds only at the beginning and the end of an interval, nothing is known of
    entries made huge in between."""
    Seen("collapse", ["--precision", "1%"]).holds(SIZE // 4)


def madvise_collapses_in_a_cgroup():
    Seen("collapse", cgroup=True).holds(SIZE // 4)


def madvise_collapses_shared_memory():
    w.write(THP + "shmem_enabled", "advise")
    Seen("shared", cls="shmem").holds(SIZE // 4)


def khugepaged_collapses():
    """A block of 2 MiB at a time, for some seconds"""
    with set_to(scan_sleep_millisecs="100", alloc_sleep_millisecs="100", pages_to_scan="512"):
        Seen("allowed").holds(SIZE // 4)


def khugepaged_collapses_at_once():
    with set_to(scan_sleep_millisecs="10", alloc_sleep_millisecs="10"):
        Seen("allowed").holds(SIZE // 4)


def pages_are_merged():
    w.write(KSM + "sleep_millisecs", "20")
    w.write(KSM + "pages_to_scan", "1000")
    w.write(KSM + "run", "1")
    try:
        seen = Seen("merged").holds(SIZE // 4)
        print("# %d pages were merged" % seen.merged)
        assert seen.merged > 1000, seen.merged
    finally:
        w.write(KSM + "run", "2")


def pages_migrate():
    """Compaction moves pages to other places in memory."""
    compact = subprocess.Popen(["sh", "-c", "while sleep 0.3; do echo 1 >/proc/sys/vm/compact_memory; done"])
    try:
        Seen("none").holds(0).narrow(3)
    finally:
        compact.kill()
        compact.wait()


def mappings_are_protected():
    Seen("protected").holds(SIZE // 4).narrow(3)


def huge_pages_are_split():
    Seen("split").holds(SIZE // 4).narrow(3)


def damon_watches():
    """DAMON clears Accessed bits of huge pages before the module looks at them."""
    if not os.path.exists("/sys/kernel/mm/damon/admin"):
        w.skip("no DAMON")
    with damon():
        Seen("seldom").holds(0).narrow(3)
        Seen("seldom", cgroup=True).holds(0).narrow(3)


def children_are_forked():
    Seen("forked").holds(SIZE // 4).narrow(3)


w.need("wsmo")
if not os.path.exists(THP + "khugepaged"):
    w.skip("no transparent huge pages")
TESTS = (nothing_happens, madvise_collapses, madvise_collapses_without_rounds,
         madvise_collapses_in_a_cgroup, madvise_collapses_shared_memory, khugepaged_collapses,
         khugepaged_collapses_at_once, pages_are_merged, pages_migrate, mappings_are_protected,
         huge_pages_are_split, damon_watches, children_are_forked)
if __name__ == "__main__":
    # names of tests, with commas
    chosen = os.environ.get("WSMON_TESTS")
    w.main(*(t for t in TESTS if not chosen or t.__name__ in chosen.split(",")))
