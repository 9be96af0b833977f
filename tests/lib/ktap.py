# SPDX-License-Identifier: GPL-2.0
"""TAP output, as prove and the kernel's kselftest read it."""
import sys

count = 0
failed = 0


def ok(passed, name, *why):
    """A test point; @why is shown if it failed."""
    global count, failed
    count += 1
    if not passed:
        failed += 1
    print("%s %d - %s" % ("ok" if passed else "not ok", count, name))
    if not passed:
        for text in why:
            for line in str(text).splitlines()[:30]:
                print("#   " + line)
    sys.stdout.flush()
    return passed


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why))


def finish():
    """Print the plan. Return: the exit status"""
    print("1..%d" % count)
    return 1 if failed else 0
