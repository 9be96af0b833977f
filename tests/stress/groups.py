# SPDX-License-Identifier: GPL-2.0
"""Groups: members that fork, execute, exit, and are moved; cgroups and sessions that
come and go."""
import io
import os
import random
import signal
import subprocess
import time

import stress as s
import wsmontest as w
import wsmon

# Each forks children that execute, in twos, or exit at once.
FORKS = "while :; do busybox true & (:) & (busybox true | busybox cat) & wait; done"


def fork(function, *args):
    """Call a function in another process, again and again, until killed."""
    pid = os.fork()
    if not pid:
        try:
            random.seed(os.getpid())
            while True:
                function(*args)
        finally:
            os._exit(1)
    return pid


def move(names):
    """Move a process of one of the cgroups to another."""
    a, b = random.sample(names, 2)
    try:
        pids = s.read(s.CGROUP + a + "/cgroup.procs").split()
    except OSError:
        return
    if pids:
        s.try_write(s.CGROUP + b + "/cgroup.procs", random.choice(pids))


def come_and_go(path):
    """A short-lived cgroup, and a session that outlives it or not"""
    os.makedirs(path)
    with subprocess.Popen(["busybox", "sleep", "1000"]) as child:
        s.write(path + "/cgroup.procs", child.pid)
        fd = os.open("/dev/wsmon", os.O_RDWR | os.O_NONBLOCK)
        os.write(fd, (s.FAST + " cgroup=" + path[len(s.CGROUP) - 1:]).encode())
        time.sleep(random.uniform(0, 0.1))
        child.kill()
    if random.random() < 0.5:
        os.close(fd)
        fd = -1
    for _ in range(1000):
        try:
            os.rmdir(path)
            break
        except OSError:
            time.sleep(0.01)
    if fd >= 0:
        w.wait_for("the end of a session without its cgroup", lambda: ended(fd), 30)
        os.close(fd)


def read_now(fd):
    """The bytes that are there; raises EOFError at the end of the stream."""
    data = b""
    try:
        while part := os.read(fd, 1 << 20):
            data += part
    except BlockingIOError:
        return data
    raise EOFError


def ended(fd):
    try:
        return not [read_now(fd)]
    except EOFError:
        return True


def watch(texts):
    """A short session of a group; closed, stopped, or ended by the exit"""
    fd = os.open("/dev/wsmon", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(fd, (s.FAST + " " + random.choice(texts)).encode())
        for _ in range(random.randrange(5)):
            time.sleep(random.uniform(0, 0.1))
            ended(fd)
        if random.random() < 0.3:
            os.write(fd, b"stop")
    except OSError:
        # its attributes differ from those of a session, or a session or process has ended
        pass
    os.close(fd)


def storm_of_groups():
    """Storms of fork, exec and exit; cgroups, between which processes are moved, and
    sessions come and go meanwhile. During the storm the module cannot be unloaded,
    afterwards it can."""
    names = ["storm", "storm/a", "storm/a/b", "storm/c"]
    for name in names:
        s.cgroup(name)
    # The first session adds probes, the last one removes them: not during the storm, as
    # QEMU may run code that is being patched
    held = os.open("/dev/wsmon", os.O_RDWR | os.O_NONBLOCK)
    os.write(held, (s.FAST + " cgroup=/storm").encode())
    forks = [subprocess.Popen(["busybox", "setsid", "busybox", "sh", "-c", FORKS],
                              preexec_fn=lambda: s.write(
                                  s.CGROUP + random.choice(names) + "/cgroup.procs", os.getpid()))
             for _ in range(3)]
    pid = " pid=%d" % forks[0].pid
    texts = ["cgroup=/storm", "cgroup=/storm/a", "cgroup=/storm/c", "cgroup=/",
             "follow=1" + pid, "follow=0" + pid]
    others = [fork(move, names), fork(come_and_go, s.CGROUP + "storm/gone"),
              fork(watch, texts), fork(watch, texts), fork(watch, texts)]
    stream = b""
    try:
        end = time.monotonic() + 2 * s.SECS
        while time.monotonic() < end:
            assert subprocess.run(["rmmod", "wsmon"], capture_output=True).returncode
            stream += read_now(held)
        for p in others:
            assert os.waitpid(p, os.WNOHANG) == (0, 0), "one of the others has failed"
        groups = [r for r in wsmon.read(io.BytesIO(stream))[1] if r.type == "GROUP"]
        came, went = sum(r.came for r in groups), sum(r.went for r in groups)
        s.note("%d members came, %d went" % (came, went))
        assert came > 2 * s.SECS and went > 2 * s.SECS
    finally:
        for p in others:
            os.kill(p, signal.SIGKILL)
            os.waitpid(p, 0)
        empty(names)
        for p in forks:
            p.wait()
        os.close(held)
    s.unused()
    assert not w.kwsmond(), "a session without a file"


def empty(names):
    """Kill the processes of the cgroups, and remove these."""
    names = [n for n in names + ["storm/gone"] if os.path.exists(s.CGROUP + n)]
    for name in names:
        s.try_write(s.CGROUP + name + "/cgroup.kill", 1)

    def removed():
        for name in sorted(names, reverse=True):
            try:
                os.rmdir(s.CGROUP + name)
            except FileNotFoundError:
                pass
            except OSError:
                return False
        return True
    w.wait_for("empty cgroups", removed, 30)


TESTS = [storm_of_groups]
