/* SPDX-License-Identifier: GPL-2.0 */
/*
 * refault.h - how long a refault takes on this machine
 */
#ifndef WSMO_RECORD_REFAULT_H
#define WSMO_RECORD_REFAULT_H

#include <stdbool.h>

#include "libwsmon/filter.h"
#include "libwsmon/wsmon_records.h"

#define REFAULT_KINDS	2
#define REFAULT_NAME	128

/**
 * struct refaults - what was measured
 * @rec:	of each kind, its text is @text
 * @text:	the device, or why nothing was measured
 */
struct refaults {
	struct wsmon_rec_refault rec[REFAULT_KINDS];
	char text[REFAULT_KINDS][REFAULT_NAME];
};

/**
 * refaults_measure() - access more memory than a cgroup of our own has room for
 * @pids:	the targets; the memory gets contents of theirs, if they have some
 *
 * Takes a second or two, at most ten, and the time to write 16 MiB to a disk. Leaves nothing
 * behind: the file has no name, and a process of its own removes the cgroup, /wsmo-PID. Signals
 * of a terminal must be blocked.
 */
void refaults_measure(struct refaults *r, const struct pids *pids);

/** refaults_report() - print it */
void refaults_report(const struct refaults *r);

#define CONTENTS_PAGES		512
/* Max. processes whose pages are copied */
#define CONTENTS_TARGETS	16

/**
 * contents_copy() - copy pages of processes
 * @mem:	gets CONTENTS_PAGES, some of them more than once if there are few
 * @forbidden: set if a process was left out, as its memory must not go to swap
 *
 * Return: false if too few can be read, as of a command that has not begun
 */
bool contents_copy(char *mem, const struct pids *pids, bool *forbidden);

#endif /* WSMO_RECORD_REFAULT_H */
