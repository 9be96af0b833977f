// SPDX-License-Identifier: GPL-2.0
/* stuck.c - lets a signal end the program while it waits for the reader of its output */
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

/* Is an output full, so that a write() to it would wait? */
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

/* Return: bytes that this process has written so far; 0 if the kernel does not count them */
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

/* Delivers pending signals: the program dies, perhaps after a handler removed a temporary file */
static void end(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	sigset_t waits, one;
	size_t i;

	sigpending(&waits);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigismember(&waits, signals[i]) <= 0)
			continue;
		/* pass the signal on to the child here: the main thread waits for the reader */
		if (watched.child && watched.child->pid > 0 && !watched.child->gone &&
		    (signals[i] == SIGTERM || signals[i] == SIGHUP))
			kill(watched.child->pid, signals[i]);
		sigemptyset(&one);
		sigaddset(&one, signals[i]);
		pthread_sigmask(SIG_UNBLOCK, &one, NULL);
		/* still alive, so the main thread took the signal: leave the next ones to it */
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
		/* a slow reader, which takes something now and then, is not stuck */
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
	/* if there is no thread, signals wait for the reader */
	if (!pthread_create(&thread, NULL, watch, NULL))
		pthread_detach(thread);
}
