#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The command on a live kernel."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import wsmontest as w
import wsmon

FAST = ["--sample", "10ms", "--aggr", "100ms", "--update", "100ms",
        "--window", "100ms", "--cpu", "100%"]
TMP = tempfile.mkdtemp()
FILE = os.path.join(TMP, "data")
LOCKDOWN = "/sys/kernel/security/lockdown"


def records():
    with open(FILE, "rb") as f:
        return list(wsmon.read(f)[1])


def one_line(r, status=1):
    assert r.returncode == status, r
    lines = [line for line in r.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("wsmo: "), r.stderr


def without_module():
    w.unload()
    try:
        one_line(w.wsmo("record", "-o", FILE, "-p", str(os.getpid())))
        r = w.wsmo("check")
        assert r.returncode == 1 and "wsmon" in r.stdout
    finally:
        w.load()


def not_root():
    def drop():
        os.setgid(65534)
        os.setuid(65534)
    os.chmod(TMP, 0o777)
    # other users may not enter the checkout
    copy = os.path.join(TMP, "wsmo")
    shutil.copy(shutil.which("wsmo"), copy)
    one_line(subprocess.run([copy, "record", "-o", FILE, "-p", "1"], cwd="/",
                            capture_output=True, text=True, preexec_fn=drop))


def check():
    r = w.wsmo("check")
    assert r.returncode == 0, r


def attach():
    with w.sleeper() as t:
        r = w.wsmo("record", "-o", FILE, "-d", "1", "-p", str(t.pid), *FAST)
    assert r.returncode == 0, r
    assert "LOST" not in r.stderr and FILE in r.stderr.splitlines()[-1], r.stderr
    got = records()
    assert got[-1].type == "END"
    assert {r.pid for r in got if r.type == "WSS"} == {t.pid}
    assert any(r.type == "PROC" and r.rss > 1 << 20 for r in got)
    assert any(r.type == "AREA" and "python" in r.path for r in got)
    assert any(r.type == "AREA" and r.path == "[heap]" for r in got)
    assert not w.kwsmond(), "still running"
    assert w.attrs()["sample_us"] == "100000", "attributes not put back"
    assert os.stat(FILE).st_mode & 0o777 == 0o600


def command():
    r = w.wsmo("record", "-o", FILE, *FAST, "--", "sh", "-c", "sleep 0.5; exit 7")
    assert r.returncode == 7, r
    got = records()
    assert [r.comm for r in got if r.type == "TARGET"][-1] == "sh"
    assert got[-1].type == "END" and got[-1].reason == 1
    r = w.wsmo("record", "-o", FILE, *FAST, "--", "sh", "-c", "kill -TERM $$")
    assert r.returncode == 128 + signal.SIGTERM, r
    r = w.wsmo("record", "-o", FILE, "--", "/does/not/exist")
    assert r.returncode == 127, r


def interrupted():
    with w.sleeper() as t:
        p = subprocess.Popen(["wsmo", "record", "-o", FILE, "-p", str(t.pid), *FAST],
                             stderr=subprocess.PIPE)
        w.wait_for("recording", w.kwsmond)
        p.send_signal(signal.SIGINT)
        assert p.wait(10) == 0, p.stderr.read()
        assert records()[-1].type == "END"
        assert not w.kwsmond()


def killed():
    """kill -9 leaves a readable file; the next recording starts clean."""
    if os.path.exists(FILE):
        os.unlink(FILE)
    with w.sleeper() as t:
        p = subprocess.Popen(["wsmo", "record", "-q", "-o", FILE, "-p",
                              str(t.pid), *FAST], stderr=subprocess.DEVNULL)
        w.wait_for("the file", lambda: os.path.exists(FILE))
        time.sleep(1.5)
        p.kill()
        p.wait()
        r = w.wsmo("report", "wss", "--json", "-i", FILE)
        assert r.returncode == 0 and r.stdout, r
        w.wait_for("the end of the session", lambda: not w.kwsmond())
        r = w.wsmo("record", "-o", FILE, "-d", "0.5", "-p", str(t.pid), *FAST)
        assert r.returncode == 0, r
        assert records()[-1].type == "END"


def debugfs():
    """Without the device: debugfs, with one session"""
    with w.without_device(), w.sleeper() as t:
        r = w.wsmo("record", "-o", FILE, "-d", "1", "-p", str(t.pid), *FAST)
        assert r.returncode == 0 and records()[-1].type == "END", r
        assert w.idle() and w.attrs()["sample_us"] == "100000", "attributes not put back"
        w.must_put("target", "%d\n" % t.pid)
        one_line(w.wsmo("record", "-o", FILE, "-d", "1", "-p", str(t.pid)))
        assert w.running()
        r = w.wsmo("top", "--repeat=1", "--json")
        assert r.returncode == 0 and '"pid":%d,' % t.pid in r.stdout and w.running(), r
        w.must_put("target", "\n")
        fd = os.open(w.DIR + "buffer", os.O_RDONLY)
        one_line(w.wsmo("record", "-o", FILE, "-d", "1", "-p", str(t.pid)))
        os.close(fd)


def errors():
    one_line(w.wsmo("record", "-o", FILE, "-p", "2147483647"))
    one_line(w.wsmo("record", "-o", "/no/such/dir/file", "-p", str(os.getpid())))
    one_line(w.wsmo("report", "wss", "-i", "/no/such/file"))
    assert w.wsmo("record", "-p", "abc").returncode == 2
    assert w.wsmo("record").returncode == 2
    assert w.wsmo("frobnicate").returncode == 2
    one_line(w.wsmo("record", "-o", FILE, "-p", str(os.getpid()),
                  "--min-regions", "20", "--max-regions", "10"))


def full_disk():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", TMP],
                   check=True)
    try:
        with w.sleeper() as t:
            r = w.wsmo("record", "-q", "-o", FILE, "-d", "5", "-p", str(t.pid),
                     "--no-pack", *FAST)
        assert r.returncode == 1 and "space" in r.stderr, r
        assert not w.kwsmond()
        # the file system may be full before there is an estimate
        assert w.wsmo("report", "raw", "-i", FILE).returncode == 0
    finally:
        subprocess.run(["umount", TMP], check=True)


