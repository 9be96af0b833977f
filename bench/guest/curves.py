# SPDX-License-Identifier: GPL-2.0
"""Workloads that know their truth, watched by wsmon and DAMON with each setting in turn."""
import json
import os
import shutil
import subprocess
import tempfile
import time

import wsmontest as w
from guest import accuracy, machine, patterns
from peers import damon

TUNING_S = 60       # at most, for two more snapshots


def with_wsmon(job, path, s):
    """A recording"""
    return accuracy.with_wsmon(job, path, s, (1,), s["seed"], "--precision", s["precision"])


def with_damon(job, path, s):
    """Its tracepoint's output, and its thread's CPU time, once it has settled"""
    d = damon.Damon(job.pids, s["aggr_ms"] * 1000, regions=(10, s["max_regions"]),
                    tuned=s["tuned"])
    try:
        before = d.read(s["settle_s"])
        # the latest snapshots of long intervals, as there may be no more
        text = before[-100000:] if s["tuned"] else ""
        began, cpu, limit = time.monotonic_ns(), d.cpu_ns(), TUNING_S
        while True:
            text += d.read(s["count_s"])
            limit -= s["count_s"]
            found = damon.parse(text) if s["tuned"] and limit > 0 else ()
            if not s["tuned"] or limit <= 0 or sum(t >= began for t, _, _ in found) > 1:
                break
        cpu = (d.cpu_ns() - cpu) / (time.monotonic_ns() - began)
        sample_us, aggr_us = d.tuned() if s["tuned"] else (0, s["aggr_ms"] * 1000)
    finally:
        d.stop()
    with open(path, "w") as f:
        f.write(text)
    return {"began": began, "cpu": cpu, "sample_us": sample_us, "aggr_us": aggr_us}


MONITORS = {"wsmon": with_wsmon, "DAMON": with_damon}


def command(pattern, todo, disk):
    words = patterns.command(pattern._replace(windows=(1,)), todo["aggr_ms"], 1, disk)
    if "--window-ms" in words:
        words[words.index("--window-ms") + 1] = ",".join(map(str, todo["windows_ms"]))
    # each sample of the truth looks at all pages
    return words + ["--truth-ms", "40"]


def watch_all(pattern, todo, tmp, disk):
    runs = []
    job = accuracy.Workload(command(pattern, todo, disk), os.path.join(tmp, "truth"))
    try:
        for name, setting in todo["settings"].items():
            path = "run-%d" % len(runs)
            found = MONITORS[setting["monitor"]](job, os.path.join(tmp, path), setting)
            runs.append({"setting": name, "file": path, "truth": "truth", "pids": job.pids, **found})
    finally:
        job.stop()
    return runs


def main(todo):
    accuracy.prepare()
    w.load()
    # An emulated TLB forgets nothing until another address space runs, and DAMON does not
    # flush. A busier machine would forget more.
    other = subprocess.Popen(["hotset", "--size", "1M", "--hot", "4K", "--period-ms", "5",
                              "--seconds", "0"], stdout=subprocess.DEVNULL)
    for key in todo["keys"]:
        pattern = next(p for p in patterns.PATTERNS if p.key == key)
        out, why = os.path.join(os.environ["WSMON_OUT"], key), None
        with tempfile.TemporaryDirectory() as tmp:
            try:
                runs = watch_all(pattern, todo, tmp, os.path.join(out, "mapped"))
                shutil.copytree(tmp, out)
                with open(os.path.join(out, "meta.json"), "w") as f:
                    json.dump(runs, f)
            except Exception as e:
                why = "%s: %s" % (type(e).__name__, e)
        machine.row(key=key, why=why)
    other.terminate()
    other.wait()
    w.unload()
