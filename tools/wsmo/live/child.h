/* SPDX-License-Identifier: GPL-2.0 */
/*
 * child.h - the command "record -- CMD" runs
 *
 * It is forked before monitoring starts and waits to execute CMD, so that CMD is
 * monitored from its first instruction.
 */
#ifndef WSMO_RECORD_CHILD_H
#define WSMO_RECORD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct child - the command's process
 * @pid:	0 if there is none
 * @gone:	it ended with waitpid()'s @status
 * @release:	a byte written here makes it continue
 * @trouble:	it reports here that it could not execute CMD
 * @output:	file for CMD's output, created as its user, with empty input; NULL: CMD
 *		has our standard files
 * @to_stderr:	standard output is not CMD's: what it writes there goes to standard error
 * @user:	whom CMD runs as; NULL is who called sudo, pkexec or doas
 */
struct child {
	pid_t pid;
	bool gone;
	int status;
	int release;
	int trouble;
	const char *output;
	bool to_stderr;
	const char *user;
};

/**
 * child_start() - fork; the child waits
 * @cmd:	what to execute, NULL-terminated
 * @mask:	the signal mask it gets
 * Return: 0, or -1 after a message
 */
int child_start(struct child *c, char **cmd, const sigset_t *mask);

/**
 * child_release() - make it execute CMD; wait until it has
 * @name: for the message
 * Return: 0, or after a message 127 (no such command) or 126 (cannot be run)
 */
int child_release(struct child *c, const char *name);

/** child_reap() - without waiting, return whether it is gone */
bool child_reap(struct child *c);

/** child_exit_status() - return the exit status as a shell does: 128 + n for signal n */
int child_exit_status(const struct child *c);

/** child_discard() - end a child that was not released */
void child_discard(struct child *c);

#endif /* WSMO_RECORD_CHILD_H */
