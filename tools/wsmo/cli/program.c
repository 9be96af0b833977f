// SPDX-License-Identifier: GPL-2.0
/*
 * program.c - how wsmo and the programs it executes begin and end
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cli.h"
#include "program.h"

/*
 * A file opened while fd 0, 1 or 2 is closed would get that number, and then messages.
 * What is put there instead fails when used.
 */
static void fill_std_fds(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void begin_program(void)
{
	fill_std_fds();
	/* a file that is too large is an error of write() */
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = WSMO_USAGE;
	argp_program_version = "wsmo " WSMO_VERSION;
}

int end_program(int status)
{
	int err;

	fflush(stdout);
	err = output_error();
	if (!err)
		return status;
	if (err != EPIPE)
		msg("cannot write the output: %s", strerror(err));
	return status == WSMO_OK ? WSMO_FAILURE : status;
}

int program_execute(const char *name, char **argv)
{
	char self[PATH_MAX - 16], path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0) {
		msg("cannot find wsmo's directory: %s", strerror(errno));
		return WSMO_FAILURE;
	}
	self[len] = '\0';
	snprintf(path, sizeof(path), "%s-%.10s", self, name);
	execv(path, argv);
	msg("%s: %s; it is installed with wsmo", path, strerror(errno));
	return WSMO_FAILURE;
}
