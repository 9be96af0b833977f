// SPDX-License-Identifier: GPL-2.0
/*
 * top_exec.c - "wsmo top" is a program of its own, beside this one
 *
 * record is to be small, and curses alone would take it a tenth of its memory.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wsmo.h"

int cmd_top(int argc, char **argv)
{
	char self[PATH_MAX - 8], path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)argc;
	if (len < 0) {
		msg("cannot tell where wsmo is: %s", strerror(errno));
		return WSMO_FAILURE;
	}
	self[len] = '\0';
	snprintf(path, sizeof(path), "%s-top", self);
	execv(path, argv);
	msg("%s: %s; it is installed with wsmo", path, strerror(errno));
	return WSMO_FAILURE;
}
