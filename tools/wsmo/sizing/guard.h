/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guard.h - a limit on a cgroup that is taken back whatever happens
 */
#ifndef WSMO_SIZING_GUARD_H
#define WSMO_SIZING_GUARD_H

#include <sys/types.h>

#include "wsmon.h"

#define GUARD_VALUE	32

/**
 * struct guard - a memory.high that was changed
 * @dir:	directory of the cgroup
 * @was:	the value before
 * @note:	a locked file that says so, for the next run if all processes of this one are killed;
 *		-1 without one
 * @name:	its name in @notes
 * @notes:	directory of such files
 * @pid:	a process that restores it once the write end @life is closed, as it is when this
 *		process dies
 */
struct guard {
	const char *dir;
	char was[GUARD_VALUE];
	int note;
	char name[64];
	int notes;
	pid_t pid;
	int life;
};

/**
 * guard_begin() - set memory.high of the cgroup in @dir
 * Return: 0, or -1 after a message, and nothing was changed
 */
int guard_begin(struct guard *g, const char *dir, __u64 bytes);

/** guard_end() - restore it; Return: 0, or -1 after a message */
int guard_end(struct guard *g);

/**
 * guard_restore() - restore what runs left that were killed, with a message for each
 * Return: 0, or -1 after a message
 */
int guard_restore(void);

#endif /* WSMO_SIZING_GUARD_H */
