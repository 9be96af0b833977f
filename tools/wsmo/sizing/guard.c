// SPDX-License-Identifier: GPL-2.0
/*
 * guard.c - a limit on a cgroup that is taken back whatever happens
 *
 * A process of its own, in a session of its own, changes memory.high and restores it. It waits at a
 * pipe, which also ends when wsmo is killed, and ignores the signals that end wsmo. If both are killed,
 * what it was is in a note: a file that both hold locked, so one that is not locked was left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/* The directory of notes, which nobody else may write to; it is as lasting as a cgroup. Return: fd or -errno */
static int open_notes(void)
{
	const char *top = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!top || snprintf(path, sizeof(path), "%s/wsmo", top) >= (int)sizeof(path))
		return -ENOENT;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077)))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EPERM;
}

/* By what no other cgroup has until the next boot. Return: 0 or -errno */
static int name_of(const char *dir, char *name, size_t size)
{
	struct stat st;

	if (stat(dir, &st))
		return -errno;
	snprintf(name, size, "high-%llu-%llu", (__u64)st.st_dev, (__u64)st.st_ino);
	return 0;
}

/* Return: fd of the note, locked; -EWOULDBLOCK if a run has it; -errno */
static int open_note(int notes, const char *name, int flags)
{
	int fd = openat(notes, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	/* removed before it was locked: the run ends now */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink)
		return fd;
	close(fd);
	return -EWOULDBLOCK;
}

/* What a note says is done, and the note removed; Return: 0, or -1 after a message */
static int follow(int notes, const char *name, int note)
{
	char text[PATH_MAX + 2 * GUARD_VALUE], is[64], now[GUARD_VALUE], *set = text, *was, *dir;
	ssize_t n = pread(note, text, sizeof(text) - 1, 0);
	int err;

	text[n > 0 ? n : 0] = '\0';
	was = strchr(text, ' ');
	dir = was ? strchr(was + 1, ' ') : NULL;
	/* not complete: nothing was changed yet; a cgroup that is gone took its limit along */
	if (dir && text[n - 1] == '\n') {
		text[n - 1] = *was++ = *dir++ = '\0';
		if (!name_of(dir, is, sizeof(is)) && !strcmp(is, name) && !read_high(dir, now) &&
		    !strcmp(now, set)) {
			err = write_high(dir, was);
			if (err) {
				msg("%s/memory.high: %s is left of a run that was killed, and COULD NOT BE RESTORED: %s; write %s to it",
				    dir, set, strerror(-err), was);
				return -1;
			}
			msg("%s/memory.high: %s was left of a run that was killed; restored to %s", dir, set, was);
		}
	}
	unlinkat(notes, name, 0);
	return 0;
}

int guard_restore(void)
{
	int notes = open_notes(), res = 0;
	DIR *list = notes < 0 ? NULL : fdopendir(notes);
	struct dirent *e;

	while (list && (e = readdir(list))) {
		int note = strncmp(e->d_name, "high-", 5) ? -1 : open_note(notes, e->d_name, 0);

		if (note < 0)
			continue;
		if (follow(notes, e->d_name, note))
			res = -1;
		close(note);
	}
	if (list)
		closedir(list);
	return res;
}

/* Return: 0, or -1 after a message */
static int write_note(struct guard *g, const char *value)
{
	int err;

	g->notes = open_notes();
	err = g->notes < 0 ? g->notes : name_of(g->dir, g->name, sizeof(g->name));
	if (!err)
		g->note = open_note(g->notes, g->name, O_CREAT);
	if (!err && g->note < 0)
		err = g->note;
	if (err == -EWOULDBLOCK) {
		msg("%s: another run tries a limit on it", g->dir);
		return -1;
	}
	if (!err && dprintf(g->note, "%s %s %s\n", value, g->was, g->dir) < 0)
		err = -errno;
	if (err)
		msg("if wsmo and its guard are both killed, memory.high stays %s, as no note can be kept: %s",
		    value, strerror(-err));
	return 0;
}

/* After it was restored, or is another's */
static void remove_note(const struct guard *g)
{
	if (g->note >= 0)
		unlinkat(g->notes, g->name, 0);
}

static void tell(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err))
		_exit(FAILED);
}

/* Return: RESTORED or FAILED */
static int restore(const struct guard *g)
{
	/* a note that could not be followed is for --restore */
	if (write_high(g->dir, g->was))
		return FAILED;
	remove_note(g);
	return RESTORED;
}

static void guard(const struct guard *g, const char *value, int life, int ready)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	char set[GUARD_VALUE] = "", now[GUARD_VALUE] = "", byte;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	/* the terminal's signals are for wsmo; nor is it killed with a session */
	setsid();
	err = write_high(g->dir, value);
	if (err) {
		/* whatever part of it had an effect */
		write_high(g->dir, g->was);
		remove_note(g);
		tell(ready, err);
		_exit(FAILED);
	}
	/* the kernel rounds it */
	read_high(g->dir, set);
	tell(ready, 0);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	/* if it could not be read, it counts as unchanged: better restored than left */
	if (*set && !read_high(g->dir, now) && strcmp(now, set)) {
		remove_note(g);
		_exit(CHANGED);
	}
	_exit(restore(g));
}

int guard_begin(struct guard *g, const char *dir, __u64 bytes)
{
	int life[2], ready[2], err;
	__u64 page = sysconf(_SC_PAGESIZE);
	char value[GUARD_VALUE];
	ssize_t n;

	*g = (struct guard) { .dir = dir, .note = -1, .notes = -1 };
	if (guard_restore())
		return -1;
	err = read_high(dir, g->was);
	if (err) {
		msg("%s/memory.high: %s", dir, strerror(-err));
		return -1;
	}
	/* as the kernel rounds it */
	snprintf(value, sizeof(value), "%llu", bytes / page * page);
	if (write_note(g, value))
		return -1;
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
		restore(g);
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
		status = restore(g);
	else
		status = WEXITSTATUS(status);
	if (status == CHANGED)
		msg("%s/memory.high was changed by somebody else, and left alone: it was %s", g->dir,
		    g->was);
	else if (status == FAILED && access(g->dir, F_OK))
		msg("%s is gone, and its limit with it", g->dir);
	else if (status == FAILED)
		msg("%s/memory.high COULD NOT BE RESTORED: write %s to it", g->dir, g->was);
	return status == RESTORED ? 0 : -1;
}
