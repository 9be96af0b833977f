# SPDX-License-Identifier: GPL-2.0
"""The cost of hint faults for a program that only accesses memory, in pairs; and recordings
of threads that read and write known memory."""
import os
import subprocess
import time

import wsmontest as w
from guest import overhead
from guest.machine import THP, row, write


def recordings(todo):
    """All layouts at the same time"""
    for rate, seconds in todo["seconds"].items():
        running = []
        for layout in todo["layouts"]:
            program = subprocess.Popen([todo["program"], layout], stdout=subprocess.PIPE, text=True)
            while not program.stdout.readline().startswith("rest "):
                pass
            file = "%s-%s.data" % (layout, rate)
            running.append((layout, file, program, subprocess.Popen(
                ["wsmo", "record", "-q", "--who=" + rate, "-d", str(seconds), "-p", str(program.pid),
                 "-o", os.path.join(os.environ["WSMON_OUT"], file)])))
        for layout, file, program, recorder in running:
            recorded = recorder.wait()
            program.terminate()
            if recorded or program.communicate()[0] != "intact\n":
                raise SystemExit("%s: not recorded, or data changed" % file)
            row(name="%s, %s a second" % (layout, rate), layout=layout, rate=int(rate), file=file)


def slowdown(todo):
    for name, kind, mib in (("random accesses to 256 MiB", "chase", 256),
                            ("64 MiB in order", "stream", 64)):
        process, pids, measure = overhead.loops(kind, mib)
        rows, seen = [], {}
        try:
            for i in range(todo["pairs"]):
                found, rates = {}, todo["rates"]
                turn = i % len(rates)
                for rate in rates[turn:] + rates[:turn]:
                    m = overhead.Wsmon(pids, overhead.DEFAULT + " who_rate=%d" % rate)
                    time.sleep(2)
                    before, began = w.stats()["who_seen"], time.monotonic()
                    found[rate] = measure(todo["seconds"])
                    seen.setdefault(rate, []).append(
                        (w.stats()["who_seen"] - before) / (time.monotonic() - began))
                    m.stop()
                    w.put("attrs", "who_rate=0")
                rows.append({str(rate): done for rate, done in found.items()})
        finally:
            process.kill()
            process.wait()
        row(name=name, rows=rows, seen={str(rate): sum(s) / len(s) for rate, s in seen.items()})


def main(todo):
    # hint faults work on small pages only
    write(THP + "enabled", "never")
    w.load()
    if "program" in todo:
        recordings(todo)
    else:
        slowdown(todo)
    w.unload()
