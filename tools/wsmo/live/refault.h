/* SPDX-License-Identifier: GPL-2.0 */
/* refault.h - measures how long a refault takes on this machine */
#ifndef WSMO_RECORD_REFAULT_H
#define WSMO_RECORD_REFAULT_H

#include <stdbool.h>

#include "libwsmon/filter.h"
#include "libwsmon/wsmon_records.h"

#define REFAULT_KINDS	2
#define REFAULT_NAME	128

/**
 * struct refaults - result of the measurement
 * @rec:	REFAULT record of each kind, without its text
 * @text:	text of each record: the device, or why nothing was measured
 */
struct refaults {
	struct wsmon_rec_refault rec[REFAULT_KINDS];
	char text[REFAULT_KINDS][REFAULT_NAME];
};

/**
 * refaults_measure() - measure, in a cgroup with less memory than is accessed
 * @pids:	the targets, from which contents of the memory are copied, if possible
 *
 * Takes one or two seconds, at most ten, plus the time to write 16 MiB to disk. Leaves nothing
 * behind: the file has no name, and a separate process removes the cgroup /wsmo-PID. Signals from
 * the terminal must be blocked.
 */
void refaults_measure(struct refaults *r, const struct pids *pids);

/** refaults_report() - print the result */
void refaults_report(const struct refaults *r);

#define CONTENTS_PAGES		512
/* Maximum number of processes from which pages are copied */
#define CONTENTS_TARGETS	16

/**
 * contents_copy() - copy pages of processes
 * @mem:	gets CONTENTS_PAGES pages; repeats pages if there are few
 * @forbidden: set if a process was left out because its memory must not be swapped
 *
 * Return: false if too few pages can be read, e.g. because the command has not begun
 */
bool contents_copy(char *mem, const struct pids *pids, bool *forbidden);

#endif /* WSMO_RECORD_REFAULT_H */
