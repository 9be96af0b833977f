/* SPDX-License-Identifier: GPL-2.0 */
/*
 * contents.h - what memory of the targets contains: copies of pages chosen at random
 */
#ifndef WSMO_RECORD_CONTENTS_H
#define WSMO_RECORD_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/filter.h"

#define CONTENTS_PAGES		512
/* Pages of more processes are not copied */
#define CONTENTS_TARGETS	16

/**
 * contents_copy() - copy pages of processes
 * @mem:	gets CONTENTS_PAGES, some of them more than once if there are few
 * @forbidden: set if a process was left out, as its memory must not go to swap
 *
 * Return: false if nearly none can be read, as of a command that has not begun
 */
bool contents_copy(char *mem, const struct pids *pids, bool *forbidden);

/** contents_fill() - fill memory with what compresses well in one half, and not at all in the other */
void contents_fill(char *mem, size_t bytes);

#endif /* WSMO_RECORD_CONTENTS_H */
