// SPDX-License-Identifier: GPL-2.0
/*
 * device.c - /dev/wsmon, an open file of which is a session
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "debugfs.h"
#include "device.h"

int device_open(void)
{
	int fd;

	if (strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT))
		return -ENOENT;
	fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int device_write(int fd, const char *text)
{
	ssize_t n = write(fd, text, strlen(text));

	return n < 0 ? -errno : 0;
}

static bool device_is_there(void)
{
	return !strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT) && !access(DEVICE, F_OK);
}

void device_explain(const char *name, int err)
{
	if (!device_is_there()) {
		debugfs_explain(name, err);
		return;
	}
	switch (err) {
	case -EACCES:
	case -EPERM:
		msg(DEVICE ": not permitted; run it as root: sudo wsmo ...");
		break;
	case -ENODEV:
	case -ENXIO:
		msg(DEVICE ": the module is being loaded or unloaded; try again");
		break;
	case -EMFILE:
		msg(DEVICE ": too many recordings are running; end one");
		break;
	default:
		msg(DEVICE ": %s", strerror(-err));
	}
}
