#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""wsmo export openmetrics --live, and wsmo top, with the real module."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time

import cgroup_test
import wsmontest as w

FAST = "sample_us=20000 aggr_us=100000 update_us=100000 window_us=100000 cpu_permille=1000 pid=%d"
# rounds so rare that a guest with a third of a processor finishes them in time
CALM = "sample_us=50000 aggr_us=250000 update_us=250000 window_us=250000 cpu_permille=1000 pid=%d"
MIB = 1 << 20
# 8 MiB in use, and 40 MiB for two seconds out of twelve: more often would be usual
BURSTS = """
m = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(mmap.MADV_NOHUGEPAGE)
began = time.monotonic()
while True:
    size = 40 << 20 if (time.monotonic() - began) % 12 > 10 else 8 << 20
    # as one statement, so that 40 MiB take far less than a window on a busy machine, too
    m[0:size:4096] = bytes(size // 4096)
    time.sleep(0.02)
"""


def metrics(path):
    """Values by name and labels; whenever @path exists it is complete"""
    with open(path) as f:
        text = f.read()
    assert text.endswith("# EOF\n"), text[-200:]
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            found[name, labels] = float(value)
    return found


def one(found, name, *words):
    values = [v for (n, labels), v in found.items()
              if n == name and all(word in (labels or "") for word in words)]
    assert len(values) == 1, (name, words, found)
    return values[0]


