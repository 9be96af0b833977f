# SPDX-License-Identifier: GPL-2.0
"""Reclaim takes the same pages with and without sampling.

Reclaim decides by Accessed bits, and sampling clears them. The target
(churn_victim.c) touches every fourth page a few times a second, which is seldom
enough for sampling to have cleared nearly all of its bits in between: if they
were not given back, reclaim would take hot pages and cold ones alike. If targets
are small or have huge pages, the next samples are in the same entries, so that
bits which are merely set again are soon cleared again.
In the environment: STRESS_PAIRS, how often to compare (default 3).
"""
import collections
import os
import re
import signal
import statistics
import time

import stress as s
import wsmontest as w

LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
PAIRS = int(os.environ.get("STRESS_PAIRS", "3"))
HOT_STRIDE = 4
STEPS = 16
# Part of the target that is taken: half of its cold pages
SHARE = 3 / 8
OFTEN = ("cpu_permille=1000 sample_us=5000 aggr_us=200000 window_us=200000 "
         "max_regions=2000")
# few samples, so that nearly all pages have their bits at any time
FEW = 500
# seconds: how long it is sampled before memory is taken
Victim = collections.namedtuple("Victim", "mb attrs env seconds")
SCATTERED = Victim(64, re.sub("max_regions=.*", "max_regions=%d" % FEW, s.FAST),
                   {}, 1.5)
SMALL = Victim(12, OFTEN, {"VICTIM_MS": "300"}, 3)
HUGE = Victim(128, OFTEN, {"VICTIM_MS": "300", "VICTIM_HUGE": "1"}, 3)


def squeeze(path, victim, monitored):
    """Take memory from a target. Return: the share of hot pages in the taken memory."""
    with s.Churn("victim", 1000, "churn-victim", CHURN_MB=str(victim.mb),
                 **victim.env) as churn:
        assert churn.process.stdout.readline() == b"ready\n"
        if monitored:
            s.start(churn.pid, attrs=victim.attrs)
            s.rounds_go_on()
        time.sleep(victim.seconds)
        limit = int(s.read(path + "memory.current"))
        step = int(victim.mb * SHARE * (1 << 20) / STEPS)
        for _ in range(STEPS):
            limit -= step
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
    taken = STEPS * step >> 12
    assert hot + cold > taken / 2, "little was reclaimed"
    return hot / (hot + cold)


def in_samples_hands(victim):
    """Share of hot pages that may be taken because a sample holds their bit.

    Without the kernel's page idle flag (DAMON selects it) a bit is given back
    when the sample is dropped.
    """
    if victim != SCATTERED or os.path.exists("/sys/kernel/mm/damon") or \
            os.path.exists("/sys/kernel/mm/page_idle"):
        return 0
    return 2 * FEW / (victim.mb << 8) / HOT_STRIDE


def grain(victim):
    """Tolerance: one of the huge pages that are taken may be chance."""
    return 2 / (victim.mb * SHARE) if victim == HUGE else 0


def compare(victim):
    path = s.cgroup("churn-victim", "memory")
    alone, sampled = [], []
    with s.Swap("zram"):
        for _ in range(PAIRS):
            alone.append(squeeze(path, victim, False))
            sampled.append(squeeze(path, victim, True))
    noise = max(alone) - min(alone)
    limit = statistics.median(alone) + 3 * noise + 0.01 + grain(victim) + \
        2 * in_samples_hands(victim)
    share = statistics.median(sampled)
    s.note("hot among what was taken: %.2f %% sampled, %.2f %% alone, "
           "at most %.2f %%" % (100 * share, 100 * statistics.median(alone),
                                100 * limit))
    assert share <= limit, "sampling makes reclaim take hot pages"


def reclaim_with(lru_gen, victim=SCATTERED):
    if os.path.exists(LRU_GEN):
        before = int(s.read(LRU_GEN), 16)
        s.write(LRU_GEN, lru_gen)
        try:
            compare(victim)
        finally:
            s.write(LRU_GEN, before)
    elif lru_gen:
        raise s.Skip("no multi-gen LRU")
    else:
        compare(victim)


@w.measured
def reclaim_undisturbed():
    reclaim_with(0)


@w.measured
def reclaim_undisturbed_multi_gen():
    reclaim_with(7)


@w.measured
def reclaim_small_undisturbed():
    reclaim_with(0, SMALL)


@w.measured
def reclaim_small_undisturbed_multi_gen():
    reclaim_with(7, SMALL)


@w.measured
def reclaim_huge_undisturbed():
    reclaim_with(0, HUGE)


@w.measured
def reclaim_huge_undisturbed_multi_gen():
    reclaim_with(7, HUGE)


DRAWN_AGAIN = [reclaim_small_undisturbed, reclaim_small_undisturbed_multi_gen,
               reclaim_huge_undisturbed, reclaim_huge_undisturbed_multi_gen]
TESTS = [reclaim_undisturbed, reclaim_undisturbed_multi_gen]
