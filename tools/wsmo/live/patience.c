// SPDX-License-Identifier: GPL-2.0
/*
 * patience.c - questions that may never be answered
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define PATIENCE_MS	1000
#define UNANSWERED_MAX	4

struct question {
	void (*ask)(void *data);
	char data[PATIENCE_DATA] __attribute__((aligned(16)));
};

static pid_t pid = -1;		/* of the process that asks, if there is one, */
static struct pollfd to = { .events = POLLIN };	/* and what it is asked by */

static void __attribute__((noreturn)) answer(int fd)
{
	struct question q;

	/* what it has open stays open for as long as it waits */
	if (dup2(fd, STDIN_FILENO) < 0 || close_range(STDIN_FILENO + 1, ~0U, 0))
		_exit(1);
	while (recv(STDIN_FILENO, &q, sizeof(q), 0) == sizeof(q)) {
		q.ask(q.data);
		if (send(STDIN_FILENO, &q, sizeof(q), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static void start(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	pid = fork();
	if (!pid)
		answer(pair[1]);
	close(pair[1]);
	to.fd = pair[0];
	if (pid < 0)
		close(to.fd);
}

/* @how: as of waitpid() */
static void end(int how)
{
	/* other children may have it open */
	shutdown(to.fd, SHUT_RDWR);
	close(to.fd);
	waitpid(pid, NULL, how);
	pid = -1;
}

void patience_end(void)
{
	if (pid >= 0)
		end(0);
}

bool patience_ask(void (*ask)(void *data), void *data, size_t size)
{
	static unsigned int unanswered;
	struct question q = { .ask = ask };

	if (unanswered == UNANSWERED_MAX || size > sizeof(q.data))
		return false;
	if (pid < 0)
		start();
	if (pid < 0)
		return false;
	memcpy(q.data, data, size);
	if (send(to.fd, &q, sizeof(q), MSG_NOSIGNAL) == sizeof(q) && poll(&to, 1, PATIENCE_MS) > 0 &&
	    recv(to.fd, &q, sizeof(q), MSG_DONTWAIT) == sizeof(q)) {
		memcpy(data, q.data, size);
		return true;
	}
	/* it ends when there is an answer, if ever */
	kill(pid, SIGKILL);
	end(WNOHANG);
	unanswered++;
	return false;
}
