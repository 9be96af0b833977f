// SPDX-License-Identifier: GPL-2.0
/*
 * many.c BUSY ASLEEP KIB SHORT_MS [forked] - many small processes
 *
 * BUSY processes write all of KIB of memory of their own every 100 ms, ASLEEP others have
 * written 16 KiB and sleep. Each SHORT_MS (0: never) a short-lived one begins, writes KIB
 * and lives for a second. All execute this program, unless "forked".
 * Prints "ready" when BUSY and ASLEEP run, and for each line of input the number of
 * short-lived processes so far.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(const char *what, size_t kib)
{
	struct timespec pause_ns = { 0, 100000000 };
	size_t size = (*what == 'a' ? 16 : kib) << 10;
	char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (m == MAP_FAILED)
		_exit(1);
	madvise(m, size, MADV_NOHUGEPAGE);
	memset(m, 1, size);
	while (*what == 'a')
		pause();
	for (i = 0; *what == 'b' || i < 10; i++) {
		size_t at;

		nanosleep(&pause_ns, NULL);
		for (at = 0; at < size; at += 4096)
			m[at]++;
	}
	_exit(0);
}

static void begin(const char *what, const char *kib, int forked)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!forked)
		execl("/proc/self/exe", what, kib, NULL);
	work(what, atoi(kib));
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct pollfd in = { .events = POLLIN };
	int i, period, forked, began = 0;
	long next;
	char c;

	if (argc == 2)
		work(argv[0], atoi(argv[1]));
	if (argc < 5)
		return 2;
	period = atoi(argv[4]);
	forked = argc > 5;
	for (i = 0; i < atoi(argv[1]); i++)
		begin("busy", argv[3], forked);
	for (i = 0; i < atoi(argv[2]); i++)
		begin("asleep", argv[3], forked);
	puts("ready");
	fflush(stdout);
	for (next = now_ms();;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (period && now_ms() >= next) {
			begin("short", argv[3], forked);
			next += period;
			began++;
		}
		if (poll(&in, 1, period ? 5 : 100) <= 0)
			continue;
		if (read(0, &c, 1) <= 0)
			return 0;
		printf("%d\n", began);
		fflush(stdout);
	}
}
