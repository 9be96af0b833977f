#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""/dev/wsmon: sessions of open files; alone, with the same and with other processes."""
import contextlib
import errno
import io
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

import wsmontest as w
import wsmon

PATH = "/dev/wsmon"
FAST = "sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000 cpu_permille=1000\n"
MIB = 1 << 20


class Session:
    """An open file, and the bytes read from it"""

    def __init__(self, text=None, flags=0):
        self.fd = os.open(PATH, os.O_RDWR | flags)
        self.data = b""
        if text:
            try:
                self.put(text)
            except OSError:
                os.close(self.fd)
                raise

    def put(self, text):
        assert os.write(self.fd, text.encode()) == len(text.encode())

    def read(self, seconds):
        """Read for so many seconds."""
        end = time.monotonic() + seconds
        os.set_blocking(self.fd, False)
        while time.monotonic() < end:
            try:
                part = os.read(self.fd, 1 << 20)
                if not part:
                    break
                self.data += part
            except BlockingIOError:
                time.sleep(0.01)

    def read_all(self):
        """Read to the end of the session."""
        os.set_blocking(self.fd, True)
        while True:
            part = os.read(self.fd, 1 << 20)
            if not part:
                return self.records()
            self.data += part

    def records(self):
        self.header, records = wsmon.read(io.BytesIO(self.data))
        return list(records)

    def close(self):
        os.close(self.fd)
        self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.fd >= 0:
            self.close()


def error(function, *args):
    """The errno of a call as a name, or None"""
    try:
        function(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return None


def threads():
    """Number of the module's monitoring threads"""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                found += f.read() == "kwsmond\n"
        except OSError:
            pass
    return found


def wss(records, pid, cls="anon"):
    """Anonymous working set of a process in MiB, by interval"""
    return [r.bytes / MIB for r in records if r.type == "WSS" and r.pid == pid and r.cls == cls]


def worker(mib, all_mib):
    """A process that uses @mib of its @all_mib all the time."""
    return w.Target("while True:\n m[:%d:4096] = bytes(%d)\n time.sleep(0.01)\n" % (
        mib * MIB, mib * 256),
        setup="m = mmap.mmap(-1, %d, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "m.madvise(mmap.MADV_NOHUGEPAGE)\nm[::4096] = bytes(%d)\n" % (
            all_mib * MIB, all_mib * 256))


@w.measured
def a_session():
    with worker(8, 24) as t, Session() as s:
        s.put("max_regions=300 seed=42\n" + FAST + "pid=%d\n" % t.pid)
        assert threads() == 1 and w.idle(), "not a session of its own"
        time.sleep(1)
        s.put("mark=load \u2026\n")
        s.put("max_regions=200")
        time.sleep(0.2)
        s.put("stop")
        assert threads() == 0
        records = s.read_all()
        assert s.header.attrs.seed == 42 and s.header.attrs.max_regions == 200
        kinds = [r.type for r in records]
        assert kinds[:2] == ["ATTRS", "TARGET"] and kinds[-2:] == ["STATS", "END"]
        assert kinds.count("END") == 1 and "LOST" not in kinds
        assert [r.text for r in records if r.type == "MARK"] == ["load \u2026"]
        sizes = wss(records, t.pid)[3:]
        assert len(sizes) > 5 and all(7.5 < x < 9.5 for x in sizes), sizes


def ends_with_the_file():
    """Closed, or because its owner is killed"""
    with w.sleeper() as t:
        with Session(FAST + "pid=%d" % t.pid):
            assert threads() == 1
        assert threads() == 0
        code = ("import os, time\nfd = os.open('%s', os.O_RDWR)\n"
                "os.write(fd, b'pid=%d')\nprint('ready', flush=True)\ntime.sleep(1000)\n" % (
                    PATH, t.pid))
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as owner:
            assert owner.stdout.readline() == b"ready\n"
            assert threads() == 1
            owner.send_signal(signal.SIGKILL)
        w.wait_for("the thread's end", lambda: not threads())


def ends_with_its_processes():
    with w.sleeper() as t, Session(FAST + "pid=%d" % t.pid) as s:
        time.sleep(0.2)
        t.kill()
        records = s.read_all()
        assert records[-1].type == "END" and records[-1].reason == 1, records[-1]
        assert error(s.put, "pid=1") == "EALREADY" and os.read(s.fd, 10) == b""


