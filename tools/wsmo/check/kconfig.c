// SPDX-License-Identifier: GPL-2.0
/*
 * kconfig.c - how the running kernel was configured
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "kconfig.h"

static int look_up(const char *path, struct kconfig *options, size_t nr)
{
	gzFile f = gzopen(path, "re");	/* plain files, too */
	char line[512];
	int lines = 0;
	size_t i;

	if (!f)
		return -1;
	for (; gzgets(f, line, sizeof(line)); lines++) {
		for (i = 0; i < nr; i++) {
			size_t len = strlen(options[i].name);

			if (!strncmp(line, options[i].name, len) &&
			    line[len] == '=' &&
			    (line[len + 1] == 'y' || line[len + 1] == 'm'))
				options[i].set = true;
		}
	}
	gzclose(f);
	return lines ? 0 : -1;
}

int kconfig_read(const char *root, struct kconfig *options, size_t nr)
{
	char path[PATH_MAX];
	struct utsname uts;

	uname(&uts);
	snprintf(path, sizeof(path), "%s/boot/config-%s", root, uts.release);
	if (!look_up(path, options, nr))
		return 0;
	snprintf(path, sizeof(path), "%s/proc/config.gz", root);
	return look_up(path, options, nr);
}
