// SPDX-License-Identifier: GPL-2.0
/*
 * limits.c - how much "wsmo act" may do, and when it must not
 *
 * Budgets fill up over time, to one second's worth; an action may begin while both are
 * positive. The governor pauses reclaim when memory comes back too fast or memory
 * pressure is high, each time twice as long. Goals give reclaim a budget of its own.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "limits.h"

#define PSI_FILE	"/proc/pressure/memory"
#define MEMINFO		"/proc/meminfo"

/* Kernel threads are children of kthreadd; DAMON's have names that begin so */
#define KTHREADD	"/proc/2/comm"
#define KTHREADS	"/proc/2/task/2/children"
#define KDAMOND		"kdamond."

#define BACKOFF_MIN	(5 * NSEC_PER_SEC)
#define BACKOFF_MAX	(320 * NSEC_PER_SEC)

/* After this time without an excess the next pause is short again */
#define CALM		(60 * NSEC_PER_SEC)

static int read_stall(const struct act_limits *l, __u64 *us)
{
	FILE *f = fopen(l->psi ?: PSI_FILE, "re");
	int n = 0;

	if (f) {
		n = fscanf(f, "some avg10=%*f avg60=%*f avg300=%*f total=%llu",
			   us);
		fclose(f);
	}
	return n == 1 ? 0 : -1;
}

static __u64 meminfo(const char *key)
{
	FILE *f = fopen(MEMINFO, "re");
	__u64 kib, bytes = 0;
	char line[128];
	size_t len = strlen(key);

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':' &&
		    sscanf(line + len + 1, "%llu", &kib) == 1)
			bytes = kib * 1024;
	fclose(f);
	return bytes;
}

__u64 memory_total(void)
{
	return meminfo("MemTotal");
}

__u64 swap_free(void)
{
	return meminfo("SwapFree");
}

/* Reads up to @size - 1 bytes of a file; Return: how many */
static size_t read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t len = 0;

	if (f) {
		len = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[len] = '\0';
	return len;
}

bool kdamond_running(char *name, size_t size)
{
	static char before[1 << 17], threads[1 << 17], found[32];
	char path[64], *at = threads, *end;
	unsigned long pid;

	/* thousands of names are not read each second if nothing has changed */
	if (!read_file(KTHREADS, threads, sizeof(threads)) || strcmp(threads, before)) {
		memcpy(before, threads, sizeof(before));
		*found = '\0';
		if (!read_file(KTHREADD, path, sizeof(path)) || strcmp(path, "kthreadd\n"))
			*at = '\0';
		for (; (pid = strtoul(at, &end, 10)) && end > at; at = end) {
			snprintf(path, sizeof(path), "/proc/%lu/comm", pid);
			read_file(path, found, sizeof(found));
			if (!strncmp(found, KDAMOND, strlen(KDAMOND)))
				break;
			*found = '\0';
		}
		found[strcspn(found, "\n")] = '\0';
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

int limits_start(struct act_limits *l, __u64 now)
{
	if (l->psi && read_stall(l, &l->stall_us)) {
		msg("%s cannot be read: the pressure on the machine counts", l->psi);
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

	/* shorter times would add less than one */
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
	total = memory_total();
	goals_look(&l->goals, (double[]) {
		[GOAL_AVAILABLE] = available && total ? (double)available / total : -1,
		[GOAL_PRESSURE] = l->pressure,
	}, l->bytes_per_s);
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
	if (l->has_psi && !read_stall(l, &stall)) {
		l->pressure = (stall - l->stall_us) / 1e6 / seconds;
		l->stall_us = stall;
	}
	look_at_marks(l);
	look_at_goals(l);
	govern(l, now);
}

bool limits_reclaim(const struct act_limits *l)
{
	return l->wanted && l->pause_ns <= l->tick_ns && !l->goals.reached;
}
