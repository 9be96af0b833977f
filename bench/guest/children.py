# SPDX-License-Identifier: GPL-2.0
"""Time of a fork, an exec and an exit in a monitored process, beside many others."""
import subprocess

import wsmontest as w
from cgroup_test import Cgroup, attach
from device_test import Session
from guest.groups import mount
from guest.machine import build, row

KINDS = ("call", "fork", "exec")
LONG = "window_us=1000000,60000000 "
MONITORS = {"nobody": None, "follow=0": "follow=0 pid=%d\n", "follow=1": "follow=1 pid=%d\n",
            "follow=1, 1s,1m": LONG + "follow=1 pid=%d\n", "cgroup": "cgroup=/test\n",
            "cgroup, 1s,1m": LONG + "cgroup=/test\n", "nobody again": None}


def times(p, number, kind):
    p.stdin.write("%d %s\n" % (number, kind))
    p.stdin.flush()
    return [int(word) for word in p.stdout.readline().split()]


def groups(s):
    """(ended members, ended members without a last look) in a session"""
    s.put("stop")
    records = [r for r in s.read_all() if r.type == "GROUP"]
    return sum(r.went for r in records), sum(r.missed for r in records)


def main(todo):
    w.load()
    mount()
    program = build("children")
    sleepers = subprocess.Popen([program, "sleepers", str(todo["sleepers"])], stdout=subprocess.PIPE)
    assert sleepers.stdout.readline() == b"ready\n"
    found = {(kind, monitor): ([], []) for kind in KINDS for monitor in MONITORS}
    ended = {monitor: [0, 0] for monitor in MONITORS}
    with Cgroup(), subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    preexec_fn=lambda: attach("test")) as p:
        for n in range(todo["blocks"]):
            for monitor in [*MONITORS][n % len(MONITORS):] + [*MONITORS][:n % len(MONITORS)]:
                text = MONITORS[monitor]
                s = Session(text % p.pid if "%" in text else text) if text else None
                # its beginning, in which it learns the cost of looks, is not measured
                times(p, todo["before"], "exec")
                for kind in KINDS:
                    *ns, cpu = times(p, todo["times"], kind)
                    found[kind, monitor][0].extend(ns)
                    found[kind, monitor][1].append(cpu)
                if s:
                    with s:
                        ended[monitor] = [a + b for a, b in zip(ended[monitor], groups(s))]
        p.stdin.close()
    sleepers.kill()
    for (kind, monitor), (ns, cpu) in found.items():
        went, missed = ended[monitor] if kind == "exec" else (0, 0)
        row(kind=kind, monitor=monitor, sleepers=todo["sleepers"], ns=sorted(ns),
            cpu=cpu, went=went, missed=missed)
