/* SPDX-License-Identifier: GPL-2.0 */
/*
 * child.h - the command "record -- CMD" runs
 *
 * It is forked before monitoring starts and executes CMD only when it is told
 * to, so that CMD is watched from its first instruction.
 */
#ifndef WSMO_RECORD_CHILD_H
#define WSMO_RECORD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct identity - who called sudo
 * @uid: root's if nobody did
 * @gid: likewise
 * @user: their name, NULL if it is not known
 */
struct identity {
	uid_t uid;
	gid_t gid;
	const char *user;
};

/** identity_get() - Return: 0, or -1 if SUDO_UID or SUDO_GID makes no sense */
int identity_get(struct identity *id);

/**
 * struct child - the command's process
 * @pid:	0 if there is none
 * @gone:	it ended, and @status is what waitpid() said
 * @release:	a byte written here lets it go on
 * @trouble:	it tells here that it could not execute CMD
 * @output:	a file for what CMD writes, made by its user; CMD then reads nothing.
 *		NULL: its standard files are ours
 */
struct child {
	pid_t pid;
	bool gone;
	int status;
	int release;
	int trouble;
	const char *output;
};

/**
 * child_start() - fork; the child waits
 * @cmd:	what it is to execute, NULL-terminated
 * @mask:	the signal mask it gets
 * Return: 0, or -1 after a message
 */
int child_start(struct child *c, char **cmd, const sigset_t *mask);

/**
 * child_release() - let it execute CMD, and see whether it could
 * @name: for the message
 * Return: 0, or after a message 127 (no such command) or 126 (cannot be run)
 */
int child_release(struct child *c, const char *name);

/** child_reap() - Return: whether it is gone; does not wait */
bool child_reap(struct child *c);

/** child_exit_status() - as a shell has it: 128 + n if signal n killed it */
int child_exit_status(const struct child *c);

/** child_discard() - end one that was not released */
void child_discard(struct child *c);

#endif /* WSMO_RECORD_CHILD_H */
