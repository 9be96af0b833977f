#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Bad input to every file: a clear errno, and no change. Access rights, pids of other
namespaces, and no kernel address in any output."""
import errno
import os
import re
import stat
import struct
import subprocess
import sys

import wsmontest as w

BAD = [b"abc\n", b"-1\n", b"4294967296\n", b"18446744073709551616\n",
       b"9" * 400 + b"\n", b"unknown=1\n", b"1 2 abc\n", b"12abc\n", b"1\0",
       b"1\n\0002\n", b"\xff\xfe\n", b"=\n", b"0\n", b"1.5\n", b"0x10\n",
       b"1,2\n", b"x" * 4096, b"1" * 4097, b"1 " * (512 << 10)]

BAD_ATTRS = [b"", b"\n", b"   \n", b"sample_us\n", b"sample_us=\n",
             b"sample_us=abc\n", b"sample_us=-5\n", b"sample_us=4294967296000\n",
             b"sample_us=18446744073709551616\n", b"sample_us=" + b"9" * 400,
             b"sample_us=1000 sample_us=1000\n", b"sample_us=1000 foo=1\n",
             b"min_regions=20 max_regions=10\n", b"sample_us=0\n",
             b"min_regions=0\n", b"sample_us=1000x\n", b"sample_us=1000 1\n",
             b"sample_us=1000\0", b"aggr_us=1000 sample_us=2000\n",
             b"max_regions=100000\n", b"flush_tlb=2\n", b"1 2 3 4\n"]


def good_errno(err, what):
    assert err in (errno.EINVAL, errno.ERANGE), "%s: %s" % (
        what, errno.errorcode.get(err, err))


def try_all(name, state):
    before = state()
    for data in BAD + (BAD_ATTRS if name == "attrs" else [b""]):
        good_errno(w.put(name, data), "%s <- %.40r" % (name, data))
        assert state() == before, "%s <- %.40r changed something" % (name, data)


def attrs_idle():
    try_all("attrs", lambda: w.get("attrs"))


def attrs_running():
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        try_all("attrs", lambda: (w.get("attrs"), w.get("target")))
        assert w.running()
        # more regions for each target than in total
        assert w.put("attrs", "min_regions=2001 max_regions=2000") == errno.EINVAL


def kernel_thread():
    for pid in os.listdir("/proc"):
        if pid.isdigit() and not os.path.exists("/proc/%s/exe" % pid):
            with open("/proc/%s/stat" % pid) as f:
                if int(f.read().rsplit(")", 1)[1].split()[6]) & 0x200000:
                    return int(pid)
    raise AssertionError("no kernel thread")


def try_targets():
    def state():
        return w.get("target"), w.get("status").split()[0]

    before = state()
    try_all("target", state)
    me = os.getpid()
    for data, want in ((b"%d %d\n" % (me, me), errno.EINVAL),
                       (b"%d\n" % kernel_thread(), errno.EINVAL),
                       (b"2\n", errno.EINVAL),
                       (b"%d %d\n" % (me, kernel_thread()), errno.EINVAL),
                       (b"2147483647\n", errno.ESRCH),
                       (b"%d 2147483647\n" % me, errno.ESRCH),
                       (b"2147483648\n", errno.ERANGE),
                       (b" ".join(b"%d" % i for i in range(1, 300)), None)):
        err = w.put("target", data)
        assert err == want or (want is None and err), "%.30r: %s" % (
            data, errno.errorcode.get(err, err))
        assert state() == before, "%.30r changed something" % data


def targets_idle():
    try_targets()


def targets_running():
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        assert w.get("target") == "%d\n" % t.pid
        try_targets()


def zombie():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert w.put("target", "%d\n" % pid) == errno.ESRCH
    os.waitpid(pid, 0)


def thread_id():
    """Any thread's id stands for its process; two ids of one process are a duplicate."""
    import threading
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        w.must_put("target", "%d\n" % thread.native_id)
        assert w.get("target") == "%d\n" % os.getpid()
        both = "%d %d\n" % (os.getpid(), thread.native_id)
        assert w.put("target", both) == errno.EINVAL
    finally:
        done.set()
        thread.join()


def read_only_files():
    for name in ("status", "wss", "regions", "peaks", "stats", "buffer"):
        try:
            fd = os.open(w.DIR + name, os.O_WRONLY)
        except PermissionError:
            continue
        try:
            os.write(fd, b"1\n")
            raise AssertionError(name + " can be written")
        except OSError as e:
            assert e.errno == errno.EINVAL, e
        finally:
            os.close(fd)


