/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sampler.h - the sampler, called by the allocation functions of libwsmo-alloc.so
 *
 * Sampling is Poisson by bytes: the bytes from one sample of a thread to the next are exponentially
 * distributed with the mean @rate. So an allocation is sampled with probability 1 - exp(-size /
 * rate), independently of earlier allocations.
 *
 * No function here calls malloc(), directly or indirectly. After the start of the program, system
 * calls are made only to wait for another thread, as seccomp may forbid others.
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
 * Begins at 0, so that sampler_due() sees a thread's first allocation.
 */
extern __thread int64_t sampler_left;

/**
 * sampler_skips() - count an allocation of @size bytes
 * Return: true if it is not sampled; false: sampler_due() decides
 */
static inline bool sampler_skips(size_t size)
{
	int64_t left = sampler_left - (int64_t)size;

	sampler_left = left;
	/* a huge @size is negative as int64_t, and would increase @left */
	return likely((left | (int64_t)size) >= 0);
}

/**
 * sampler_due() - decide whether to sample an allocation not skipped by sampler_skips()
 * Return: true if it is sampled
 */
bool sampler_due(size_t size);

/**
 * sampler_take() - note a sampled allocation
 * @caller: the return address into the program
 */
void sampler_take(void *p, size_t size, const void *caller);

/**
 * sampler_drop() - forget the sample at @p before it is freed; call only if sampler_may_know(@p)
 * Return: true if @p was a sample
 */
bool sampler_drop(void *p);

/* Bits of the filter: one for each 16 bytes of 16 MiB; the rest of memory shares these bits */
#define SAMPLER_BITS	20
extern uint64_t sampler_filter[1 << (SAMPLER_BITS - 6)];

static inline uint32_t sampler_bit(const void *p)
{
	uintptr_t at = (uintptr_t)p >> 4;

	return (at ^ at >> SAMPLER_BITS) & ((1 << SAMPLER_BITS) - 1);
}

/** sampler_may_know() - tell whether @p may be a sample; seldom true for other addresses */
static inline bool sampler_may_know(const void *p)
{
	uint32_t bit = sampler_bit(p);

	return unlikely(__atomic_load_n(&sampler_filter[bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1);
}

/**
 * sampler_keep() - make sampler_may_know() true for SAMPLER_WORD bytes forever; call it only once
 */
void sampler_keep(const void *p);
#define SAMPLER_WORD	(16 * 64)

/**
 * sampler_mapped(), sampler_unmapped() - decide about and note mapped memory; forget unmapped
 * memory
 */
void sampler_mapped(void *p, size_t size, const void *caller);
void sampler_unmapped(void *p, size_t size);

/** log_lost() - count an event that cannot be written */
void log_lost(void);

#endif /* WSMO_SAMPLER_H */
