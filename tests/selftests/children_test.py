#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""With follow=1 all descendants of a target belong to the session."""
import os
import select
import signal
import subprocess
import tempfile
import time

import wsmontest as w
from device_test import Session

FAST = "sample_us=5000 aggr_us=50000 update_us=50000 window_us=50000 cpu_permille=1000 "
SETUP = """
import signal, subprocess, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def go():
    signal.sigwait([signal.SIGUSR1])
def child(act=go):
    pid = os.fork()
    if not pid:
        act()
        os._exit(0)
    return pid
def say(*words):
    print(*words, flush=True)
"""
FORK = "\nwhile True: go(); say(child())"


class Family(w.Target):
    """A target that is followed, and forks upon SIGUSR1"""

    def __init__(self, code, follow=1):
        super().__init__(code, SETUP)
        self.children = []
        w.must_put("attrs", FAST + "follow=%d" % follow)
        w.must_put("target", "%d\n" % self.pid)

    def fork(self):
        """Return: the pid of its new descendant"""
        os.kill(self.pid, signal.SIGUSR1)
        self.children.append(int(self.process.stdout.readline()))
        return self.children[-1]

    def end(self, pid):
        self.children.remove(pid)
        os.kill(pid, signal.SIGKILL)

    def __exit__(self, *exc):
        self.kill()
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)
        w.put("target", "\n")


def counts():
    stats = w.stats()
    assert not stats["unfollowed"], stats["unfollowed"]
    return stats["targets"], stats["members"]


def become(targets, members):
    w.wait_for("%d targets, %d members" % (targets, members),
               lambda: counts() == (targets, members))


def there_before():
    """Descendants forked before the session belong to it, too. None is missed while all of
    them fork."""
    code = ("\ndef grow(deep):\n"
            " for _ in range(3):\n"
            "  pid = os.fork()\n"
            "  if not pid and deep:\n   return grow(deep - 1)\n"
            "  if not pid:\n   break\n"
            "  time.sleep(0.01)\n"
            " signal.pause()\n")
    for wait in 0, 0, 0, 2:
        with w.Target(code + "grow(2)\n", SETUP) as t:
            time.sleep(wait or 0.05)
            try:
                w.must_put("attrs", FAST + "follow=%d" % (wait == 0))
                w.must_put("target", "%d\n" % t.pid)
                if wait:
                    assert counts() == (1, 1)
                    w.must_put("attrs", "follow=1")
                w.wait_for("all of them", lambda: counts()[1] == len(descendants(t.pid)) == 40, 60)
                print("# %d of %d" % (counts()[1], len(descendants(t.pid))), flush=True)
                assert counts() == (1, 40) and w.get("target") == "%d\n" % t.pid
            finally:
                w.must_put("target", "\n")
                for pid in reversed(descendants(t.pid)):
                    os.kill(pid, signal.SIGKILL)


@w.measured
def used_by_those_before():
    """A server's worker uses memory while the server sleeps: the total includes it."""
    code = ("if not os.fork():\n"
            " m = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            " while True:\n  m[::4096] = bytes(16 << 8)\n  time.sleep(0.01)\n"
            "time.sleep(1000)\n")
    with w.Target(code) as t:
        w.wait_for("the worker", lambda: len(descendants(t.pid)) == 2)
        worker = descendants(t.pid)[1]
        try:
            with Session("sample_us=50000 aggr_us=500000 update_us=500000 window_us=500000 "
                         "cpu_permille=1000 follow=1 pid=%d" % t.pid) as s:
                s.read(4)
                s.put("stop")
                got = [r for r in s.read_all() if r.type == "TOTAL" and r.cls == "anon"]
                sizes = [r.bytes / (1 << 20) for r in got]
        finally:
            os.kill(worker, signal.SIGKILL)
        print("# %s" % " ".join("%.1f [%.1f, %.1f]" % tuple(
            y / (1 << 20) for y in (r.bytes, r.low, r.high)) for r in got))
        assert len(sizes) > 3 and all(15.5 < x < 19 for x in sizes[2:]), sizes


@w.measured
def shared_at_times():
    """Memory that a process reads counts once, whether a child shares it or has just ended."""
    code = ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
            "m = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
            "m[::4096] = bytes(16 << 8)\n"
            "def use():\n while True:\n  m[::4096]\n  time.sleep(0.01)\n"
            "threading.Thread(target=use).start()\n")
    with w.Target(code + FORK, SETUP) as t:
        with Session("sample_us=50000 aggr_us=500000 update_us=500000 window_us=500000 "
                     "cpu_permille=1000 follow=1 pid=%d" % t.pid) as s:
            for _ in range(4):
                os.kill(t.pid, signal.SIGUSR1)
                child = int(t.process.stdout.readline())
                s.read(1.3)
                os.kill(child, signal.SIGKILL)
                s.read(1.3)
            s.put("stop")
            sizes = [[x / (1 << 20) for x in (r.bytes, r.low, r.high)]
                     for r in s.read_all() if r.type == "TOTAL" and r.cls == "all"]
    print("# %s" % " ".join("%.1f [%.1f %.1f]" % tuple(x) for x in sizes))
    # copies made by the children count, too
    assert len(sizes) > 12 and all(low < 20 and high > 16 for _, low, high in sizes[2:]), sizes