@w.measured
def one_session_for_all():
    """Two files that name the same processes share a session."""
    with w.sleeper() as other, worker(8, 24) as t:
        with Session(FAST + "max_regions=500 pid=%d,%d" % (t.pid, other.pid)) as a, \
                Session("pid=%d,%d" % (other.pid, t.pid)) as b:
            assert threads() == 1
            assert error(Session, "max_regions=400 pid=%d,%d" % (t.pid, other.pid)) == "EBUSY"
            for s in a, b:
                assert error(s.put, "max_regions=400") == "EBUSY"
                s.put("max_regions=500")
            time.sleep(1)
            b.put("mark=both")
            b.put("stop")
            end = b.read_all()[-1]
            assert end.type == "END" and end.reason == 0
            assert b.header.attrs.max_regions == 500
            assert threads() == 1, "one ended the other's session"
            # the file is alone in the session now
            a.put("max_regions=400")
            a.read(1)
            first = a.records()
            assert "END" not in [r.type for r in first]
            assert [r.text for r in first if r.type == "MARK"] == ["both"]
            mine, theirs = (
                {(r.time_ns, r.bytes) for r in s.records() if r.type == "WSS" and r.pid == t.pid}
                for s in (a, b))
            assert len(theirs) > 5 and theirs <= mine
            targets = {r.pid for r in b.records() if r.type == "TARGET"}
            assert targets == {t.pid, other.pid} and "AREA" in [r.type for r in b.records()]
        assert threads() == 0


def only_the_slow_one_loses():
    with worker(8, 24) as t:
        # in a slow kernel the fast reader needs more time, too, to lose nothing
        us = 20000 if w.CHECKERS else 5000
        text = ("sample_us=1000 aggr_us=%d update_us=%d window_us=%d max_regions=10000 "
                "cpu_permille=1000 pid=%d" % (us, us, us, t.pid))
        with Session(text) as slow, Session("pid=%d" % t.pid) as fast:
            end = time.monotonic() + 60
            # the other file's buffer has 4 MiB
            while len(fast.data) < 6 << 20 and time.monotonic() < end:
                fast.read(0.2)
            assert len(fast.data) > 5 << 20
            fast.put("stop")
            slow.put("stop")
            lost = []
            for s in fast, slow:
                records = s.read_all()
                assert records[-1].type == "END"
                lost.append(sum(r.records for r in records if r.type == "LOST"))
            assert lost[0] == 0 and lost[1] > 0, lost


@w.measured
def different_processes():
    with worker(4, 16) as a, worker(12, 16) as b:
        slow = "sample_us=50000 aggr_us=500000 update_us=500000 window_us=500000 pid=%d"
        with Session(slow % a.pid) as sa, Session(slow % b.pid) as sb:
            assert threads() == 2
            time.sleep(5)
            for s, t, mib in (sa, a, 4), (sb, b, 12):
                s.put("stop")
                sizes = wss(s.read_all(), t.pid)[1:]
                assert len(sizes) > 5 and -0.5 < statistics.median(sizes) - mib < 1.5, sizes


def in_both(attrs, t, seconds):
    """Estimates of a process by two sessions with different targets"""
    with w.sleeper() as other, Session(attrs + "pid=%d" % t.pid) as a, \
            Session(attrs + "seed=7 pid=%d,%d" % (t.pid, other.pid)) as b:
        assert threads() == 2
        time.sleep(seconds)
        for s in a, b:
            s.put("stop")
        for s in a, b:
            sizes = wss(s.read_all(), t.pid)[6:]
            print("# %s MiB" % " ".join("%.1f" % x for x in sizes))
            assert len(sizes) > 8, sizes
            yield sizes


@w.measured
def overlapping():
    """Neither session clears bits unseen by the other, nor sees more than its own."""
    attrs = ("sample_us=100000 aggr_us=500000 update_us=500000 window_us=1500000 "
             "max_regions=16384 cpu_permille=1000 ")
    setup = ("m = mmap.mmap(-1, 12 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
             "m.madvise(mmap.MADV_NOHUGEPAGE)\nm[::4096] = bytes(3072)\n")
    # each page of 4 MiB once a second: one after the other, or all at once
    for code in ("i = 0\nwhile True:\n"
                 " while i < time.monotonic() * 1024:\n  m[i % 1024 << 12] = 1\n  i += 1\n"
                 " i = max(i, int(time.monotonic() * 1024) - 1024)\n time.sleep(0.003)\n",
                 "while True:\n m[:4 << 20:4096] = bytes(1024)\n time.sleep(1)\n"):
        with w.Target(code, setup=setup) as t:
            for sizes in in_both(attrs, t, 12):
                assert all(3.7 < x < 4.7 for x in sizes), sizes


