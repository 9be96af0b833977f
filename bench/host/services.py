# SPDX-License-Identifier: GPL-2.0
"""Is the working set of real services within independently known bounds?

Watches services of several processes in a cgroup. In turn, clear_refs and smaps give each
process's use of each mapping. The use of all together is at least the maximum over the
processes, and at most their sum, or all that is there. Memory mapped by one process alone
is known exactly. Processes that ended are not in these bounds.
"""
import statistics

from guest.services import SERVICES
from host.lib import at_least, mib, percent, table

NEED = ("postgresql", "redis-server", "gcc", "libc6-dev")
KEY = ("service",)


def options(parser):
    parser.add_argument("--rounds", type=at_least(1), default=3, help="of each (3)")
    parser.add_argument("--seconds", type=at_least(5), default=20, help="of each half (20)")
    parser.add_argument("--window", type=at_least(1), default=4, help="in seconds (4)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")
    parser.add_argument("--services", nargs="*", choices=list(SERVICES), help="some only")


def judge(rows):
    sizes = [s for r in rows for s in r["sizes"]]
    found = [b for r in rows for b in r["bounds"]]
    middle = {k: statistics.median(b[k] for b in found) for k in found[0]}
    least, most = min(b["low"] for b in found), max(b["high"] for b in found)
    return {"service": rows[0]["service"], "members": max(r["members"] for r in rows),
            **{"wsmon_" + k: statistics.median(s[k] for s in sizes) for k in sizes[0]},
            **middle, "intervals": len(sizes),
            "within": statistics.mean(s["low"] <= most and s["high"] >= least for s in sizes)}


def measure(args, run):
    found = {}
    todo = {key: vars(args)[key] for key in ("rounds", "seconds", "window", "services")}
    for row in run.guest(todo, kernel=args.kernel, timeout=36000):
        found.setdefault(row["service"], []).append(row)
    return [judge(rows) for rows in found.values()]


def tables(rows):
    return {"services": table(
        ["service", "processes", "wsmon", "its interval", "bounds", "within", "sum over processes",
         "PSS", "intervals"],
        [[r["service"], r["members"], mib(r["wsmon_bytes"]) + " MiB",
          "%s - %s" % (mib(r["wsmon_low"]), mib(r["wsmon_high"])),
          "%s - %s" % (mib(r["low"]), mib(r["high"])), percent(r["within"]),
          mib(r["sum"]) + " MiB", mib(r["pss"]) + " MiB", r["intervals"]] for r in rows])}


def notes(rows):
    return []
