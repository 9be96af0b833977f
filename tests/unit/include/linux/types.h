/* SPDX-License-Identifier: GPL-2.0 */
/* The part of the kernel's headers that the module's pure files use, for userland */
#ifndef STUB_LINUX_TYPES_H
#define STUB_LINUX_TYPES_H

#include_next <linux/types.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
/* as the kernel has them on all architectures */
typedef unsigned long long u64;
typedef long long s64;
typedef int8_t s8;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S32_MAX		INT32_MAX

#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))

/* arguments must have one type, as in the kernel */
#define min(a, b) ({ \
	__typeof__(a) _a = (a); \
	__typeof__(b) _b = (b); \
	(void)(&_a == &_b); \
	_a < _b ? _a : _b; })
#define max(a, b) ({ \
	__typeof__(a) _a = (a); \
	__typeof__(b) _b = (b); \
	(void)(&_a == &_b); \
	_a > _b ? _a : _b; })
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
/* as in the kernel, lo wins if lo > hi */
#define clamp_t(t, v, lo, hi)	({ t v_ = (v), l_ = (lo), h_ = (hi); v_ >= h_ ? h_ : v_ <= l_ ? l_ : v_; })
#define swap(a, b) do { \
	__typeof__(a) _t = (a); \
	(a) = (b); \
	(b) = _t; } while (0)

static inline unsigned int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned int hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

#define noinline __attribute__((noinline))

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (unsigned __int128)a * b >> shift;
}

#endif