@w.measured
def overlapping_in_one_mm():
    """The same with two processes of one mm, each watched by one session: each page is used
    once a second, by one of the two"""
    attrs = ("sample_us=100000 aggr_us=500000 update_us=500000 window_us=1500000 "
             "max_regions=16384 cpu_permille=1000 pid=%s")
    with subprocess.Popen([w.program("twins"), "1000"], stdout=subprocess.PIPE, text=True) as t:
        pids = t.stdout.readline().split()
        try:
            with Session(attrs % pids[0]) as a, Session(attrs % pids[1]) as b:
                time.sleep(12)
                # the other session may miss bits that the first one clears at its end
                for s in a, b:
                    s.put("stop")
                for s, pid in (a, pids[0]), (b, pids[1]):
                    sizes = wss(s.read_all(), int(pid))[6:]
                    print("# %s MiB" % " ".join("%.1f" % x for x in sizes))
                    assert len(sizes) > 8 and all(7.7 < x < 8.7 for x in sizes), sizes
        finally:
            for pid in pids:
                os.kill(int(pid), signal.SIGKILL)


@w.measured
def overlapping_in_idle_memory():
    """Bits that one session gives back to reclaim are no accesses for the other: huge
    pages, used once."""
    attrs = ("sample_us=20000 aggr_us=100000 update_us=100000 window_us=100000 "
             "cpu_permille=1000 ")
    setup = ("m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
             "m.madvise(mmap.MADV_HUGEPAGE)\nm[::4096] = bytes(64 << 8)\n")
    with w.Target("while True:\n time.sleep(0.01)\n", setup=setup) as t:
        for sizes in in_both(attrs, t, 4):
            assert statistics.mean(sizes) < 2, sizes


def joins_the_last():
    with w.sleeper() as a, w.sleeper() as b, Session() as s:
        assert error(s.put, "join") == "ESRCH"
        with Session(FAST + "pid=%d" % a.pid), Session(FAST + "pid=%d" % b.pid):
            s.put("join")
            assert threads() == 2
            s.read(0.5)
            pids = {r.pid for r in s.records() if r.type == "WSS"}
            assert pids == {b.pid}, pids
            # a file that joins is told the targets at once
            kinds = [r.type for r in s.records()]
            assert "TARGET" in kinds[:kinds.index("WSS")], kinds
        # the files that began the sessions are closed
        assert not threads()
        records = s.read_all()
        assert records[-1].type == "END" and records[-1].reason == 0


ELSEWHERE = """
import errno, os, sys
for text in sys.argv[1:]:
    fd = os.open("/dev/wsmon", os.O_RDWR)
    try:
        os.write(fd, text.encode())
        print(0)
    except OSError as e:
        print(errno.errorcode[e.errno])
"""


def rights():
    """Attaching to a process requires permission to trace it; its pid requires a view of it."""
    def elsewhere(*args):
        return subprocess.run([*args[0], sys.executable, "-c", ELSEWHERE, *args[1:]], check=True,
                              capture_output=True, text=True).stdout.split()

    no_ptrace = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    namespace = ["unshare", "--pid", "--fork"]
    assert elsewhere(no_ptrace, "pid=1", "join", "cgroup=/") == ["EPERM", "ESRCH", "0"]
    with w.sleeper() as t, Session(FAST + "pid=%d" % t.pid):
        assert elsewhere([], "join") == ["0"]
        assert elsewhere(no_ptrace, "join") == elsewhere(namespace, "join") == ["ESRCH"]
        with Session("cgroup=/"):
            # a session of totals only, and the last session of this namespace
            assert elsewhere(no_ptrace, "join") == ["0"]
            assert elsewhere(namespace, "join") == ["ESRCH"]


def marks_all():
    with w.sleeper() as a, w.sleeper() as b, Session() as s:
        assert error(s.put, "mark=now") == "ESRCH"
        with Session(FAST + "pid=%d" % a.pid) as sa, Session(FAST + "pid=%d" % b.pid) as sb:
            s.put("mark=now\n")
            for x in sa, sb:
                x.put("stop")
                assert [r.text for r in x.read_all() if r.type == "MARK"] == ["now"]


