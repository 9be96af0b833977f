# SPDX-License-Identifier: GPL-2.0
"""DAMON acting by itself: its schemes in the kernel, with the rules of wsmo act."""
import json
import os
import subprocess

from damon import ADMIN, CHECKS, _put

AGGR_US = 100000
FOREVER = (1 << 32) - 1
ACTIONS = ("pageout", "hugepage", "nohugepage", "cold", "willneed", "stat")


def rules(preset):
    """Of a preset, as wsmo reads it."""
    out = subprocess.run(["wsmo", "act", "--scheme", preset, "--show", "--json"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def _bounds(directory, name, low, high):
    _put("%saccess_pattern/%s/min" % (directory, name), low)
    _put("%saccess_pattern/%s/max" % (directory, name), high)


class Schemes:
    """At work from now on, at damo's default intervals, with wsmo's default quotas."""

    def __init__(self, pid, preset, bytes_per_s=256 << 20, cpu_ms=500):
        _put(ADMIN + "nr_kdamonds", 1)
        self.dir = ADMIN + "0/"
        _put(self.dir + "contexts/nr_contexts", 1)
        context = self.dir + "contexts/0/"
        _put(context + "operations", "vaddr")
        _put(context + "monitoring_attrs/intervals/sample_us", AGGR_US // CHECKS)
        _put(context + "monitoring_attrs/intervals/aggr_us", AGGR_US)
        _put(context + "targets/nr_targets", 1)
        _put(context + "targets/0/pid_target", pid)
        wanted = rules(preset)
        _put(context + "schemes/nr_schemes", len(wanted))
        self.schemes = []
        for i, rule in enumerate(wanted):
            scheme = "%sschemes/%d/" % (context, i)
            _put(scheme + "action", rule["action"])
            _bounds(scheme, "sz", rule["min_size"], rule["max_size"] or (1 << 63))
            _bounds(scheme, "nr_accesses", round(rule["min_share"] * CHECKS),
                    int(rule["max_share"] * CHECKS))
            _bounds(scheme, "age", rule["min_age_ns"] // 1000 // AGGR_US, FOREVER)
            _put(scheme + "quotas/bytes", bytes_per_s)
            _put(scheme + "quotas/ms", cpu_ms)
            _put(scheme + "quotas/reset_interval_ms", 1000)
            self.schemes.append(scheme)
        _put(self.dir + "state", "on")
        with open(self.dir + "pid") as f:
            self.thread = int(f.read())

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.thread) as f:
            return int(f.read().split()[0])

    def applied(self):
        """Bytes, of each rule."""
        _put(self.dir + "state", "update_schemes_stats")
        found = []
        for scheme in self.schemes:
            with open(scheme + "stats/sz_applied") as f:
                found.append(int(f.read()))
        return found

    def stop(self):
        if os.path.exists("/proc/%d" % self.thread):
            _put(self.dir + "state", "off")
        _put(ADMIN + "nr_kdamonds", 0)
