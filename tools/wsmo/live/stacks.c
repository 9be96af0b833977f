// SPDX-License-Identifier: GPL-2.0
/* stacks.c - requests call stacks from wsmo-stack, and writes them to the file */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/clock.h"
#include "core/stack_request.h"
#include "libwsmon/wsmon_records.h"
#include "stacks.h"

#define END_PATIENCE	(5 * NSEC_PER_SEC)

/**
 * struct stacks_target - a target's last peak with stacks
 * @pid:	the target
 * @start_ns:	start of the peak
 */
struct stacks_target {
	__u32 pid;
	__u64 start_ns;
};

static void __attribute__((noreturn)) execute(int fd)
{
	char name[] = "wsmo-stack", *argv[] = { name, NULL };

	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(WSMO_FAILURE);
	_exit(program_execute("stack", argv));
}

/* Starts wsmo-stack, unless it runs already. Return: false if it does not run */
static bool start(struct stacks *s)
{
	int fd[2];

	if (s->fd >= 0 || s->broken)
		return s->fd >= 0;
	s->broken = true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd)) {
		msg("no stacks: %s", strerror(errno));
		return false;
	}
	s->pid = fork();
	if (!s->pid)
		execute(fd[1]);
	close(fd[1]);
	if (s->pid < 0) {
		msg("no stacks: %s", strerror(errno));
		s->pid = 0;
		close(fd[0]);
		return false;
	}
	s->fd = fd[0];
	s->broken = false;
	return true;
}

/* Sends a request to wsmo-stack. Return: false if that failed */
static bool ask(struct stacks *s, __u32 pid, __u32 reason, __u32 number)
{
	const struct stack_request rq = {
		.pid = pid,
		.threads = s->threads,
		.reason = reason,
		.number = number,
	};

	return start(s) && send(s->fd, &rq, sizeof(rq),
				MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(rq);
}

void stacks_begin(struct stacks *s)
{
	if (s->wanted)
		start(s);
}

void stacks_peak(struct stacks *s, const struct wsmon_rec_peak *peak)
{
	const struct stacks_target key = {
		.pid = peak->pid, .start_ns = peak->start_ns,
	};
	struct stacks_target *t;

	if (!s->wanted || s->broken || peak->edge != WSMON_PEAK_START ||
	    peak->sign < 0)
		return;
	if (!s->last.size)
		s->last = SORTED(*t, 65536, order_u32);
	t = sorted_find(&s->last, &key);
	/* several working sets (all, text, rest) peak at the same time: they share these stacks */
	if (t && t->start_ns == peak->start_ns)
		return;
	if ((t && peak->start_ns - t->start_ns < s->interval_ns) ||
	    !ask(s, peak->pid, WSMON_STACK_PEAK, peak->number)) {
		s->skipped++;
		return;
	}
	t = sorted_get(&s->last, &key);
	if (t)
		t->start_ns = peak->start_ns;
}

void stacks_mark(struct stacks *s, const struct targets *targets, __u32 number)
{
	size_t i = 0;
	__u32 pid;

	while (s->wanted && !s->broken && (pid = targets_next(targets, &i)))
		if (!ask(s, pid, WSMON_STACK_MARK, number))
			s->skipped++;
}

static void report_error(struct stacks *s, const struct wsmon_rec_stack *rec)
{
	const char *why = strerror(rec->error);

	/* do not report ESRCH: threads end at any time */
	if (s->noted || rec->error == ESRCH)
		return;
	s->noted = true;
	if (rec->error == EPERM)
		why = "not permitted: a debugger is attached, or kernel.yama.ptrace_scope is 3";
	else if (rec->error == ETIMEDOUT)
		why = "it did not stop in time; it may be in uninterruptible sleep";
	else if (rec->error == EOPNOTSUPP)
		why = "it runs a 32-bit program";
	msg("no stack of thread %u of process %u: %s; further failures are only counted", rec->tid,
	    rec->pid, why);
}

static void take(struct stacks *s, struct output *o, const struct wsmon_rec_stack *rec)
{
	output_record(o, &rec->rec);
	if (rec->error) {
		s->failed++;
		report_error(s, rec);
		return;
	}
	s->taken++;
	if (rec->stopped_ns > s->longest_ns)
		s->longest_ns = rec->stopped_ns;
}

static void reap(struct stacks *s)
{
	close(s->fd);
	s->fd = -1;
	/* do not wait: wsmo-stack may wait for a file server, and then it ends late or never */
	waitpid(s->pid, NULL, WNOHANG);
	s->pid = 0;
}

void stacks_take(struct stacks *s, struct output *o)
{
	union {
		struct wsmon_rec_stack rec;
		unsigned char room[STACK_RECORD];
	} in;
	ssize_t n;

	while ((n = recv(s->fd, &in, sizeof(in), MSG_DONTWAIT)) > 0)
		if (n >= (ssize_t)sizeof(in.rec) && in.rec.rec.size == n)
			take(s, o, &in.rec);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	reap(s);
	if (!s->broken)
		msg("wsmo-stack ended; no stacks from now on");
	s->broken = true;
}

void stacks_end(struct stacks *s, struct output *o)
{
	__u64 deadline_ns = clock_now() + END_PATIENCE, now;
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	if (s->fd < 0)
		return;
	s->broken = true;
	shutdown(s->fd, SHUT_WR);
	while (s->fd >= 0 && (now = clock_now()) < deadline_ns)
		if (poll(&fd, 1, (deadline_ns - now) / NSEC_PER_MSEC + 1) > 0)
			stacks_take(s, o);
	if (s->fd < 0)
		return;
	kill(s->pid, SIGKILL);
	reap(s);
	msg("wsmo-stack did not end in time; the last stacks are missing");
}

void stacks_report(const struct stacks *s)
{
	char time[UNITS_LEN];

	if (s->taken)
		msg("took %llu call stacks; the longest stop of a thread was %s",
		    s->taken, units_time(time, s->longest_ns));
	if (s->failed)
		msg("%llu stacks could not be taken", s->failed);
	if (s->skipped)
		msg("%llu peaks and marks have no stacks: they came too soon after others; see --stack-interval",
		    s->skipped);
}
