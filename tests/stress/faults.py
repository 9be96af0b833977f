# SPDX-License-Identifier: GPL-2.0
"""Every allocation fails once, one after the other; nothing is leaked.

A write of N to /proc/thread-self/fail-nth makes the thread's Nth allocation from
then on fail; afterwards the file reads 0 if there were that many. (The knobs of
failslab can fail the first allocation above a size, not each in turn.)
"""
import ctypes
import errno
import os
import subprocess
import time

import lifecycle
import stress as s
import wsmontest as w

TRACING = "/sys/kernel/tracing/"
# targets that leave the processor to the process whose allocations fail
CALM = {"CHURN_REST_US": "10000"}
FILES = "attrs target status wss regions peaks stats buffer"


def prepare():
    debug = "/sys/kernel/debug/"
    if not os.path.exists("/proc/self/task/%d/fail-nth" % os.getpid()) or \
            not os.path.exists(debug + "failslab"):
        raise s.Skip("no fault injection")
    for kind in ("failslab", "fail_page_alloc"):
        s.write(debug + kind + "/ignore-gfp-wait", "N")
        s.write(debug + kind + "/verbose", 0)
    # All caches but vmap_area, as alloc_vmap_area() warns when it gets none, and no single pages
    # for slabs. The module has no single pages but from vmalloc(), which fails without its slabs,
    # too.
    s.try_write(debug + "fail_page_alloc/min-order", 1)
    for cache in os.listdir("/sys/kernel/slab"):
        if cache != "vmap_area":
            s.write("/sys/kernel/slab/" + cache + "/failslab", 1)
    s.write(debug + "failslab/cache-filter", "Y")


class Fault:
    """In the block, the thread's nth allocation fails."""

    def __init__(self, n):
        self.n = n
        self.fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
        self.text = b"%d" % n

    def __enter__(self):
        os.write(self.fd, self.text)
        return self

    def __exit__(self, *exc):
        left = int(os.pread(self.fd, 20, 0).split(b"\0")[0])
        os.pwrite(self.fd, b"0", 0)
        os.close(self.fd)
        self.left = left
        self.happened = left == 0


def put_failing(name, data, failing):
    """Return: errno or 0"""
    fd = os.open(w.DIR + name, os.O_WRONLY)
    err = 0
    try:
        with failing:
            try:
                os.write(fd, data)
            except OSError as e:
                err = e.errno
    finally:
        os.close(fd)
    assert err in (0, errno.ENOMEM, errno.EAGAIN, errno.EINTR), errno.errorcode[err]
    return err


def sweep(name, data, between):
    """Fail each allocation until there is none left to fail. Return: the results by errno"""
    results = {}
    for n in range(1, 1000):
        fault = Fault(n)
        err = put_failing(name, data, fault)
        if not fault.happened:
            assert not err, errno.errorcode[err]
            break
        results[err] = results.get(err, 0) + 1
        between(err)
    s.note("%s: %s" % (name, ", ".join("%d x %s" % (
        count, errno.errorcode.get(e, "success"))
        for e, count in sorted(results.items()))))
    assert results.get(errno.ENOMEM), "nothing ever failed"


def start_fails():
    """A start that fails changes nothing: there is no session, or the running one."""
    prepare()
    with s.Churn("mprotect", 1000, **CALM) as churn, w.sleeper() as other:
        pid = b"%d\n" % churn.pid
        w.must_put("attrs", s.FAST)

        def was_idle(err):
            assert w.idle() if err else w.running(), w.get("status")
            if not err:
                s.stop()
            w.must_put("target", pid)
            s.rounds_go_on()
            s.stop()

        def was_running(err):
            expected = churn.pid if err else other.pid
            assert w.get("target") == "%d\n" % expected, w.get("target")
            s.rounds_go_on()
            w.must_put("target", pid)

        sweep("target", pid, was_idle)
        s.stop()
        w.must_put("target", pid)
        sweep("target", b"%d\n" % other.pid, was_running)
        s.stop()


def attrs_fail():
    """Attributes that fail for lack of memory stay as they were."""
    prepare()
    with s.Churn("mprotect", 1000, **CALM) as churn:
        s.start(churn.pid)
        size = [int(w.attrs()["max_regions"])]

        def unchanged(err):
            if not err:
                # arrays only grow: begin anew with small ones
                s.stop()
                s.start(churn.pid)
            now = int(w.attrs()["max_regions"])
            assert now == size[0], now
            s.rounds_go_on()

        sweep("attrs", b"max_regions=20000\n", unchanged)
        s.rounds_go_on()
        s.stop()


def thread_fails():
    """kwsmond tries a failed allocation again later."""
    prepare()
    with s.Churn("map", 1000) as churn:
        for n in range(1, 7):
            s.start(churn.pid)
            pid = lifecycle.kwsmond()
            path = "/proc/%d/task/%d/fail-nth" % (pid, pid)
            s.write(path, n)
            s.rounds_go_on()
            w.wait_for("a working set", lambda: w.get("wss"), 20)
            s.stop()


