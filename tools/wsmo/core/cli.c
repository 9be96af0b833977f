// SPDX-License-Identifier: GPL-2.0
/* cli.c - messages, and the start and the end of a program, for all files of the command */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "text.h"

static int progress_len;

/* Return: columns of the terminal; text to be overwritten after "\r" must fit into one line */
static size_t stderr_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? INT_MAX : size.ws_col - 1;
}

void msg_progress(const char *line)
{
	int len = line ? (int)strnlen(line, stderr_columns()) : 0;

	if (!len && !progress_len)
		return;
	fprintf(stderr, "\r%-*.*s", progress_len, len, line ? line : "");
	if (!len)
		fputc('\r', stderr);
	fflush(stderr);
	progress_len = len;
}

static FILE *held;
static char *held_text;
static size_t held_size;

void msg_hold(bool hold)
{
	if (hold && !held) {
		held = open_memstream(&held_text, &held_size);
	} else if (!hold && held) {
		fclose(held);
		held = NULL;
		fwrite(held_text, 1, held_size, stderr);
		free(held_text);
	}
}

void msg_put(FILE *f, const char *fmt, va_list ap)
{
	char *text, *clean;
	int len = vasprintf(&text, fmt, ap);

	clean = len < 0 ? NULL : malloc(4 * len + 1);
	fprintf(f, "%s\n", clean ? text_clean(clean, 4 * len + 1, text) : "out of memory");
	if (len >= 0)
		free(text);
	free(clean);
}

void msg(const char *fmt, ...)
{
	FILE *f = held ? held : stderr;
	va_list ap;

	msg_progress(NULL);
	fputs("wsmo: ", f);
	va_start(ap, fmt);
	msg_put(f, fmt, ap);
	va_end(ap);
}

void *need(void *memory)
{
	if (memory)
		return memory;
	msg("out of memory");
	exit(WSMO_FAILURE);
}

static bool error_said;

void output_said(void)
{
	error_said = true;
}

int output_error(void)
{
	static int err;

	if (ferror(stdout) && !err)
		err = errno ? errno : EIO;
	return err;
}

/* Start and end of wsmo and of the programs that it executes */

/*
 * Opens descriptors that fail when used in place of closed descriptors 0, 1 and 2. Otherwise a file
 * opened later could get number 2, and messages would be written to it.
 */
static void fill_std_fds(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Checks the output at exit(), also after --help and --version, which argp ends by exit() */
static void check_output(int status, void *arg)
{
	if (!status && end_program(status))
		_exit(WSMO_FAILURE);
}

void begin_program(void)
{
	fill_std_fds();
	/* without the signal, write() fails if a file is too large, and the error is reported */
	signal(SIGXFSZ, SIG_IGN);
	/* if SIGCHLD is ignored, the kernel reaps children, and their pids may be reused at once */
	signal(SIGCHLD, SIG_DFL);
	argp_err_exit_status = WSMO_USAGE;
	on_exit(check_output, NULL);
	argp_program_version = "wsmo " WSMO_VERSION;
}

/* Handles SIGBUS: maps a page of zeros where the file has ended */
static void replace_page(int sig, siginfo_t *info, void *context)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);
	void *at = (void *)((uintptr_t)info->si_addr & -page);

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
	if (err != EPIPE && !error_said)
		msg("cannot write the output: %s", strerror(err));
	return status == WSMO_OK ? WSMO_FAILURE : status;
}

int open_regular(const char *path, int flags)
{
	/* not open(): symbols.c overrides it, and calls this function */
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
