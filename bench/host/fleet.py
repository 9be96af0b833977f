# SPDX-License-Identifier: GPL-2.0
"""wsmo export --live --cgroups of more cgroups than it watches at once: time, cost, errors.

Each cgroup has a process of 2 MiB, of which it uses 0.25 to 2 MiB twice a second. The
exporter runs at its defaults, or with another --cpu. A figure is right within 5 % of the
truth, or if its interval holds it. The memory of the module is that of vmalloc and slabs,
less what it was before.
"""
from host.lib import MIB, at_least, form, percent, table

NEED = ("gcc", "libc6-dev")
KEY = ("cgroups", "percent")


def options(parser):
    parser.add_argument("--cgroups", type=at_least(1, 500), default=500, help="how many (500)")
    parser.add_argument("--seconds", type=at_least(60), default=900, help="how long (900)")
    parser.add_argument("--cpu", type=at_least(1, 100), default=3, help="its --cpu, percent (3)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")


def measure(args, run):
    todo = {"cgroups": args.cgroups, "percent": args.cpu, "seconds": args.seconds}
    # up to 32 sessions, one for each 256 MiB
    return list(run.guest(todo, kernel=args.kernel, mem="8G", timeout=args.seconds + 1800))


def tables(rows):
    seconds = "%.0f s"
    return {"fleet": table(
        ["cgroups", "--cpu", "for", "had figures", "half of them after", "all after",
         "new ones after", "oldest", "right", "CPU of the module", "of wsmo", "memory of the module", "of wsmo", "file"],
        [[r["cgroups"], "%d %%" % r["percent"], form(r["seconds"], seconds), r["had"],
          form(r["half"], seconds), form(r["all"], seconds), form(r["again"], seconds), form(r["oldest"], seconds),
          percent(r["right"] / r["figures"], 1), percent(r["cpu"], 1), percent(r["wsmo_cpu"], 1),
          form(r["memory"], "%.0f MiB", MIB), form(r["wsmo_memory"], "%.0f MiB", MIB),
          form(r["file"], "%.0f KiB", 1024)] for r in rows])}


def notes(rows):
    return []
