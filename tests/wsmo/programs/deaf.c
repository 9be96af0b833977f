// SPDX-License-Identifier: GPL-2.0
/*
 * deaf.c - preloaded: files called deaf.so are on a server that does not answer
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static void wait_if_deaf(const char *path)
{
	char to[PATH_MAX] = "";

	if (readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "/deaf.so"))
		for (;;)
			pause();
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	if (!(flags & O_PATH))
		wait_if_deaf(path);
	return real(path, flags, mode);
}

int fstatfs(int fd, struct statfs *fs)
{
	int (*real)(int, struct statfs *) = dlsym(RTLD_NEXT, "fstatfs");
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	wait_if_deaf(path);
	return real(fd, fs);
}
