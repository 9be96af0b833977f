// SPDX-License-Identifier: GPL-2.0
/*
 * fleet.c DIR NR - a process in each of the cgroups DIR/0 to DIR/(NR - 1)
 *
 * Process i has memory of its own, 2 MiB, of which it uses (i % 8 + 1) / 4 MiB twice a second.
 * Prints a line when all have begun.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SIZE	((size_t)2 << 20)
#define STEP	((size_t)256 << 10)

static void work(int nr, int ready)
{
	struct timespec pause = { 0, 500000000 };
	volatile char *m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	madvise((void *)m, SIZE, MADV_NOHUGEPAGE);
	for (at = 0; at < SIZE; at += 4096)
		m[at] = 1;
	if (write(ready, "", 1) != 1)
		exit(1);
	for (;; nanosleep(&pause, NULL))
		for (at = 0; at < STEP * (nr % 8 + 1); at += 4096)
			m[at]++;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 0, ready[2], i, fd;
	char path[4096], byte;

	if (pipe(ready))
		return 1;
	for (i = 0; i < nr; i++) {
		if (fork())
			continue;
		snprintf(path, sizeof(path), "%s/%d/cgroup.procs", argv[1], i);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1) {
			perror(path);
			return 1;
		}
		close(fd);
		work(i, ready[1]);
	}
	for (i = 0; i < nr; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
}