class Shortage:
    """In the block, all allocations of this thread fail after so many bytes of small
    allocations, and pages of large ones: so an allocator's fallback to another one
    fails, too."""

    def __init__(self, small, pages):
        for kind, space in (("failslab", small), ("fail_page_alloc", pages)):
            base = "/sys/kernel/debug/" + kind + "/"
            for knob, value in (("task-filter", "Y"), ("interval", 1),
                                ("times", -1), ("space", space),
                                ("probability", 100)):
                s.write(base + knob, value)
        s.try_write("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N")
        self.fd = os.open("/proc/thread-self/make-it-fail", os.O_WRONLY)

    def __enter__(self):
        os.pwrite(self.fd, b"1", 0)

    def __exit__(self, *exc):
        os.pwrite(self.fd, b"0", 0)
        os.close(self.fd)
        for kind in ("failslab", "fail_page_alloc"):
            s.write("/sys/kernel/debug/" + kind + "/probability", 0)


def memory_is_short():
    """From some allocation on all fail; later none do."""
    prepare()
    results = {}
    points = [(small, 0) for small in range(0, 4096, 256)]
    points += [(1 << 30, pages) for pages in range(0, 300, 12)]
    with s.Churn("mprotect", 1000, **CALM) as churn:
        w.must_put("attrs", s.FAST)
        w.must_put("target", "%d\n" % churn.pid)
        for small, pages in points:
            for name, data in (("target", b"%d\n" % churn.pid),
                               ("attrs", b"max_regions=20000\n")):
                err = put_failing(name, data, Shortage(small, pages))
                key = name, errno.errorcode.get(err, "success")
                results[key] = results.get(key, 0) + 1
                assert w.running()
            w.must_put("attrs", s.FAST)
            w.must_put("target", "%d\n" % churn.pid)
        s.rounds_go_on()
        s.stop()
    s.note(", ".join("%s: %d x %s" % (name, n, err)
                     for (name, err), n in sorted(results.items())))
    assert ("target", "ENOMEM") in results and ("attrs", "ENOMEM") in results


def init_module(image, n):
    """Return: errno or 0, and how many allocations were left"""
    with Fault(n) as fault:
        err = w.module_call(w.INIT_MODULE, image, ctypes.c_long(len(image)), b"")
    return err, fault.left


def watch_loading():
    # otherwise QEMU may crash
    s.try_write(TRACING + "options/record-cmd", 0)
    s.write(TRACING + "events/module/module_load/enable", 1)


def forget_trace():
    s.write(TRACING + "trace", "")


def init_was_called():
    return "module_load: wsmon" in s.read(TRACING + "trace")


def load_fails():
    """The module is loaded with all its files, or not at all."""
    prepare()
    watch_loading()
    w.unload()
    with open(os.environ["WSMON_KO"], "rb") as f:
        image = f.read()
    err, left = init_module(image, 1000000)
    assert not err and left, err
    w.unload()
    total = 1000000 - left
    results, incomplete = {}, []
    # from the last allocation down to the first of the module's own. Earlier ones are
    # the kernel's: it warns if those for tracepoints fail, so they are not tested here
    n = total + 4
    while n:
        forget_trace()
        err, _ = init_module(image, n)
        if err and not init_was_called():
            break
        results[err] = results.get(err, 0) + 1
        assert w.loaded() == (not err), (n, err)
        if err:
            assert not os.path.exists(w.DIR), n
        else:
            missing = [f for f in FILES.split() if not os.path.exists(w.DIR + f)]
            if missing:
                incomplete.append((n, missing))
            w.unload()
        n -= 1
    s.note("%d allocations, %d of its own; %s" % (total, total - n, ", ".join("%d x %s" % (
        count, errno.errorcode.get(e, "success"))
        for e, count in sorted(results.items()))))
    assert not incomplete, "loaded without some files: %s" % incomplete
    w.load()
    with w.sleeper() as t:
        s.start(t.pid)
        s.rounds_go_on()
        s.stop()
    bad = set(results) - {0, errno.ENOMEM}
    assert not bad, [errno.errorcode[e] for e in bad]


def leaks():
    """Allocations of wsmon that kmemleak still reports at a second scan"""
    path = "/sys/kernel/debug/kmemleak"
    s.write(path, "scan")
    time.sleep(6)
    s.write(path, "scan")
    found = [r for r in s.read(path).split("unreferenced object")
             # or a module that is unloaded
             if "wsmon" in r or "[<00000000ffffffffc0" in r or "] 0xffff" in r]
    for report in found[:5]:
        s.note("unreferenced object" + report.replace("\n", "\n# "))
    return found


def nothing_is_leaked():
    path = "/sys/kernel/debug/kmemleak"
    if not os.path.exists(path):
        raise s.Skip("no kmemleak")
    with s.Churn("map", 1000, **CALM) as churn:
        for n in range(10):
            reader = subprocess.Popen(["cat", w.DIR + "buffer"],
                                      stdout=subprocess.DEVNULL)
            s.start(churn.pid)
            s.rounds_go_on()
            w.must_put("attrs", "max_regions=%d" % (3000 + n * 1000))
            w.put("target", "%d 1 1\n" % churn.pid)
            w.put("attrs", "max_regions=0")
            s.rounds_go_on()
            s.stop()
            reader.wait(20)
    assert not leaks(), "wsmon leaks"
    w.unload()
    assert not leaks(), "wsmon left something behind"


TESTS = [start_fails, attrs_fail, thread_fails, memory_is_short, load_fails,
         nothing_is_leaked]
