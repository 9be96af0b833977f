// SPDX-License-Identifier: GPL-2.0
/* stuck.c - ends the program by a signal that it cannot take, as it waits for a reader */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "core/cli.h"
#include "stuck.h"

static struct stuck {
	int signal_fd;
	const int *output;
	const struct child *child;
} watched;

/* Does a file that is written to have no room? */
static bool no_room(void)
{
	struct pollfd fds[] = {
		{ .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = STDERR_FILENO, .events = POLLOUT },
		{ .fd = watched.output ? *watched.output : -1, .events = POLLOUT },
	};
	size_t i;

	poll(fds, ARRAY_SIZE(fds), 0);
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i].fd >= 0 && !fds[i].revents)
			return true;
	return false;
}

/* The bytes that this process has written so far; 0 if the kernel does not count them */
static unsigned long long written(void)
{
	unsigned long long bytes = 0;
	char line[64];
	FILE *f = fopen("/proc/self/io", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "wchar: %llu", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

/* Raises the signal: the program dies, maybe after its handler removed a temporary file */
static void end(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	sigset_t waits, one;
	size_t i;

	sigpending(&waits);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigismember(&waits, signals[i]) <= 0)
			continue;
		/* the main thread, which reaps it, waits for the reader */
		if (watched.child && watched.child->pid > 0 && !watched.child->gone &&
		    (signals[i] == SIGTERM || signals[i] == SIGHUP))
			kill(watched.child->pid, signals[i]);
		sigemptyset(&one);
		sigaddset(&one, signals[i]);
		pthread_sigmask(SIG_UNBLOCK, &one, NULL);
		/* it was taken meanwhile: the next one is for the main thread, too */
		pthread_sigmask(SIG_BLOCK, &one, NULL);
	}
}

static void *watch(void *unused)
{
	struct pollfd fd = { .fd = watched.signal_fd, .events = POLLIN };
	const struct timespec second = { .tv_sec = 1 };
	unsigned long long before;
	int seconds;

	for (;;) {
		poll(&fd, 1, -1);
		before = written();
		for (seconds = 0; no_room() && poll(&fd, 1, 0) > 0 && seconds < 2; seconds++)
			nanosleep(&second, NULL);
		/* a reader that is slow takes something now and then */
		if (seconds == 2 && no_room() && poll(&fd, 1, 0) > 0 && written() == before)
			end();
		nanosleep(&second, NULL);
	}
	return unused;
}

void stuck_watch(int signal_fd, const int *output, const struct child *child)
{
	pthread_t thread;

	watched = (struct stuck) { signal_fd, output, child };
	/* without it signals have to wait */
	if (!pthread_create(&thread, NULL, watch, NULL))
		pthread_detach(thread);
}
