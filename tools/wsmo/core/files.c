// SPDX-License-Identifier: GPL-2.0
/* files.c - reads small files, such as those of /proc, /sys and cgroups */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

int read_text(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC), err;
	size_t len = 0;
	ssize_t n = fd;

	while (fd >= 0 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += n;
	err = n < 0 ? -errno : 0;
	text[len] = '\0';
	if (fd >= 0)
		close(fd);
	return err ?: (int)len;
}

int read_line(int dir, const char *name, char *text, size_t size)
{
	int len = read_text(dir, name, text, size);

	text[strcspn(text, "\n")] = '\0';
	return len;
}

size_t read_numbers(FILE *f, const struct key_number *keys, size_t nr)
{
	size_t found = 0, i;
	char line[256], *end;

	while (f && fgets(line, sizeof(line), f)) {
		for (i = 0; i < nr; i++) {
			size_t len = strlen(keys[i].key);

			if (strncmp(line, keys[i].key, len) ||
			    (line[len] != ':' && line[len] != ' '))
				continue;
			*keys[i].to = strtoull(line + len + 1, &end, 10);
			if (!strncmp(end, " kB", 3))
				*keys[i].to *= 1024;
			found++;
		}
	}
	if (f)
		fclose(f);
	return found;
}

__u64 meminfo(const char *key)
{
	__u64 bytes = 0;

	read_numbers(fopen("/proc/meminfo", "re"), &(struct key_number) { key, &bytes }, 1);
	return bytes;
}
