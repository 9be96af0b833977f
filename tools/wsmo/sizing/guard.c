// SPDX-License-Identifier: GPL-2.0
/*
 * guard.c - a limit on a cgroup that is taken back whatever happens
 *
 * A process of its own changes memory.high and restores it. It waits at a pipe, which also ends
 * when wsmo is killed, and ignores the signals that end wsmo.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "guard.h"

/* Exit status of the process that restores */
enum { RESTORED, FAILED, CHANGED };

/* Return: an open memory.high, or -errno */
static int open_high(const char *dir, int flags)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/memory.high", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Return: 0 or -errno */
static int read_high(const char *dir, char *value)
{
	int fd = open_high(dir, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, value, GUARD_VALUE - 1);
	if (n >= 0)
		value[n] = '\0';
	value[strcspn(value, "\n")] = '\0';
	close(fd);
	return n > 0 ? 0 : n ? -EIO : -ENODATA;
}

/* Return: 0 or -errno */
static int write_high(const char *dir, const char *value)
{
	int fd = open_high(dir, O_WRONLY | O_TRUNC), err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		err = -errno;
	close(fd);
	return err;
}

static void tell(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err))
		_exit(FAILED);
}

static void guard(const struct guard *g, const char *value, int life, int ready)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	char set[GUARD_VALUE] = "", now[GUARD_VALUE] = "", byte;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* the terminal's signals are for wsmo */
	setpgid(0, 0);
	err = write_high(g->dir, value);
	if (err) {
		/* whatever part of it had an effect */
		write_high(g->dir, g->was);
		tell(ready, err);
		_exit(FAILED);
	}
	/* the kernel rounds it */
	read_high(g->dir, set);
	tell(ready, 0);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	/* if it could not be read, it counts as unchanged: better restored than left */
	if (*set && !read_high(g->dir, now) && strcmp(now, set))
		_exit(CHANGED);
	_exit(write_high(g->dir, g->was) ? FAILED : RESTORED);
}

int guard_begin(struct guard *g, const char *dir, __u64 bytes)
{
	int life[2], ready[2], err;
	char value[GUARD_VALUE];
	ssize_t n;

	*g = (struct guard) { .dir = dir };
	err = read_high(dir, g->was);
	if (err) {
		msg("%s/memory.high: %s", dir, strerror(-err));
		return -1;
	}
	snprintf(value, sizeof(value), "%llu", bytes);
	if (pipe2(life, O_CLOEXEC) || pipe2(ready, O_CLOEXEC)) {
		msg("no pipe: %s", strerror(errno));
		return -1;
	}
	g->pid = fork();
	if (!g->pid) {
		close(life[1]);
		close(ready[0]);
		guard(g, value, life[0], ready[1]);
	}
	close(life[0]);
	close(ready[1]);
	g->life = life[1];
	if (g->pid < 0) {
		msg("no process: %s", strerror(errno));
		return -1;
	}
	/* writing waits for reclaim; a signal ends that only after it */
	while ((n = read(ready[0], &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(ready[0]);
	if (n == sizeof(err) && !err)
		return 0;
	msg("%s/memory.high: cannot be set: %s", dir, n > 0 ? strerror(-err) : "its process died");
	close(g->life);
	waitpid(g->pid, NULL, 0);
	/* it may have died between setting and telling */
	if (n <= 0)
		write_high(g->dir, g->was);
	return -1;
}

int guard_end(struct guard *g)
{
	int status;

	close(g->life);
	while (waitpid(g->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	/* killed by somebody: do it here */
	if (WIFSIGNALED(status))
		status = write_high(g->dir, g->was) ? FAILED : RESTORED;
	else
		status = WEXITSTATUS(status);
	if (status == CHANGED)
		msg("%s/memory.high was changed by somebody else, and left alone: it was %s", g->dir,
		    g->was);
	else if (status == FAILED)
		msg("%s/memory.high COULD NOT BE RESTORED: write %s to it", g->dir, g->was);
	return status == RESTORED ? 0 : -1;
}