def marks():
    """A name of 1 to 255 bytes, while a session runs."""
    assert w.put("mark", "too early\n") == errno.ESRCH and w.get("mark") == "0\n"
    with w.sleeper() as t:
        w.must_put("target", "%d\n" % t.pid)
        for text in "", "\n", "a\0b", "x" * 256, "x" * 256 + "\n", "x" * 4097:
            assert w.put("mark", text) == errno.EINVAL, text
        w.must_put("mark", "x" * 255 + "\n")
        w.must_put("mark", "two words")
        assert w.get("mark") == "2\n"
        w.must_put("target", "\n")
    assert w.put("mark", "too late\n") == errno.ESRCH and w.get("mark") == "2\n"


def huge_count():
    """write(2) with a count of 0xffffffff must neither WARN nor succeed."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    libc.write.restype = ctypes.c_ssize_t
    buf = ctypes.create_string_buffer(b"1\n")
    for name in ("attrs", "target", "mark"):
        fd = os.open(w.DIR + name, os.O_WRONLY)
        for count in (0xffffffff, 0x7fffffff, 1 << 62):
            assert libc.write(fd, buf, count) == -1
            assert ctypes.get_errno() in (errno.EINVAL, errno.EFAULT)
        assert libc.write(fd, None, 5) == -1
        assert ctypes.get_errno() == errno.EFAULT
        os.close(fd)


def good_attrs():
    w.must_put("attrs", "sample_us=5000 aggr_us=100000 update_us=200000 "
               "window_us=300000 min_regions=5 max_regions=500 flush_tlb=0 "
               "seed=18446744073709551615 cpu_permille=1000 peak_window=60 "
               "peak_gain=2.50 peak_adapt=0.125 peak_detector=fano follow=1\n")
    assert w.attrs() == {
        "sample_us": "5000", "aggr_us": "100000", "update_us": "200000",
        "window_us": "300000", "min_regions": "5", "max_regions": "500",
        "flush_tlb": "0", "seed": "18446744073709551615",
        "cpu_permille": "1000", "peak_window": "60", "peak_gain": "2.5",
        "peak_adapt": "0.125", "peak_detector": "fano", "follow": "1", "who_rate": "0",
        "precision": "0"}
    w.must_put("attrs", "flush_tlb=1")
    # attrs accepts its own output
    w.must_put("attrs", w.get("attrs"))


def several_targets():
    # sleep: 32 interpreters take a minute to start in a kernel with every checker
    targets = [subprocess.Popen(["sleep", "1000"]) for _ in range(32)]
    try:
        w.must_put("target", " ".join(str(t.pid) for t in targets))
        assert w.get("target").split() == [str(t.pid) for t in targets]
        w.wait_for("all of them", lambda: len(
            {line["pid"] for line in w.lines("wss")}) == 32, 60)
        assert len(w.lines("regions")) <= 2000
        # 32 targets of at least 63 regions are too many
        assert w.put("attrs", "min_regions=63") == errno.EINVAL
        w.must_put("attrs", "min_regions=62")
        w.must_put("target", "%d\n" % targets[3].pid)
        assert w.get("target") == "%d\n" % targets[3].pid
    finally:
        for t in targets:
            t.kill()
            t.wait()


MODES = {"attrs": 0o600, "target": 0o600, "mark": 0o600, "status": 0o400, "wss": 0o400,
         "regions": 0o400, "peaks": 0o400, "stats": 0o400, "buffer": 0o400}


def modes():
    assert stat.S_IMODE(os.stat(w.DIR).st_mode) & 0o22 == 0
    assert set(os.listdir(w.DIR)) == set(MODES)
    for name, mode in MODES.items():
        st = os.stat(w.DIR + name)
        assert stat.S_IMODE(st.st_mode) == mode, "%s: %o" % (name, st.st_mode)
        assert st.st_uid == 0 and st.st_gid == 0


OPEN_ALL = """
import os, sys
for name in sys.argv[2:]:
    flags = os.O_RDWR if name in ("attrs", "target", "mark") else os.O_RDONLY
    try:
        os.close(os.open(sys.argv[1] + name, flags))
        print(0)
    except OSError as e:
        print(e.errno)
