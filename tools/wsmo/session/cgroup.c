// SPDX-License-Identifier: GPL-2.0
/*
 * cgroup.c - names of cgroups
 */
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "cli/cli.h"

/* Return: length of the mount point of cgroup v2 that @path begins with, 0 if there is none */
static size_t mount_point(const char *path)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	const struct mntent *m;
	size_t best = 0, len;

	while (f && (m = getmntent(f))) {
		len = strlen(m->mnt_dir);
		if (!strcmp(m->mnt_type, "cgroup2") && len > best &&
		    !strncmp(path, m->mnt_dir, len) && (!path[len] || path[len] == '/'))
			best = len;
	}
	if (f)
		endmntent(f);
	return best;
}

char *cgroup_path(const char *path)
{
	size_t len;
	char *copy;

	path += mount_point(path);
	path += strspn(path, "/");
	len = strlen(path);
	while (len && path[len - 1] == '/')
		len--;
	copy = need(malloc(len + 2));
	sprintf(copy, "/%.*s", (int)len, path);
	return copy;
}
