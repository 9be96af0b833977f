// SPDX-License-Identifier: GPL-2.0
/*
 * threads.c - where the stacks of a process's threads are, from
 * /proc/PID/task/TID/syscall: the kernel names the main thread's stack only
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "threads.h"

static int compare(const void *x, const void *y)
{
	const struct thread *a = x, *b = y;

	return a->sp < b->sp ? -1 : a->sp > b->sp;
}

/* "running", or the call's number, its arguments if it is one, sp and pc */
static bool parse_sp(const char *text, __u64 *sp)
{
	__u64 pc;

	return sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %llx", sp, &pc) == 2 ||
	       sscanf(text, "-1 %llx %llx", sp, &pc) == 2;
}

static bool read_sp(int dir, __u32 tid, __u64 *sp)
{
	char path[32], text[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%u/syscall", tid);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return parse_sp(text, sp);
}

size_t threads_read(__u32 pid, struct thread *t, size_t max)
{
	const struct dirent *e;
	size_t nr = 0;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (nr < max && (e = readdir(dir))) {
		t[nr].tid = strtoul(e->d_name, NULL, 10);
		if (t[nr].tid && t[nr].tid != pid &&
		    read_sp(dirfd(dir), t[nr].tid, &t[nr].sp))
			nr++;
	}
	closedir(dir);
	qsort(t, nr, sizeof(*t), compare);
	return nr;
}

__u32 threads_in(const struct thread *t, size_t nr, __u64 start, __u64 end)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t[mid].sp < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr && t[low].sp < end ? t[low].tid : 0;
}
