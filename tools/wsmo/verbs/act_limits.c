// SPDX-License-Identifier: GPL-2.0
/* act_limits.c - goals, budgets and pauses of "wsmo act", and the memory that came back */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act_limits.h"
#include "core/cli.h"
#include "core/clock.h"
#include "core/units.h"
#include "libwsmon/util.h"

/* Goals: reclaim as fast as needed to reach a goal, and stop when one is reached */

#define NAME(id, name)	name,
static const char * const names[] = { ACT_GOALS(NAME) };

const char *act_goal_name(enum act_goal_kind kind)
{
	return names[kind];
}

/*
 * Adapts a rate of reclaim to its effect
 *
 * Uses the feedback of DAMON's quota goals: a value 25 % below the goal raises the rate by 25 %, a
 * value 25 % above it reduces the rate by 25 %. A rate that was not used up did not limit reclaim,
 * so it is not raised.
 *
 * @rate:	the rate until now, bytes a second
 * @score:	the value as a part of the goal, 0 or more
 * @used_up:	the rate limited reclaim
 * @max:	maximum rate, bytes a second
 * Return: the next rate, bytes a second: at least GOAL_RATE_MIN, but never more than @max
 */
static double goal_rate(double rate, double score, bool used_up, double max)
{
	if (score >= 1 || used_up)
		rate *= 2 - score;
	if (rate < GOAL_RATE_MIN)
		rate = GOAL_RATE_MIN;
	return rate < max ? rate : max;
}

bool goals_any(const struct act_goals *g)
{
	int i;

	for (i = 0; i < ACT_NR_GOALS; i++)
		if (g->goal[i].target > 0)
			return true;
	return false;
}

/* Return: the value as a part of the goal; from 1 on the goal is reached; -1: unknown */
static double look(struct act_goal *goal, double share)
{
	if (share < 0)
		return -1;
	goal->last = share;
	goal->sum += share;
	goal->looks++;
	goal->reached += share >= goal->target;
	return share / goal->target;
}

void goals_look(struct act_goals *g, const double *share, double max)
{
	double best = 0, score;
	bool unknown = false;
	int i;

	for (i = 0; i < ACT_NR_GOALS; i++) {
		if (g->goal[i].target <= 0)
			continue;
		score = look(&g->goal[i], share[i]);
		unknown |= score < 0;
		if (score > best)
			best = score;
	}
	g->reached = unknown || best >= 1;
	if (!unknown)
		g->rate = goal_rate(g->rate, best, g->left <= 0, max);
	/* if the last action exceeded the budget, the excess reduces the next budget */
	g->left = g->rate + (g->left < 0 ? g->left : 0);
}

bool goals_allow(const struct act_goals *g)
{
	return !goals_any(g) || (!g->reached && g->left > 0);
}

/*
 * Budgets of bytes and CPU time fill up over time, to the amount of one second. An action may begin
 * while both are positive. The governor pauses reclaim when memory comes back too fast or memory
 * pressure is high. Each pause is twice as long as the pause before.
 */

#define PSI_FILE	"/proc/pressure/memory"

/* Kernel threads are children of kthreadd; names of DAMON's begin with KDAMOND */
#define KTHREADD	"/proc/2/comm"
#define KTHREADS	"/proc/2/task/2/children"
#define KDAMOND		"kdamond."

/* What DAMON says of itself: states "on" of kdamonds, pids of kdamonds, "Y" */
#define KDAMOND_STATES	"/sys/kernel/mm/damon/admin/kdamonds/*/state"
#define KDAMOND_PIDS	"/sys/module/damon_*/parameters/kdamond_pid"
#define KDAMOND_STAT	"/sys/module/damon_stat/parameters/enabled"

#define BACKOFF_MIN	(5 * NSEC_PER_SEC)
#define BACKOFF_MAX	(320 * NSEC_PER_SEC)

/* After this time without excess the next pause is short again */
#define CALM		(60 * NSEC_PER_SEC)

