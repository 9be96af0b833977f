// SPDX-License-Identifier: GPL-2.0
/*
 * log.c - writes events, with the stacks of allocations, to the ring
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "ring.h"
#include "sampler.h"
#include "wsmon.h"

static struct alloc_ring *ring;

static void *map_ring(int fd)
{
	void *p;

	/* a file descriptor is not kept: programs close those they do not know */
	p = mmap(NULL, ALLOC_RING_HEAD + ALLOC_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

uint64_t log_open(void)
{
	static const char no[] = "wsmo: the allocations of a program are not recorded: cannot open what $" ALLOC_RING_ENV " names\n";
	const char *name = secure_getenv(ALLOC_RING_ENV);
	struct stat st;
	int fd;

	if (!name)
		return 0;
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size == ALLOC_RING_HEAD + ALLOC_RING_BYTES)
		ring = map_ring(fd);
	if (fd >= 0)
		close(fd);
	if (ring && (ring->magic != ALLOC_RING_MAGIC || !ring->rate))
		ring = NULL;
	/* a recording that has ended is no reason to complain */
	if (!ring && (fd >= 0 || errno != ENOENT) && write(STDERR_FILENO, no, sizeof(no) - 1) < 0)
		return 0;
	return ring ? ring->rate : 0;
}

void log_lost(void)
{
	__atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
}

/* Return: the position of @size bytes; -1 if there is no room */
static uint64_t reserve(uint64_t size)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	do {
		if (head + size - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > ALLOC_RING_BYTES) {
			log_lost();
			return -1;
		}
	} while (!__atomic_compare_exchange_n(&ring->head, &head, head + size, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return head;
}

static void put(struct alloc_event *e)
{
	uint64_t size = alloc_event_size(e->nr), at = reserve(size), first, i;
	char *data = (char *)ring + ALLOC_RING_HEAD;

	if (at == (uint64_t)-1)
		return;
	first = at % ALLOC_RING_BYTES;
	memcpy(data + first + 8, (char *)e + 8, ALLOC_RING_UNIT - 8);
	for (i = ALLOC_RING_UNIT; i < size; i += ALLOC_RING_UNIT)
		memcpy(data + (at + i) % ALLOC_RING_BYTES, (char *)e + i, ALLOC_RING_UNIT);
	__atomic_store_n((uint64_t *)(void *)(data + first), alloc_ring_tag(at), __ATOMIC_RELEASE);
}

/**
 * struct walk - a stack that is being walked
 * @e:		gets its calls
 * @caller:	the first that is wanted: those before it are this library's
 */
struct walk {
	struct alloc_event *e;
	const void *caller;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;
	uintptr_t ip = _Unwind_GetIP(context);

	if (w->caller && ip != (uintptr_t)w->caller)
		return _URC_NO_REASON;
	w->caller = NULL;
	if (!ip)
		return _URC_END_OF_STACK;
	if (w->e->nr == ALLOC_FRAMES) {
		w->e->cut = 1;
		return _URC_END_OF_STACK;
	}
	w->e->pc[w->e->nr++] = ip - 1;
	return _URC_NO_REASON;
}

void log_event(uint32_t kind, const void *p, size_t size, const void *caller)
{
	struct walk w = { .caller = caller };
	struct alloc_event e;
	struct timespec now;

	w.e = &e;
	memset(&e, 0, offsetof(struct alloc_event, pc));
	if (caller)
		_Unwind_Backtrace(step, &w);
	/* it could not be walked that far */
	if (w.caller)
		e.pc[e.nr++] = (uintptr_t)caller - 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	e.time_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	e.pid = getpid();
	e.kind = kind;
	e.addr = (uintptr_t)p;
	e.size = size;
	put(&e);
}