def came_and_went():
    """Each child is counted when it comes, the first one, too, and when it goes."""
    setup = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
    code = ("signal.sigwait({signal.SIGUSR1})\n"
            "for _ in range(6):\n"
            " if not os.fork():\n  time.sleep(0.3)\n  os._exit(0)\n"
            " os.wait()\n"
            "time.sleep(1000)\n")
    with w.Target(code, setup) as t, Session(FAST + "follow=1 pid=%d" % t.pid) as s:
        os.kill(t.pid, signal.SIGUSR1)
        # the last one's end is told at the end of an interval, which may be late on a busy machine
        w.wait_for("the word of it", lambda: s.read(1) or sum(
            r.went for r in s.records() if r.type == "GROUP") >= 6, 60)
        s.put("stop")
        groups = [r for r in s.read_all() if r.type == "GROUP"]
        came, went = sum(g.came for g in groups), sum(g.went for g in groups)
        print("# %d came, %d went" % (came, went))
        assert came == went == 6


def descendants(pid):
    """A process and its descendants"""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as f:
                parents.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    found = [pid]
    for parent in found:
        found += parents.get(parent, [])
    return found


def one_child(code):
    """The child is a member at once, and no longer when it has ended."""
    with Family(code) as f:
        assert counts() == (1, 1)
        pid = f.fork()
        become(1, 2)
        assert w.get("target") == "%d\n" % f.pid, "the child became a target"
        f.end(pid)
        become(1, 1)
        assert w.running()


def forked():
    with Family(FORK) as f:
        for n in range(2, 6):
            f.fork()
            assert counts() == (1, n)
        for n in reversed(range(1, 5)):
            f.end(f.children[-1])
            become(1, n)


def spawned():
    """vfork() and exec, by Python"""
    one_child("go(); p = subprocess.Popen(['sleep', '1000']); say(p.pid); p.wait(); go()")


def program_in_child():
    """A program in a child, and a child of that program"""
    one_child("go(); pid = child(lambda: os.execlp('sleep', 'sleep', '1000'))\n"
              "say(pid); os.waitpid(pid, 0); go()")
    with Family("go(); say(child(lambda: os.execlp('sh', 'sh', '-c', 'sleep 1000 & echo $!; "
                "wait'))); go()") as f:
        f.fork()
        f.children.append(int(f.process.stdout.readline()))
        become(1, 3)


def forked_twice():
    """A grandchild stays when its parent has ended and init is its parent."""
    one_child("go(); r, e = os.pipe()\n"
              "os.waitpid(child(lambda: os.write(e, b'%d' % child())), 0)\n"
              "say(os.read(r, 9).decode()); go()")


def forked_by_a_thread():
    """A thread is no member, but its child is."""
    one_child("def fork(): say(child())\n"
              "go(); threading.Thread(target=fork).start(); time.sleep(1000)")


def child_outlives_target():
    with Family(FORK) as f:
        pid = f.fork()
        f.kill()
        become(0, 1)
        time.sleep(0.2)
        assert w.running() and w.get("target") == "\n"
        f.end(pid)
        w.wait_for("idle", w.idle)
        assert "gone" in w.get("status")


def not_followed():
    with Family(FORK, follow=0) as f:
        f.fork()
        assert counts() == (1, 1)
        f.kill()
        w.wait_for("idle", w.idle)
        assert "gone" in w.get("status")


def changed_while_running():
    with Family(FORK, follow=0) as f:
        assert w.attrs()["follow"] == "0"
        f.fork()
        w.must_put("attrs", "follow=1")
        assert w.attrs()["follow"] == "1"
        f.fork()
        # with the child from before the session
        assert counts() == (1, 3)
        w.must_put("attrs", "follow=0")
        f.fork()
        assert counts() == (1, 3)


def forks(*args):
    p = subprocess.Popen([PROGRAM, *args], stdout=subprocess.PIPE, text=True,
                         start_new_session=True)
    assert p.stdout.readline() == "ready\n"
    w.must_put("attrs", FAST + "follow=1")
    w.must_put("target", "%d\n" % p.pid)
    os.kill(p.pid, signal.SIGUSR1)
    return p


def end(p):
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate()


def many_children():
    """None is missed: 300 children that live, 2000 that end at once."""
    p = forks("long", "300")
    try:
        p.stdout.readline()
        assert counts() == (1, 301)
    finally:
        end(p)
    w.wait_for("idle", w.idle, 60)
    before = {name: w.slab_objects(name) for name in ("pid", "mm_struct")}
    p = forks("short", "2000")
    try:
        assert p.stdout.readline() == "done\n"
        become(1, 1)
    finally:
        end(p)
    w.wait_for("idle", w.idle)
    for name, number in before.items():
        assert w.slab_objects(name) < number + 200, name + " leaks"


