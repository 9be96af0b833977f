# SPDX-License-Identifier: GPL-2.0
"""What hint faults cost a program that does nothing but access memory, in pairs."""
import time

import wsmontest as w
from guest import overhead
from guest.machine import THP, row, write


def main(todo):
    # hint faults are of small pages
    write(THP + "enabled", "never")
    w.load()
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
    w.unload()
