// SPDX-License-Identifier: GPL-2.0
/*
 * children.c - for each line "N WHAT" on stdin, prints N times in nanoseconds: from fork()
 * to the end of wait() for a child that exits at once ("fork"), or that executes this
 * program first ("exec"), and of a system call ("call"); finally the mean CPU time of one,
 * including the child's
 *
 * children sleepers N: has N children that sleep, and prints a line when they are there
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long used(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return now(CLOCK_PROCESS_CPUTIME_ID) + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000LL +
	       (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000LL;
}

static void once(const char *what)
{
	pid_t pid;

	if (!strcmp(what, "call")) {
		syscall(SYS_getppid);
		return;
	}
	pid = fork();
	if (!pid) {
		if (!strcmp(what, "exec"))
			execl("/proc/self/exe", "child", "exit", NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int sleepers(int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		switch (fork()) {
		case -1:
			perror("fork");
			return 1;
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	long long began, cpu;
	char what[16];
	int i, n;

	if (argc > 2)
		return sleepers(atoi(argv[2]));
	if (argc > 1)
		return 0;
	while (scanf("%d %15s", &n, what) == 2) {
		cpu = used();
		for (i = 0; i < n; i++) {
			began = now(CLOCK_MONOTONIC);
			once(what);
			printf("%lld ", now(CLOCK_MONOTONIC) - began);
		}
		printf("%lld\n", (used() - cpu) / n);
		fflush(stdout);
	}
	return 0;
}
