// SPDX-License-Identifier: GPL-2.0
/*
 * brakes.c - runs the limits of "wsmo act", and its memory of refaults, on a clock of its own,
 * for act/test_brakes.py; with an argument its goals, for act/test_goals.py
 *
 * Limits: the first line has the bytes and the nanoseconds of CPU time a second, the maxima of
 * refaults and pressure, and the file with the pressure. Each further line has a word and a number.
 *
 * Goals: the first line has a target for each goal; each further line has the share that each goal
 * has reached, the maximum rate, and the bytes reclaimed since the last line. Prints the rate from
 * then on, the rest of it, and whether reclaim may go on.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/units.h"
#include "wsmo/verbs/act_limits.h"

static __u64 now;
static unsigned long long swapped;

__u64 clock_now(void)
{
	return now;
}

void msg(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

const char *units_time(char *buf, __u64 ns)
{
	sprintf(buf, "%llu ns", ns);
	return buf;
}

/* The first @swapped pages of each block are in swap, the rest in memory */
int process_resident(struct act_process *p, __u64 start, __u64 end, bool huge, struct resident *r)
{
	__u64 i;

	(void)p;
	(void)huge;
	memset(r, 0, sizeof(*r));
	for (i = 0; i < (end - start) / 4096; i++) {
		if (i < swapped)
			r->out[i / 64] |= 1ULL << i % 64;
		*(i < swapped ? &r->swapped : &r->bytes) += 4096;
	}
	return 0;
}

static int pages_back(const struct taken *t)
{
	const __u64 *back = taken_back(t, ACT_BLOCK);
	int sum = 0, i;

	for (i = 0; back && i < (int)ACT_BLOCK_WORDS; i++)
		sum += __builtin_popcountll(back[i]);
	return sum;
}

static int goals(void)
{
	double share[ACT_NR_GOALS], max, taken;
	struct act_goals g = { 0 };

	if (scanf("%lf %lf", &g.goal[0].target, &g.goal[1].target) != 2)
		return 1;
	while (scanf("%lf %lf %lf %lf", &share[0], &share[1], &max, &taken) == 4) {
		g.left -= taken;
		goals_look(&g, share, max);
		printf("%.17g %.17g %d\n", g.rate, g.left, goals_allow(&g));
		fflush(stdout);
	}
	return 0;
}

static int limits(void)
{
	struct act_limits l = { .pressure_above = -1 };
	struct act_process p = { 0 };
	struct taken t = { 0 };
	__u64 refaulted[1] = { 0 };
	char word[16], psi[4096];
	unsigned long long n;

	if (scanf("%llu %llu %llu %lf %4095s", &l.bytes_per_s, &l.cpu_per_s, &l.max_refaults,
		  &l.max_pressure, psi) != 5)
		return 1;
	l.psi = strdup(psi);
	if (limits_start(&l, now))
		return 1;
	while (scanf("%15s %llu", word, &n) == 2) {
		if (!strcmp(word, "clock"))
			now = n;
		else if (!strcmp(word, "bytes"))
			limits_charge(&l, n, 0, true);
		else if (!strcmp(word, "cpu"))
			limits_charge(&l, 0, n, true);
		else if (!strcmp(word, "refaults"))
			limits_tick(&l, now, n);
		else if (!strcmp(word, "swapped"))
			swapped = n;
		else if (!strcmp(word, "take"))
			taken_note(&t, &p, ACT_BLOCK, 0);
		else if (!strcmp(word, "look"))
			taken_scan(&t, &p, refaulted, ~0ULL);
		else
			return 1;
		printf("%d %d %llu %llu %d %llu\n", limits_left(&l, now), limits_reclaim(&l),
		       l.pause_ns, l.pauses, pages_back(&t), refaulted[0] / 4096);
		fflush(stdout);
	}
	taken_clear(&t);
	free(l.psi);
	return 0;
}

int main(int argc, char **argv __attribute__((unused)))
{
	return argc > 1 ? goals() : limits();
}
