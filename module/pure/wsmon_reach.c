// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_reach.c - in how many members of a group a sample page is looked at
 *
 * Pure: no mm, no allocation, no locks.
 *
 * A page that several members map was accessed if any of them accessed it. To look at it
 * in each of two thousand members would cost too much. So each sample has a random reach
 * in (0, 1], and each member a random rank for this sample, uniform in (0, 1]. The sample
 * is looked at in the members whose rank is at most its reach.
 *
 * The probability that a reach is at least t is min(1, chance / t). If the lowest rank of
 * the members that accessed the page is t, the sample sees an access if its reach is at
 * least t. It then counts with the inverse of that probability (Horvitz and Thompson,
 * 1952), otherwise it counts 0. The mean of that is 1, whichever members use the page,
 * and however many they are: if no member accessed it, nothing is ever seen.
 *
 * With chance = FIRST / mappers, FIRST (1 + ln(mappers / FIRST)) members are looked at on
 * average, and a page that all use has weight 1, because some of its ranks are below
 * chance. Ranks, reaches and chances are in units of 2^-32.
 */
#include "wsmon_pure.h"

/* A page is looked at in all members that map it if they are not more than this */
#define FIRST	8U

/**
 * wsmon_sample_reach - draw the reach of a sample
 * @s:		the sample: @chance and @reach are set
 * @mappers:	number of members that map the page, at least 1
 * @random:	uniform
 */
void wsmon_sample_reach(struct wsmon_sample *s, u64 mappers, u64 random)
{
	u64 first = max_t(u64, FIRST, mappers / WSMON_WEIGHT_MAX + 1);
	u32 v = random >> 32;

	s->chance = U32_MAX;
	s->reach = U32_MAX;
	if (mappers <= first)
		return;
	s->chance = div64_u64(first << 32, mappers);
	if (v > s->chance)
		s->reach = div64_u64((u64)s->chance << 32, v);
}

/**
 * wsmon_sample_weight - compute what an access counts that a sample saw
 * @s:		the sample
 * @rank:	the lowest rank of the members that accessed the page, at most @s->reach
 *
 * Return: the weight (Q15), from WSMON_ONE to WSMON_WEIGHT_MAX * WSMON_ONE.
 */
u32 wsmon_sample_weight(const struct wsmon_sample *s, u32 rank)
{
	return rank <= s->chance ? WSMON_ONE :
	       div64_u64((u64)rank * WSMON_ONE, s->chance);
}
