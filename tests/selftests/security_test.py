#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Who gets in, which pids they see, and that no kernel address gets out."""
import errno
import os
import re
import stat
import struct
import subprocess
import sys

import wsmontest as w

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
    """Root without CAP_SYS_ADMIN, as in most containers, is kept out."""
    assert results() == {0}
    assert results("setpriv", "--bounding-set=-sys_admin",
                   "--inh-caps=-sys_admin") == {errno.EPERM}


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
    """Pids are those of who asks, in texts and in the stream."""
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
    """Who cannot see a process does not learn its pid."""
    with w.sleeper() as t:
        w.must_put("attrs", "sample_us=10000 aggr_us=50000 cpu_permille=1000")
        w.must_put("target", "%d\n" % t.pid)
        w.wait_for("an estimate", lambda: w.get("wss"))
        out = subprocess.run(
            ["unshare", "--pid", "--fork", "cat", w.DIR + "target", w.DIR + "wss"],
            check=True, capture_output=True, text=True).stdout
        assert out.startswith("0\npid=0 "), out[:80]
        # what was opened here shows what is seen here, whoever reads it
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


w.main(modes, capability, namespace, foreign_namespace, no_kernel_address)
