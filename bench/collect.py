# SPDX-License-Identifier: GPL-2.0
"""In the guest: runs workloads, has each method watch them, leaves what they said.

Started by bench/accuracy with what to do as JSON; for each pattern there is a
directory of its name in $WSMON_OUT, and a line on standard output when it is
complete.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TOP, d) for d in ("bench", "tests/selftests", "tests/workloads")]
import damon
import patterns
import regionmap
import witness
import wsmontest as w

CANNOT = 77

# so that huge pages of all kinds can be had, and no small ones become huge
SETTINGS = {
    "/proc/sys/vm/nr_hugepages": "32",
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled": "advise",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs": "100000000",
}


class Cannot(Exception):
    """This machine cannot run that workload."""


class Workload:
    """A process, or two, that runs until it is stopped and tells its truth."""

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
                message = self.process.stderr.read().strip()
                raise (Cannot if self.process.returncode == CANNOT else RuntimeError)(message)
            if time.monotonic() > end:
                self.stop()
                raise RuntimeError("the workload does not begin")
            time.sleep(0.05)

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.process.pid) as f:
            return int(f.read().split()[0])

    def busy(self):
        """Share of the time its main thread ran: near 1, it does not keep up."""
        return (self.cpu_ns() - self.cpu_began) / 1e9 / (time.monotonic() - self.began)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


def with_wsmon(job, path, todo, windows, seed):
    """A recording."""
    t = todo["aggr_ms"]
    settle = todo["settle"] + (2 * max(windows) if max(windows) > 1 else 0)
    interval = "%dms" % t
    # as much for an interval as one of the default length has
    cpu = "%.1f%%" % min(100, 3 * todo["max_regions"] // 2 / t)
    subprocess.run(["wsmo", "record", "-q", "-o", path, "--sample", "%dms" % (t // 10),
                    "--aggr", interval, "--update", interval, "--window",
                    ",".join("%dms" % (window * t) for window in windows), "--seed", str(seed), "--cpu", cpu,
                    "--max-regions", str(todo["max_regions"]),
                    "-d", "%dms" % ((settle + todo["count"]) * t + t // 2),
                    "-p", ",".join(map(str, job.pids))], check=True)
    return {"settle": settle}


def with_damon(job, path, todo, windows):
    """What its tracepoint says."""
    t = todo["aggr_ms"]
    settle = todo["dropped"] + max(windows) - 1
    d = damon.Damon(job.pids, t * 1000, t * 1000)
    try:
        text, need = "", settle + todo["damon_count"]
        # its intervals are as long as it takes
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


def referenced(pid, range_):
    """Bytes of the mappings in a range that smaps calls referenced."""
    total, inside = 0, False
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            if line.startswith("Referenced:"):
                total += inside * int(line.split()[1]) << 10
            elif line[0] in "0123456789abcdef":
                lo, hi = (int(x, 16) for x in line.split(None, 1)[0].split("-"))
                inside = lo < range_[1] and hi > range_[0]
    return total


def with_clear_refs(job, path, todo, windows):
    """The method of wss: clear, wait for a window, read."""
    names = [job.truth, job.truth + ".child"][:len(job.pids)]
    ranges = [witness.Truth(name).facts["range"] for name in names]
    rows, cpu, began = [], 0, time.monotonic()
    for window in windows:
        for _ in range(todo["cycles"]):
            start = time.process_time()
            for pid in job.pids:
                with open("/proc/%d/clear_refs" % pid, "w") as f:
                    f.write("1")
            cpu += time.process_time() - start
            time.sleep(window * todo["aggr_ms"] / 1000)
            start = time.process_time()
            for i, pid in enumerate(job.pids):
                before = time.monotonic_ns()
                size = referenced(pid, ranges[i])
                rows.append((window, (before + time.monotonic_ns()) // 2, i, size))
            cpu += time.process_time() - start
    with open(path, "w") as f:
        json.dump(rows, f)
    return {"cpu": cpu / (time.monotonic() - began)}


def tasks(todo):
    """Who watches when: a list for each workload that is started."""
    instances = min(todo["instances"], todo["seeds"])
    plan = []
    for i in range(instances):
        seeds = range(i + 1, todo["seeds"] + 1, instances)
        own = [[("wsmon", seed) for seed in seeds]]
        # what damo leaves out takes long, so fewer of these
        own += [[("damon", 0)]] if i % 2 == 0 else []
        own += [[("clear_refs", 0)]]
        turn = i % len(own)
        plan.append(sum(own[turn:] + own[:turn], []))
    return plan


METHODS = {"wsmon": with_wsmon, "damon": with_damon, "clear_refs": with_clear_refs}


class Collector:
    """Of one pattern: its files and runs."""

    def __init__(self, pattern, todo, tmp):
        self.pattern, self.todo, self.tmp = pattern, todo, tmp
        self.out = os.path.join(os.environ["WSMON_OUT"], pattern.key)
        self.runs, self.workloads = [], []
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)

    def watch_all(self, seed, plan):
        """One after the other, the same workload."""
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


def within(regions, bounds):
    """Of the mapping alone: code and stacks of the workload are in use, too."""
    lo, hi = bounds
    return [(max(start, lo), min(end, hi), share) for start, end, share in regions
            if start < hi and end > lo]


def watch_regions(job, hot, bounds, limit):
    """Seconds until wsmon's regions show the hot block, or None."""
    w.must_put("attrs", "sample_us=100000 aggr_us=1000000 update_us=1000000 "
               "window_us=1000000\n")
    w.must_put("target", "%d\n" % job.pids[0])
    began = time.monotonic()
    try:
        while (passed := time.monotonic() - began) < limit + 1:
            regions = [(int(r["start"], 0), int(r["end"], 0), float(r["share"]))
                       for r in w.lines("regions")]
            if regionmap.found(within(regions, bounds), hot):
                return passed
            time.sleep(0.5)
    finally:
        w.must_put("target", "\n")
    return None


