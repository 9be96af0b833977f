// SPDX-License-Identifier: GPL-2.0
/*
 * outfile.c - files that are there whole or not at all
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "outfile.h"

static const char *path;
static char *temp;
static int before = -1;		/* what standard output was */

static const int deadly[] = { SIGHUP, SIGINT, SIGTERM };

static void remove_and_die(int sig)
{
	if (temp)
		unlink(temp);
	raise(sig);
}

/* Those that the program handles itself, or that are ignored, stay as they are */
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
		msg("%s: is there and not a plain file; leave -o out, and redirect",
		    file);
		return -1;
	}
	if (asprintf(&temp, "%s.XXXXXX", file) < 0) {
		temp = NULL;
		return fail(ENOMEM);
	}
	fflush(stdout);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	handle_signals(remove_and_die, SA_RESETHAND);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0 || before < 0) {
		int err = errno;

		if (fd < 0) {
			free(temp);
			temp = NULL;
		} else {
			close(fd);
		}
		outfile_abort();
		return fail(err);
	}
	/* as if it were created without the detour */
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
	if (temp)
		unlink(temp);
	handle_signals(SIG_DFL, 0);
	free(temp);
	temp = NULL;
}

int outfile_commit(void)
{
	int err = 0, fd;

	if (fflush(stdout) || output_error())
		err = output_error();
	/* closing is when NFS and quotas tell that there was no room */
	fd = dup(STDOUT_FILENO);
	if (fd >= 0 && close(fd) && !err)
		err = errno;
	if (!err && rename(temp, path))
		err = errno;
	if (!err) {
		free(temp);
		temp = NULL;
	}
	outfile_abort();
	return err ? fail(err) : 0;
}
