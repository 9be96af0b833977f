/* SPDX-License-Identifier: GPL-2.0 */
/*
 * child.h - runs the command of "record -- CMD"
 *
 * The child is forked before monitoring starts, and waits to execute CMD, so that CMD is monitored
 * from its first instruction.
 */
#ifndef WSMO_RECORD_CHILD_H
#define WSMO_RECORD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct child - the command's process
 * @pid:	process id; 0: no child
 * @gone:	the child ended; @status is from waitpid()
 * @release:	a byte written here makes the child execute CMD
 * @trouble:	the child reports here that it could not execute CMD
 * @output:	file for CMD's output, created as CMD's user; CMD then has empty input. NULL: CMD
 *		has our standard files
 * @to_stderr:	redirect CMD's standard output to standard error
 * @user:	name of CMD's user; NULL: the user who called sudo, pkexec or doas
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
 * @cmd:	arguments of CMD, NULL-terminated
 * @mask:	signal mask of CMD
 * Return: 0, or -1 after a message
 */
int child_start(struct child *c, char **cmd, const sigset_t *mask);

/**
 * child_release() - make the child execute CMD; wait until it did
 * @name: name of CMD, for the message
 * Return: 0, or after a message 127 (no such command) or 126 (cannot be run)
 */
int child_release(struct child *c, const char *name);

/** child_reap() - tell, without waiting, whether the child is gone */
bool child_reap(struct child *c);

/** child_exit_status() - get the exit status as shells define it: 128 + n for signal n */
int child_exit_status(const struct child *c);

/** child_discard() - end a child that was not released */
void child_discard(struct child *c);

#endif /* WSMO_RECORD_CHILD_H */
