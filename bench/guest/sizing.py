# SPDX-License-Identifier: GPL-2.0
"""What wsmo report sizing predicts, and what limits really do: a row for each limit.

All workloads of a run are recorded and limited at the same time, each in a memory
cgroup of its own.
"""
import os
import random
import subprocess
import tempfile
import threading
import time

import wsmontest as w
from guest import machine, redis_load
from guest.machine import MIB, PAGE, read, row, say, vmstat, write

TMP = tempfile.mkdtemp()
CGROUPS = "/tmp/cgroup"
DATA = os.path.join(os.environ.get("WSMON_OUT", TMP), "sizing.data")
# of the range between the working sets of the shortest and the longest window
POINTS = (0.8, 0.55, 0.3)


def prepare():
    """Swap, no huge pages, memory cgroups."""
    machine.swap_on_zram()
    write(machine.THP + "enabled", "never")
    os.makedirs(CGROUPS, exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUPS], check=True)
    write(os.path.join(CGROUPS, "cgroup.subtree_control"), "+memory")


def multi_gen():
    """Does the multi-generational LRU reclaim?"""
    path = "/sys/kernel/mm/lru_gen/enabled"
    return os.path.exists(path) and int(read(path), 16) != 0


class Cgroup:
    def __init__(self, name):
        self.dir = os.path.join(CGROUPS, name)
        os.makedirs(self.dir, exist_ok=True)

    def join(self):
        write(os.path.join(self.dir, "cgroup.procs"), os.getpid())

    def stat(self):
        return {k: int(v) for k, v in (line.split() for line in
                                       read(os.path.join(self.dir, "memory.stat")).splitlines())}

    def current(self):
        return int(read(os.path.join(self.dir, "memory.current")))

    def limit(self, size):
        write(os.path.join(self.dir, "memory.max"), size // PAGE * PAGE)

    def killed(self):
        events = dict(line.split() for line in
                      read(os.path.join(self.dir, "memory.events")).splitlines())
        return int(events["oom_kill"])


class Workload:
    def __init__(self, name, *command):
        self.name, self.cgroup = name, Cgroup(name)
        self.p = subprocess.Popen(command, preexec_fn=self.cgroup.join,
                                  stdout=subprocess.DEVNULL)
        self.pid = self.p.pid

    def stop(self):
        self.p.kill()
        self.p.wait()


class Pattern(Workload):
    def __init__(self, name, size, *options):
        super().__init__(name, "patterns", name, "--size", str(size), *options,
                         "--seconds", "0", "--truth-ms", "60000")
        w.wait_for(name, lambda: self.cgroup.stat()["anon"] >= size, 120)


def zipf():
    """Each page with a chance of its own, touched at random moments."""
    return Pattern("zipf", 64 * MIB, "--rate", "2000", "--exponent", "1")


def periods():
    """8 MiB used once in 2 s, 32 MiB used once in 20 s."""
    return Pattern("periods", 40 * MIB, "--hot", str(8 * MIB), "--hold-ms", "2000")


class Redis(Workload):
    """Values of a page, asked for by Zipf's law at an even pace."""
    KEYS, RATE, BATCH = 16000, 1000, 20

    def __init__(self, exponent=1.0):
        super().__init__("redis", *redis_load.server(TMP))
        self.client = redis_load.Client(self.KEYS)
        self.rng = random.Random(1)
        self.keys = list(range(self.KEYS))
        self.rng.shuffle(self.keys)
        total, self.chances = 0, []
        for i in range(self.KEYS):
            total += (i + 1) ** -exponent
            self.chances.append(total)
        self.done = threading.Event()
        self.late = 0
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        due = time.monotonic()
        while not self.done.is_set():
            due += self.BATCH / self.RATE
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            elif wait < -1:
                # never catch up: the load is to be even
                self.late -= wait
                due -= wait
            self.client.get(self.rng.choices(self.keys, cum_weights=self.chances, k=self.BATCH))

    def stop(self):
        self.done.set()
        self.thread.join(10)
        super().stop()


WORKLOADS = {"zipf": zipf, "periods": periods, "redis": Redis}


def predict(job):
    """Limits to try, and what is predicted of each."""
    curve = machine.report(DATA, "curve", "--pid", str(job.pid))
    low, high = curve[0]["bytes"], curve[-1]["bytes"]
    limits = [round(low + (high - low) * point) for point in POINTS]
    rows = machine.report(DATA, "sizing", "--pid", str(job.pid),
                          "--limit", ",".join(map(str, limits)))
    found = {r["limit"]: r for r in rows}
    return curve, [found[limit] for limit in limits]


def watch(jobs, seconds):
    """Events of each cgroup in a second; swapped is of all of them together."""
    def now():
        return time.monotonic(), [dict(job.cgroup.stat(), late=getattr(job, "late", 0),
                                       swapped=vmstat("pswpin")) for job in jobs]
    began, before = now()
    time.sleep(seconds)
    ended, after = now()
    return [{key: (b[key] - a[key]) / (ended - began) for key in b if key in a} | {
        "anon_bytes": b["anon"]} for a, b in zip(before, after)]


def measure(jobs, todo):
    predicted = [predict(job) for job in jobs]
    for n, point in enumerate(POINTS):
        for job, (_, rows) in zip(jobs, predicted):
            # what is charged besides: page tables, sockets, the kernel's own
            stat = job.cgroup.stat()
            extra = job.cgroup.current() - stat["anon"] - stat["file"]
            job.cgroup.limit(rows[n]["limit"] + extra)
        time.sleep(todo["settle"])
        for job, (curve, rows), seen in zip(jobs, predicted, watch(jobs, todo["measure"])):
            row(workload=job.name, point=point, limit=rows[n]["limit"],
                predicted=rows[n], curve=curve,
                refaults_per_s=seen["workingset_refault_anon"],
                file_refaults_per_s=seen["workingset_refault_file"],
                all_pswpin_per_s=seen["swapped"], major_faults_per_s=seen["pgmajfault"],
                anon=seen["anon_bytes"], late=seen["late"],
                killed=job.cgroup.killed(), multi_gen=multi_gen())


def load(exponent):
    """Nothing but redis and its client, for bench/examples/right-size, which limits them."""
    job = Redis(exponent)
    try:
        job.thread.join()
    finally:
        job.stop()


def main(todo):
    if "load" in todo:
        return load(todo["load"])
    prepare()
    w.load()
    jobs = []
    try:
        for name in todo["workloads"]:
            jobs.append(WORKLOADS[name]())
        say("recording for %d s" % todo["record"])
        machine.record(DATA, todo["record"], [job.pid for job in jobs], "--sample", "500ms",
                       "--window", todo["windows"], "--cpu", "20%")
        w.unload()
        measure(jobs, todo)
    finally:
        for job in jobs:
            job.stop()
