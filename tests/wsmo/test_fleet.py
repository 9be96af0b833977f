# SPDX-License-Identifier: GPL-2.0
"""export --live of cgroups: all, in turns, the largest; cgroups that come, go and fail."""
import os
import re
import shutil
import signal
import subprocess
import time

from command import WSMO, Directory, every, ok, run, wait_for
from fakedevice import MIB, Device
from test_export import openmetrics_load

SIZE = "wsmon_working_set_bytes"


class Exporter:
    """A running export to a file"""

    def __init__(self, d, device, *args, root="/"):
        self.d = d
        self.p = subprocess.Popen(
            [WSMO, "export", "openmetrics", "--live", "--interval", "50ms", "-o", d.path("x.prom"),
             *(("--cgroups", root) if root else ()), *args], stderr=subprocess.PIPE, env=device.env)

    def load(self):
        try:
            return openmetrics_load(self.d.read("x.prom").decode(), True)
        except FileNotFoundError:
            return {}

    def values(self, name=SIZE, label="cgroup", **labels):
        """Values by cgroup or root"""
        found = {}
        for key, of in self.load().get(name, {"samples": {}})["samples"].items():
            pairs = dict(re.fullmatch(r'(\w+)="(.*)"', x).groups() for x in key)
            if all(pairs.get(k) == v for k, v in labels.items()):
                found[pairs[label]] = of[0][1]
        return found

    def plain(self, name):
        return self.values(name, "root")["/"]

    def wait(self, condition, seconds=20):
        return wait_for(lambda: condition(self), seconds)

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        err = self.p.communicate(timeout=20)[1]
        return self.p.returncode == 0 and not err and not os.path.exists(self.d.path("x.prom"))


def test_each(d):
    """The metrics of each, with and without options"""
    device = Device(d)
    device.cgroup("/system.slice/web-30.service", 90 * MIB, 2)
    device.cgroup("/system.slice/x\\x2d\"y-7.scope/below-1", 0)
    device.cgroup("/empty-1.service", processes=0)
    web, odd = "/system.slice/web-30.service", '/system.slice/x\\\\x2d\\"y-7.scope'
    shutil.copytree(d.path("cgroups"), d.path("kept"))
    e = Exporter(d, device)
    ok(e.wait(lambda e: e.values() == {web: 30 * MIB, odd: 7 * MIB}), "the working set of each",
       e.load())
    m = e.load()
    ok(e.values("wsmon_working_set_low_bytes", **{"class": "all", "window": "0.1"}) ==
       {web: 30 * MIB - 4096, odd: 7 * MIB - 4096} and
       e.values("wsmon_working_set_high_bytes") == {web: 30 * MIB + 4096, odd: 7 * MIB + 4096},
       "its ends", m)
    ok(e.values("wsmon_resident_bytes") == {web: 90 * MIB}, "resident sizes that are known", m)
    ok(e.values("wsmon_processes") == {web: 3, odd: 3}, "processes", m)
    ok(every(0 <= time.time() - t < 2 for t in e.values("wsmon_estimate_timestamp_seconds").values()),
       "when that was", time.time(), m)
    ok([e.plain("wsmon_" + x) for x in ("monitoring", "cgroups", "cgroups_watched",
                                       "cgroups_left_out", "lost_records_total")] ==
       [1, 2, 2, 0, 0] and 0 < e.plain("wsmon_cpu_seconds_total") < 1, "counts, costs", m)
    shutil.rmtree(d.path("cgroups" + web))
    device.cgroup("/later-5.service")
    ok(e.wait(lambda e: e.values() == {"/later-5.service": 5 * MIB, odd: 7 * MIB}),
       "one goes, one comes", e.load())
    ok(e.end() and wait_for(lambda: not device.open()), "it ends on a signal", e.p.returncode)
    e = Exporter(d, device, "--cgroup", "/later-5.service", "--class", "all,anon", "--window",
                 "100ms,1s", "--cpu", "5%", root=None)
    ok(e.wait(lambda e: e.values(window="1", **{"class": "anon"})), "one cgroup alone", e.load())
    ok(len(e.load()[SIZE]["samples"]) == 4, "with classes and windows", e.load())
    ok(e.end(), "which ends, too", e.p.returncode)
    device.close()


def test_names():
    """A name is data, whatever its bytes"""
    odd = ["/a b-1.scope", "/tab\twho_rate=5000-2.scope", "/.hidden-3.scope", "/back\\x2d\\040-4.scope",
           "/" + 245 * " " + "-5.scope", "/bad\udcff-6.scope", "/=-7.scope"]
    with Directory() as d:
        device = Device(d)
        for name in odd:
            device.cgroup(name)
        e = Exporter(d, device)
        ok(e.wait(lambda e: len(e.values()) == len(odd)) and set(device.watched) == set(odd) and
           not device.refused and sorted(e.values().values()) == [i * MIB for i in range(1, 8)],
           "figures of each", e.load(), device.watched)
        ok(e.end(), "it ends")
        # the first is the printed form of the second
        for name in "/tab\\011who_rate=5000-2.scope", "/tab\twho_rate=5000-2.scope", "/a b-1.scope":
            device.watched = {}
            e = Exporter(d, device, "--cgroup", name, root=None)
            ok(e.wait(lambda e: e.values()) and list(device.watched) == [name.replace("\\011", "\t")],
               "as it is printed, and as it is", e.load(), device.watched)
            ok(e.end(), "it ends")
        device.close()


