# SPDX-License-Identifier: GPL-2.0
"""Runs workloads, has each method watch them, stores the outputs.

Each pattern has a directory of its name in $WSMON_OUT, and a row when it is
complete.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import witness
import wsmontest as w
from guest import find, machine, patterns
from peers import clear_refs, damon


class Workload:
    """A process, or two, that runs until stopped and writes its truth."""

    def __init__(self, words, truth):
        self.truth = truth
        self.process = subprocess.Popen([*words, "--truth", truth], text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.pids = [self.process.pid]
        self.ready(truth)
        if os.path.exists(truth + ".child"):
            self.ready(truth + ".child")
            self.pids += witness.Truth(truth + ".child").facts["pid"]
        self.began, self.cpu_began = time.monotonic(), self.cpu_ns()

    def ready(self, path):
        end = time.monotonic() + 120
        while not (os.path.exists(path) and "\ntruth " in open(path).read()):
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stderr.read().strip())
            if time.monotonic() > end:
                self.stop()
                raise RuntimeError("the workload does not begin")
            time.sleep(0.05)

    def cpu_ns(self):
        return machine.schedstat_ns(self.process.pid)

    def busy(self):
        """Share of the time that its main thread ran; near 1, it does not keep up."""
        return (self.cpu_ns() - self.cpu_began) / 1e9 / (time.monotonic() - self.began)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


def with_wsmon(job, path, todo, windows, seed, *more):
    """A recording by wsmon."""
    t = todo["aggr_ms"]
    settle = todo["settle"] + (2 * max(windows) if max(windows) > 1 else 0)
    interval = "%dms" % t
    # the same CPU time for an interval as at the default length
    cpu = "%.1f%%" % max(0.1, min(100, 3 * todo["max_regions"] // 2 / t))
    machine.record(path, "%dms" % ((settle + todo["count"]) * t + t // 2), job.pids,
                   "--sample", "%dms" % (t // 10), "--aggr", interval, "--update", interval,
                   "--window", ",".join("%dms" % (window * t) for window in windows), "--seed", str(seed),
                   "--cpu", cpu, "--max-regions", str(todo["max_regions"]), *more)
    return {"settle": settle}


def with_damon(job, path, todo, windows):
    """The output of DAMON's tracepoint."""
    t = todo["aggr_ms"]
    settle = todo["dropped"] + max(windows) - 1
    d = damon.Damon(job.pids, t * 1000, t * 1000)
    try:
        text, need = "", settle + todo["damon_count"]
        # repeat: the length of its intervals varies
        for _ in range(5):
            have = len(damon.parse(text)) // len(job.pids)
            if have >= need:
                break
            text += d.read((need - have + 1) * t / 1000)
        cpu = d.cpu()
    finally:
        d.stop()
    with open(path, "w") as f:
        f.write(text)
    return {"settle": settle, "cpu": cpu}


def with_clear_refs(job, path, todo, windows):
    names = [job.truth, job.truth + ".child"][:len(job.pids)]
    bounds = [witness.Truth(name).facts["range"] for name in names]
    rows, cpu, began = [], 0, time.monotonic()
    for window in windows:
        found, took = clear_refs.watch(job.pids, bounds, window * todo["aggr_ms"] / 1000,
                                       todo["cycles"])
        rows += [(window, *row) for row in found]
        cpu += took
    with open(path, "w") as f:
        json.dump(rows, f)
    return {"cpu": cpu / (time.monotonic() - began)}


def tasks(todo):
    """Which methods watch when: a list for each start of a workload."""
    instances = min(todo["instances"], todo["seeds"])
    plan = []
    for i in range(instances):
        seeds = range(i + 1, todo["seeds"] + 1, instances)
        own = [[("wsmon", seed) for seed in seeds]]
        # parsing the part that damo leaves out is slow, so fewer of these
        own += [[("damon", 0)]] if i % 2 == 0 else []
        own += [[("clear_refs", 0)]]
        turn = i % len(own)
        plan.append(sum(own[turn:] + own[:turn], []))
    return plan


METHODS = {"wsmon": with_wsmon, "damon": with_damon, "clear_refs": with_clear_refs}


class Collector:
    """Files and runs of a pattern."""

    def __init__(self, pattern, todo, tmp):
        self.pattern, self.todo, self.tmp = pattern, todo, tmp
        self.out = os.path.join(os.environ["WSMON_OUT"], pattern.key)
        self.runs, self.workloads = [], []
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)

    def watch_all(self, seed, plan):
        """Methods in turn, on the same workload."""
        name = "truth-%d" % len(self.workloads)
        disk = os.path.join(self.out, "mapped")
        job = Workload(patterns.command(self.pattern, self.todo["aggr_ms"], seed, disk),
                       os.path.join(self.tmp, name))
        try:
            for task in plan:
                self.watch(job, *task)
            self.workloads.append({"busy": job.busy()})
        finally:
            job.stop()

    def watch(self, job, method, seed):
        name = "%s-%d" % (method, len(self.runs))
        more = {"seed": seed} if method == "wsmon" else {}
        result = METHODS[method](job, os.path.join(self.tmp, name), self.todo,
                                 self.pattern.windows, **more)
        self.runs.append({"method": method, "file": name, "truth": os.path.basename(job.truth),
                          "pids": job.pids, **more, **result})

    def collect(self):
        for i, plan in enumerate(tasks(self.todo)):
            if self.pattern.fresh:
                for task in plan:
                    self.watch_all(i + 1, [task])
            else:
                self.watch_all(i + 1, plan)
        for name in os.listdir(self.tmp):
            shutil.move(os.path.join(self.tmp, name), self.out)
        with open(os.path.join(self.out, "meta.json"), "w") as f:
            json.dump({"runs": self.runs, "workloads": self.workloads,
                       "aggr_ms": self.todo["aggr_ms"]}, f)
        mapped = os.path.join(self.out, "mapped")
        if os.path.exists(mapped):
            os.unlink(mapped)


def find_block(target, todo, tmp):
    rows = []
    for seed in range(1, todo["finds"] + 1):
        job = Workload(patterns.command(target, 320, seed, ""), os.path.join(tmp, "truth"))
        try:
            truth = witness.Truth(job.truth)
            hot = [m[1:3] for m in truth.maps if m[3] == 1][0]
            rows.append({name: watch(job.pids, hot, truth.facts["range"], target.limit)
                         for name, watch in (("wsmon", find.with_wsmon), ("damon", find.with_damon))})
        finally:
            job.stop()
        os.unlink(os.path.join(tmp, "truth"))
    out = os.path.join(os.environ["WSMON_OUT"], target.key)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "meta.json"), "w") as f:
        json.dump(rows, f)


def prepare():
    """Huge pages of all kinds are available, and small pages do not become huge"""
    machine.write("/proc/sys/vm/nr_hugepages", "32")
    machine.write(machine.THP + "shmem_enabled", "advise")
    machine.no_khugepaged()
    damon.stop_stat()


def main(todo):
    prepare()
    w.load()
    for one in (*patterns.PATTERNS, *patterns.FINDS):
        if one.key not in todo["keys"]:
            continue
        why = None
        with tempfile.TemporaryDirectory() as tmp:
            try:
                if isinstance(one, patterns.Find):
                    find_block(one, todo, tmp)
                else:
                    Collector(one, todo, tmp).collect()
            except Exception as e:
                why = "%s: %s" % (type(e).__name__, e)
        machine.row(key=one.key, why=why)
    w.unload()
