#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""wsmo record --sizing and wsmo sizing --verify on a live kernel: the cost of refaults, and a limit
that is set, felt and taken back."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wsmontest as w                                      # noqa: E402
from acttest import MIB, TMP                               # noqa: E402
from act_test import cgroup, swap                          # noqa: E402

FILE = os.path.join(TMP, "sizing.data")


def read(path, name):
    with open(os.path.join(path, name)) as f:
        return f.read().strip()


def lines(*command):
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r
    return [json.loads(line) for line in r.stdout.splitlines()]


def workload(path):
    """Accesses pages by Zipf's law, in the cgroup"""
    with open(path + "/../cgroup.subtree_control", "w") as f:
        f.write("+memory")

    def join():
        with open(path + "/cgroup.procs", "w") as f:
            f.write("0")
    p = subprocess.Popen(["patterns", "zipf", "--size", str(48 * MIB), "--rate", "4000", "--exponent", "1",
                          "--seconds", "0", "--truth-ms", "60000"], preexec_fn=join, stdout=subprocess.DEVNULL)
    w.wait_for("the workload", lambda: int(read(path, "memory.current")) >= 48 * MIB, 120)
    return p


@w.measured
def verified():
    with swap(), cgroup() as path:
        p = workload(path)
        try:
            subprocess.run(["wsmo", "record", "-q", "--sizing", "--window", "1s,2s,4s,8s", "-d", "14", "-o", FILE,
                            "--cpu", "20%", "-p", str(p.pid)], check=True)
            found = {x["kind"]: x for x in lines("wsmo", "report", "raw", "--json", "-i", FILE)
                     if x["type"] == "refault"}
            print("# " + json.dumps(found))
            # a slow machine measures fewer
            assert found[0]["refaults"] > 100 and "zram0, contents of the targets" in found[0]["text"], found
            assert 1000 < found[0]["median_ns"] <= 10 * found[0]["mean_ns"] < 10**9, found
            assert not [x for x in os.listdir(path + "/..") if x.startswith("wsmo-")]
            # with --cgroup it measures as well
            subprocess.run(["wsmo", "record", "-q", "--sizing", "--window", "1s", "-d", "1", "-o", FILE + ".cgroup",
                            "--cgroup", path], check=True)
            assert any("contents of the targets" in x["text"] for x in lines(
                "wsmo", "report", "raw", "--json", "-i", FILE + ".cgroup") if x["type"] == "refault")
            curve = lines("wsmo", "report", "curve", "--json", "-i", FILE)
            limit = round((curve[0]["bytes"] + curve[-1]["bytes"]) / 2)
            command = ["wsmo", "sizing", "--verify", path, "-i", FILE, "--yes", "--limit", str(limit),
                       "--max-pressure", "100%"]
            x = lines(*command, "-d", "16s", "--json")[0]
            print("# " + json.dumps(x))
            assert read(path, "memory.high") == "max"
            assert x["limit"] == limit <= x["high"] < limit + 16 * MIB, x
            # memory.high throttles: it may be exceeded for a while
            assert x["memory"] < 1.2 * limit, x
            assert x["anon_per_s"] > 10 and x["slowdown"] > 0 and 0 <= x["stalled"] < 1, x
            # the prediction is from a recording without a limit
            assert 0 < x["predicted_low_per_s"] / 2 < x["refaults_per_s"] < 2 * x["predicted_high_per_s"], x
            assert x["predicted_high_per_s"] < 10 * x["predicted_low_per_s"], x
            for sig in signal.SIGINT, signal.SIGKILL:
                trial = subprocess.Popen([*command, "-d", "60s"], stderr=subprocess.DEVNULL)
                w.wait_for("the limit", lambda: read(path, "memory.high") != "max")
                time.sleep(1)
                trial.send_signal(sig)
                assert trial.wait(20) != 0
                w.wait_for("its end", lambda: read(path, "memory.high") == "max")
        finally:
            p.kill()
            p.wait()


if __name__ == "__main__":
    w.need("wsmo", "patterns")
    w.main(verified)
