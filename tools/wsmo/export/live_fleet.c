// SPDX-License-Identifier: GPL-2.0
/*
 * live_fleet.c - "wsmo export openmetrics --live --cgroups": the figures of cgroups
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/outfile.h"
#include "export.h"
#include "fleet.h"
#include "metrics.h"

/* How often turns may end */
#define TURN_CHECK	NSEC_PER_SEC

struct figures {
	struct fleet *fleet;
	const struct filter *filter;
};

static void print(const void *arg)
{
	const struct figures *o = arg;
	const struct fleet *f = o->fleet;
	const char *root = f->root;
	__u64 cpu_ns, lost;

	fleet_sum(f, &cpu_ns, &lost);
	metrics_running(root, f->open, cpu_ns, lost);
	metric_plain("wsmon_cgroups", NULL, false, "Cgroups with processes.", root, f->found);
	metric_plain("wsmon_cgroups_watched", NULL, false,
		     "Cgroups watched now; others have their last figures.", root, f->open);
	metric_plain("wsmon_cgroups_left_out", NULL, false,
		     "Cgroups without figures: the smallest, beyond the bound, or with too long a path.", root,
		     f->found - f->list.nr + f->refused);
	metrics_fleet(f, o->filter);
}

/* Return: 0, or -1 after a message */
static int loop(struct fleet *f, const struct filter *filter, const char *file, __u64 interval_ns)
{
	const struct figures figures = { f, filter };
	struct pollfd fds[] = {
		{ .fd = export_signals(), .events = POLLIN },
		{ .fd = f->fd, .events = POLLIN },
	};
	__u64 next_ns = clock_now(), turn_ns = next_ns, now, wake_ns;
	int err = fds[0].fd < 0 ? -1 : 0;

	while (!err && !fds[0].revents) {
		now = clock_now();
		if (now >= turn_ns) {
			err = fleet_turn(f);
			turn_ns = export_next(turn_ns, now, TURN_CHECK);
		}
		if (!err && now >= next_ns) {
			err = export_write(file, print, &figures);
			next_ns = export_next(next_ns, now, interval_ns);
		}
		wake_ns = next_ns < turn_ns ? next_ns : turn_ns;
		if (!err && poll(fds, ARRAY_SIZE(fds), (wake_ns - now) / NSEC_PER_MSEC + 1) > 0)
			err = fleet_take(f);
	}
	return err;
}

int export_fleet(struct fleet *fleet, const struct filter *filter, const char *file,
		 __u64 interval_ns)
{
	int err = fleet_begin(fleet);

	metrics_prometheus();
	if (!err)
		err = loop(fleet, filter, file, interval_ns);
	fleet_end(fleet);
	/* old figures must not pass for current ones */
	outfile_remove();
	return err ? WSMO_FAILURE : WSMO_OK;
}