def programs_end():
    """The memory of a child from before it executes a program is freed."""
    before = w.slab_objects("mm_struct")
    with Family("go()\nfor _ in range(100): os.waitpid(child(lambda: os.execlp('true', 'true')), 0)"
                "\nsay(0); go()") as f:
        f.fork()
        f.children.clear()
        become(1, 1)
    w.wait_for("idle", w.idle)
    assert w.slab_objects("mm_struct") < before + 50, "leaks"


TRIES = int(os.environ.get("WSMON_TRIES", 200))
# a program on a file system of its own, which stays busy as long as anything of the program is left
MOUNTS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
path, data = b"%s", open("%s", "rb").read()
os.makedirs(path, exist_ok=True)
go()
busy = 0
for _ in range(%d):
    assert not libc.mount(b"none", path, b"tmpfs", 0, None)
    fd = os.open(path + b"/program", os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(fd, data)
    os.close(fd)
    pid = os.posix_spawn(path + b"/program", ["program"], {})
    assert not os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    while libc.umount(path):
        busy += 1
        time.sleep(0.1)
say(busy)
go()
"""


def nothing_outlives_wait():
    """A program's file system can be unmounted after wait(): its last look was before."""
    folder = tempfile.mkdtemp()
    nothing = os.path.join(folder, "nothing")
    subprocess.run(["gcc", "-static", "-O2", "-xc", "-o", nothing, "-"], input=b"int main(){return 0;}",
                   check=True)
    with Family(MOUNTS % (folder + "/mount", nothing, TRIES)) as f:
        w.put("target", "\n")
        with Session("sample_us=50000 aggr_us=500000 update_us=500000 window_us=30000000 "
                     "cpu_permille=1000 follow=1\npid=%d\n" % f.pid) as s:
            os.kill(f.pid, signal.SIGUSR1)
            while not select.select([f.process.stdout], [], [], 0)[0]:
                s.read(0.1)
            busy = int(f.process.stdout.readline())
            s.put("stop")
            groups = [r for r in s.read_all() if r.type == "GROUP"]
    went, missed = (sum(getattr(r, name) for r in groups) for name in ("went", "missed"))
    print("# busy %d times, %d of %d programs were not looked at" % (busy, missed, went))
    assert not busy, busy
    assert went >= 0.9 * TRIES and missed < went / 4, (went, missed)


def memory(name):
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(name + ":"))


def resident(pid):
    with open("/proc/%d/statm" % pid) as f:
        return int(f.read().split()[1]) << 12


def hangs_as_it_ends():
    """A process closes a file of a frozen file system, and waits: its memory is already freed."""
    folder = tempfile.mkdtemp()
    image, mount = folder + "/image", folder + "/mount"
    os.mkdir(mount)
    subprocess.run("modprobe -q -a loop ext4; truncate -s 32M %s && /sbin/mkfs.ext4 -q %s && mount -o loop %s %s" % (
        image, image, image, mount), shell=True, check=True)
    with Family("go()\n"
                "def hang():\n"
                "    f = open('%s/file', 'w')\n"
                "    os.unlink(f.name)\n"
                "    m = mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                "    m[::4096] = b'x' * (64 << 10)\n"
                "    go()\n"
                "    os._exit(0)\n"
                "say(child(hang)); go()\n" % mount) as f:
        w.must_put("attrs", "sample_us=50000 aggr_us=500000 update_us=500000 window_us=30000000 "
                   "cpu_permille=1000 follow=1")
        w.must_put("target", "%d\n" % f.pid)
        pid = f.fork()
        w.wait_for("its memory", lambda: resident(pid) >= 256 << 20)
        before = memory("MemAvailable")
        subprocess.run(["/sbin/fsfreeze", "-f", mount], check=True)
        try:
            os.kill(pid, signal.SIGUSR1)
            w.wait_for("its memory", lambda: memory("MemAvailable") - before > 200 << 20, 60)
            with open("/proc/%d/stat" % pid) as stat:
                state = stat.read().rpartition(")")[2].split()[0]
        finally:
            subprocess.run(["/sbin/fsfreeze", "-u", mount], check=True)
            # it ends now
            f.children.clear()
        assert state == "D", "it does not hang"
        w.must_put("target", "\n")
    subprocess.run(["umount", mount], check=True)


def ended_in_a_storm():
    """A session and the module end while members come and go: nothing is left"""
    before = w.slab_objects("mm_struct")
    p = forks("storm")
    try:
        for n in range(6):
            time.sleep(0.1)
            assert w.running()
            if n % 3:
                w.must_put("target", "\n")
                assert w.idle()
            else:
                w.unload()
                w.load()
            w.must_put("attrs", FAST + "follow=1")
            w.must_put("target", "%d\n" % p.pid)
    finally:
        end(p)
    w.wait_for("idle", w.idle)
    assert w.slab_objects("mm_struct") < before + 20, "leaks"


w.need("gcc")
PROGRAM = w.program("forks")
w.main(there_before, used_by_those_before, shared_at_times, came_and_went, forked, spawned, program_in_child, forked_twice, forked_by_a_thread,
       child_outlives_target, not_followed, changed_while_running, many_children,
       programs_end, nothing_outlives_wait, hangs_as_it_ends, ended_in_a_storm)