"""


def results(*prefix):
    out = subprocess.run([*prefix, sys.executable, "-c", OPEN_ALL, w.DIR, *MODES],
                         check=True, capture_output=True, text=True).stdout
    return set(map(int, out.split()))


def capability():
    """Root without CAP_SYS_ADMIN (as in most containers), or without permission to trace, is
    refused."""
    assert results() == {0}
    for cap in "-sys_admin", "-sys_ptrace":
        assert results("setpriv", "--bounding-set=" + cap, "--inh-caps=" + cap) == {errno.EPERM}


IN_NAMESPACE = """
import os, sys
DIR = %r
def put(name, text):
    with open(DIR + name, "w") as f:
        f.write(text)
def get(name):
    with open(DIR + name) as f:
        return f.read()
assert os.getpid() == 1
put("attrs", "sample_us=10000 aggr_us=50000 cpu_permille=1000")
put("target", "1")
buffer = open(DIR + "buffer", "rb", buffering=0)
print("target", get("target").strip())
while "pid=" not in get("wss"):
    pass
print("wss", get("wss").split()[0])
print("regions", get("regions").split()[0])
put("target", "\\n")
data = b""
while part := buffer.read(1 << 16):
    data += part
with open(sys.argv[1], "wb") as f:
    f.write(data)
""" % w.DIR


def namespace():
    """Pids are those of the reader's namespace, in texts and in the stream."""
    path = "/run/stream"
    out = subprocess.run(["unshare", "--pid", "--fork", sys.executable, "-c",
                          IN_NAMESPACE, path], check=True, capture_output=True,
                         text=True).stdout.split("\n")
    assert out[:3] == ["target 1", "wss pid=1", "regions pid=1"], out
    import wsmon
    seen = set()
    with open(path, "rb") as f:
        for rec in wsmon.read(f)[1]:
            if hasattr(rec, "pid"):
                seen.add(rec.pid)
    assert seen == {1}, seen


def foreign_namespace():
    """A reader who cannot see a process does not learn its pid."""
    with w.sleeper() as t:
        w.must_put("attrs", "sample_us=10000 aggr_us=50000 cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("an estimate", lambda: w.get("wss"))
        out = subprocess.run(
            ["unshare", "--pid", "--fork", "cat", w.DIR + "target", w.DIR + "wss"],
            check=True, capture_output=True, text=True).stdout
        assert out.startswith("0\npid=0 "), out[:80]
        # a file shows the view of its opener, whoever reads it
        with open(w.DIR + "target") as f:
            out = subprocess.run(["unshare", "--pid", "--fork", "cat"], stdin=f,
                                 check=True, capture_output=True, text=True).stdout
        assert out == "%d\n" % t.pid, out
        # ids written from another namespace mean nothing here
        inside = subprocess.run(
            ["unshare", "--pid", "--fork", "sh", "-c",
             "echo %d > %starget" % (t.pid, w.DIR)], capture_output=True, text=True)
        assert inside.returncode, "a pid of another namespace was taken"
        assert w.get("target") == "%d\n" % t.pid
        # records have ids of this namespace, even when the session is over
        for after in "", "\n":
            if after:
                w.must_put("target", after)
            inside = subprocess.run(["unshare", "--pid", "--fork", "timeout", "10", "head", "-c", "300",
                                     w.DIR + "buffer"], capture_output=True)
            assert b"not permitted" in inside.stderr and len(inside.stdout) <= 256, inside


def no_kernel_address():
    with w.Target("time.sleep(1000)", "m = mmap.mmap(-1, 64 << 20)\n") as t:
        fd = os.open(w.DIR + "buffer", os.O_RDONLY | os.O_NONBLOCK)
        w.must_put("attrs", "sample_us=10000 aggr_us=50000 window_us=50000 "
                   "cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("rounds", lambda: w.stats()["rounds"] > 50)
        texts = "".join(w.get(name) for name in MODES if name != "buffer")
        w.must_put("target", "\n")
        data = b""
        while part := os.read(fd, 1 << 16):
            data += part
        os.close(fd)
    assert not re.search(r"ffff[89a-f][0-9a-f]{11}", texts)
    assert len(data) > 10000
    for at in range(0, len(data) - 7, 8):
        value = struct.unpack_from("<Q", data, at)[0]
        assert not 0xffff800000000000 <= value < 0xffffffffff000000, \
            "0x%x at %d" % (value, at)


w.main(attrs_idle, attrs_running, targets_idle, targets_running, zombie,
       thread_id, read_only_files, marks, huge_count, good_attrs,
       several_targets, modes, capability, namespace, foreign_namespace, no_kernel_address)
