// SPDX-License-Identifier: GPL-2.0
/*
 * malloc.c - the functions of the C library that allocate, as a program gets them from
 * libwsmo-alloc.so: they call the next ones, usually the C library's; and those that map
 * memory, which call the kernel
 *
 * The usual case is a subtraction or a look at a bit, and a jump. C++'s new calls malloc(). Maps
 * that the C library makes for malloc() do not come here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler.h"

/*
 * Memory for dlsym(), which allocates before the next functions are known. It is never freed. All
 * of it has its bits in one word of the filter, so that free() needs no check of its own.
 */
static char early[SAMPLER_WORD] __attribute__((aligned(SAMPLER_WORD)));
static size_t early_used;

static void *early_alloc(size_t size)
{
	size_t at = __atomic_fetch_add(&early_used, (size + 15) & -16UL, __ATOMIC_RELAXED);

	if (size > sizeof(early) || at > sizeof(early) - size)
		abort();
	sampler_keep(early);
	return early + at;
}

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

static void *first_malloc(size_t size);
static void *first_calloc(size_t nr, size_t size);
static void *first_realloc(void *p, size_t size);
static void first_free(void *p);
static int first_posix_memalign(void **p, size_t align, size_t size);
static void *first_memalign(size_t align, size_t size);
static void *first_aligned_alloc(size_t align, size_t size);

static void *(*next_malloc)(size_t) = first_malloc;
static void *(*next_calloc)(size_t, size_t) = first_calloc;
static void *(*next_realloc)(void *, size_t) = first_realloc;
static void (*next_free)(void *) = first_free;
static int (*next_posix_memalign)(void **, size_t, size_t) = first_posix_memalign;
static void *(*next_memalign)(size_t, size_t) = first_memalign;
static void *(*next_aligned_alloc)(size_t, size_t) = first_aligned_alloc;

static __thread bool finding;

/* Finds the next functions. Return: false if it is called by itself */
static bool find(void)
{
	static const char * const names[] = {
		"malloc", "calloc", "realloc", "free", "posix_memalign", "memalign", "aligned_alloc",
	};
	void **to[] = {
		(void **)&next_malloc, (void **)&next_calloc, (void **)&next_realloc, (void **)&next_free,
		(void **)&next_posix_memalign, (void **)&next_memalign, (void **)&next_aligned_alloc,
	};
	void *found[sizeof(names) / sizeof(*names)];
	size_t i;

	if (finding)
		return false;
	finding = true;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		found[i] = dlsym(RTLD_NEXT, names[i]);
		if (!found[i])
			abort();
	}
	/* all at once: malloc() and free() must be of one allocator */
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		__atomic_store_n(to[i], found[i], __ATOMIC_RELEASE);
	finding = false;
	return true;
}

static void *first_malloc(size_t size)
{
	return find() ? next_malloc(size) : early_alloc(size);
}

static void *first_calloc(size_t nr, size_t size)
{
	/* static memory is zeroed */
	return find() ? next_calloc(nr, size) : early_alloc(nr * size);
}

static void *first_realloc(void *p, size_t size)
{
	return find() ? next_realloc(p, size) : early_alloc(size);
}

static void first_free(void *p)
{
	if (find())
		next_free(p);
}

static int first_posix_memalign(void **p, size_t align, size_t size)
{
	return find() ? next_posix_memalign(p, align, size) : ENOMEM;
}

static void *first_memalign(size_t align, size_t size)
{
	return find() ? next_memalign(align, size) : NULL;
}

static void *first_aligned_alloc(size_t align, size_t size)
{
	return find() ? next_aligned_alloc(align, size) : NULL;
}

static __attribute__((noinline)) void *slow_malloc(size_t size, const void *caller)
{
	bool due = sampler_due(size);
	void *p = next_malloc(size);

	if (due)
		sampler_take(p, size, caller);
	return p;
}

PUBLIC void *malloc(size_t size)
{
	if (sampler_skips(size))
		return next_malloc(size);
	return slow_malloc(size, CALLER);
}

static __attribute__((noinline)) void *slow_calloc(size_t nr, size_t size, const void *caller)
{
	bool due = sampler_due(nr * size);
	void *p = next_calloc(nr, size);

	if (due)
		sampler_take(p, nr * size, caller);
	return p;
}

PUBLIC void *calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(nr, size, &bytes)) || sampler_skips(bytes))
		return next_calloc(nr, size);
	return slow_calloc(nr, size, CALLER);
}

