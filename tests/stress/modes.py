# SPDX-License-Identifier: GPL-2.0
"""Each mode of churn, sampled as fast as possible."""
import errno
import os
import select
import subprocess
import time

import stress as s
import wsmontest as w


def watch(churn):
    """Monitor a churning process until it ends; the module is loaded.
    Return: number of records by type, and whether it was sampled"""
    reader = s.Reader()
    s.start(churn.pid)
    last, since = -1, time.monotonic()
    while churn.process.poll() is None:
        time.sleep(0.2)
        n = s.rounds()
        if n != last:
            last, since = n, time.monotonic()
        assert time.monotonic() - since < 20, "no round for 20 s"
        for name in ("wss", "regions", "status"):
            w.get(name)
    churn.check()
    w.wait_for("idle", w.idle, s.PATIENCE)
    stats = w.stats()
    counts = reader.finish()
    s.note("%d rounds, %d late, %d missed, %d checks, %d snapshots, %d MB lost, "
           "lock held %d us at most" % (
               stats["rounds"], stats["late_rounds"], stats["missed"],
               stats["checks"], counts.get(s.SNAPSHOT, 0),
               stats["lost_bytes"] >> 20, stats["max_hold_ns"] // 1000))
    if stats["who_armed"]:
        s.note("hint faults: " + " ".join("%s=%d" % (n[4:], stats[n]) for n in stats
                                          if n.startswith("who_")))
    assert stats["rounds"] > 5, "hardly any rounds"
    assert counts[s.END] == 1 and counts[s.TARGET] >= 1
    return counts, stats["checks"] > stats["rounds"]


def observed(mode, cgroup=None, **env):
    # repeat: on a busy machine a target that holds its lock a lot may do so in all of a few
    # rounds
    for secs in (s.SECS, 4 * s.SECS, 16 * s.SECS):
        with s.Churn(mode, secs, cgroup, **env) as churn:
            time.sleep(0.3)
            if churn.process.poll() is not None:
                churn.check()
            counts, sampled = watch(churn)
        if sampled:
            return counts
    raise AssertionError("hardly anything was sampled")


def simple(mode):
    def test():
        observed(mode)
    test.__name__ = mode
    return test


def followed(mode):
    def test():
        w.must_put("attrs", "follow=1")
        observed(mode)
        assert not w.stats()["unfollowed"] and not w.stats()["members"]
    test.__name__ = mode + "_followed"
    return test


def exec_in_a_loop():
    """TARGET records report most of the executed programs."""
    assert observed("exec")[s.TARGET] > 2


def tables():
    """MADV_DONTNEED frees the page tables it empties, on some kernels."""
    with s.Churn("tables", s.SECS) as churn:
        assert watch(churn)[1], "hardly anything was sampled"
    release = tuple(int(n) for n in os.uname().release.split(".")[:2])
    assert "are freed" in churn.said or release < (6, 14), churn.said


def exits_at_any_point():
    """Processes that live for some milliseconds; when monitored, they may have ended."""
    results = {0: 0, errno.ESRCH: 0}
    before = w.slab_objects("mm_struct")
    drain = subprocess.Popen(
        ["sh", "-c", "while sleep 0.02; do cat '%sbuffer'; done" % w.DIR],
        stdout=subprocess.DEVNULL)
    w.must_put("attrs", s.FAST)
    # repeat longer, on slow machines, until there were some sessions
    for secs in (s.SECS, 4 * s.SECS, 16 * s.SECS):
        with s.Churn("exit", secs) as churn:
            out = churn.process.stdout
            os.set_blocking(out.fileno(), False)
            while churn.process.poll() is None:
                select.select([out], [], [], 1)
                pids = (out.read() or b"").split()[-4:]
                if not pids:
                    continue
                err = w.put("target", b" ".join(pids) + b"\n")
                assert err in results, errno.errorcode[err]
                results[err] += 1
                time.sleep(0.01)
            churn.check()
        if results[0] > s.SECS:
            break
    drain.kill()
    drain.wait()
    # the last cat still waits for a session
    w.put("target", "%d\n" % os.getpid())
    s.stop()
    s.note("%d sessions, %d came late" % (results[0], results[errno.ESRCH]))
    assert results[0] > s.SECS
    s.unused()
    # address spaces that were not freed
    after = w.slab_objects("mm_struct")
    assert after < before + 50, "%d, then %d mm_structs" % (before, after)


def thp():
    base = "/sys/kernel/mm/transparent_hugepage/khugepaged/"
    s.try_write(base + "scan_sleep_millisecs", 10)
    s.try_write(base + "alloc_sleep_millisecs", 10)
    s.try_write(base + "pages_to_scan", 4096)
    observed("thp")


def ksm():
    base = "/sys/kernel/mm/ksm/"
    if not s.try_write(base + "run", 1):
        raise s.Skip("no KSM")
    s.write(base + "sleep_millisecs", 2)
    s.write(base + "pages_to_scan", 2000)
    try:
        observed("ksm")
        s.note("KSM went over memory %s times" % s.read(base + "full_scans").strip())
    finally:
        s.write(base + "run", 0)


def hugetlb():
    if not s.try_write("/proc/sys/vm/nr_hugepages", 24):
        raise s.Skip("no hugetlb")
    try:
        observed("hugetlb")
    finally:
        s.write("/proc/sys/vm/nr_hugepages", 0)


def swapped():
    for line in s.read("/proc/vmstat").splitlines():
        if line.startswith("pswpin "):
            return int(line.split()[1])
    return 0


def swap_on(kind):
    def test():
        with s.Swap(kind):
            before = swapped()
            observed("swap")
            s.note("%d pages came back" % (swapped() - before))
            assert swapped() - before > 5 * s.SECS, "little was swapped"
    test.__name__ = "swap_on_" + kind
    return test


def memcg_limit():
    path = s.cgroup("churn-limit", "memory")
    s.write(path + "memory.max", 6 << 20)
    with s.Swap("loop"):
        before = swapped()
        observed("memcg", "churn-limit", CHURN_MB="10")
        s.note("%d pages came back" % (swapped() - before))
        assert swapped() - before > 5 * s.SECS, "little was swapped"


def file_written_back():
    """On ext4, where pages are written back and dropped"""
    device = s.loop_device("file", 64)
    s.run("mkfs.ext4", "-q", device)
    os.makedirs("/run/file/mnt", exist_ok=True)
    s.modprobe("ext4")
    s.run("mount", device, "/run/file/mnt")
    try:
        observed("file", CHURN_DIR="/run/file/mnt")
    finally:
        s.run("umount", "/run/file/mnt")
        s.run("losetup", "-d", device)


TESTS = [simple("map"), simple("mprotect"), tables, simple("fork"), followed("fork"),
         followed("exec"), exec_in_a_loop,
         exits_at_any_point, thp, simple("migrate"), swap_on("zram"),
         swap_on("loop"), memcg_limit, simple("lazyfree"), ksm, simple("uffd"), hugetlb,
         simple("shmem"), file_written_back]


def armed(test):
    """The same with hint faults, at the maximum rate. Pages stay armed for 10 ms, so that
    many are restored, too."""
    def with_hints():
        w.steady_faults()
        before = s.FAST
        s.FAST += " who_rate=10000"
        try:
            test()
        finally:
            s.FAST = before
    with_hints.__name__ = "who_" + test.__name__
    return with_hints


WHO_TESTS = [armed(test) for test in TESTS] if os.uname().machine == "x86_64" else []
