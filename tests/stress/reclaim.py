# SPDX-License-Identifier: GPL-2.0
"""Reclaim takes the same pages whether somebody samples them or not.

Accessed bits are what it decides by, and sampling clears them. The target
(churn_victim.c) touches every fourth page twice a second, which is seldom
enough for nearly all of its bits to have been cleared by somebody in between:
if they were not given back, reclaim would take hot pages and cold ones alike.
In the environment: STRESS_PAIRS, how often to compare (default 3).
"""
import os
import re
import signal
import statistics
import time

import stress as s
import wsmontest as w

LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
PAIRS = int(os.environ.get("STRESS_PAIRS", "3"))
MB, HOT_STRIDE = 64, 4
STEPS, STEP = 16, 3 << 19
# few enough to have most pages out of the samples' hands at any time
REGIONS = 500
ATTRS = re.sub("max_regions=.*", "max_regions=%d" % REGIONS, s.FAST)


def squeeze(path, monitored):
    """Take memory from a target. Return the share of hot pages in what was taken."""
    with s.Churn("victim", 1000, "churn-victim", CHURN_MB=str(MB)) as churn:
        assert churn.process.stdout.readline() == b"ready\n"
        if monitored:
            s.start(churn.pid, attrs=ATTRS)
            s.rounds_go_on()
        time.sleep(1.5)
        limit = int(s.read(path + "memory.current"))
        for _ in range(STEPS):
            limit -= STEP
            s.write(path + "memory.high", limit)
            time.sleep(0.1)
        s.write(path + "memory.high", "max")
        if monitored:
            s.rounds_go_on()
            s.stop()
        churn.process.send_signal(signal.SIGTERM)
        said = churn.process.stdout.readline().decode().strip()
        churn.check()
    s.note("%s: %s" % ("sampled" if monitored else "alone", said))
    hot, _, cold, _ = map(int, re.findall(r"\d+", said))
    taken = STEPS * STEP >> 12
    assert hot + cold > taken / 2, "little was reclaimed"
    return hot / (hot + cold)


def in_samples_hands():
    """Share of hot pages that may be taken because a sample has their bit.

    Without the kernel's page idle flag (DAMON selects it) a bit is given back
    when the sample is dropped.
    """
    if os.path.exists("/sys/kernel/mm/damon") or \
            os.path.exists("/sys/kernel/mm/page_idle"):
        return 0
    return 2 * REGIONS / (MB << 8) / HOT_STRIDE


def compare():
    path = s.cgroup("churn-victim", "memory")
    alone, sampled = [], []
    with s.Swap("zram"):
        for _ in range(PAIRS):
            alone.append(squeeze(path, False))
            sampled.append(squeeze(path, True))
    noise = max(alone) - min(alone)
    limit = statistics.median(alone) + 3 * noise + 0.01 + 2 * in_samples_hands()
    share = statistics.median(sampled)
    s.note("hot among what was taken: %.2f %% sampled, %.2f %% alone, "
           "at most %.2f %%" % (100 * share, 100 * statistics.median(alone),
                                100 * limit))
    assert share <= limit, "sampling makes reclaim take hot pages"


def reclaim_with(lru_gen):
    if os.path.exists(LRU_GEN):
        before = int(s.read(LRU_GEN), 16)
        s.write(LRU_GEN, lru_gen)
        try:
            compare()
        finally:
            s.write(LRU_GEN, before)
    elif lru_gen:
        raise s.Skip("no multi-gen LRU")
    else:
        compare()


@w.measured
def reclaim_undisturbed():
    reclaim_with(0)


@w.measured
def reclaim_undisturbed_multi_gen():
    reclaim_with(7)


TESTS = [reclaim_undisturbed, reclaim_undisturbed_multi_gen]
