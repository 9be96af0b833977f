// SPDX-License-Identifier: GPL-2.0
/*
 * guests.c - which cgroups have virtual machines
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "cli/cli.h"
#include "guests.h"

/* Has a directory PID-FD for each; PID is the thread that made it */
#define KVM_DIR		"/sys/kernel/debug/kvm"

static char **path;	/* cgroup of each */
static size_t nr;

void guests_read(void)
{
	DIR *d = opendir(KVM_DIR);
	const struct dirent *e;
	unsigned int pid;
	char dash, *cgroup;

	while (nr)
		free(path[--nr]);
	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "%u%c", &pid, &dash) != 2 || dash != '-')
			continue;
		cgroup = cgroup_of(pid);
		if (!cgroup)
			continue;
		path = need(reallocarray(path, nr + 1, sizeof(*path)));
		path[nr++] = cgroup;
	}
	if (d)
		closedir(d);
}

size_t guests_of(const char *cgroup)
{
	size_t len = cgroup[1] ? strlen(cgroup) : 0, i, n = 0;

	for (i = 0; i < nr; i++)
		n += !strncmp(path[i], cgroup, len) && (!path[i][len] || path[i][len] == '/');
	return n;
}

bool guests_text(char *buf, size_t size, const char *cgroup)
{
	size_t n = guests_of(cgroup);

	snprintf(buf, size, "%zu virtual machine%s: what only %s reads as idle (%s)", n,
		 n == 1 ? "" : "s", n == 1 ? "its guest accesses" : "their guests access", cgroup);
	return n;
}
