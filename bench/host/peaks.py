# SPDX-License-Identifier: GPL-2.0
"""Are peaks found at the default attributes, with their functions, and nothing else?

Records, on a live kernel, for 45 s programs that use 12 MiB and, for 1.5 s of every 12,
102 MiB: one alone, then two at once, which share regions and processors; every other
program gives the memory of a burst back. Then for ten minutes, all at once, steady programs
that use sets of all shapes and sizes. out/vm/peaks-*.data are the recordings. Exit status
1: less than 19 of 20 were right.

A recording is right if each burst that began in it after its seventh interval is a peak
of all, with the stack of its function, and no other peak is up.
"""
from guest.peaks import TOGETHER
from host.lib import table

NEED = ()
KEY = ("recording", "job")
FIELDS = {"program": "program", "bursts": "bursts", "found": "found", "named": "with its function",
          "afterwards": "found afterwards", "others": "other peaks", "troughs": "troughs"}


def options(parser):
    parser.add_argument("--kernel", default="6.12", help="of the guest (6.12)")
    parser.add_argument("--alone", type=int, default=4, help="recordings of one program (4)")
    parser.add_argument("--together", type=int, default=16,
                        help="programs, %d at once (16)" % TOGETHER)
    parser.add_argument("--steady", type=int, default=20, help="steady programs (20)")
    parser.add_argument("--seconds", type=int, default=600, help="how long these (600)")
    parser.add_argument("--seed", type=int, default=1, help="of phases and sizes (1)")


def right(row):
    return row["bursts"] == row["found"] == row["named"] and not row["others"]


def measure(args, run):
    todo = {k: vars(args)[k] for k in ("alone", "together", "steady", "seconds", "seed")}
    seconds = (args.alone + args.together // TOGETHER) * 120 + args.seconds + 300
    rows = list(run.guest(todo, kernel=args.kernel, mem="2G", timeout=seconds))
    run.status = run.status or sum(map(right, rows)) * 20 < len(rows) * 19
    return rows


def tables(rows):
    kinds = {}
    for r in rows:
        kind = "steady" if r["recording"] == "steady" else "bursts, " + r["program"].split(",")[0]
        kinds.setdefault(kind, []).append(right(r))
    return {"peaks": table(["programs", "recorded", "right"],
                           [[kind, len(found), sum(found)] for kind, found in kinds.items()])}


def notes(rows):
    return [table(list(FIELDS.values()), [[r[k] for k in FIELDS] for r in rows])]
