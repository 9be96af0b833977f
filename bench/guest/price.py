# SPDX-License-Identifier: GPL-2.0
"""Records workloads that know their truth, with each precision in turn."""
import json
import os
import shutil
import tempfile

import wsmontest as w
from guest import accuracy, machine, patterns


def record_all(pattern, todo, tmp):
    runs = []
    job = accuracy.Workload(patterns.command(pattern, todo["aggr_ms"], 1, ""),
                            os.path.join(tmp, "truth"))
    try:
        for seed in range(1, todo["seeds"] + 1):
            for precision in todo["precisions"]:
                name = "wsmon-%d" % len(runs)
                found = accuracy.with_wsmon(job, os.path.join(tmp, name), todo, pattern.windows,
                                            seed, "--precision", precision)
                runs.append({"file": name, "truth": "truth", "pids": job.pids,
                             "precision": precision, **found})
    finally:
        job.stop()
    return runs


def main(todo):
    accuracy.prepare()
    w.load()
    for pattern in patterns.PATTERNS:
        if pattern.key not in todo["keys"]:
            continue
        out = os.path.join(os.environ["WSMON_OUT"], pattern.key)
        with tempfile.TemporaryDirectory() as tmp:
            runs = record_all(pattern, todo, tmp)
            shutil.copytree(tmp, out)
        with open(os.path.join(out, "meta.json"), "w") as f:
            json.dump(runs, f)
        machine.row(key=pattern.key)
    w.unload()
