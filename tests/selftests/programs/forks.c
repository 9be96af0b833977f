// SPDX-License-Identifier: GPL-2.0
/*
 * forks.c - forks upon SIGUSR1: forks short N: N children that end at once, every other one
 * with a child of its own; forks long N: N children that wait for SIGTERM; forks storm:
 * short, without end. Prints "done".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(int lives, int n)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid)
		return;
	while (lives)
		pause();
	if (n % 2 && !fork())
		_exit(0);
	_exit(0);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0, sig;
	int lives = argc > 1 && !strcmp(argv[1], "long");
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &sig);
	for (int n = 0; !number || n < number; n++) {
		child(lives, n);
		while (waitpid(-1, NULL, lives ? WNOHANG : 0) > 0)
			;
	}
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