def several():
    with w.sleeper() as a, w.sleeper() as b:
        r = w.wsmo("record", "-o", FILE, "-d", "1", "-p",
                 "%d,%d" % (a.pid, b.pid), *FAST)
    assert r.returncode == 0, r
    assert {r.pid for r in records() if r.type == "WSS"} == {a.pid, b.pid}


def reports():
    """The lines other programs rely on."""
    r = w.wsmo("record", "-o", FILE, "--max-regions", "200", *FAST, "--", "hotset", "--size", "32M", "--hot",
             "8M", "--seconds", "1", "--window", "100")
    assert r.returncode == 0, r
    r = w.wsmo("report", "wss", "--json", "-i", FILE)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    assert lines, r
    for line in lines:
        assert list(line) == ["type", "t", "scope", "pid", "comm", "name", "class",
                              "window_us", "bytes", "low", "high"], line
        assert line["type"] == "wss" and line["window_us"] == 100000
        assert 0 <= line["low"] <= line["bytes"] <= line["high"]
        assert 0 <= line["t"] < 60
    r = w.wsmo("report", "regions", "--json", "-i", FILE)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    for line in lines:
        assert list(line) == ["type", "t", "pid", "comm", "class", "start", "end",
                              "share", "freq", "age_ms", "path"], line
        assert line["start"] < line["end"] and 0 <= line["share"] <= 1
    assert any(line["share"] > 0.5 and line["class"] == "anon" for line in lines)
    for view in ("wss", "regions", "summary", "raw"):
        for form in ((), ("--json",), ("--csv",), ("--raw",)):
            r = w.wsmo("report", view, *form, "-i", FILE)
            assert r.returncode == 0 and r.stdout and not r.stderr, (view, form, r)


