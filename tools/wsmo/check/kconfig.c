// SPDX-License-Identifier: GPL-2.0
/*
 * kconfig.c - how the running kernel was configured
 */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kconfig.h"

static int look_up(FILE *f, struct kconfig *options, size_t nr)
{
	char line[512];
	int lines = 0;
	size_t i;

	while (fgets(line, sizeof(line), f)) {
		lines++;
		for (i = 0; i < nr; i++) {
			size_t len = strlen(options[i].name);

			if (!strncmp(line, options[i].name, len) &&
			    line[len] == '=' &&
			    (line[len + 1] == 'y' || line[len + 1] == 'm'))
				options[i].set = true;
		}
	}
	return lines ? 0 : -1;
}

static int read_gz(const char *path, struct kconfig *options, size_t nr)
{
	char *argv[] = { (char[]){ "gzip" }, (char[]){ "-dc" }, NULL };
	posix_spawn_file_actions_t fa;
	int fds[2], err;
	pid_t pid;
	FILE *f;

	if (access(path, R_OK) || pipe2(fds, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, path, O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, fds[1], STDOUT_FILENO);
	err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(fds[1]);
	f = err ? NULL : fdopen(fds[0], "r");
	if (!f) {
		close(fds[0]);
		return -1;
	}
	err = look_up(f, options, nr);
	fclose(f);
	waitpid(pid, NULL, 0);
	return err;
}

int kconfig_read(const char *root, struct kconfig *options, size_t nr)
{
	char path[PATH_MAX];
	struct utsname uts;
	int err;
	FILE *f;

	uname(&uts);
	snprintf(path, sizeof(path), "%s/boot/config-%s", root, uts.release);
	f = fopen(path, "re");
	if (f) {
		err = look_up(f, options, nr);
		fclose(f);
		return err;
	}
	snprintf(path, sizeof(path), "%s/proc/config.gz", root);
	return read_gz(path, options, nr);
}