/* Does any file that matches a pattern say that a kdamond runs? */
static bool kdamond_says(const char *pattern)
{
	char text[32];
	bool runs = false;
	glob_t found;
	size_t i;

	if (!glob(pattern, GLOB_NOSORT, NULL, &found)) {
		for (i = 0; i < found.gl_pathc && !runs; i++)
			runs = read_line(AT_FDCWD, found.gl_pathv[i], text, sizeof(text)) > 0 &&
			       (!strcmp(text, "on") || !strcmp(text, "Y") || atol(text) > 0);
		globfree(&found);
	}
	return runs;
}

bool kdamond_running(char *name, size_t size)
{
	static char before[1 << 17], threads[1 << 17], found[32];
	char path[64], *at = threads, *end;
	unsigned long pid;

	/* there may be thousands of threads: read their names only if the list has changed */
	if (read_text(AT_FDCWD, KTHREADS, threads, sizeof(threads)) <= 0 || strcmp(threads, before)) {
		memcpy(before, threads, sizeof(before));
		*found = '\0';
		read_line(AT_FDCWD, KTHREADD, path, sizeof(path));
		/* in a pid namespace no thread of the kernel is seen */
		if (strcmp(path, "kthreadd")) {
			snprintf(name, size, "not seen from this pid namespace");
			*before = *found = '\0';
			return kdamond_says(KDAMOND_STATES) || kdamond_says(KDAMOND_PIDS) ||
			       kdamond_says(KDAMOND_STAT);
		}
		for (; (pid = strtoul(at, &end, 10)) && end > at; at = end) {
			snprintf(path, sizeof(path), "/proc/%lu/comm", pid);
			read_line(AT_FDCWD, path, found, sizeof(found));
			if (!strncmp(found, KDAMOND, strlen(KDAMOND)))
				break;
			*found = '\0';
		}
	}
	snprintf(name, size, "%s", found);
	return *found;
}

static void look_at_marks(struct act_limits *l)
{
	l->wanted = !l->available_below && l->pressure_above < 0;
	if (l->available_below && meminfo("MemAvailable") < l->available_below)
		l->wanted = true;
	if (l->pressure_above >= 0 && l->pressure > l->pressure_above)
		l->wanted = true;
}

int psi_read(const char *path, double *avg10, __u64 *us)
{
	char text[128];

	read_line(AT_FDCWD, path, text, sizeof(text));
	if (sscanf(text, "some avg10=%lf avg60=%*f avg300=%*f total=%llu", avg10, us) != 2)
		return -1;
	*avg10 /= 100;
	return 0;
}

static int read_stall(const struct act_limits *l, __u64 *us)
{
	double avg10;

	return psi_read(l->psi ?: PSI_FILE, &avg10, us);
}

int limits_start(struct act_limits *l, __u64 now)
{
	if (l->psi && read_stall(l, &l->stall_us)) {
		msg("%s cannot be read: the pressure of the whole machine is used instead", l->psi);
		free(l->psi);
		l->psi = NULL;
	}
	l->has_psi = !read_stall(l, &l->stall_us);
	l->now_ns = now;
	l->tick_ns = now;
	l->backoff_ns = BACKOFF_MIN;
	l->bytes = l->bytes_per_s > LLONG_MAX ? LLONG_MAX : l->bytes_per_s;
	l->cpu_ns = l->cpu_per_s;
	look_at_marks(l);
	if (l->has_psi)
		return 0;
	if (l->pressure_above >= 0 || l->goals.goal[GOAL_PRESSURE].target > 0) {
		msg("%s cannot be read; %s needs it", PSI_FILE,
		    l->pressure_above >= 0 ? "--when-pressure" : "--goal pressure");
		return -1;
	}
	msg("%s cannot be read: only refaults pause reclaim, memory pressure does not",
	    PSI_FILE);
	return 0;
}

static __s64 fill(__s64 left, __u64 a_second, __u64 passed)
{
	double v = left + (double)a_second * passed / NSEC_PER_SEC;

	return v > a_second ? a_second : v;
}

