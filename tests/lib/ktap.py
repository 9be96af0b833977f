# SPDX-License-Identifier: GPL-2.0
"""TAP: tests print it by ok(), skip() and finish(); tally() counts their test points.
With TAP_BAIL in the environment the test ends at the first failure.

As a program: tests/lib/ktap.py LOG prints how many passed, failed, and were skipped.
"""
import os
import re
import sys
import threading

count = 0
failed = 0
lock = threading.Lock()


def ok(passed, name, *why):
    """Print a test point, from any thread; @why is shown if it failed."""
    global count, failed
    with lock:
        count += 1
        failed += not passed
        print("%s %d - %s" % ("ok" if passed else "not ok", count, name))
        for text in () if passed else why:
            for line in str(text).splitlines()[:30]:
                print("#   " + line)
        if not passed and "TAP_BAIL" in os.environ:
            print("Bail out!")
            sys.stdout.flush()
            os._exit(1)
        sys.stdout.flush()
    return passed


def skip(name, why):
    ok(True, "%s # SKIP %s" % (name, why))


def every(of):
    """all(), but false for no elements: an empty result must not pass"""
    of = list(of)
    return bool(of) and all(of)


def finish():
    """Print the plan. Return: the exit status"""
    print("1..%d" % count)
    return 1 if failed or not count else 0


RESULT = re.compile(r"^( *)(not )?ok (?:\d+|-)(.*)$")


def tally(lines):
    """Count test points: (passed, failed, skipped). A point that follows its subtests
    is their sum: it is counted only if it failed and none of them did."""
    counts = [0, 0, 0]
    below = [0]             # failures among the subtests of each depth
    before = -1             # indentation of the previous result
    for line in lines:
        if re.match(r"^1\.\.0 *# *skip", line, re.I):
            counts[2] += 1
        found = RESULT.match(line)
        if not found:
            continue
        indent, bad = len(found[1]), bool(found[2])
        parent = indent < before
        inner = sum(below[indent + 1:]) if parent else 0
        del below[indent + 1:]
        below += [0] * (indent + 1 - len(below))
        below[indent] += bad
        before = indent
        if parent and (not bad or inner):
            continue
        counts[1 if bad else 2 if re.search("# *skip", found[3], re.I) else 0] += 1
    return tuple(counts)


if __name__ == "__main__":
    with open(sys.argv[1], errors="replace") as f:
        print(*tally(f))
