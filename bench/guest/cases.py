# SPDX-License-Identifier: GPL-2.0
"""Other projects' workloads, watched by wsmon and by DAMON with fixed and with tuned intervals."""
import os
import subprocess
import time

import wsmontest as w
from guest import accuracy, machine
from peers import damon


class Workload:
    """A run of bench/programs/cases.c; as a context, it ends with the block."""

    def __init__(self, program, words):
        self.process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        words = self.process.stdout.readline().split()
        if words[:1] != ["ready"]:
            raise RuntimeError("the workload does not begin")
        self.pid, bounds = self.process.pid, list(map(int, words[1:]))
        self.range, self.hot = bounds[:2], bounds[2:]
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()


def with_wsmon(pid, path, case):
    machine.record(path, case["seconds"], [pid], *case["options"])
    return {}


def with_damon(pid, path, case, tuned=False):
    d = damon.Damon([pid], tuned=tuned)
    try:
        text = d.read(case["tuning" if tuned else "seconds"] / 2)
        began, cpu = time.monotonic_ns(), d.cpu_ns()
        text += d.read(case["tuning" if tuned else "seconds"] / 2)
        cpu = (d.cpu_ns() - cpu) / (time.monotonic_ns() - began)
        aggr_us = d.tuned()[1] if tuned else damon.AGGR_US
    finally:
        d.stop()
    with open(path, "w") as f:
        f.write(text)
    return {"cpu": cpu, "start": round(d.began * 1e9), "began": began, "aggr_us": aggr_us}


def with_tuned(pid, path, case):
    return with_damon(pid, path, case, True)


MONITORS = {"wsmon": with_wsmon, "DAMON": with_damon, "DAMON, tuned": with_tuned}


def main(todo):
    accuracy.prepare()
    machine.write(machine.THP + "shmem_enabled", "force")
    w.load()
    program = machine.build("cases")
    # another process makes the emulated TLB forget, as in guest/curves.py
    other = subprocess.Popen(["hotset", "--size", "1M", "--hot", "4K", "--period-ms", "5",
                              "--seconds", "0"], stdout=subprocess.DEVNULL)
    for name, case in todo.items():
        with Workload(program, case["command"]) as job:
            for number, (monitor, watch) in enumerate(MONITORS.items()):
                file = "%s-%d" % (case["key"], number)
                found = watch(job.pid, os.path.join("/tmp", file), case)
                subprocess.run(["mv", os.path.join("/tmp", file), os.environ["WSMON_OUT"]],
                               check=True)
                machine.row(case=name, monitor=monitor, file=file, pid=job.pid, range=job.range,
                            hot=job.hot, **found)
    other.terminate()
    other.wait()
    w.unload()
