// SPDX-License-Identifier: GPL-2.0
/* churn fork, exec, exit: processes begin, end and execute others */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"

#define FORK_PAGES	1024
#define FORK_CHILDREN	4

static char *area;
static uint64_t tags[FORK_PAGES];

static void check_all(void)
{
	for (size_t i = 0; i < FORK_PAGES; i++)
		check_page(area + i * PAGE, tags[i]);
}

static void write_some(size_t n)
{
	while (n--) {
		size_t i = pick(FORK_PAGES);

		tags[i] = ((uint64_t)getpid() << 32) + pick(1U << 31);
		write_page(area + i * PAGE, tags[i]);
	}
}

static pid_t must_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

/* Wait for a child, which must exit with 0. */
void must_end_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(1, "wait");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		lost("a child ended with %#x", status);
}

static noreturn void fork_child(void)
{
	pid_t pid = -1;

	write_some(64);
	if (!pick(3)) {
		pid = must_fork();
		if (!pid) {
			write_some(32);
			check_all();
			_exit(0);
		}
		write_some(32);
	}
	check_all();
	if (pid > 0)
		must_end_well(pid);
	_exit(0);
}

void churn_fork(void)
{
	area = map_pages(FORK_PAGES, 0);
	write_pages(area, FORK_PAGES, 0);
	for (size_t i = 0; i < FORK_PAGES; i++)
		tags[i] = i;
	while (going()) {
		pid_t pids[FORK_CHILDREN];

		for (int i = 0; i < FORK_CHILDREN; i++) {
			pids[i] = must_fork();
			if (!pids[i])
				fork_child();
			write_some(64);
		}
		check_all();
		for (int i = 0; i < FORK_CHILDREN; i++)
			must_end_well(pids[i]);
		count();
	}
}

static void *spin(void *arg)
{
	for (size_t i = 0;; i = (i + 1) % 64)
		write_page((char *)arg + i * PAGE, i);
	return NULL;
}

/* Executes itself again and again, now and then while another thread runs */
void churn_exec(void)
{
	char *mine = map_pages(512, 0), *theirs = map_pages(64, 0);
	pthread_t thread;

	if (!going())
		return;
	if (pick(2))
		pthread_create(&thread, NULL, spin, theirs);
	write_pages(mine, 512, 1);
	check_pages(mine, 512, 1);
	count();
	hand_over();
	execl("/proc/self/exe", "churn", "exec", NULL);
	err(1, "exec");
}

static noreturn void exit_child(void)
{
	struct timespec pause = { .tv_nsec = pick(30000000) };
	char *mine = map_pages(256, 0);
	pthread_t thread;

	if (!pick(3))
		pthread_create(&thread, NULL, spin, mine + 128 * PAGE);
	write_pages(mine, 128, 1);
	nanosleep(&pause, NULL);
	check_pages(mine, 128, 1);
	if (!pick(8))
		abort();
	_exit(0);
}

/* Short-lived children; prints the id of each, one a line. */
void churn_exit(void)
{
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int alive = 0; going() || alive;) {
		if (going() && alive < 6) {
			pid_t pid = must_fork();

			if (!pid)
				exit_child();
			printf("%d\n", pid);
			alive++;
			continue;
		}
		if (wait(&status) < 0)
			err(1, "wait");
		if (WIFEXITED(status) && WEXITSTATUS(status))
			lost("a child ended with %#x", status);
		alive--;
		count();
	}
}
