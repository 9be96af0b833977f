// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs.c - the module's files in debugfs
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "debugfs.h"

const char *debugfs_dir(const char *set)
{
	static const char *dir;

	if (set)
		dir = set;
	if (!dir)
		dir = getenv("WSMON_DEBUGFS");
	if (!dir || !*dir)
		dir = DEBUGFS_DEFAULT;
	return dir;
}

static void set_dir(struct argp_state *state __attribute__((unused)), char *arg,
		    const struct option_desc *o __attribute__((unused)),
		    void *to __attribute__((unused)))
{
	debugfs_dir(arg);
}

const struct option_desc debugfs_options[] = {
	{ "debugfs", 0, "DIR", "Use the module's files in DIR, not /dev/wsmon", OPT_CALL, .call = set_dir },
	{ 0 }
};

void debugfs_load_module(void)
{
	char name[] = "modprobe", quiet[] = "-q", module[] = "wsmon";
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { name, quiet, module, NULL };
	char *envp[] = { path, NULL };
	pid_t pid;

	if (strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT) || geteuid() ||
	    !access("/sys/module/wsmon", F_OK))
		return;
	if (!posix_spawn(&pid, "/sbin/modprobe", NULL, NULL, argv, envp))
		waitpid(pid, NULL, 0);
}

int debugfs_open(const char *name, int flags)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", debugfs_dir(NULL), name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int debugfs_read(const char *name, char *text, size_t size)
{
	int fd = debugfs_open(name, O_RDONLY);
	size_t len = 0;
	ssize_t n = fd;

	if (fd >= 0) {
		while ((n = read(fd, text + len, size - 1 - len)) > 0)
			len += n;
		if (n < 0)
			n = -errno;
		close(fd);
	}
	text[len] = '\0';
	if (n < 0) {
		debugfs_explain(name, n);
		return n;
	}
	return 0;
}

int debugfs_write(const char *name, const char *text)
{
	int fd = debugfs_open(name, O_WRONLY | O_TRUNC);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	else
		n = n == (ssize_t)strlen(text) ? 0 : -EIO;
	close(fd);
	return n;
}

void debugfs_explain(const char *name, int err)
{
	const char *dir = debugfs_dir(NULL);

	switch (err) {
	case -EACCES:
	case -EPERM:
		msg("%s/%s: not permitted; run it as root: sudo wsmo ...", dir, name);
		break;
	case -ENOENT:
	case -ENOTDIR:
		if (strcmp(dir, DEBUGFS_DEFAULT))
			msg("%s/%s: %s; 'wsmo check' says why the module is not there",
			    dir, name, strerror(-err));
		else if (!access("/sys/module/wsmon", F_OK))
			msg("%s/%s: missing though the module is loaded; mount debugfs: mount -t debugfs none /sys/kernel/debug",
			    dir, name);
		else
			msg("the module wsmon is not there, and could not be loaded: 'wsmo check' says why, and what to do");
		break;
	case -EBUSY:
		msg("%s/%s: busy; another recording is running: wait for it or end it",
		    dir, name);
		break;
	default:
		msg("%s/%s: %s", dir, name, strerror(-err));
	}
}
