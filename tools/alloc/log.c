// SPDX-License-Identifier: GPL-2.0
/*
 * log.c - writes events, with the stacks of allocations, to the ring
 */
#include <dlfcn.h>
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

/*
 * What the unwinder asks the C library. Glibc's function is looked for when a program begins, as a
 * program of musl would not start without it: a stack is its innermost call there.
 */
static void *find_object;

#ifndef DLFO_STRUCT_HAS_EH_DBASE
#define FINDER	"dl_iterate_phdr"
#else
#define FINDER	"_dl_find_object"

int _dl_find_object(void *pc, struct dl_find_object *found)
{
	int (*next)(void *, struct dl_find_object *) = find_object;

	return next ? next(pc, found) : -1;
}
#endif

static struct alloc_ring *map_ring(int fd)
{
	struct alloc_ring *p;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != ALLOC_RING_HEAD + ALLOC_RING_BYTES)
		return NULL;
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (p->magic == ALLOC_RING_MAGIC && p->rate)
		return p;
	munmap(p, st.st_size);
	return NULL;
}

uint64_t log_open(void)
{
	static const char no[] = "wsmo: allocations are not recorded: the descriptor that $" ALLOC_RING_ENV " names was closed\n";
	const char *text = secure_getenv(ALLOC_RING_ENV);
	bool ours;
	char *end;
	long fd;

	if (!text)
		return 0;
	fd = strtol(text, &end, 10);
	/* a child's memory is watched by nobody, and what became of a recorder that ended not either */
	ours = *end == ',' && strtol(end + 1, NULL, 10) == getppid();
	ring = map_ring(fd);
	if (!ring) {
		ssize_t n = ours ? write(STDERR_FILENO, no, sizeof(no) - 1) : 0;

		return n ? 0 : 0;
	}
	find_object = dlsym(RTLD_DEFAULT, FINDER);
	if (ours)
		return ring->rate;
	log_other();
	return 0;
}

void log_other(void)
{
	__atomic_fetch_add(&ring->others, 1, __ATOMIC_RELAXED);
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
	if (caller && find_object)
		_Unwind_Backtrace(step, &w);
	/* it could not be walked that far */
	if (w.caller)
		e.pc[e.nr++] = (uintptr_t)caller - 1;
	if (kind == WSMON_ALLOC_START) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		e.time_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	} else {
		/* seccomp may have forbidden the system call, or the processor's counter of cycles */
		e.time_ns = __atomic_load_n(&ring->now_ns, __ATOMIC_RELAXED);
	}
	e.kind = kind;
	e.addr = (uintptr_t)p;
	e.size = size;
	put(&e);
}
