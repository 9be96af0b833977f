# SPDX-License-Identifier: GPL-2.0
"""The CPU time used without and with the budget, in each of several windows."""
import time

import wsmontest as w
from guest import overhead
from guest.machine import Session, row

WINDOWS, SECONDS = 3, 10


def cost(stats):
    return stats["cpu_ns"] + stats["remote_ns"]


def main(todo):
    w.load()
    with overhead.target(2048 << 20, "4K") as t:
        for permille in 1000, 30:
            attrs = overhead.DEFAULT.replace("permille=30", "permille=%d" % permille)
            with Session([t.pid], attrs) as s:
                time.sleep(4)
                first, used = w.stats(), []
                for _ in range(WINDOWS):
                    began = time.monotonic()
                    d, last = s.spent(SECONDS)
                    used.append(cost(d) / (time.monotonic() - began) / 1e6)
            row(permille=permille, used=used, regions=last["budget"],
                sample_ms=last["sample_ns"] / 1e6,
                ns=(cost(last) - cost(first)) / (last["checks"] - first["checks"]))