def in_use(*args):
    """MiB of data in use according to wsmo mem"""
    r = w.wsmo("mem", "--json", "--by", "class", *args)
    assert r.returncode == 0 and not r.stderr, r
    row, = (row for row in map(json.loads, r.stdout.splitlines()) if row["class"] == "data")
    assert row["virtual"] >= row["resident"] >= 40 << 20, row
    return row["in_use"] / 2**20


@w.measured
def mem():
    """Memory in use in a running session and in its recording, for a program of 40 MiB that uses
    all of 16, nothing of 8, and every fourth page of 16 MiB"""
    one_line(w.wsmo("mem", "--live"))
    with subprocess.Popen([w.program("touch")], stdout=subprocess.PIPE, text=True) as program:
        try:
            while not program.stdout.readline().startswith("rest "):
                pass
            pid = str(program.pid)
            p = subprocess.Popen(["wsmo", "record", "-q", "-o", FILE, "-p", pid])
            w.wait_for("recording", w.kwsmond)
            time.sleep(6)
            live = in_use("--live", "-p", pid)
            alone = in_use("--live")
            p.send_signal(signal.SIGINT)
            assert p.wait(60) == 0
            later = in_use("-i", FILE, "-p", pid)
            rows = [json.loads(line) for line in w.wsmo("report", "wss", "--json", "--class", "data",
                                                      "-i", FILE).stdout.splitlines()]
        finally:
            program.kill()
    wss = [row["bytes"] / 2**20 for row in rows if row["t"] > 2]
    wss = sum(wss) / len(wss)
    print("# live %.2f, %.2f MiB; of the recording %.2f, its working set %.2f" % (live, alone, later, wss))
    assert all(19.5 < mib < 20.7 for mib in (live, alone, later, wss)) and abs(later - wss) < 0.3


@contextlib.contextmanager
def cgroups(*names, memory=True):
    """cgroup v2 with these cgroups, with or without the memory controller; kills their processes"""
    root = os.path.join(tempfile.mkdtemp(), "cgroup")
    os.mkdir(root)
    subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    made = []
    try:
        for name in names:
            path = root
            for part in name.split("/"):
                with contextlib.suppress(OSError), open(os.devnull, "w") if not memory else \
                        open(os.path.join(path, "cgroup.subtree_control"), "w") as f:
                    f.write("+memory")
                path = os.path.join(path, part)
                if not os.path.exists(path):
                    os.mkdir(path)
                    made.append(path)
        yield root
    finally:
        for path in reversed(made):
            end(path)
        subprocess.run(["umount", "-l", root], check=False)


def end(path):
    """Kill the processes of a cgroup, and remove it."""
    if os.path.exists(path):
        with open(os.path.join(path, "cgroup.kill"), "w") as f:
            f.write("1")
        w.wait_for("an empty cgroup", lambda: not procs(path))
        os.rmdir(path)


def procs(path):
    with open(os.path.join(path, "cgroup.procs")) as f:
        return f.read().split()


def worker(path, hot):
    """A process with 32 MiB in a cgroup of its own, and its use of them"""
    def attach():
        with open(os.path.join(path, "cgroup.procs"), "w") as f:
            f.write("0")
    p = subprocess.Popen([sys.executable, "-c", """if True:
        import mmap, time
        m = mmap.mmap(-1, 32 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        m.madvise(mmap.MADV_NOHUGEPAGE)
        m[::4096] = bytes(32 << 8)
        print("ready", flush=True)
        while True:
            m[:%d << 20:4096] = bytes(%d << 8)
            time.sleep(0.1)""" % (hot, hot)], stdout=subprocess.PIPE, preexec_fn=attach)
    assert p.stdout.readline() == b"ready\n"


def top_tables(out):
    """A list of {name: row}, one for each table; the first row of each is the total"""
    found = []
    for line in out.splitlines():
        row = json.loads(line)
        assert row["type"] == "cgroup" and row["class"] == "all", row
        if row["scope"] == "total":
            found.append({})
        assert row["name"] not in found[-1]
        found[-1][row["name"]] = row
    return found


