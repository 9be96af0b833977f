// SPDX-License-Identifier: GPL-2.0
/*
 * contents.c - prints what contents_copy() copies of this process: whether anything, whether
 * it was forbidden, and how many pages of its secret
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/refault.h"

#define SECRET	"a secret that nobody may write to a disk"
#define BYTES	(64 << 20)

int main(void)
{
	size_t page = sysconf(_SC_PAGESIZE), i, n = 0;
	char *secret = malloc(BYTES), *mem = malloc(CONTENTS_PAGES * page);
	__u32 pid = getpid();
	bool forbidden = false, some;

	for (i = 0; i + sizeof(SECRET) <= BYTES; i += sizeof(SECRET))
		memcpy(secret + i, SECRET, sizeof(SECRET));
	some = contents_copy(mem, &(struct pids) { .pid = &pid, .nr = 1 }, &forbidden);
	for (i = 0; some && i < CONTENTS_PAGES; i++)
		n += !!memmem(mem + i * page, page, SECRET, sizeof(SECRET));
	printf("%d %d %zu\n", some, forbidden, n);
	return 0;
}
