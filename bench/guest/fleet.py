# SPDX-License-Identifier: GPL-2.0
"""wsmo export openmetrics --live --cgroups, of more cgroups than it watches at once"""
import os
import re
import subprocess
import tempfile
import time

import wsmontest as w
from cgroup_test import ROOT
from guest.groups import mount
from guest.machine import MIB, build, read, row, say, status, write

FLEET = os.path.join(ROOT, "fleet")
OUT = os.path.join(tempfile.mkdtemp(), "wsmon.prom")
TICKS = os.sysconf("SC_CLK_TCK")
# text and stack of the program, in addition to its memory
PROGRAM = MIB / 4


def kernel_memory():
    """The kernel's memory for sessions"""
    return sum(int(line.split()[1]) << 10 for line in read("/proc/meminfo").splitlines()
               if line.split(":")[0] in ("VmallocUsed", "SUnreclaim"))


def cpu_seconds(pid):
    fields = read("/proc/%d/stat" % pid).rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def metrics():
    """{name: {cgroup or "": value}}"""
    found = {}
    for line in read(OUT).splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            cgroup = re.search('cgroup="(.*?)"', labels)
            found.setdefault(name, {})[cgroup[1] if cgroup else ""] = float(value)
    return found


def is_right(m, cgroup):
    """Within 5 %, or in the interval"""
    size, low, high = (m["wsmon_working_set%s_bytes" % x][cgroup] for x in ("", "_low", "_high"))
    truth = (int(cgroup.rpartition("/")[2]) % 8 + 1) * MIB / 4
    return 0.95 * truth <= size <= 1.05 * truth + PROGRAM or \
        low <= truth + PROGRAM and truth <= high


class Watch:
    """Reads the file once a second"""

    def __init__(self, exporter, nr):
        self.exporter, self.nr, self.before = exporter, nr, kernel_memory()
        self.began, self.half, self.all, self.memory = time.monotonic(), None, None, 0
        self.figures, self.last, self.again, self.oldest = {}, {}, [], 0

    def look(self):
        assert self.exporter.poll() is None
        self.memory = max(self.memory, kernel_memory() - self.before)
        if not os.path.exists(OUT):
            return
        m, now = metrics(), time.monotonic() - self.began
        when = m.get("wsmon_estimate_timestamp_seconds", {})
        for cgroup, t in when.items():
            # during a turn there is a figure each second
            if t > self.last.get(cgroup, t) + 30:
                self.again.append(t - self.last[cgroup])
            if t != self.last.get(cgroup):
                self.figures[cgroup, t] = is_right(m, cgroup)
            self.last[cgroup] = t
        if not self.half and len(when) >= self.nr / 2:
            self.half = now
        if not self.all and len(when) == self.nr:
            self.all = now
        if self.all:
            self.oldest = max(self.oldest, time.time() - min(when.values()))
        self.cpu = m["wsmon_cpu_seconds_total"][""]

    def row(self, percent):
        seconds = time.monotonic() - self.began
        row(cgroups=self.nr, percent=percent, seconds=seconds,
            had=len(self.last), half=self.half, all=self.all,
            again=sorted(self.again)[len(self.again) // 2] if self.again else None,
            oldest=self.oldest, figures=len(self.figures), right=sum(self.figures.values()),
            cpu=self.cpu / seconds, wsmo_cpu=cpu_seconds(self.exporter.pid) / seconds,
            memory=self.memory, wsmo_memory=status(self.exporter.pid, "VmHWM"),
            file=os.stat(OUT).st_size)


def main(todo):
    w.load()
    mount()
    os.mkdir(FLEET)
    for path in ROOT, FLEET:
        write(path + "/cgroup.subtree_control", "+memory")
    for i in range(todo["cgroups"]):
        os.mkdir("%s/%d" % (FLEET, i))
    workers = subprocess.Popen([build("fleet"), FLEET, str(todo["cgroups"])],
                               stdout=subprocess.PIPE, text=True)
    assert workers.stdout.readline() == "ready\n"
    time.sleep(10)
    exporter = subprocess.Popen(["wsmo", "export", "openmetrics", "--live", "--cgroups", "/fleet",
                                 "--interval", "5s", "-o", OUT, "--cpu", "%d%%" % todo["percent"]])
    watch = Watch(exporter, todo["cgroups"])
    while time.monotonic() < watch.began + todo["seconds"]:
        time.sleep(1)
        watch.look()
        if round(time.monotonic() - watch.began) % 60 == 0:
            say("%d s: %d have figures" % (time.monotonic() - watch.began, len(watch.last)))
    watch.row(todo["percent"])
    exporter.terminate()
    exporter.wait()
    workers.kill()
