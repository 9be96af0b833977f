/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sampler.h - what the parts of libwsmo-alloc.so share
 *
 * Sampling is Poisson by bytes: from one sample of a thread to the next there are
 * exponentially distributed bytes, @rate in the mean, so that an allocation is sampled with
 * probability 1 - exp(-size / rate), whatever came before.
 *
 * No function here allocates with malloc(), or uses what may. None makes a system call once the
 * program has begun, but for threads that wait for each other: it may be forbidden by seccomp.
 */
#ifndef WSMO_SAMPLER_H
#define WSMO_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PUBLIC		__attribute__((visibility("default")))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define CALLER		__builtin_return_address(0)

/**
 * sampler_left - bytes that this thread may allocate until the next sample
 *
 * It begins at 0, so a thread's first allocation is one that sampler_due() looks at.
 */
extern __thread int64_t sampler_left;

/**
 * sampler_skips() - count an allocation of @size bytes
 * Return: whether it is surely not sampled; if not, ask sampler_due()
 */
static inline bool sampler_skips(size_t size)
{
	int64_t left = sampler_left - (int64_t)size;

	sampler_left = left;
	/* a size that is too large would make it larger */
	return likely((left | (int64_t)size) >= 0);
}

/**
 * sampler_due() - decide about an allocation that sampler_skips() did not skip
 * Return: whether it is sampled
 */
bool sampler_due(size_t size);

/**
 * sampler_take() - note a sampled allocation
 * @caller: the return address into the program
 */
void sampler_take(void *p, size_t size, const void *caller);

/**
 * sampler_drop() - @p, which sampler_may_know(), will be freed
 * Return: whether it was a sample
 */
bool sampler_drop(void *p);

/* One bit for each 16 bytes of 16 MiB; the rest of memory shares them */
#define SAMPLER_BITS	20
extern uint64_t sampler_filter[1 << (SAMPLER_BITS - 6)];

static inline uint32_t sampler_bit(const void *p)
{
	uintptr_t at = (uintptr_t)p >> 4;

	return (at ^ at >> SAMPLER_BITS) & ((1 << SAMPLER_BITS) - 1);
}

/** sampler_may_know() - is an address one of a sample? Seldom true for others */
static inline bool sampler_may_know(const void *p)
{
	uint32_t bit = sampler_bit(p);

	return unlikely(__atomic_load_n(&sampler_filter[bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1);
}

/** sampler_keep() - sampler_may_know() all of SAMPLER_WORD bytes from now on, for one such place */
void sampler_keep(const void *p);
#define SAMPLER_WORD	(16 * 64)

/** sampler_mapped(), sampler_unmapped() - the same for memory that is mapped */
void sampler_mapped(void *p, size_t size, const void *caller);
void sampler_unmapped(void *p, size_t size);

/** log_open() - map the ring; Return: mean bytes between samples, 0 if there is none */
uint64_t log_open(void);

/** log_event() - write an event, WSMON_ALLOC_*; of @caller and its callers, unless it is NULL */
void log_event(uint32_t kind, const void *p, size_t size, const void *caller);

/** log_other() - count this process as one that is not sampled */
void log_other(void);

/** log_lost() - count an event that cannot be written */
void log_lost(void);

#endif /* WSMO_SAMPLER_H */
