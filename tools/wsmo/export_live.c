// SPDX-License-Identifier: GPL-2.0
/*
 * export_live.c - "wsmo export --openmetrics --live": what the module knows now
 *
 * It reads the module's text files, so it takes nothing away from a recorder, and
 * shows whatever is monitored, whoever started that.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debugfs.h"
#include "export.h"
#include "names.h"
#include "openmetrics.h"
#include "outfile.h"
#include "procfs.h"
#include "units.h"
#include "wsmo.h"

/**
 * struct now - what the module tells
 * @rows:	working set sizes
 * @rss:	resident sizes of the same targets
 * @names:	their names
 * @running:	monitoring runs
 * @cpu_ns:	CPU time of the kernel thread
 * @lost:	records lost
 */
struct now {
	struct wss_rows rows;
	struct wss_rows rss;
	struct sorted names;
	bool running;
	__u64 cpu_ns;
	__u64 lost;
};

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void take_name(struct now *now, __u32 pid)
{
	const struct wss_name key = { .pid = pid };
	struct wss_name *name;
	char path[32];
	FILE *f;

	if (sorted_find(&now->names, &key))
		return;
	name = sorted_get(&now->names, &key);
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = name ? fopen(path, "re") : NULL;
	if (!f)
		return;
	if (fgets(name->comm, sizeof(name->comm), f))
		name->comm[strcspn(name->comm, "\n")] = '\0';
	fclose(f);
}

static void take_memory(struct now *now, __u32 pid)
{
	struct wsmon_rec_proc proc = { .pid = pid };

	if (!proc_memory(pid, &proc))
		wss_rows_add(&now->rss, &(struct wss_row) {
			.pid = pid, .bytes = proc.rss,
		});
}

/* Return: 0, or -EINVAL */
static int take_line(struct now *now, const char *line)
{
	struct wss_row row = { 0 };
	char class[16];
	int c;

	if (sscanf(line, "pid=%u class=%15s tau_us=%llu bytes=%llu low=%llu high=%llu mapped=%llu",
		   &row.pid, class, &row.tau_us, &row.bytes, &row.low,
		   &row.high, &row.mapped) != 7)
		return -EINVAL;
	c = class_by_name(class);
	if (c < 0)
		return -EINVAL;
	row.class = c;
	wss_rows_add(&now->rows, &row);
	if (row.class == WSMON_CLASS_ALL) {
		const struct wss_name key = { .pid = row.pid };

		if (!sorted_find(&now->names, &key))
			take_memory(now, row.pid);
		take_name(now, row.pid);
	}
	return 0;
}

static int read_wss(struct now *now)
{
	int fd = debugfs_open("wss", O_RDONLY), err = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!f) {
		debugfs_explain("wss", fd < 0 ? fd : -errno);
		return -1;
	}
	while (!err && fgets(line, sizeof(line), f))
		err = take_line(now, line);
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	if (err == -EINVAL)
		msg("the module's wss file has a line this wsmo does not understand: their versions do not fit");
	else if (err)
		debugfs_explain("wss", err);
	return err;
}

static __u64 stat_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, key, len) && text[len] == '=')
			return strtoull(text + len + 1, NULL, 10);
	return 0;
}

static int read_now(struct now *now)
{
	char text[DEBUGFS_TEXT];

	if (debugfs_read("status", text, sizeof(text)))
		return -1;
	now->running = !strncmp(text, "running", strlen("running"));
	if (debugfs_read("stats", text, sizeof(text)))
		return -1;
	now->cpu_ns = stat_of(text, "cpu_ns");
	now->lost = stat_of(text, "lost_records");
	/* figures of what is not monitored any more would be old ones */
	return now->running ? read_wss(now) : 0;
}

static void print_now(struct now *now)
{
	wss_rows_sort(&now->rows, false);
	wss_rows_sort(&now->rss, false);
	metric_plain("wsmon_monitoring", NULL, false,
		     "Whether monitoring runs.", now->running);
	metric_plain("wsmon_cpu_seconds", "seconds", true,
		     "CPU time of the kernel thread since monitoring started.",
		     now->cpu_ns / 1e9);
	metric_plain("wsmon_lost_records", NULL, true,
		     "Records that found no room in the buffer since then.",
		     now->lost);
	metrics_wss(&now->rows, &now->names, 0, 0);
	metrics_rss(&now->rss, &now->names, 0, 0);
	metrics_end();
}

static int write_now(const char *file)
{
	struct now now = {
		.names = {
			.size = sizeof(struct wss_name), .max = EXPORT_TARGETS,
			.compare = wss_name_compare,
		},
	};
	int err = read_now(&now);

	if (!err && file)
		err = outfile_begin(file);
	if (!err) {
		print_now(&now);
		if (file)
			err = outfile_commit();
		else if (fflush(stdout) || output_error())
			err = -1;
	}
	free(now.rows.row);
	free(now.rss.row);
	free(now.names.base);
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
	/* nobody is to take what was for what is */
	if (file)
		unlink(file);
	return err ? WSMO_FAILURE : WSMO_OK;
}
