# SPDX-License-Identifier: GPL-2.0
"""Records programs with bursts, and steady ones; a row for each."""
import os
import random
import subprocess
import time

import wsmon
import wsmontest as w
from guest.machine import record, report, row, say

SECONDS, TOGETHER = 45, 2
STEADY = ("contig", "stride:2", "stride:16", "random:5", "random:50", "blocks:262144")


def zero(path):
    """When a recording began"""
    with open(path, "rb") as f:
        return wsmon.read(f)[0].mono_ns / 1e9


def judge(lines, pid, begun):
    """Return: the peaks reported for a program's bursts"""
    mine = [p for p in lines if p["type"] == "peak" and p["pid"] == pid]
    ups = [p for p in mine if p["sign"] == "up"]
    due, found, named, hit = 0, 0, 0, []
    for t in begun:
        of = [p for p in ups if t - 0.1 < p["t"] < t + 2.6]
        hit += of
        if not 7 < t < SECONDS - 2:
            continue
        numbers = {p["number"] for p in of if p["group"] == "all" and p["found"] == "live"}
        stacks = {s["stack"] for s in lines if s["type"] == "stack" and s["pid"] == pid and
                  s["reason"] == "peak" and s["number"] in numbers}
        names = {f["function"] for f in lines if f["type"] == "frame" and f["stack"] in stacks}
        due += 1
        found += len(numbers) == 1
        if "burst_here" in names and "rest_here" not in names:
            named += 1
        else:
            say("%.3f: %s %s %s %s" % (
                t, [(p["t"], p["group"]) for p in of], stacks, names,
                [s for s in lines if s["type"] == "stack" and s["number"] in numbers]))
    return {"bursts": due, "found": found, "named": named,
            "afterwards": sum(p["found"] != "live" for p in ups),
            "others": sum(p not in hit for p in ups), "troughs": len(mine) - len(ups)}


def bursts(number, program, count, rng):
    """One recording of @count programs"""
    jobs = [subprocess.Popen([program, "12", "102", "10.5", "1.5", "99",
                              "%s%.1f" % ("-" * (i % 2), rng.uniform(8, 20))],
                             stdout=subprocess.PIPE, text=True) for i in range(count)]
    time.sleep(2)
    path = os.path.join(os.environ["WSMON_OUT"], "peaks-%d.data" % number)
    record(path, SECONDS, [j.pid for j in jobs])
    lines, began = report(path, "peaks"), zero(path)
    for i, job in enumerate(jobs):
        job.kill()
        begun = [float(x) - began for x in job.communicate()[0].split()]
        row(program="%d at once%s" % (count, ", gives back" * (i % 2)), recording=number, job=i,
            **judge(lines, job.pid, begun))


def steady(count, seconds, rng):
    jobs, names = [], []
    for i in range(count):
        size, shape = "%d" % 2 ** rng.randrange(1, 6), STEADY[i % len(STEADY)]
        names.append("%s MiB, %s" % (size, shape))
        jobs.append(subprocess.Popen(
            ["hotset", "--size", "32M", "--hot", size + "M", "--pattern", shape, "--seed", str(i),
             "--period-ms", "300", "--seconds", "0", "--truth-ms", "60000"],
            stdout=subprocess.DEVNULL))
    time.sleep(10)
    path = os.path.join(os.environ["WSMON_OUT"], "peaks-steady.data")
    record(path, seconds, [j.pid for j in jobs])
    lines = report(path, "peaks")
    for i, (name, job) in enumerate(zip(names, jobs)):
        job.kill()
        job.wait()
        row(program=name, recording="steady", job=i, **judge(lines, job.pid, []))


def main(todo):
    rng = random.Random(todo["seed"])
    program = w.program("bursting")
    w.load()
    for i, count in enumerate([1] * todo["alone"] + [TOGETHER] * (todo["together"] // TOGETHER)):
        bursts(i, program, count, rng)
    if todo["steady"]:
        steady(todo["steady"], todo["seconds"], rng)
