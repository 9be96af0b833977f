// SPDX-License-Identifier: GPL-2.0
/*
 * sampler.c - decides which allocations are sampled, knows those that are live, and writes
 * events with their stacks to the ring
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "libwsmon/wsmon_records.h"
#include "ring.h"
#include "sampler.h"

static struct alloc_ring *ring;

/*
 * The function of the C library that the unwinder calls. It is looked for when a program begins: a
 * program of musl has none of glibc's and would not start if it had to. Its stacks have one call.
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

/* Counts this process as one that is not sampled */
static void log_other(void)
{
	__atomic_fetch_add(&ring->others, 1, __ATOMIC_RELAXED);
}

void log_lost(void)
{
	__atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
}

/* Maps the ring. Return: mean bytes between samples, 0 if this process is not sampled */
static uint64_t log_open(void)
{
	static const char no[] = "wsmo: allocations are not recorded: the descriptor that $" ALLOC_RING_ENV " names was closed\n";
	const char *text = secure_getenv(ALLOC_RING_ENV);
	bool ours;
	char *end;
	long fd;

	if (!text)
		return 0;
	fd = strtol(text, &end, 10);
	/* memory of children is not watched, and no memory after the recorder ended */
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

/* Return: the position of @size bytes; -1 if there is no room */
static uint64_t reserve_units(uint64_t size)
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
	uint64_t size = alloc_event_size(e->nr), at = reserve_units(size), first, i;
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
 * @caller:	return address into the program: calls before it are this library's; NULL once
 *		it was found
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

/* Writes an event, WSMON_ALLOC_*, with the stack from @caller on, unless @caller is NULL */
static void log_event(uint32_t kind, const void *p, size_t size, const void *caller)
{
	struct walk w = { .caller = caller };
	struct alloc_event e;
	struct timespec now;

	w.e = &e;
	memset(&e, 0, offsetof(struct alloc_event, pc));
	if (caller && find_object)
		_Unwind_Backtrace(step, &w);
	/* the stack could not be walked as far as the caller */
	if (w.caller)
		e.pc[e.nr++] = (uintptr_t)caller - 1;
	if (kind == WSMON_ALLOC_START) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		e.time_ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	} else {
		/* seccomp may have forbidden the system call, or reading the cycle counter */
		e.time_ns = __atomic_load_n(&ring->now_ns, __ATOMIC_RELAXED);
	}
	e.kind = kind;
	e.addr = (uintptr_t)p;
	e.size = size;
	put(&e);
}

/* Live samples are in lists, one for each word of the filter. There are never more than this */
#define NODES		(4U << 20)

/** struct node - a live sample; @next is the number of the next one in its list, 0 at the end */
struct node {
	const void *p;
	uint32_t next;
};

__thread int64_t sampler_left;
uint64_t sampler_filter[1 << (SAMPLER_BITS - 6)];

/* Of a thread: the state of its random numbers, 0 before the first; whether it runs in here */
static __thread struct {
	uint64_t random;
	bool busy;
} thread;

/**
 * struct memory - memory that the kernel empties in a child after fork()
 * @life:	state of this process
 * @node:	live samples; number 0 is none
 */
struct memory {
	enum { CHILD, OURS, COUNTED } life;
	struct node node[];
};

static struct {
	uint64_t rate;		/* 0: nothing is sampled */
	bool opened;
	pthread_mutex_t mutex;
	struct memory *memory;
	uint64_t maps;		/* mappings sampled so far */
	uint32_t kept;		/* number of the word of sampler_keep(), from 1 */
	uint32_t list[1 << (SAMPLER_BITS - 6)];
	uint32_t nodes;		/* used so far */
	uint32_t nodes_max;
	uint32_t free;		/* list of those used before */
} all = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* Not for a child: another thread of its parent may have held the mutex during fork() */
static void lock(void)
{
	pthread_mutex_lock(&all.mutex);
}

static void unlock(void)
{
	pthread_mutex_unlock(&all.mutex);
}

/* Return: whether this process is sampled; its children are not */
static bool is_ours(void)
{
	if (!all.memory || all.memory->life == OURS)
		return all.memory;
	if (__atomic_exchange_n(&all.memory->life, COUNTED, __ATOMIC_RELAXED) == CHILD)
		log_other();
	return false;
}

static struct node *node(uint32_t i)
{
	return &all.memory->node[i];
}

/* Return: number of a node, 0 if all are used */
static uint32_t new_node(void)
{
	uint32_t i = all.free;

	if (i) {
		all.free = node(i)->next;
		return i;
	}
	return all.nodes + 1 < all.nodes_max ? ++all.nodes : 0;
}

/* Context: locked */
static bool add(const void *p)
{
	uint32_t bit = sampler_bit(p), i = new_node();

	if (!i)
		return false;
	*node(i) = (struct node){ .p = p, .next = all.list[bit / 64] };
	__atomic_store_n(&all.list[bit / 64], i, __ATOMIC_RELEASE);
	__atomic_fetch_or(&sampler_filter[bit / 64], 1ULL << bit % 64, __ATOMIC_RELAXED);
	return true;
}

void sampler_keep(const void *p)
{
	uint32_t word = sampler_bit(p) / 64;

	all.kept = word + 1;
	__atomic_store_n(&sampler_filter[word], ~0ULL, __ATOMIC_RELAXED);
}

