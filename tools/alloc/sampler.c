// SPDX-License-Identifier: GPL-2.0
/*
 * sampler.c - decides which allocations are sampled, and knows those that are live
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "sampler.h"
#include "wsmon.h"

/* Samples that are live: in lists, one for each word of the filter */
#define NODES		(4U << 20)

struct node {
	const void *p;
	uint32_t next;		/* number of the next one, 0 at the end */
};

__thread int64_t sampler_left;
uint64_t sampler_filter[1 << (SAMPLER_BITS - 6)];

/**
 * struct thread - of a thread
 * @random:	state of its random numbers, 0 before the first
 * @busy:	it runs in here
 */
static __thread struct {
	uint64_t random;
	bool busy;
} thread;

/**
 * struct memory - memory that is empty in a child after fork(), which the kernel sees to
 * @life:	of this process
 * @node:	number 0 is none
 */
struct memory {
	enum { CHILD, OURS, COUNTED } life;
	struct node node[NODES];
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
	uint32_t free;		/* list of those used before */
} all = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* A child does not come here: another thread of its parent may have held it during fork() */
static void lock(void)
{
	pthread_mutex_lock(&all.mutex);
}

static void unlock(void)
{
	pthread_mutex_unlock(&all.mutex);
}

/* Return: whether this process is sampled, which its children are not */
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
	return all.nodes + 1 < NODES ? ++all.nodes : 0;
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

		/* 16 random bytes of the kernel, others each time a program starts */
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

/* -log(x) for 0 < x < 1, to about 1e-9: programs are not to get libm for it */
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

/* Return: memory that costs nothing until it is used; NULL without */
static struct memory *reserve(void)
{
	struct memory *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	if (madvise(m, sizeof(*m), MADV_WIPEONFORK))
		return NULL;
	m->life = OURS;
	return m;
}

static void open_once(void)
{
	lock();
	if (!all.opened) {
		all.rate = log_open();
		all.memory = all.rate ? reserve() : NULL;
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

	/* malloc() cannot serve it */
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
		/* before its first sample a thread has not drawn */
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
