// SPDX-License-Identifier: GPL-2.0
/*
 * hostile_alloc.c - a program that makes "wsmo record --alloc" difficult
 *
 * usage: hostile_alloc seccomp|tail|head|events|collide|spread|shrink|hole|close CMD.... It
 * allocates, and prints "ran" at its end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../tools/alloc/ring.h"
#include "../../../tools/libwsmon/wsmon_records.h"

static void allocate(int n)
{
	static void * volatile p;
	int i;

	for (i = 0; i < n; i++) {
		p = malloc(100);
		free(p);
	}
}

static int ring_fd(void)
{
	return atoi(getenv(ALLOC_RING_ENV));
}

/* Rings full of stacks of one call, whose hashes in alloc_feed.c all end in 21 zeros: one place */
static void stacks(struct alloc_ring *ring, bool collide)
{
	struct alloc_event e = { .kind = WSMON_ALLOC_MALLOC, .nr = 1 };
	uint64_t inverse = 1, i, h;

	for (i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15ULL * inverse;
	for (i = 0; i < 3 * ALLOC_RING_BYTES / ALLOC_RING_UNIT; i++) {
		while (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ALLOC_RING_BYTES)
			usleep(1000);
		h = collide ? i << 21 : i;
		h ^= h >> 29 ^ h >> 58;
		e.tag = alloc_ring_tag(ring->head);
		e.pc[0] = h * inverse ^ 2;
		memcpy((char *)ring + ALLOC_RING_HEAD + ring->head % ALLOC_RING_BYTES, &e, ALLOC_RING_UNIT);
		__atomic_store_n(&ring->head, ring->head + ALLOC_RING_UNIT, __ATOMIC_RELEASE);
	}
}

static void vandalize(const char *what)
{
	struct alloc_ring *ring = mmap(NULL, ALLOC_RING_HEAD + ALLOC_RING_BYTES, PROT_READ | PROT_WRITE,
				       MAP_SHARED, ring_fd(), 0);
	uint64_t *word = (void *)((char *)ring + ALLOC_RING_HEAD);
	size_t i;

	if (ring == MAP_FAILED)
		_exit(3);
	if (!strcmp(what, "tail"))
		ring->tail += 8;
	if (!strcmp(what, "head"))
		ring->head += 1;
	if (!strcmp(what, "events")) {
		for (i = 0; i < ALLOC_RING_BYTES / 8; i++)
			word[i] = i % 8 ? -1ULL : alloc_ring_tag(i * 8);
		ring->head = ALLOC_RING_BYTES;
	}
	if (!strcmp(what, "collide") || !strcmp(what, "spread"))
		stacks(ring, *what == 'c');
	if (!strcmp(what, "shrink") && (!ftruncate(ring_fd(), 4096) || !ftruncate(ring_fd(), 16 << 20)))
		_exit(4);
	if (!strcmp(what, "hole"))
		fallocate(ring_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	/* initialise the C library's own memory */
	free(malloc(1 << 16));
	if (!strcmp(argv[1], "seccomp")) {
		/* allowed: read(), write(), exit() of the thread and sigreturn() */
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			return 5;
	} else if (!strcmp(argv[1], "close")) {
		close(ring_fd());
		execvp(argv[2], argv + 2);
	} else {
		vandalize(argv[1]);
	}
	allocate(1000);
	if (strcmp(argv[1], "seccomp"))
		usleep(300000);
	if (write(STDOUT_FILENO, "ran\n", 4) != 4)
		return 1;
	syscall(SYS_exit, 0);
}
