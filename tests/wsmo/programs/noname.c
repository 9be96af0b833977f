// SPDX-License-Identifier: GPL-2.0
/*
 * noname.c - preloaded: prints the calls that put a file in its place; with NO_TMPFILE set, no
 * file system supports files without a name
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(const char *what)
{
	int fd = open(getenv("CALLS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		abort();
	close(fd);
}

int openat(int dir, const char *name, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NO_TMPFILE")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return real(dir, name, flags, mode);
}

int fsync(int fd)
{
	int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
	struct stat st;

	say(!fstat(fd, &st) && S_ISDIR(st.st_mode) ? "sync directory\n" : "sync file\n");
	return real(fd);
}

int renameat(int a, const char *from, int b, const char *to)
{
	int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");

	say("rename\n");
	return real(a, from, b, to);
}