def refused():
    with w.sleeper() as t, Session() as s:
        for text, wanted in (
                ("", "EINVAL"), ("\n", "EINVAL"), ("pid", "EINVAL"), ("pid=", "EINVAL"),
                ("pid=,%d" % t.pid, "EINVAL"), ("pid=%d," % t.pid, "EINVAL"),
                ("pid=%d,,2" % t.pid, "EINVAL"), ("pid=0", "EINVAL"), ("pid=-1", "EINVAL"),
                ("pid=%d pid=%d" % (t.pid, t.pid), "EINVAL"),
                ("pid=%d,%d" % (t.pid, t.pid), "EINVAL"),
                ("pid=4000000000", "ERANGE"), ("pid=2", "EINVAL"), ("pid=99999999", "ESRCH"),
                ("pid=%d join" % t.pid, "EINVAL"), ("pid=%d stop" % t.pid, "EINVAL"),
                ("sample_us=1 pid=%d" % t.pid, "ERANGE"), ("what=1", "EINVAL"),
                ("max_regions=5 pid=%d" % t.pid, "EINVAL"),
                ("stop", "ESRCH"), ("mark=", "EINVAL"), ("a mark=b", "EINVAL"),
                ("mark=" + "x" * 256, "EINVAL"), ("join join", "EINVAL"), ("stop stop", "EINVAL"), ("x" * 4097, "EINVAL")):
            assert error(os.write, s.fd, text.encode()) == wanted, text
        # nothing remains of refused writes
        assert error(s.put, "max_regions=100 pid=99999999") == "ESRCH"
        s.put("pid=%d" % t.pid)
        assert error(s.put, "join") == "EALREADY"
        s.read(1.5)
        s.records()
        assert s.header.attrs.max_regions == 2000 and s.header.attrs.sample_us == 100000


def many_files():
    with w.sleeper() as t:
        files = [Session("pid=%d" % t.pid) for _ in range(63)]
        assert error(Session) == "EMFILE" and threads() == 1
        for s in files:
            s.close()
        assert threads() == 0
        Session("pid=%d" % t.pid).close()


def share_of_cpu(*targets):
    """CPU time of a session for each target, from the fourth second on"""
    text = ("sample_us=5000 aggr_us=200000 update_us=200000 window_us=200000 "
            "max_regions=20000 cpu_permille=60 pid=%d")
    sessions = [Session(text % t.pid) for t in targets]
    time.sleep(12)
    share = 0
    for s in sessions:
        s.put("stop")
    for s in sessions:
        stats = [r for r in s.read_all() if r.type == "STATS"]
        first = [r for r in stats if r.time_ns > stats[0].time_ns + 3e9][0]
        share += (stats[-1].cpu_ns - first.cpu_ns) / (stats[-1].time_ns - first.time_ns)
        s.close()
    return share


@w.measured
def budget_is_shared():
    """Three sessions take little more CPU time than one."""
    with worker(16, 64) as a, worker(16, 64) as b, worker(16, 64) as c:
        alone, together = share_of_cpu(a), share_of_cpu(a, b, c)
        print("# %.1f %% of a processor alone, %.1f %% three" % (100 * alone, 100 * together))
        assert together < 1.8 * alone


def storm():
    """Six threads open, write, change, join, read, stop and close at once."""
    end = time.monotonic() + (30 if w.CHECKERS else 8)
    failures = []

    def run(seed, pids):
        import random
        r = random.Random(seed)
        try:
            while time.monotonic() < end:
                with Session(flags=os.O_NONBLOCK) as s:
                    for _ in range(r.randrange(8)):
                        chosen = r.sample(pids, r.randrange(1, len(pids) + 1))
                        text = r.choice((
                            FAST + "pid=%s" % ",".join(map(str, chosen)), "join", "stop",
                            "pid=%d" % chosen[0], "max_regions=%d" % r.randrange(10, 3000),
                            "follow=%d" % r.randrange(2), "mark=x", FAST))
                        name = error(s.put, text)
                        assert name in (None, "EBUSY", "EALREADY", "ESRCH", "EINVAL"), name
                        if r.randrange(2):
                            error(os.read, s.fd, r.randrange(1, 1 << 16))
                        time.sleep(r.random() / 50)
        except Exception as e:                  # noqa: the others go on
            failures.append(repr(e))
    with w.sleeper() as a, worker(2, 4) as b, w.sleeper() as c:
        runners = [threading.Thread(target=run, args=(i, [a.pid, b.pid, c.pid]))
                   for i in range(6)]
        for t in runners:
            t.start()
        for t in runners:
            t.join()
    assert not failures, failures
    assert threads() == 0


def module(name):
    """The path of a module that uses the kernel API: in samples/ or programs/"""
    return os.path.join(os.path.dirname(os.environ.get("WSMON_KO", "")), "samples", name + ".ko")


def said(text):
    """Log messages of the sample, as groups of a regular expression"""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return re.findall("wsmon_sample: " + text, log)