static __attribute__((noinline)) void slow_free(void *p)
{
	if (is_early(p))
		return;
	sampler_drop(p);
	next_free(p);
}

PUBLIC void free(void *p)
{
	if (sampler_may_know(p))
		slow_free(p);
	else
		next_free(p);
}

static void *realloc_early(void *p, size_t size, const void *caller)
{
	size_t left = early + sizeof(early) - (char *)p;
	void *new = slow_malloc(size, caller);

	if (new)
		memcpy(new, p, size < left ? size : left);
	return new;
}

/* The new memory is another allocation: whether it is sampled does not depend on the old one */
static __attribute__((noinline)) void *slow_realloc(void *p, size_t size, bool skip, const void *caller)
{
	bool known, due = !skip && sampler_due(size);
	void *new;

	if (is_early(p))
		return realloc_early(p, size, caller);
	/* before another thread can get the memory and sample it */
	known = p && sampler_may_know(p) && sampler_drop(p);
	new = next_realloc(p, size);
	if (new && due)
		sampler_take(new, size, caller);
	/* it failed: the old memory is still there but no longer a sample */
	if (!new && size && known)
		log_lost();
	return new;
}

PUBLIC void *realloc(void *p, size_t size)
{
	bool skip = sampler_skips(size);

	if (skip && !sampler_may_know(p))
		return next_realloc(p, size);
	return slow_realloc(p, size, skip, CALLER);
}

PUBLIC void *reallocarray(void *p, size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (sampler_skips(bytes))
		return slow_realloc(p, bytes, true, CALLER);
	return slow_realloc(p, bytes, false, CALLER);
}

PUBLIC int posix_memalign(void **p, size_t align, size_t size)
{
	bool due = !sampler_skips(size) && sampler_due(size);
	int err = next_posix_memalign(p, align, size);

	if (!err && due)
		sampler_take(*p, size, CALLER);
	return err;
}

static inline void *aligned(void *p, size_t size, bool due, const void *caller)
{
	if (p && due)
		sampler_take(p, size, caller);
	return p;
}

PUBLIC void *memalign(size_t align, size_t size)
{
	bool due = !sampler_skips(size) && sampler_due(size);

	return aligned(next_memalign(align, size), size, due, CALLER);
}

PUBLIC void *aligned_alloc(size_t align, size_t size)
{
	bool due = !sampler_skips(size) && sampler_due(size);

	return aligned(next_aligned_alloc(align, size), size, due, CALLER);
}

PUBLIC void *valloc(size_t size)
{
	bool due = !sampler_skips(size) && sampler_due(size);

	return aligned(next_memalign(sysconf(_SC_PAGESIZE), size), size, due, CALLER);
}

PUBLIC void *pvalloc(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes = (size + page - 1) & -page;
	bool due;

	if (bytes < size) {
		errno = ENOMEM;
		return NULL;
	}
	due = !sampler_skips(bytes) && sampler_due(bytes);
	return aligned(next_memalign(page, bytes), bytes, due, CALLER);
}

static void *map(void *addr, size_t size, int prot, int flags, int fd, off_t offset,
		 const void *caller)
{
	bool due = flags & MAP_ANONYMOUS && !sampler_skips(size) && sampler_due(size);
	void *p;

	/* it replaces the memory there */
	if (flags & MAP_FIXED)
		sampler_unmapped(addr, size);
	p = (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
	if (due && p != MAP_FAILED)
		sampler_mapped(p, size, caller);
	return p;
}

PUBLIC void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(addr, size, prot, flags, fd, offset, CALLER);
}

PUBLIC void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return map(addr, size, prot, flags, fd, offset, CALLER);
}

PUBLIC int munmap(void *addr, size_t size)
{
	/* before another thread can get the addresses */
	sampler_unmapped(addr, size);
	return syscall(SYS_munmap, addr, size);
}

/*
 * Memory that is moved or resized is another allocation. Memory of files cannot be told from
 * anonymous memory here: if it is moved, it counts as allocated.
 */
PUBLIC void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	bool due = !sampler_skips(size) && sampler_due(size);
	void *to = NULL, *p;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		to = va_arg(more, void *);
		va_end(more);
		sampler_unmapped(to, size);
	}
	sampler_unmapped(old, old_size);
	p = (void *)syscall(SYS_mremap, old, old_size, size, flags, to);
	if (due && p != MAP_FAILED)
		sampler_mapped(p, size, CALLER);
	return p;
}
