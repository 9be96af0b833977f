// SPDX-License-Identifier: GPL-2.0
/*
 * program.c - whether libwsmo-alloc.so can be loaded into a program
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "program.h"

/* The file that execvp() will execute; Return: whether there is one */
static bool find(char *path, size_t size, const char *cmd)
{
	const char *dirs = getenv("PATH");
	size_t len;

	if (strchr(cmd, '/')) {
		snprintf(path, size, "%s", cmd);
		return !access(path, X_OK);
	}
	for (dirs = dirs ? dirs : "/bin:/usr/bin"; *dirs; dirs += len + !!dirs[len]) {
		len = strcspn(dirs, ":");
		snprintf(path, size, "%.*s%s%s", (int)len, dirs, len ? "/" : "", cmd);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

/* The program header of a kind, among those at @buf; Return: whether there is one */
static bool has_header(const char *buf, size_t size, __u32 type)
{
	const Elf64_Ehdr *e = (const void *)buf;
	size_t i;

	for (i = 0; i < e->e_phnum; i++) {
		const Elf64_Phdr *p = (const void *)(buf + e->e_phoff + i * sizeof(*p));

		if (e->e_phoff > size || (i + 1) * sizeof(*p) > size - e->e_phoff)
			return true;
		if (p->p_type == type)
			return true;
	}
	return false;
}

bool program_can_preload(const char *cmd, uid_t uid)
{
	union {
		char bytes[4096];
		Elf64_Ehdr elf;
	} head;
	char path[PATH_MAX];
	struct stat st;
	ssize_t n = 0;
	int fd;

	/* what cannot be run is told later */
	if (!find(path, sizeof(path), cmd) || stat(path, &st))
		return true;
	if ((st.st_mode & S_ISUID && st.st_uid != uid) || (st.st_mode & S_ISGID && uid)) {
		msg("%s runs with the rights of another user (setuid): it ignores LD_PRELOAD, so --alloc cannot work; run it as that user",
		    path);
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, &head, sizeof(head));
		close(fd);
	}
	/* perhaps a script: its interpreter is looked at by nobody */
	if (n < (ssize_t)sizeof(head.elf) || memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
		return true;
	if (head.elf.e_ident[EI_CLASS] != ELFCLASS64) {
		msg("%s is a 32-bit program: --alloc needs one of 64 bits", path);
		return false;
	}
	if (has_header(head.bytes, n, PT_INTERP))
		return true;
	msg("%s is linked statically: its functions cannot be replaced, so --alloc cannot work",
	    path);
	return false;
}