@w.measured
def sample_module():
    """A module watches the process that an open file and debugfs watch, too."""
    attrs = "sample_us=50000 aggr_us=500000 update_us=500000 window_us=500000 "
    with worker(8, 24) as t, Session() as s:
        subprocess.run(["insmod", module("wsmon_sample"), "pid=%d" % t.pid, "aggr_us=500000"],
                       check=True)
        try:
            assert threads() == 1
            w.must_put("target", "%d\n" % t.pid)
            s.put(attrs + "pid=%d" % t.pid)
            assert threads() == 3
            r = subprocess.run(["rmmod", "wsmon"], capture_output=True, text=True)
            assert r.returncode and "in use" in r.stderr, r
            time.sleep(8)
            t.kill()
            w.wait_for("its end", lambda: said("pid %d: gone" % t.pid) and not threads())
        finally:
            subprocess.run(["rmmod", "wsmon_sample"], check=True)
        rows = said(r"pid %d: (\d+) KiB in use \((\d+) to (\d+)\) of (\d+) KiB" % t.pid)
        rows = [[int(x) / 1024 for x in row] for row in rows][2:]
        assert len(rows) > 8 and all(
            low <= size <= high <= mapped for size, low, high, mapped in rows), rows
        size = statistics.median(row[0] for row in rows)
        theirs = statistics.median(wss(s.read_all(), t.pid, "all")[2:])
        print("# %.1f MiB, by an open file %.1f MiB" % (size, theirs))
        # the interpreter uses some MiB, too
        assert 7.5 < size < 13 and abs(size - theirs) < 1, (size, theirs)


def module_goes():
    """Unload in the middle of a session; loading fails without a process to watch"""
    with w.sleeper() as t:
        for _ in range(5):
            subprocess.run(["insmod", module("wsmon_sample"), "pid=%d" % t.pid, "aggr_us=2000"],
                           check=True)
            assert threads() == 1
            time.sleep(0.1)
            subprocess.run(["rmmod", "wsmon_sample"], check=True)
            assert threads() == 0
        for pid in 2, 99999999:
            assert subprocess.run(["insmod", module("wsmon_sample"), "pid=%d" % pid],
                                  capture_output=True).returncode


def misused_by_a_module():
    with Session() as s:
        subprocess.run(["insmod", module("wsmon_misuse")], check=True)
        subprocess.run(["rmmod", "wsmon_misuse"], check=True)
        assert threads() == 0 and error(s.put, "join") == "ESRCH"


class Misuse:
    """The module wsmon_misuse, which watches a process"""

    def __init__(self, *args):
        subprocess.run(["insmod", module("wsmon_misuse"), *args], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        subprocess.run(["rmmod", "wsmon_misuse"], check=True)

    def says(self, name):
        with open("/sys/module/wsmon_misuse/parameters/" + name) as f:
            return f.read() == "Y\n"


def waits_for_who_waits():
    """A client's record function waits for a process that waits for its last look"""
    p = subprocess.Popen(["sh", "-c", "read x; exec sleep 0.1"], stdin=subprocess.PIPE)
    with Misuse("pid=%d" % p.pid) as m:
        p.communicate(b"\n")
        w.wait_for("the end of the session", lambda: not threads(), 60)
        assert m.says("came") and not m.says("in_vain")


def took_100_children(program, *stall):
    """Time for 100 children that end at once; with a client that watches, and perhaps stalls"""
    with subprocess.Popen([program, "short", "100"], stdout=subprocess.PIPE) as p:
        try:
            assert p.stdout.readline() == b"ready\n"
            with Misuse("pid=%d" % p.pid, *stall) if stall else contextlib.nullcontext() as m:
                if stall:
                    w.wait_for("the first record", lambda: m.says("came"))
                start = time.monotonic()
                p.send_signal(signal.SIGUSR1)
                assert p.stdout.readline() == b"done\n"
                return time.monotonic() - start
        finally:
            p.kill()


@w.measured
def kwsmond_is_held_up():
    """Not each ending child waits for a kwsmond that is held up."""
    program = w.program("forks")
    alone, held_up = (took_100_children(program, *args) for args in ((), ("stall_ms=12000",)))
    print("# 100 children: %.2f s, %.2f s while kwsmond is held up" % (alone, held_up))
    assert held_up - alone < 2.5, (alone, held_up)


if __name__ == "__main__":
    w.main(a_session, ends_with_the_file, ends_with_its_processes, one_session_for_all,
           only_the_slow_one_loses, joins_the_last, rights, marks_all, refused, many_files, storm,
           # the modules exist only after make samples
           *([sample_module, module_goes, misused_by_a_module, waits_for_who_waits,
              kwsmond_is_held_up]
             if os.path.exists(module("wsmon_sample")) else []),
           # kernels with checkers are too slow for figures
           *([] if w.CHECKERS else [different_processes, overlapping, overlapping_in_one_mm,
                                    overlapping_in_idle_memory, budget_is_shared]))
