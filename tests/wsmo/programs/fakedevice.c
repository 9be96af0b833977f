// SPDX-License-Identifier: GPL-2.0
/*
 * fakedevice.c - a preloaded library: /dev/wsmon is the socket $FAKE_DEVICE, and the only
 * mount point of cgroups is $FAKE_CGROUPS. See tests/lib/fakedevice.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Writing to an ended session is just an error: no SIGPIPE */
__attribute__((constructor)) static void ignore_signal(void)
{
	signal(SIGPIPE, SIG_IGN);
}

static int connect_to(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char status;

	strncpy(addr.sun_path, name, sizeof(addr.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) || read(fd, &status, 1) != 1) {
		close(fd);
		errno = ENODEV;
		return -1;
	}
	/* the limit of open files is reached */
	if (status) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	va_list args;
	int mode;

	if (!strcmp(path, "/dev/wsmon"))
		return connect_to(getenv("FAKE_DEVICE"));
	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return real(path, flags, mode);
}

/* Pretend that the module is loaded */
int access(const char *path, int mode)
{
	int (*real)(const char *path, int mode) = dlsym(RTLD_NEXT, "access");

	return strcmp(path, "/sys/module/wsmon") ? real(path, mode) : 0;
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode) = dlsym(RTLD_NEXT, "fopen");
	FILE *f;

	/* a slow machine */
	if (getenv("FAKE_SLOW") && !strncmp(path, "/proc/", 6) && strstr(path, "/status"))
		usleep(100000);
	if (strcmp(path, "/proc/self/mountinfo"))
		return real(path, mode);
	f = tmpfile();
	if (f) {
		fprintf(f, "1 1 0:1 / %s rw - cgroup2 cgroup2 rw\n", getenv("FAKE_CGROUPS"));
		rewind(f);
	}
	return f;
}
