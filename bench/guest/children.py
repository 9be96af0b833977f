# SPDX-License-Identifier: GPL-2.0
"""How long a fork, an exec and an exit take in a process that is monitored."""
import subprocess

import wsmontest as w
from guest.machine import Session, build, row

KINDS = ("call", "fork", "exec")
MONITORS = ("nobody", "follow=0", "follow=1", "nobody again")


def times(p, number, kind):
    p.stdin.write("%d %s\n" % (number, kind))
    p.stdin.flush()
    return [int(word) for word in p.stdout.readline().split()]


def main(todo):
    w.load()
    program = build("children")
    found = {(kind, monitor): ([], []) for kind in KINDS for monitor in MONITORS}
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as p:
        for n in range(todo["blocks"]):
            for monitor in MONITORS[n % 4:] + MONITORS[:n % 4]:
                s = Session([p.pid], monitor) if monitor.startswith("follow") else None
                for kind in KINDS:
                    # not what the session's beginning costs
                    times(p, 10, kind)
                    *ns, cpu = times(p, todo["times"], kind)
                    found[kind, monitor][0].extend(ns)
                    found[kind, monitor][1].append(cpu)
                if s:
                    assert not w.stats()["unfollowed"]
                    s.stop()
    for (kind, monitor), (ns, cpu) in found.items():
        row(kind=kind, monitor=monitor, ns=sorted(ns), cpu=cpu)
