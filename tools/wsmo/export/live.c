// SPDX-License-Identifier: GPL-2.0
/*
 * live.c - "wsmo export openmetrics --live": the figures of now
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/outfile.h"
#include "cli/secondary.h"
#include "cli/units.h"
#include "export.h"
#include "metrics.h"
#include "session/live.h"
#include "session/session.h"

/**
 * struct exporter - the session that began last, and its figures
 * @session:	its fd is -1 while there is none
 * @live:	the figures
 * @written:	figures of this session were written
 */
struct exporter {
	struct session session;
	struct live live;
	bool written;
};

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct exporter *e = arg;

	if (!rec)
		return true;
	secondary_take(rec, "");
	live_take(&e->live, rec);
	e->session.started = rec->type != WSMON_REC_END;
	return e->session.started;
}

static void leave(struct exporter *e)
{
	session_close(&e->session);
	live_free(&e->live);
	*e = (struct exporter) { .session.fd = -1 };
	live_init(&e->live);
	secondary_forget();
}

/* Return: 0, or -1 after a message */
static int join(struct exporter *e)
{
	int res = session_join(&e->session);

	if (res)
		leave(e);
	return res < 0 ? -1 : 0;
}

static void print_now(const void *arg)
{
	const struct exporter *e = arg;
	const struct live *now = &e->live;

	metrics_running(NULL, e->session.started, now->cpu_ns, now->lost);
	metrics_wss(&now->now.rows, &now->names, NULL, 0, 0);
	metrics_rss(&now->rss, &now->names, 0, 0);
	metrics_peaks(&now->events, &now->names, 0, 0);
}

int export_write(const char *file, void (*print)(const void *arg), const void *arg)
{
	if (file && outfile_begin(file))
		return -1;
	print(arg);
	metrics_end();
	if (file)
		/* it does not outlive this: nobody waits for the disk */
		return outfile_commit(false);
	return fflush(stdout) || output_error() ? -1 : 0;
}

__u64 export_next(__u64 next_ns, __u64 now, __u64 interval_ns)
{
	return next_ns + (now - next_ns) / interval_ns * interval_ns + interval_ns;
}

int export_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		msg("signals cannot be caught: %m");
	return fd;
}

static int write_now(struct exporter *e, const char *file)
{
	e->written = e->live.time_ns;
	return export_write(file, print_now, e);
}

int export_live(const char *file, __u64 interval_ns)
{
	static struct exporter e = { .session.fd = -1 };
	struct pollfd fds[] = {
		{ .fd = export_signals(), .events = POLLIN }, { .events = POLLIN },
	};
	__u64 next_ns = clock_now(), now, wait_ms;
	int err = fds[0].fd < 0 ? -1 : 0;

	metrics_prometheus();
	live_init(&e.live);
	while (!err && !fds[0].revents) {
		now = clock_now();
		if (now >= next_ns && e.session.fd < 0)
			err = join(&e);
		/* the first figures are waited for, and do not wait */
		if (!err && (now >= next_ns ? e.live.time_ns || !e.session.started :
					      e.live.time_ns && !e.written))
			err = write_now(&e, file);
		if (now >= next_ns)
			next_ns = export_next(next_ns, now, interval_ns);
		fds[1].fd = e.session.fd;
		wait_ms = (next_ns - now) / NSEC_PER_MSEC + 1;
		if (err || poll(fds, ARRAY_SIZE(fds), wait_ms < INT_MAX ? wait_ms : INT_MAX) <= 0)
			continue;
		if (fds[1].revents)
			err = session_take(&e.session, take_record, &e) < 0 ? -1 : 0;
		if (!e.session.started)
			leave(&e);
	}
	leave(&e);
	/* old figures must not pass for current ones */
	outfile_remove();
	return err ? WSMO_FAILURE : WSMO_OK;
}
