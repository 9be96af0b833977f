// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - anonymous memory that a program maps itself
 *
 * These are calls to the kernel, which are dearer than a look at what else they do. What the
 * C library maps for malloc() does not come here.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler.h"

static void *map(void *addr, size_t size, int prot, int flags, int fd, off_t offset,
		 const void *caller)
{
	bool due = flags & MAP_ANONYMOUS && !sampler_skips(size) && sampler_due(size);
	void *p;

	/* it replaces what is there */
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
	/* before another thread may get the addresses */
	sampler_unmapped(addr, size);
	return syscall(SYS_munmap, addr, size);
}

/*
 * What is moved, or gets another size, is another allocation. Memory of files is not known
 * from anonymous memory here: it is told as if it were allocated if it was moved.
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
