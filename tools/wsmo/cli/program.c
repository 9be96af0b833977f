// SPDX-License-Identifier: GPL-2.0
/*
 * program.c - how wsmo and the programs it executes begin and end
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Help and the like end in exit() */
static void check_output(int status, void *arg __attribute__((unused)))
{
	if (!status && end_program(status))
		_exit(WSMO_FAILURE);
}

void begin_program(void)
{
	fill_std_fds();
	/* a file that is too large is an error of write() */
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = WSMO_USAGE;
	on_exit(check_output, NULL);
	argp_program_version = "wsmo " WSMO_VERSION;
}

/* Gives the program zeros instead */
static void replace_page(int sig, siginfo_t *info, void *context)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);
	void *at = (void *)((uintptr_t)info->si_addr & -page);

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at)
		return;
	signal(sig, SIG_DFL);
}

void survive_truncation(void)
{
	const struct sigaction act = { .sa_sigaction = replace_page, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &act, NULL);
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

int open_regular(const char *path, int flags)
{
	/* open() may be the one of symbols.c, which calls this */
	int found = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC | flags), fd = -1;
	char name[32];
	struct stat st;

	if (found < 0)
		return found;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	errno = EINVAL;
	if (!fstat(found, &st) && S_ISREG(st.st_mode))
		fd = openat(AT_FDCWD, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close(found);
	return fd;
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