class Exporter:
    """A running export to a file"""

    def __init__(self, *args, before=()):
        self.dir = tempfile.mkdtemp()
        self.path = os.path.join(self.dir, "wsmon.prom")
        self.process = subprocess.Popen(
            [*before, "wsmo", "export", "openmetrics", "--live", "-o", self.path, *args],
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        w.wait_for("the file", lambda: os.path.exists(self.path))
        return self

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        err = self.process.communicate(timeout=10)[1]
        assert self.process.returncode == 0 and not err, (self.process.returncode, err)
        assert not os.listdir(self.dir), "it left something behind"

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def find(self, what, condition, seconds=20):
        try:
            w.wait_for(what, lambda: condition(metrics(self.path)), seconds)
        except AssertionError:
            print("# there is: %s" % metrics(self.path), flush=True)
            raise


@w.measured
def figures():
    """The figures in the file are right"""
    with w.Target(BURSTS) as t, Exporter("--interval", "50ms") as e, \
            open("/dev/wsmon", "r+b", buffering=0) as device:
        e.find("that nothing runs", lambda m: one(m, "wsmon_monitoring") == 0)
        assert not any(name == "wsmon_working_set_bytes" for name, _ in metrics(e.path))
        device.write((FAST % t.pid).encode())
        label = 'pid="%d"' % t.pid
        e.find("a working set", lambda m: any(n == "wsmon_working_set_bytes" for n, _ in m))
        time.sleep(1)
        m = metrics(e.path)
        size, low, high = (one(m, "wsmon_working_set%s_bytes" % x, label, 'class="all"')
                           for x in ("", "_low", "_high"))
        print("# working set %.1f MiB (%.1f to %.1f)" % (size / MIB, low / MIB, high / MIB))
        assert low <= size <= high and 6 * MIB < size < 48 * MIB, (size, low, high)
        with open("/proc/%d/statm" % t.pid) as f:
            rss = int(f.read().split()[1]) * 4096
        assert abs(one(m, "wsmon_resident_bytes", label) - rss) < 40 * MIB
        with open("/proc/%d/comm" % t.pid) as f:
            name = f.read().strip()
        assert any('comm="%s"' % name in (labels or "") for _, labels in m), name
        assert one(m, "wsmon_monitoring") == 1 and one(m, "wsmon_cpu_seconds_total") > 0
        assert one(m, "wsmon_lost_records_total") == 0
        got = {re.search('class="(.*?)"', labels).group(1) for name, labels in m
               if name == "wsmon_working_set_bytes"}
        assert {"all", "text", "heap", "stack", "anon"} <= got, got
        device.close()
        t.kill()
        e.find("the end", lambda m: one(m, "wsmon_monitoring") == 0)
        e.end()


@w.measured
def peaks():
    """A peak is exported while it lasts, and its end; top shows it, too"""
    with w.Target(BURSTS) as t, Exporter("--interval", "50ms") as e, \
            open("/dev/wsmon", "r+b", buffering=0) as device:
        device.write((CALM % t.pid).encode())
        # it ends with the monitoring: when this test ends, at the latest
        top = subprocess.Popen(["wsmo", "top", "--csv", "--interval", "200ms"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        label = 'pid="%d"' % t.pid
        group = 'group="all"'
        e.find("a peak", lambda m: any(n == "wsmon_peak" for n, _ in m) and
               one(m, "wsmon_peak", label, group) == 1, 60)
        assert one(metrics(e.path), "wsmon_peaks_total", label) >= 1
        e.find("its end", lambda m: one(m, "wsmon_peak", label, group) == 0, 20)
        device.close()
        t.kill()
        err = top.communicate(timeout=20)[1]
        assert top.returncode == 0 and re.search(r"%d \S+: peak \d+ of all, [\d.]+ MiB; usual is" %
                                                 t.pid, err), err
        e.end()


def beside_a_recording():
    """The exporter and a recorder both get all records"""
    data = os.path.join(tempfile.mkdtemp(), "data")
    with w.Target(BURSTS) as t, Exporter("--interval", "20ms") as e:
        r = subprocess.run(["wsmo", "record", "-o", data, "-d", "3", "-p", str(t.pid),
                            "--sample", "20ms", "--aggr", "100ms", "--window", "100ms"],
                           capture_output=True, text=True)
        assert r.returncode == 0 and "LOST" not in r.stderr, r
        r = subprocess.run(["wsmo", "report", "summary", "--json", "-i", data],
                           capture_output=True, text=True)
        assert r.returncode == 0 and '"lost_records":0' in r.stdout, r
        e.end()


def gone():
    """The module is unloaded: the exporter says so, and removes its file"""
    with Exporter("--interval", "50ms") as e:
        # the exporter has the module in use while it reads one of its files
        w.wait_for("unloading", lambda: not subprocess.run(
            ["rmmod", "wsmon"], stderr=subprocess.DEVNULL).returncode)
        err = e.process.communicate(timeout=10)[1]
        assert e.process.returncode == 1 and err.startswith("wsmo: ") and \
            err.count("\n") == 1, err
        assert not os.listdir(e.dir)
        w.load()


@contextlib.contextmanager
def containers(**sizes):
    """A cgroup /fleet with a child for each name, in which a process uses so many MiB"""
    root = os.path.join(cgroup_test.ROOT, "fleet")
    os.makedirs(root)
    for path in cgroup_test.ROOT, root:
        with open(os.path.join(path, "cgroup.subtree_control"), "w") as f:
            f.write("+memory")
    workers = {}
    try:
        for name, mib in sizes.items():
            os.mkdir(os.path.join(root, name))
            workers[name] = cgroup_test.worker("fleet/" + name, mib)
        yield workers
    finally:
        for name, p in workers.items():
            p.kill()
            p.wait()
            w.wait_for("its end", lambda n=name: not remove(os.path.join(root, n)))
        os.rmdir(root)


def remove(path):
    """Return: whether the cgroup is still there"""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        return True
    return False


def of_cgroup(m, name, *words):
    """Values by cgroup"""
    return {re.search('cgroup="(.*?)"', labels).group(1): v for (n, labels), v in m.items()
            if n == name and "cgroup=" in (labels or "") and all(word in labels for word in words)}


SIZE = "wsmon_working_set_bytes"


@w.measured
def cgroups():
    """Each cgroup below a root, as they come and go; then a single one"""
    with containers(small=8, large=40) as workers, \
            Exporter("--cgroups", "/fleet", "--interval", "500ms", "--cpu", "100%") as e:
        both = {"/fleet/small": 8, "/fleet/large": 40}
        e.find("two working sets", lambda m: set(of_cgroup(m, SIZE)) == set(both), 60)
        time.sleep(3)
        m = metrics(e.path)
        for path, mib in both.items():
            size, low, high = (of_cgroup(m, "wsmon_working_set%s_bytes" % x, 'class="all",window="1"')[path]
                               for x in ("", "_low", "_high"))
            print("# %s: %.1f MiB (%.1f to %.1f)" % (path, size / MIB, low / MIB, high / MIB))
            # in addition: text, heap and stack of an interpreter
            assert low <= size <= high and mib - 1 < size / MIB < mib + 8, (size, low, high)
            assert 64 < of_cgroup(m, "wsmon_resident_bytes")[path] / MIB < 90, m
            assert of_cgroup(m, "wsmon_processes")[path] == 1
            assert 0 <= time.time() - of_cgroup(m, "wsmon_estimate_timestamp_seconds")[path] < 5, m
        for name, value in (("wsmon_monitoring", 1), ("wsmon_cgroups", 2),
                            ("wsmon_cgroups_watched", 2), ("wsmon_cgroups_left_out", 0),
                            ("wsmon_lost_records_total", 0)):
            assert m[name, 'root="/fleet"'] == value, (name, m)
        assert m["wsmon_cpu_seconds_total", 'root="/fleet"'] > 0
        workers["small"].kill()
        workers.pop("small").wait()
        w.wait_for("its end", lambda: not remove(os.path.join(cgroup_test.ROOT, "fleet/small")))
        e.find("that it is gone", lambda m: set(of_cgroup(m, SIZE)) == {"/fleet/large"}, 30)
        os.mkdir(os.path.join(cgroup_test.ROOT, "fleet/new"))
        workers["new"] = cgroup_test.worker("fleet/new", 4)
        e.find("a new one", lambda m: set(of_cgroup(m, SIZE)) == {"/fleet/large", "/fleet/new"}, 40)
        e.end()
        # with no more capabilities than in contrib/wsmon-export.service
        with Exporter("--cgroup", os.path.join(cgroup_test.ROOT, "fleet"), "--class", "anon",
                      "--interval", "500ms", "--window", "1s,2s",
                      before=("setpriv", "--bounding-set=-all,+sys_admin")) as e:
            e.find("one alone", lambda m: set(of_cgroup(m, SIZE, 'class="anon",window="2"')) ==
                   set(of_cgroup(m, SIZE)) == {"/fleet"}, 60)
            assert of_cgroup(metrics(e.path), "wsmon_processes") == {"/fleet": 2}
            e.end()


@w.measured
def turns():
    """Four cgroups in turn, one at a time; two of them are beyond --max-cgroups"""
    names = dict(a=1, b=2, c=4, d=8)
    with containers(**names), \
            Exporter("--cgroups", "/fleet", "--interval", "500ms", "--at-once", "1", "--cpu", "100%",
                     "--max-cgroups", "2") as e:
        when = {}

        def found(m):
            when.update(of_cgroup(m, "wsmon_estimate_timestamp_seconds"))
            assert m["wsmon_cgroups_watched", 'root="/fleet"'] <= 1, m
            return m["wsmon_cgroups", 'root="/fleet"'] == 4 and len(of_cgroup(m, SIZE)) == 2
        e.find("two of four", found, 90)
        first = dict(when)
        assert metrics(e.path)["wsmon_cgroups_left_out", 'root="/fleet"'] == 2
        assert set(of_cgroup(metrics(e.path), SIZE)) == set(when), when
        e.find("later figures of both", lambda m: found(m) and all(when[x] > first[x] + 5 for x in first), 90)
        print("# between two figures of one: %s s" % [round(when[x] - first[x]) for x in first])
        e.end()
    r = subprocess.run(["wsmo", "export", "openmetrics", "--live", "--cgroups", "/none"],
                       capture_output=True, text=True)
    assert r.returncode == 1 and r.stderr == "wsmo: no such cgroup (of version 2): /none\n", r


w.need("wsmo")
os.mkdir(cgroup_test.ROOT)
subprocess.run(["mount", "-t", "cgroup2", "none", cgroup_test.ROOT], check=True)
try:
    tests = [figures, peaks, beside_a_recording, cgroups, gone]
    # it takes half a minute, and nothing in it depends on the kernel
    if os.uname().release.startswith("6.1."):
        tests.append(turns)
    w.main(*tests)
finally:
    subprocess.run(["umount", "-l", cgroup_test.ROOT], check=False)
