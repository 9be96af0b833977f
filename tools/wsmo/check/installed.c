// SPDX-License-Identifier: GPL-2.0
/*
 * installed.c - the module as it is installed for the running kernel
 */
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "installed.h"

/* shim's variables, as the kernel and efivarfs give them; the latter begin with flags */
#define SHIM_GUID	"-605dab50-e046-4300-abb6-3dd810dd8b23"
#define MOK_KERNEL	"/sys/firmware/efi/mok-variables/MokListRT"
#define MOK_ENROLLED	"/sys/firmware/efi/efivars/MokListRT" SHIM_GUID
#define MOK_WAITING	"/sys/firmware/efi/efivars/MokNew" SHIM_GUID

bool read_line(const char *root, const char *name, char *line, int size)
{
	char path[PATH_MAX];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%s%s", root, name);
	f = fopen(path, "re");
	got = f && fgets(line, size, f);
	if (f)
		fclose(f);
	if (!got)
		*line = '\0';
	line[strcspn(line, "\n")] = '\0';
	return got;
}

bool installed_signed_only(const char *root)
{
	char line[128];

	return (read_line(root, "/sys/module/module/parameters/sig_enforce", line, sizeof(line)) &&
		*line == 'Y') ||
	       (read_line(root, "/sys/kernel/security/lockdown", line, sizeof(line)) &&
		!strstr(line, "[none]"));
}

/* Certificates are small, and so are the variables that hold them */
static size_t slurp(const char *root, const char *name, char *data, size_t size)
{
	char path[PATH_MAX];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	f = fopen(path, "re");
	if (f) {
		len = fread(data, 1, size, f);
		fclose(f);
	}
	return len;
}

enum enrolment installed_enrolment(const char *root)
{
	static char cert[1 << 14], list[1 << 18];
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s/sys/firmware/efi", root);
	if (access(path, F_OK))
		return ENROL_NO_UEFI;
	len = slurp(root, DKMS_CERTIFICATE, cert, sizeof(cert));
	if (!len)
		return ENROL_NO_CERTIFICATE;
	if (memmem(list, slurp(root, MOK_KERNEL, list, sizeof(list)), cert, len) ||
	    memmem(list, slurp(root, MOK_ENROLLED, list, sizeof(list)), cert, len))
		return ENROL_DONE;
	if (memmem(list, slurp(root, MOK_WAITING, list, sizeof(list)), cert, len))
		return ENROL_WAITING;
	return ENROL_MISSING;
}

/* Ask modinfo, which also unpacks compressed modules, for @field */
static void modinfo(char *path, char *field, char *value, int size)
{
	char name[] = "modinfo", option[] = "-F", env[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { name, option, field, path, NULL }, *envp[] = { env, NULL };
	posix_spawn_file_actions_t actions;
	int fd[2], spawned;
	ssize_t n;
	pid_t pid;

	*value = '\0';
	if (pipe2(fd, O_CLOEXEC))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	spawned = !posix_spawn(&pid, "/sbin/modinfo", &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	/* a line: it comes in one piece */
	n = read(fd[0], value, size - 1);
	value[n > 0 ? n : 0] = '\0';
	value[strcspn(value, "\n")] = '\0';
	close(fd[0]);
	if (spawned)
		waitpid(pid, NULL, 0);
}

/* depmod's list has a line for each module, "PATH: WHAT IT NEEDS" */
static void find_file(const char *modules, char *path, size_t size)
{
	char list[PATH_MAX], line[8192];
	FILE *f;

	*path = '\0';
	snprintf(list, sizeof(list), "%s/modules.dep", modules);
	f = fopen(list, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		char *end = strchr(line, ':'), *slash;

		if (!end)
			continue;
		*end = '\0';
		slash = strrchr(line, '/');
		if (strncmp(slash ? slash + 1 : line, "wsmon.ko", 8))
			continue;
		if (snprintf(path, size, "%s/%s", modules, line) >= (int)size)
			*path = '\0';
		break;
	}
	fclose(f);
}

void installed_find(const char *root, struct installed *in)
{
	char signer[] = "signer", srcversion[] = "srcversion";
	char modules[PATH_MAX / 2], path[PATH_MAX];
	struct utsname uts;
	glob_t found;

	memset(in, 0, sizeof(*in));
	uname(&uts);
	if (snprintf(modules, sizeof(modules), "%s/lib/modules/%s", root, uts.release) >=
	    (int)sizeof(modules))
		return;
	find_file(modules, in->path, sizeof(in->path));
	if (*in->path && !access(in->path, R_OK)) {
		modinfo(in->path, signer, in->signer, sizeof(in->signer));
		modinfo(in->path, srcversion, in->srcversion, sizeof(in->srcversion));
	} else {
		*in->path = '\0';
	}
	snprintf(path, sizeof(path), "%s/build/Makefile", modules);
	in->headers = !access(path, F_OK);
	snprintf(path, sizeof(path), "%s/usr/src/wsmon-*/dkms.conf", root);
	if (!glob(path, 0, NULL, &found)) {
		char *version = strstr(found.gl_pathv[found.gl_pathc - 1], "/usr/src/wsmon-") + 15;

		snprintf(in->dkms, sizeof(in->dkms), "wsmon/%.*s",
			 (int)strcspn(version, "/"), version);
	}
	globfree(&found);
}
