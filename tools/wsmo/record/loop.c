// SPDX-License-Identifier: GPL-2.0
/*
 * loop.c - copies the stream to the file while a session runs
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "record.h"

#define END_PATIENCE	(5 * NSEC_PER_SEC)	/* for END after stopping */
#define EXIT_PATIENCE	(2 * NSEC_PER_SEC)	/* for END after CMD's exit */

/* What is pending; times are CLOCK_MONOTONIC, 0 is never */
struct loop {
	__u64 tick_ns;		/* next time to read /proc and draw progress */
	__u64 stop_ns;		/* when to stop the session */
	__u64 give_up_ns;	/* when to wait for END no longer */
	bool progress;
};

__u64 record_lost(const struct record *r)
{
	/* no LOST record follows a loss at the very end */
	return r->lost.records > r->stats.lost_records ?
	       r->lost.records : r->stats.lost_records;
}

static void progress(const struct record *r)
{
	/* the total is there while there are several members */
	bool group = r->total.rec.size && r->total.rec.time_ns >= r->wss.rec.time_ns;
	char wss[UNITS_LEN], low[UNITS_LEN], high[UNITS_LEN];
	char bytes[UNITS_LEN], time[UNITS_LEN], line[256];
	__u64 elapsed = (clock_now() - r->start_ns) / NSEC_PER_SEC;
	int len;

	len = snprintf(line, sizeof(line), "%s",
		       units_time(time, elapsed * NSEC_PER_SEC));
	if (group)
		len += snprintf(line + len, sizeof(line) - len,
				"  %u process%s: WSS %s (%s to %s)", r->group.members,
				r->group.members == 1 ? "" : "es",
				units_size(wss, r->total.bytes),
				units_size(low, r->total.low),
				units_size(high, r->total.high));
	else if (r->wss.rec.size)
		len += snprintf(line + len, sizeof(line) - len,
				"  pid %u: WSS %s (%s to %s)", r->targets.first,
				units_size(wss, r->wss.bytes),
				units_size(low, r->wss.low),
				units_size(high, r->wss.high));
	snprintf(line + len, sizeof(line) - len, "  %s written, %llu lost",
		 units_size(bytes, r->output.bytes), record_lost(r));
	msg_progress(line);
}

static void stop(struct record *r, struct loop *l)
{
	l->stop_ns = 0;
	if (!r->session.started)
		return;
	session_stop(&r->session);
	l->give_up_ns = clock_now() + END_PATIENCE;
}

static void fail(struct record *r)
{
	r->failed = true;
	if (r->session.started)
		session_stop(&r->session);
}

static bool take_record(void *arg, const struct wsmon_record *rec)
{
	struct record *r = arg;

	if (rec)
		record_take(r, rec);
	else if (!r->output.bytes)
		output_put(&r->output, r->session.header,
			   r->session.header_size);
	return !r->ended;
}

/* Takes what the stream has; Return: false when it is over */
static bool take_stream(struct record *r)
{
	int res = session_take(&r->session, take_record, r);

	if (res < 0)
		fail(r);
	return res > 0;
}

static void forward(const struct record *r, int sig)
{
	if (r->child.pid && !r->child.gone)
		kill(r->child.pid, sig);
}

int record_signal(struct record *r)
{
	struct signalfd_siginfo info;

	if (read(r->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGCHLD)
		child_reap(&r->child);
	else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
		forward(r, info.ssi_signo);
	return info.ssi_signo;
}

static void handle_signals(struct record *r, struct loop *l)
{
	int sig;

	while ((sig = record_signal(r))) {
		if (sig == SIGCHLD) {
			if (r->child.gone && r->session.started)
				l->stop_ns = clock_now() + EXIT_PATIENCE;
		} else if (!r->cmd) {
			/* the second signal: do not wait for END */
			if (r->session.started)
				stop(r, l);
			else
				l->give_up_ns = 1;
		}
	}
}

static void earlier(__u64 *a, __u64 b)
{
	if (b && b < *a)
		*a = b;
}

static int timeout_ms(const struct record *r, const struct loop *l)
{
	__u64 now = clock_now(), next = l->tick_ns;

	earlier(&next, l->stop_ns);
	earlier(&next, l->give_up_ns);
	earlier(&next, marks_due(&r->marks));
	if (r->feed.ring)
		earlier(&next, now + FEED_NS);
	if (next <= now)
		return 0;
	return (next - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
}

static void tick(struct record *r, struct loop *l)
{
	__u64 now = clock_now();

	if (now < l->tick_ns)
		return;
	l->tick_ns += (now - l->tick_ns) / NSEC_PER_SEC * NSEC_PER_SEC +
		      NSEC_PER_SEC;
	if (r->session.cgroup)
		members_tick(&r->members, r->session.cgroup, &r->targets, &r->output);
	targets_memory(&r->targets, 0, &r->output);
	record_mappings(r);
	if (r->hooks.tick)
		r->hooks.tick(r);
	if (l->progress)
		progress(r);
}

static bool write_failed(struct record *r)
{
	char bytes[UNITS_LEN];

	output_flush(&r->output);
	if (!r->output.error)
		return false;
	if (r->output.error != -ECANCELED)
		msg("%s: %s; recording ends, the %s before were saved", r->output.name,
		    strerror(-r->output.error), units_size(bytes, r->output.bytes));
	fail(r);
	return true;
}

void record_loop(struct record *r)
{
	struct loop l = {
		.tick_ns = r->start_ns + NSEC_PER_SEC,
		.stop_ns = r->duration_ns ? r->start_ns + r->duration_ns : 0,
		.progress = !r->quiet && isatty(STDERR_FILENO),
	};
	struct pollfd fds[] = {
		{ .events = POLLIN },
		{ .fd = r->signal_fd, .events = POLLIN },
		{ .events = POLLIN },
	};

	output_put(&r->output, r->session.header, r->session.header_size);
	output_flush(&r->output);
	for (;;) {
		fds[0].fd = r->session.fd;
		fds[2].fd = r->stacks.fd;
		if (poll(fds, ARRAY_SIZE(fds), timeout_ms(r, &l)) < 0)
			continue;
		if (fds[1].revents)
			handle_signals(r, &l);
		if (fds[2].revents && r->stacks.fd >= 0)
			stacks_take(&r->stacks, &r->output);
		marks_tick(&r->marks, &r->session);
		record_allocations(r);
		if (fds[0].revents && !take_stream(r))
			break;
		if (write_failed(r))
			break;
		if (!rotates(&r->rotation) && !l.give_up_ns &&
		    rotate_due(&r->rotation, &r->output, 0)) {
			msg("%s has reached --max-size: recording ends", r->output.name);
			stop(r, &l);
		}
		tick(r, &l);
		if (r->failed)
			break;
		if (l.stop_ns && clock_now() >= l.stop_ns)
			stop(r, &l);
		if (l.give_up_ns && clock_now() >= l.give_up_ns) {
			msg("the module did not report the end; the file has no end record");
			/* 1: the user did not want to wait */
			r->failed |= l.give_up_ns > 1;
			break;
		}
	}
	if (r->ended)
		r->session.started = false;
	if (!r->failed)
		write_failed(r);
	r->end_ns = clock_now();
	msg_progress(NULL);
}

void record_wait_child(struct record *r)
{
	struct pollfd fd = { .fd = r->signal_fd, .events = POLLIN };

	while (!child_reap(&r->child)) {
		poll(&fd, 1, -1);
		record_signal(r);
	}
}