bool limits_left(struct act_limits *l, __u64 now)
{
	__u64 passed = now - l->now_ns;

	/* in a shorter time less than a byte may be added, which rounding would lose */
	if (passed >= NSEC_PER_MSEC) {
		if (l->bytes_per_s <= LLONG_MAX)
			l->bytes = fill(l->bytes, l->bytes_per_s, passed);
		l->cpu_ns = fill(l->cpu_ns, l->cpu_per_s, passed);
		l->now_ns = now;
	}
	return l->bytes > 0 && l->cpu_ns > 0;
}

void limits_charge(struct act_limits *l, __u64 bytes, __u64 cpu_ns, bool reclaim)
{
	if (reclaim)
		l->goals.left -= bytes;
	if (l->bytes_per_s <= LLONG_MAX)
		l->bytes -= bytes;
	l->cpu_ns -= cpu_ns;
}

static void pause_for(struct act_limits *l, __u64 now)
{
	char time[UNITS_LEN];

	units_time(time, l->backoff_ns);
	if (l->refaults > l->max_refaults)
		msg("backing off for %s: %.0f pages a second came back, --max-refaults is %llu",
		    time, l->refaults, l->max_refaults);
	else
		msg("backing off for %s: memory pressure is %.1f %%, --max-pressure is %.1f %%",
		    time, 100 * l->pressure, 100 * l->max_pressure);
	l->pause_ns = now + l->backoff_ns;
	l->backoff_ns = l->backoff_ns * 2 > BACKOFF_MAX ? BACKOFF_MAX :
			l->backoff_ns * 2;
	l->pauses++;
}

static void govern(struct act_limits *l, __u64 now)
{
	if (l->pause_ns > now)
		return;
	if (l->refaults > l->max_refaults || l->pressure > l->max_pressure) {
		pause_for(l, now);
		return;
	}
	if (l->pause_ns && now - l->pause_ns > CALM) {
		l->backoff_ns = BACKOFF_MIN;
		l->pause_ns = 0;
	}
}

static void look_at_goals(struct act_limits *l)
{
	__u64 available, total;

	if (!goals_any(&l->goals))
		return;
	available = meminfo("MemAvailable");
	total = meminfo("MemTotal");
	goals_look(&l->goals, (double[]) {
		[GOAL_AVAILABLE] = available && total ? (double)available / total : -1,
		[GOAL_PRESSURE]	 = l->pressure,
	}, l->bytes_per_s);
}

/* Notes that the pressure cannot be read: a cgroup's owner may turn PSI off (cgroup.pressure) */
static void look_away(struct act_limits *l)
{
	if (!l->blind_said)
		msg("%s cannot be read any more: nothing is reclaimed until it can be read", l->psi ?: PSI_FILE);
	l->blind_said = l->blind = true;
}

void limits_tick(struct act_limits *l, __u64 now, __u64 pages)
{
	double seconds = (double)(now - l->tick_ns) / NSEC_PER_SEC;
	__u64 stall;

	if (seconds <= 0)
		return;
	l->tick_ns = now;
	l->refaults = pages / seconds;
	l->pressure = -1;
	if (l->has_psi && read_stall(l, &stall)) {
		look_away(l);
	} else if (l->has_psi) {
		if (!l->blind)
			l->pressure = (stall - l->stall_us) / 1e6 / seconds;
		l->blind = false;
		l->stall_us = stall;
	}
	look_at_marks(l);
	look_at_goals(l);
	govern(l, now);
}

bool limits_reclaim(const struct act_limits *l)
{
	return l->wanted && !l->blind && l->pause_ns <= l->tick_ns && !l->goals.reached;
}

/*
 * Tracks paged-out memory, and finds refaults
 *
 * A page that was in swap and is mapped now came back by a fault. A page that was in swap and is
 * neither in swap nor mapped now was unmapped or dropped by its owner.
 */

#define BLOCKS_MAX	(1 << 20)	/* 2 TiB */
#define BLOCKS_A_SCAN	64		/* blocks between two looks at the clock */
#define BLOCKS_AHEAD	8		/* max. neighbours whose pages are read at once */

/* Pages that came back are left alone for this long (five minutes) */
#define BACK_FOR	(300 * NSEC_PER_SEC)

/**
 * struct taken_block - a block of which pages were paged out
 * @addr:	address of the block
 * @rule:	the rule that was last applied to the block
 * @last:	pages in memory and in swap at the last look
 * @back:	pages that came back: a bit for each page
 * @back_ns:	time when the first page of @back came back; 0: none did
 */
