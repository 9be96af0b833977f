// SPDX-License-Identifier: GPL-2.0
/*
 * grab.c - copies registers and stacks of threads, stopping each for that
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "regs.h"
#include "stack.h"
#include "libwsmon/util.h"

/* How long to wait for all threads of a process to stop, and for all of it */
#define STOP_PATIENCE	NSEC_PER_SEC
#define GRAB_PATIENCE	(3 * NSEC_PER_SEC)

/* Another recording lets go of a thread in this time; a debugger stays */
#define OTHERS_PATIENCE	(NSEC_PER_SEC / 10)

/*
 * Like waitid(), but no longer than to a moment
 * @how: what to wait for, and whether it stays to be waited for again
 * Return: 1, 0 if it is too late, -1 if there is no such child
 */
static int wait_until(pid_t pid, siginfo_t *si, int how, __u64 deadline_ns)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		__u64 now = clock_now();
		struct timespec left;

		si->si_pid = 0;
		if (waitid(P_PID, pid, si, how | __WALL | WNOHANG))
			return -1;
		if (si->si_pid)
			return 1;
		if (now >= deadline_ns)
			return 0;
		left.tv_sec = (deadline_ns - now) / NSEC_PER_SEC;
		left.tv_nsec = (deadline_ns - now) % NSEC_PER_SEC;
		sigtimedwait(&set, NULL, &left);
	}
}

/* Return: 0 or errno */
static int copy_thread(struct stack_thread *t)
{
	struct iovec regs = { &t->regs, sizeof(t->regs) };
	struct iovec to = { t->stack, sizeof(t->stack) }, from = to;
	ssize_t n;

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &regs))
		return errno;
	/* a 32-bit program has smaller ones */
	if (regs.iov_len != sizeof(t->regs))
		return EOPNOTSUPP;
	t->sp = regs_sp(&t->regs);
	from.iov_base = (void *)(uintptr_t)t->sp;
	n = process_vm_readv(t->tid, &to, 1, &from, 1, 0);
	/* where there is no stack there still is a program counter */
	t->bytes = n > 0 ? n : 0;
	return 0;
}

/* Return: 0 or errno */
static int seize(pid_t tid, __u64 deadline_ns)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	while (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		if (errno != EPERM || clock_now() >= deadline_ns)
			return errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static char thread_state(pid_t pid, __u32 tid)
{
	char path[64], text[512], *p, state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return state;
	/* "1 (name) R ...", and the name may have parentheses and line feeds */
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	p = strrchr(text, ')');
	if (p && p[1] == ' ')
		state = p[2];
	fclose(f);
	return state;
}

/* Return: 0 or errno */
static int grab_thread(struct stack_thread *t, __u64 others_ns, __u64 deadline_ns)
{
	int res, sig, err;
	siginfo_t si;
	bool waits;

	err = seize(t->tid, others_ns);
	if (err)
		return err;
	/* one that waits for its vfork()ed child, or for a disk, stops after that */
	waits = thread_state(t->tid, t->tid) == 'D';
	t->time_ns = clock_now();
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
		return errno;
	/*
	 * It may be about to get a signal. Waiting that takes the status would take
	 * it for delivered, and lose it if this process were killed right then.
	 */
	res = wait_until(t->tid, &si, WEXITED | WSTOPPED | WNOWAIT, deadline_ns);
	/* it is let go when this process ends */
	if (!res)
		return ETIMEDOUT;
	if (res < 0 || si.si_code != CLD_TRAPPED)
		return ESRCH;
	if (waits)
		t->time_ns = clock_now();
	err = copy_thread(t);
	sig = si.si_status >> 8 ? 0 : si.si_status;
	if (ptrace(PTRACE_DETACH, t->tid, NULL, sig) && !err)
		err = errno;
	t->stopped_ns = clock_now() - t->time_ns;
	return err;
}

static void __attribute__((noreturn)) grab_all(struct stack_threads *ts)
{
	const struct sched_param first = { .sched_priority = 1 };
	__u64 deadline_ns = clock_now() + STOP_PATIENCE;
	__u64 patience = OTHERS_PATIENCE;
	__u32 i;

	/* no other program is to keep it from letting a thread go on */
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (i = 0; i < ts->nr; i++) {
		ts->thread[i].error = grab_thread(&ts->thread[i], clock_now() + patience,
						  deadline_ns);
		if (ts->thread[i].error == EPERM)
			patience = 0;
	}
	_exit(0);
}

/* Threads that run are more interesting than such that sleep */
static int urgency(char state)
{
	return state == 'R' ? 0 : state == 'D' ? 2 : 1;
}

struct candidate {
	__u32 tid;
	int urgency;
};

static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency - y->urgency;
	return COMPARE(x->tid, y->tid);
}

static void thread_name(pid_t pid, struct stack_thread *t)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", pid, t->tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(t->comm, sizeof(t->comm), f))
		t->comm[strcspn(t->comm, "\n")] = '\0';
	fclose(f);
}

/* Return: 0 or errno */
static int choose_threads(struct stack_threads *ts, pid_t pid, __u32 max)
{
	struct candidate *c = NULL, *more;
	struct dirent *d;
	char path[64];
	__u32 i;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? ESRCH : errno;
	while ((d = readdir(dir))) {
		__u32 tid = strtoul(d->d_name, NULL, 10);

		/* a main thread that has exited is listed as long as others live */
		if (tid && strchr("ZX", thread_state(pid, tid)))
			continue;
		more = tid ? reallocarray(c, ts->total + 1, sizeof(*c)) : NULL;
		if (!more)
			continue;
		c = more;
		c[ts->total++] = (struct candidate) {
			tid, urgency(thread_state(pid, tid)),
		};
	}
	closedir(dir);
	if (c)
		qsort(c, ts->total, sizeof(*c), compare);
	ts->nr = ts->total < max ? ts->total : max;
	for (i = 0; i < ts->nr; i++) {
		ts->thread[i].tid = c[i].tid;
		thread_name(pid, &ts->thread[i]);
	}
	free(c);
	return ts->nr ? 0 : ESRCH;
}

static void fail_all(struct stack_threads *ts, int err)
{
	__u32 i;

	for (i = 0; i < ts->nr; i++)
		ts->thread[i].error = err;
}

void stack_grab(struct stack_threads *ts, pid_t pid, __u32 max)
{
	int err = choose_threads(ts, pid, max);
	siginfo_t si;
	__u32 i;
	pid_t child;

	if (err) {
		ts->nr = 1;
		ts->thread[0].tid = pid;
		ts->thread[0].error = err;
		return;
	}
	/* what is not reached is reported as that */
	fail_all(ts, ETIMEDOUT);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		grab_all(ts);
	}
	if (child < 0) {
		fail_all(ts, errno);
		return;
	}
	if (!wait_until(child, &si, WEXITED, clock_now() + GRAB_PATIENCE)) {
		/* copying waits, perhaps for a page on a disk that is gone */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* a thread that has ended, but is still listed, is not there either */
	for (i = 0; i < ts->nr; i++)
		if (ts->thread[i].error == EPERM &&
		    strchr("ZX?", thread_state(pid, ts->thread[i].tid)))
			ts->thread[i].error = ESRCH;
}
