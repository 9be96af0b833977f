// SPDX-License-Identifier: GPL-2.0
/*
 * live.c - "wsmo export openmetrics --live": the module's figures of now
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/outfile.h"
#include "cli/secondary.h"
#include "cli/units.h"
#include "export.h"
#include "metrics.h"
#include "session/live.h"

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void print_now(const struct live *now)
{
	metric_plain("wsmon_monitoring", NULL, false,
		     "Whether monitoring runs.", now->running);
	metric_plain("wsmon_cpu_seconds", "seconds", true,
		     "CPU time of the kernel thread since monitoring started.",
		     now->cpu_ns / 1e9);
	metric_plain("wsmon_lost_records", NULL, true,
		     "Records that found no room in the buffer since then.",
		     now->lost);
	metrics_wss(&now->rows, &now->names, "", 0, 0);
	metrics_rss(&now->rss, &now->names, 0, 0);
	metrics_peaks(&now->events, &now->names, 0, 0);
	metrics_end();
}

static void note_secondary(const struct live *now)
{
	const struct wss_name *name = now->names.base;
	char text[SECONDARY_TEXT];
	size_t i;

	for (i = 0; i < now->names.nr; i++)
		if (name[i].secondary_mmu && secondary_add(name[i].pid))
			msg("%s", secondary_text(text, name[i].pid, name[i].comm));
}

static int write_now(const char *file)
{
	struct live now;
	int err = live_read(&now);

	if (!err && file)
		err = outfile_begin(file);
	if (!err) {
		note_secondary(&now);
		print_now(&now);
		if (file)
			err = outfile_commit();
		else if (fflush(stdout) || output_error())
			err = -1;
	}
	live_free(&now);
	return err;
}

int export_live(const char *file, __u64 interval_ns)
{
	const struct sigaction act = { .sa_handler = end };
	struct timespec next;
	int err;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	clock_gettime(CLOCK_MONOTONIC, &next);
	do {
		err = write_now(file);
		next.tv_sec += interval_ns / NSEC_PER_SEC;
		next.tv_nsec += interval_ns % NSEC_PER_SEC;
		if (next.tv_nsec >= (long)NSEC_PER_SEC) {
			next.tv_nsec -= NSEC_PER_SEC;
			next.tv_sec++;
		}
		if (!err && !ended)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next,
					NULL);
	} while (!err && !ended);
	/* old figures must not pass for current ones */
	if (file)
		unlink(file);
	return err ? WSMO_FAILURE : WSMO_OK;
}
