// SPDX-License-Identifier: GPL-2.0
/*
 * program_exec.c - executes the programs beside wsmo
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "wsmo.h"

int program_execute(const char *name, char **argv)
{
	char self[PATH_MAX - 16], path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0) {
		msg("cannot tell where wsmo is: %s", strerror(errno));
		return WSMO_FAILURE;
	}
	self[len] = '\0';
	snprintf(path, sizeof(path), "%s-%.10s", self, name);
	execv(path, argv);
	msg("%s: %s; it is installed with wsmo", path, strerror(errno));
	return WSMO_FAILURE;
}