/* Context: locked */
static bool drop(const void *p)
{
	uint32_t bit = sampler_bit(p), *at = &all.list[bit / 64], i, found = 0;
	uint64_t word = bit / 64 + 1 == all.kept ? ~0ULL : 0;

	while ((i = *at)) {
		if (!found && node(i)->p == p) {
			found = i;
			*at = node(i)->next;
			continue;
		}
		word |= 1ULL << sampler_bit(node(i)->p) % 64;
		at = &node(i)->next;
	}
	if (!found)
		return false;
	__atomic_store_n(&sampler_filter[bit / 64], word, __ATOMIC_RELAXED);
	node(found)->next = all.free;
	all.free = found;
	return true;
}

/* xorshift64* */
static uint64_t random_word(void)
{
	uint64_t x = thread.random;

	if (!x) {
		static uint64_t threads;

		/* the kernel gives each start of a program 16 random bytes */
		memcpy(&x, (void *)getauxval(AT_RANDOM), sizeof(x));
		x += __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ULL;
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
		x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
		x = (x ^ x >> 31) | 1;
	}
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	thread.random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* -log(x) for 0 < x < 1, to about 1e-9, without libm: programs need not have it */
static double minus_log(double x)
{
	double s, square, sum = 0;
	int halves = 0, i;

	while (x < 0.7071067811865476) {
		x *= 2;
		halves++;
	}
	s = (x - 1) / (x + 1);
	square = s * s;
	for (i = 11; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return halves * 0.6931471805599453 - 2 * s * sum;
}

/* Bytes until the next sample */
static int64_t draw(void)
{
	return minus_log(((random_word() >> 11) + 0.5) * 0x1p-53) * all.rate;
}

/*
 * Maps memory that takes no pages until it is used, unless the program calls mlockall(): then all
 * of it is resident, so there is not more than this machine needs.
 * Return: NULL without
 */
static struct memory *map_memory(uint64_t samples)
{
	uint32_t nodes = samples < NODES ? samples : NODES;
	size_t size = sizeof(struct memory) + nodes * sizeof(struct node);
	struct memory *m = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	if (madvise(m, size, MADV_WIPEONFORK))
		return NULL;
	all.nodes_max = nodes;
	m->life = OURS;
	return m;
}

static void open_once(void)
{
	lock();
	if (!all.opened) {
		all.rate = log_open();
		all.memory = all.rate ? map_memory(ring->samples) : NULL;
		if (all.rate && !all.memory) {
			log_lost();
			all.rate = 0;
		}
		if (all.rate)
			log_event(WSMON_ALLOC_START, NULL, all.rate, NULL);
		__atomic_store_n(&all.opened, true, __ATOMIC_RELEASE);
	}
	unlock();
}

static void __attribute__((constructor)) begin(void)
{
	int err = errno;

	thread.busy = true;
	if (!__atomic_load_n(&all.opened, __ATOMIC_ACQUIRE))
		open_once();
	thread.busy = false;
	errno = err;
}

bool sampler_due(size_t size)
{
	bool first = !thread.random, due = true;
	int err = errno;

	/* malloc() will fail */
	if ((int64_t)size < 0) {
		sampler_left += (int64_t)size;
		return false;
	}
	if (thread.busy) {
		sampler_left += size;
		return false;
	}
	thread.busy = true;
	if (!__atomic_load_n(&all.opened, __ATOMIC_ACQUIRE))
		open_once();
	if (!is_ours()) {
		due = false;
		sampler_left = INT64_MAX;
	} else {
		/* a thread draws when it allocates for the first time */
		if (first) {
			int64_t left = draw() - (int64_t)size;

			due = left < 0;
			sampler_left = left;
		}
		if (due)
			sampler_left = draw();
	}
	thread.busy = false;
	errno = err;
	return due;
}

void sampler_take(void *p, size_t size, const void *caller)
{
	int err = errno;
	bool added;

	if (!p || !is_ours())
		return;
	thread.busy = true;
	lock();
	added = add(p);
	unlock();
	/* nobody else knows @p yet */
	if (added)
		log_event(WSMON_ALLOC_MALLOC, p, size, caller);
	else
		log_lost();
	thread.busy = false;
	errno = err;
}

bool sampler_drop(void *p)
{
	int err = errno;
	bool known;

	if (thread.busy || !is_ours())
		return false;
	thread.busy = true;
	lock();
	known = drop(p);
	unlock();
	if (known)
		log_event(WSMON_ALLOC_FREE, p, 0, NULL);
	thread.busy = false;
	errno = err;
	return known;
}

void sampler_mapped(void *p, size_t size, const void *caller)
{
	int err = errno;

	thread.busy = true;
	__atomic_fetch_add(&all.maps, 1, __ATOMIC_RELAXED);
	log_event(WSMON_ALLOC_MMAP, p, size, caller);
	thread.busy = false;
	errno = err;
}

void sampler_unmapped(void *p, size_t size)
{
	int err = errno;

	if (thread.busy || !__atomic_load_n(&all.maps, __ATOMIC_RELAXED) || !is_ours())
		return;
	thread.busy = true;
	log_event(WSMON_ALLOC_MUNMAP, p, size, NULL);
	thread.busy = false;
	errno = err;
}
