// SPDX-License-Identifier: GPL-2.0
/*
 * verify.c - what a limit does to a cgroup
 *
 * memory.high slows down and reclaims, but never kills.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "guard.h"
#include "verify.h"

static volatile sig_atomic_t caught;

static void note_signal(int sig)
{
	caught = sig;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	const struct sigaction note = { .sa_handler = note_signal };
	struct sigaction old;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		/* what is ignored stays ignored, for nohup */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &note, NULL);
}

static FILE *open_file(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NULL;
	return fopen(path, "re");
}

static int read_stat(struct usage *u, const char *dir)
{
	const struct {
		const char *key;
		__u64 *to;
	} keys[] = {
		{ "anon", &u->anon }, { "file", &u->file },
		{ "workingset_refault_anon", &u->anon_refaults },
		{ "workingset_refault_file", &u->file_refaults },
		{ "pgmajfault", &u->major_faults },
	};
	FILE *f = open_file(dir, "memory.stat");
	unsigned long long n;
	size_t found = 0, i;
	char word[64];

	if (!f)
		return -1;
	while (fscanf(f, "%63s %llu", word, &n) == 2)
		for (i = 0; i < ARRAY_SIZE(keys); i++)
			if (!strcmp(word, keys[i].key)) {
				*keys[i].to = n;
				found++;
			}
	fclose(f);
	return found == ARRAY_SIZE(keys) ? 0 : -1;
}

static void read_pressure(struct usage *u, const char *dir)
{
	FILE *f = open_file(dir, "memory.pressure");
	double avg10;

	u->pressure = -1;
	if (f && fscanf(f, "some avg10=%lf avg60=%*f avg300=%*f total=%llu", &avg10, &u->stall_us) == 2)
		u->pressure = avg10 / 100;
	if (f)
		fclose(f);
}

int usage_read(struct usage *u, const char *dir)
{
	FILE *f = open_file(dir, "memory.current");
	int n = 0;

	*u = (struct usage) { .time_ns = clock_now() };
	if (f) {
		n = fscanf(f, "%llu", &u->current);
		fclose(f);
	}
	if (n != 1 || read_stat(u, dir)) {
		msg("%s: memory.current or memory.stat cannot be read", dir);
		return -1;
	}
	read_pressure(u, dir);
	return 0;
}

static void progress(const struct verify *v, __u64 now_ns, __u64 end_ns)
{
	char left[UNITS_LEN], memory[UNITS_LEN], line[160];

	if (!isatty(STDERR_FILENO))
		return;
	snprintf(line, sizeof(line), "%s left, %s charged, pressure %.1f %%%s",
		 units_time(left, (end_ns - now_ns) / NSEC_PER_SEC * NSEC_PER_SEC),
		 units_size(memory, v->to.current), 100 * v->to.pressure,
		 v->from.time_ns ? ", measuring" : "");
	msg_progress(line);
}

static void watch(struct verify *v)
{
	__u64 begin_ns = clock_now(), end_ns = begin_ns + v->duration_ns;

	for (;;) {
		if (usage_read(&v->to, v->dir)) {
			v->end = VERIFY_GONE;
			return;
		}
		if (!v->from.time_ns && v->to.time_ns >= begin_ns + v->duration_ns / 2)
			v->from = v->to;
		if (caught)
			v->end = VERIFY_SIGNAL;
		else if (v->to.pressure > v->max_pressure)
			v->end = VERIFY_PRESSURE;
		if (v->end || v->to.time_ns >= end_ns)
			return;
		progress(v, v->to.time_ns, end_ns);
		nanosleep(&(struct timespec) {
			.tv_nsec = end_ns - v->to.time_ns < NSEC_PER_SEC / 2 ?
				   end_ns - v->to.time_ns : NSEC_PER_SEC / 2,
		}, NULL);
	}
}

int verify_run(struct verify *v)
{
	struct guard g;

	catch_signals();
	if (guard_begin(&g, v->dir, v->high))
		return -1;
	watch(v);
	msg_progress(NULL);
	return guard_end(&g);
}
