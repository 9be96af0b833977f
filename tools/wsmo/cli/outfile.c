// SPDX-License-Identifier: GPL-2.0
/*
 * outfile.c - files that appear whole or not at all
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "outfile.h"

static const char *path;
static char temp[PATH_MAX];	/* empty: there is none */
static int before = -1;		/* what standard output was */

static const int deadly[] = { SIGHUP, SIGINT, SIGTERM };

static void remove_and_die(int sig)
{
	if (*temp)
		unlink(temp);
	raise(sig);
}

/* Leaves signals alone that the program handles itself, or that are ignored */
static void handle_signals(void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadly); i++) {
		sigaction(deadly[i], NULL, &old);
		if (old.sa_handler == SIG_DFL || old.sa_handler == remove_and_die)
			sigaction(deadly[i], &act, NULL);
	}
}

int outfile_temp(char *name, const char *file)
{
	int fd = -1;

	if (snprintf(name, PATH_MAX, "%s.XXXXXX", file) >= PATH_MAX)
		errno = ENAMETOOLONG;
	else
		fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	*name = '\0';
	return -errno;
}

static int fail(int err)
{
	msg("%s: cannot be written: %s", path, strerror(err));
	return -1;
}

int outfile_begin(const char *file)
{
	struct stat st;
	mode_t mask;
	int fd;

	path = file;
	if (!stat(file, &st) && !S_ISREG(st.st_mode)) {
		msg("%s: not a plain file; leave -o out, and redirect",
		    file);
		return -1;
	}
	fflush(stdout);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (before < 0)
		return fail(errno);
	handle_signals(remove_and_die, SA_RESETHAND);
	fd = outfile_temp(temp, file);
	if (fd < 0) {
		outfile_abort();
		return fail(-fd);
	}
	/* the mode of a file created directly */
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	return 0;
}

void outfile_abort(void)
{
	if (before >= 0) {
		fflush(stdout);
		dup2(before, STDOUT_FILENO);
		close(before);
		before = -1;
	}
	if (*temp)
		unlink(temp);
	*temp = '\0';
	handle_signals(SIG_DFL, 0);
}

int outfile_commit(void)
{
	int err = 0, fd;

	if (fflush(stdout) || output_error())
		err = output_error();
	/* NFS and quotas report a full disk at close() */
	fd = dup(STDOUT_FILENO);
	if (fd >= 0 && close(fd) && !err)
		err = errno;
	if (!err && rename(temp, path))
		err = errno;
	if (!err)
		*temp = '\0';
	outfile_abort();
	return err ? fail(err) : 0;
}
