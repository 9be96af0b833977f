# SPDX-License-Identifier: GPL-2.0
"""Are errors of forked workers, which use the same pages, independent of each other?

Forks, in a virtual machine, pairs of processes after their memory was mapped; both touch
the same random pages of it. All pairs are targets of a few recordings. Prints the
correlation of the two workers' errors with its standard error, for single intervals and
for means over recordings. Samples at the same places would have a correlation near 1.
"""
import statistics

from host.lib import at_least, percent, table

NEED = ()
KEY = ("of",)


def options(parser):
    parser.add_argument("--pairs", type=at_least(3), default=50, help="how many (50)")
    parser.add_argument("--at-once", type=at_least(1), default=10, help="in one recording (10)")
    parser.add_argument("--seconds", type=at_least(5), default=12, help="of a recording (12)")
    parser.add_argument("--max-regions", type=int, default=500, help="of each process (500)")
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12 (6.12)")


def judge(name, of_pairs):
    """of_pairs: for each pair two lists of errors, one a worker. The standard error is
    the jackknife's over pairs, as intervals of a pair share evidence."""
    def correlation(some):
        a, b = ([x for pair in some for x in pair[i]] for i in (0, 1))
        return statistics.correlation(a, b)

    n = len(of_pairs)
    left_out = [correlation(of_pairs[:i] + of_pairs[i + 1:]) for i in range(n)]
    mean = statistics.mean(left_out)
    return {"of": name, "pairs": n, "figures": sum(len(p[0]) for p in of_pairs),
            "sigma": statistics.stdev(x for p in of_pairs for w in p for x in w),
            "correlation": correlation(of_pairs),
            "standard_error": ((n - 1) / n * sum((x - mean) ** 2 for x in left_out)) ** 0.5}


def measure(args, run):
    pairs = []
    for row in run.guest({"pairs": args.pairs, "at_once": args.at_once, "seconds": args.seconds,
                          "max_regions": args.max_regions}, kernel=args.kernel, timeout=36000):
        n = min(map(len, row["errors"]))
        pairs.append([errors[:n] for errors in row["errors"]])
    if len(pairs) < 3:
        return []
    return [judge("single intervals", pairs),
            judge("means over a recording", [[[statistics.mean(x)] for x in p] for p in pairs])]


def tables(rows):
    return {"independence": table(
        ["errors of", "correlation", "±", "pairs"],
        [[r["of"], "%+.2f" % r["correlation"], "%.2f" % r["standard_error"], r["pairs"]]
         for r in rows])}


def notes(rows):
    return ["%s: %d, standard deviation %s" % (r["of"], r["figures"], percent(r["sigma"], 1))
            for r in rows]
