# SPDX-License-Identifier: GPL-2.0
"""In the guest: what wsmo report sizing predicts, and what limits really do.

Started by bench/sizing with what to do as JSON; prints a line of JSON for each limit
of each workload. All workloads of a run are recorded and limited at the same time,
each in a memory cgroup of its own.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, d) for d in ("bench", "tests/selftests")]
import redis_load
import wsmontest as w

MIB = 1 << 20
PAGE = 4096
TMP = tempfile.mkdtemp()
CGROUPS = "/tmp/cgroup"
DATA = os.path.join(os.environ.get("WSMON_OUT", TMP), "sizing.data")
# of the range between the working sets of the shortest and the longest window
POINTS = (0.8, 0.55, 0.3)


def say(text):
    print("# " + text, file=sys.stderr, flush=True)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def prepare(swap_mib):
    """Swap on zram without readahead, no huge pages, memory cgroups."""
    subprocess.run(["/sbin/modprobe", "zram"], check=True)
    write("/sys/block/zram0/disksize", swap_mib * MIB)
    subprocess.run(["/sbin/mkswap", "/dev/zram0"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["/sbin/swapon", "/dev/zram0"], check=True)
    write("/proc/sys/vm/page-cluster", 0)
    write("/sys/kernel/mm/transparent_hugepage/enabled", "never")
    os.makedirs(CGROUPS, exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "none", CGROUPS], check=True)
    write(os.path.join(CGROUPS, "cgroup.subtree_control"), "+memory")


def multi_gen():
    """Is reclaim done by the multi-generational LRU?"""
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


def report(view, pid, *options):
    out = subprocess.run(["wsmo", "report", view, "-i", DATA, "--json", "--pid", str(pid),
                          *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def predict(job):
    """Limits to try, and what is predicted of each."""
    curve = report("curve", job.pid)
    low, high = curve[0]["bytes"], curve[-1]["bytes"]
    limits = [round(low + (high - low) * point) for point in POINTS]
    rows = report("sizing", job.pid, "--limit", ",".join(map(str, limits)))
    found = {row["limit"]: row for row in rows}
    return curve, [found[limit] for limit in limits]


def watch(jobs, seconds):
    """Events of each cgroup in a second; swapped is of all of them together."""
    def now():
        swapped = next(int(line.split()[1]) for line in read("/proc/vmstat").splitlines()
                       if line.startswith("pswpin "))
        return time.monotonic(), [dict(job.cgroup.stat(), late=getattr(job, "late", 0),
                                       swapped=swapped) for job in jobs]
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
            print(json.dumps({
                "workload": job.name, "point": point, "limit": rows[n]["limit"],
                "predicted": rows[n], "curve": curve,
                "refaults_per_s": seen["workingset_refault_anon"],
                "file_refaults_per_s": seen["workingset_refault_file"],
                "all_pswpin_per_s": seen["swapped"], "major_faults_per_s": seen["pgmajfault"],
                "anon": seen["anon_bytes"], "late": seen["late"],
                "killed": job.cgroup.killed(), "multi_gen": multi_gen()}), flush=True)


def load(exponent):
    """Nothing but redis and those who ask it, in a cgroup that somebody else limits."""
    job = Redis(exponent)
    try:
        job.thread.join()
    finally:
        job.stop()


def main():
    if sys.argv[1] == "--load":
        load(float(sys.argv[2]))
        return
    todo = json.loads(sys.argv[1])
    prepare(1024)
    w.load()
    jobs = []
    try:
        for name in todo["workloads"]:
            jobs.append(WORKLOADS[name]())
        say("recording for %d s" % todo["record"])
        subprocess.run(["wsmo", "record", "-q", "-o", DATA, "-d", str(todo["record"]), "--sample",
                        "500ms", "--window", todo["windows"], "--cpu", "20%", "-p",
                        ",".join(str(job.pid) for job in jobs)], check=True)
        w.unload()
        measure(jobs, todo)
    finally:
        for job in jobs:
            job.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