@w.measured
def top_of_cgroups():
    """A row for each service, sorted by unused memory; services come and go"""
    names = ("test/a.service", "test/b.service", "test/c.scope/inner", "test/d", "test/none.service",
             "test/new.service")
    with cgroups(*names) as root:
        hot = {"/test/a.service": 16, "/test/b.service": 2, "/test/c.scope": 8, "/test/d": 24}
        for name, mib in hot.items():
            worker(root + name + ("/inner" if "scope" in name else ""), mib)
        p = subprocess.Popen(["wsmo", "top", "--cgroup", root + "/test", "--json", "--cpu", "100%",
                              "--aggr", "500ms", "--window", "500ms", "-d", "16"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(5)
        worker(root + "/test/new.service", 4)
        end(root + "/test/b.service")
        out, err = p.communicate(timeout=60)
        assert p.returncode == 0 and not err, err
        tables = top_tables(out)
        first, last = tables[2], tables[-1]
        for name, row in first.items():
            print("# %s: %d processes, %.1f MiB (%.1f to %.1f), rss %.1f, idle %.1f" % (
                name, row["processes"], *(row[k] / 2**20 for k in ("bytes", "low", "high", "rss", "idle"))))
        assert list(first) == ["/test", "/test/b.service", "/test/c.scope", "/test/a.service", "/test/d"]
        for name, mib in {**hot, "/test": sum(hot.values())}.items():
            row = first[name]
            n = 4 if name == "/test" else 1
            # in addition: text, heap and stack of each interpreter
            assert mib * 0.97 < row["bytes"] / 2**20 < mib * 1.03 + 3 * n, row
            assert row["low"] <= row["bytes"] <= row["high"] and row["processes"] == n, row
            assert 32 * n < row["rss"] / 2**20 < 42 * n, row
            assert row["idle"] == row["rss"] - row["bytes"], row
        assert set(last) == {"/test", "/test/a.service", "/test/c.scope", "/test/d", "/test/new.service"}
        assert last["/test/new.service"]["processes"] == 1 and not w.kwsmond()
        one_line(w.wsmo("top", "--cgroup", "/test/nothing", "--repeat=1"))
        one_line(w.wsmo("mem", "--cgroup", root + "/test/none.service"))


def top_of_many():
    """As many rows as fit, and a line that says how many are left out; RSS without the
    controller"""
    ram = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    room = min(60, ram // (256 << 20) + 1)
    names = ["many/s%02d.service" % i for i in range(room + 3)]
    with cgroups(*names, memory=False) as root:
        assert not os.path.exists(os.path.join(root, names[0], "memory.stat"))
        for name in names:
            subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: open(
                os.path.join(root, name, "cgroup.procs"), "w").write("0"))
        r = w.wsmo("top", "--all", "--json", "--repeat=10", "--interval", "20ms")
        tables = top_tables(r.stdout)
        assert r.returncode == 0 and len(tables) == 10, r
        assert all(row["rss"] for table in tables for row in table.values()), tables
        assert len(tables[1]) == 1 + room and list(tables[1])[0] == "/", tables[1]
        assert "3 smaller cgroups have no row: there is room for %d" % room in r.stderr, r


def locked_down():
    """Under lockdown=integrity debugfs is closed, and the device works."""
    with open(LOCKDOWN, "w") as f:
        f.write("integrity")
    with w.Target("while True:\n time.sleep(0.01)\n") as t:
        try:
            w.put("target", "%d\n" % t.pid)
            raise AssertionError("debugfs is open")
        except PermissionError:
            pass
        r = w.wsmo("record", "-o", FILE, "-p", str(t.pid), "-d", "1", *FAST)
        assert r.returncode == 0 and any(x.type == "WSS" for x in records()), r


w.need("wsmo", "hotset")
tests = [without_module, not_root, check, attach, command, interrupted, killed,
         debugfs, errors, full_disk, several, reports, mem, top_of_cgroups, top_of_many]
# irreversible: it is the last test, and runs only in a virtual machine
if "WSMON_KERNEL" in os.environ:
    subprocess.run(["mount", "-t", "securityfs", "none", "/sys/kernel/security"])
    if os.path.exists(LOCKDOWN):
        tests.append(locked_down)
w.main(*tests)