struct taken_block {
	__u64 addr;
	__u32 rule;
	struct resident last;
	__u64 back[ACT_BLOCK_WORDS];
	__u64 back_ns;
};

static int look_at_block(struct act_process *p, __u64 addr, struct resident *r)
{
	return process_resident(p, addr, addr + ACT_BLOCK, false, r);
}

void taken_note(struct taken *t, struct act_process *p, __u64 addr, __u32 rule)
{
	const struct taken_block key = { .addr = addr & ~(ACT_BLOCK - 1) };
	struct taken_block *b;
	struct resident now;

	if (!t->blocks.size)
		t->blocks = SORTED(*b, BLOCKS_MAX, order_u64);
	if (look_at_block(p, key.addr, &now) || !now.swapped)
		return;
	b = sorted_get(&t->blocks, &key);
	if (!b)
		return;
	b->rule = rule;
	b->last = now;
}

/* Notes pages that are no longer in swap. BACK_FOR after the first of them, forgets all of them */
static void note_back(struct taken_block *b, const struct resident *now)
{
	__u64 ns = clock_now(), any = 0;
	size_t i;

	if (b->back_ns && ns - b->back_ns > BACK_FOR) {
		memset(b->back, 0, sizeof(b->back));
		b->back_ns = 0;
	}
	for (i = 0; i < ACT_BLOCK_WORDS; i++) {
		b->back[i] |= b->last.out[i] & ~now->out[i];
		any |= b->back[i];
	}
	if (any && !b->back_ns)
		b->back_ns = ns;
}

static void update_block(struct taken_block *b, struct act_process *p,
			 __u64 *refaulted)
{
	struct resident now;
	__u64 in, back;

	if (look_at_block(p, b->addr, &now))
		return;
	in = now.bytes > b->last.bytes ? now.bytes - b->last.bytes : 0;
	back = b->last.swapped > now.swapped ? b->last.swapped - now.swapped : 0;
	refaulted[b->rule] += in < back ? in : back;
	note_back(b, &now);
	b->last = now;
}

/* Return: the block of an address; NULL if none of its pages was paged out */
static struct taken_block *find_block(const struct taken *t, __u64 addr)
{
	const struct taken_block key = { .addr = addr & ~(ACT_BLOCK - 1) };

	return sorted_find(&t->blocks, &key);
}

void taken_look(struct taken *t, struct act_process *p, __u64 addr,
		__u64 *refaulted)
{
	struct taken_block *b = find_block(t, addr);

	if (b)
		update_block(b, p, refaulted);
}

const __u64 *taken_back(const struct taken *t, __u64 addr)
{
	const struct taken_block *b = find_block(t, addr);

	return b && b->back_ns ? b->back : NULL;
}

/* Return: bytes of the block and of the adjacent blocks after it, to be read at once */
static __u64 neighbours(const struct taken_block *b, const struct taken_block *end)
{
	__u64 n = 1;

	while (n < BLOCKS_AHEAD && b + n < end && b[n].addr == b->addr + n * ACT_BLOCK)
		n++;
	return n * ACT_BLOCK;
}

void taken_scan(struct taken *t, struct act_process *p, __u64 *refaulted,
		__u64 until_ns)
{
	struct taken_block *block = t->blocks.base;
	size_t i, nr = t->blocks.nr;

	for (i = 0; i < nr; i++) {
		if (i && i % BLOCKS_A_SCAN == 0 && clock_now() > until_ns)
			break;
		if (t->cursor >= t->blocks.nr)
			t->cursor = 0;
		p->ahead = neighbours(&block[t->cursor], block + t->blocks.nr);
		update_block(&block[t->cursor], p, refaulted);
		p->ahead = 0;
		if (block[t->cursor].last.swapped || block[t->cursor].back_ns)
			t->cursor++;
		else
			sorted_remove(&t->blocks, &block[t->cursor]);
	}
}

void taken_clear(struct taken *t)
{
	free(t->blocks.base);
	memset(t, 0, sizeof(*t));
}