def watch_damon(job, hot, bounds, limit):
    """The same of DAMON: whichever reading of its counts shows it first."""
    d = damon.Damon(job.pids)
    try:
        while (passed := time.monotonic() - d.began) < limit + 1:
            for _, _, regions in damon.parse(d.read(0.5)):
                regions = within(regions, bounds)
                for need in 1, damon.CHECKS // 2:
                    if regionmap.found([(s, e, n >= need) for s, e, n in regions], hot):
                        return passed
    finally:
        d.stop()
    return None


def find(target, todo, tmp):
    """Is a small block found in a large mapping? Both at their defaults."""
    rows = []
    for seed in range(1, todo["finds"] + 1):
        job = Workload(patterns.command(target, 320, seed, ""), os.path.join(tmp, "truth"))
        try:
            truth = witness.Truth(job.truth)
            hot = [m[1:3] for m in truth.maps if m[3] == 1][0]
            rows.append({name: watch(job, hot, truth.facts["range"], target.limit) for name, watch in
                         (("wsmon", watch_regions), ("damon", watch_damon))})
        finally:
            job.stop()
        os.unlink(os.path.join(tmp, "truth"))
    out = os.path.join(os.environ["WSMON_OUT"], target.key)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "meta.json"), "w") as f:
        json.dump(rows, f)


def main():
    todo = json.loads(sys.argv[1])
    for path, value in SETTINGS.items():
        with open(path, "w") as f:
            f.write(value)
    w.load()
    for one in (*patterns.PATTERNS, *patterns.FINDS):
        if one.key not in todo["keys"]:
            continue
        with tempfile.TemporaryDirectory() as tmp:
            try:
                if isinstance(one, patterns.Find):
                    find(one, todo, tmp)
                else:
                    Collector(one, todo, tmp).collect()
                print("done", one.key, flush=True)
            except Cannot as e:
                print("cannot", one.key, e, flush=True)
            except Exception as e:
                print("failed", one.key, "%s: %s" % (type(e).__name__, e), flush=True)
    w.unload()


main()
