// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - main() of wsmo-stack, which "wsmo record" executes
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "stack.h"

#define MEMORY_MAX	(256UL << 20)	/* beside what is copied of the threads, and files that are read */

static void answer(const struct wsmon_rec_stack *rec)
{
	/* EPIPE: nobody is there any more, which receiving notices, too */
	if (send(STDIN_FILENO, rec, rec->rec.size, MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE)
		msg("a stack was not sent: %s", strerror(errno));
}

/* It may wait for a mapped file for ever: who reads what record prints is not to wait for it */
static void be_silent(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static void take(const struct stack_request *rq)
{
	struct stack_threads *ts;

	/* pages that are not used are not there */
	ts = mmap(NULL, sizeof(*ts), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ts == MAP_FAILED) {
		msg("no memory for stacks: %s", strerror(errno));
		return;
	}
	stack_grab(ts, rq->pid, rq->threads);
	be_silent();
	stack_unwind(ts, rq, answer);
	munmap(ts, sizeof(*ts));
}

/* Those of a terminal are meant for record, which ends this program in order */
static void block_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGHUP, SIGCHLD };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
}

/* A peak may be over before the pages of this program are read from its files. */
static void read_pages(void)
{
	if (!mlockall(MCL_CURRENT))
		munlockall();
}

/*
 * A library of 1 MiB can have compressed sections of 1 GiB. Without memory for it libdw finds
 * calls by what else there is.
 */
static void limit_memory(void)
{
	const struct rlimit most = { MEMORY_MAX, MEMORY_MAX };

	/* ASan reserves terabytes */
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &most);
#endif
	(void)most;
}

int main(void)
{
	struct stack_request rq;
	ssize_t n;

	begin_program();
	survive_truncation();
	limit_memory();
	block_signals();
	read_pages();
	while ((n = recv(STDIN_FILENO, &rq, sizeof(rq), 0)) == sizeof(rq))
		if (rq.pid && rq.threads && rq.threads <= STACK_THREADS)
			take(&rq);
	if (!n)
		return end_program(WSMO_OK);
	if (n < 0 && errno == ENOTSOCK)
		msg("wsmo-stack is not to be run by hand; 'wsmo record' runs it");
	else
		msg("wsmo-stack: no request: %s", n < 0 ? strerror(errno) : "broken");
	return end_program(WSMO_USAGE);
}