def test_in_turns(d):
    """Ten cgroups, three at a time, each with figures until its next turn. Then six; then too many
    files"""
    device = Device(d)
    paths = ["/c%d-%d.scope" % (i, i + 1) for i in range(10)]
    for i, path in enumerate(paths):
        device.cgroup(path, (i + 1) * MIB)
    e = Exporter(d, device, "--at-once", "3", "--cpu", "50%")
    ok(e.wait(lambda e: len(e.values()) == 10, 30), "all have figures", e.load(), device.watched)
    ok(e.wait(lambda e: min(device.watched.values()) >= 2, 40) and device.most == 3 and
       max(device.watched.values()) <= 3, "each has its turn", device.watched, device.most)
    times = e.values("wsmon_estimate_timestamp_seconds")
    ok(len(e.values()) == 10 and 2 < max(times.values()) - min(times.values()) < 15,
       "figures stay, and say of when they are", times)
    cpu = e.plain("wsmon_cpu_seconds_total")
    ok(e.wait(lambda e: e.plain("wsmon_cpu_seconds_total") > cpu + 0.01), "costs add up")
    ok(e.end(), "it ends")
    device.watched = {}
    e = Exporter(d, device, "--max-cgroups", "6")
    ok(e.wait(lambda e: set(e.values()) == set(paths[4:])) and e.plain("wsmon_cgroups_left_out") == 4 and
       e.plain("wsmon_cgroups") == 10 and set(device.watched) == set(paths[4:]),
       "the largest of them", e.load(), device.watched)
    ok(e.end(), "it ends")
    device.watched, device.files = {}, 2
    e = Exporter(d, device, "--cpu", "50%")
    ok(e.wait(lambda e: len(device.watched) == 10 and len(e.values()) == 10, 40) and
       e.plain("wsmon_cgroups_watched") <= 2, "others have the other files: turns", e.load(),
       device.watched)
    ok(e.end(), "it ends")
    device.close()


def test_costs(d):
    """Turns that take half a second to begin: at 3 % one begins every 17 s"""
    device = Device(d, cost_ns=500000000)
    for i in range(4):
        device.cgroup("/c-%d.scope" % (i + 1))
    e = Exporter(d, device, "--at-once", "1")
    ok(e.wait(lambda e: e.values()) and not wait_for(lambda: len(device.watched) > 1, 5),
       "they begin when there is time", device.watched)
    ok(e.end(), "it ends")
    e = Exporter(d, device, "--at-once", "1", "--cpu", "100%")
    ok(e.wait(lambda e: len(e.values()) == 4), "not without a limit", device.watched)
    ok(e.end(), "it ends")
    device.cost_ns = 0
    e, began = Exporter(d, device, "--at-once", "2"), time.monotonic()
    ok(e.wait(lambda e: time.monotonic() > began + 8 and len(e.values()) == 4) and
       e.plain("wsmon_cpu_seconds_total") < 0.1 + 0.03 * (time.monotonic() - began),
       "intervals count, too: each takes 10 % of a CPU", e.load(), time.monotonic() - began)
    ok(e.end(), "it ends")
    device.late = 2.5
    e = Exporter(d, device, "--at-once", "2", "--cpu", "100%")
    ok(e.wait(lambda e: len(e.values()) == 4), "figures that are late are waited for", e.load())
    ok(e.end(), "it ends")
    device.close()


def test_refused():
    for args, word in ((("--cgroups", "/"), "--live"), (("--live", "--at-once", "3"), "--cgroups"),
                       (("--live", "--cgroup", "/a", "--cgroups", "/"), "only one"),
                       (("--live", "--cgroups", ""), "is empty"),
                       (("--live", "--cgroups", "/" + 1000 * " "), "too long"),
                       (("--live", "--cgroups", "/", "-p", "1"), "none of -i"),
                       (("--live", "--cgroups", "/", "--time", "1,2"), "none of -i"),
                       (("--live", "--cgroups", "/", "--at-once", "61"), "60"),
                       (("--live", "--cgroups", "/", "--window", "1500m"), "a day"),
                       (("--live", "--cgroups", "/", "--cpu", "0"), "too small")):
        res = run("export", "openmetrics", *args)
        ok(res.returncode == 2 and word in res.stderr.decode() and not res.stdout,
           "refused: " + " ".join(args), res.stderr)
    with Directory() as d:
        device = Device(d)
        e = Exporter(d, device, root="/none")
        err = e.p.communicate(timeout=20)[1]
        ok(e.p.returncode == 1 and err == b"wsmo: no such cgroup (of version 2): /none\n",
           "no such root", err)
        device.close()
        os.unlink(d.path("device"))
        e = Exporter(d, device)
        err = e.p.communicate(timeout=20)[1]
        ok(e.p.returncode == 1 and err.startswith(b"wsmo: /") and err.count(b"\n") == 1, "no device", err)
