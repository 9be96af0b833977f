// SPDX-License-Identifier: GPL-2.0
/*
 * frames.c - counts each page once, by its page frame, whoever maps it
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "frames.h"

#define ENTRIES		8192	/* read at once */

/* No machine has frames above this: 2^52 bytes of addresses */
#define FRAMES_MAX	(1ULL << 40)

/*
 * Where this little of a mapping is resident, and it is larger than this, reading its
 * pagemap would take seconds: the kernel fills in entries for what is not there.
 */
#define SPARSE_SHARE	1024
#define SPARSE_SIZE	(64ULL << 30)

#define HUGE_PAGE	(2UL << 20)

/* Return: whether the frame is new */
static bool see(struct frames *f, __u64 frame)
{
	unsigned char bit = 1 << frame % 8;
	size_t need_size = frame / 8 + 1, size = f->size ? f->size : 1 << 20;
	void *bits;

	if (frame >= FRAMES_MAX)
		return false;
	if (need_size > f->size) {
		while (size < need_size)
			size *= 2;
		bits = f->size ? mremap(f->bits, f->size, size, MREMAP_MAYMOVE) :
		       mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (bits == MAP_FAILED)
			need(NULL);
		f->bits = bits;
		f->size = size;
	}
	if (f->bits[frame / 8] & bit)
		return false;
	f->bits[frame / 8] |= bit;
	return true;
}

int pagemap_walk(int fd, __u64 start, __u64 end,
		 bool (*each)(void *to, __u64 addr, const __u64 *entry, size_t nr), void *to)
{
	static __u64 entry[ENTRIES];
	const __u64 page = sysconf(_SC_PAGESIZE);

	while (start < end) {
		size_t nr = (end - start) / page;
		ssize_t len;

		if (nr > ENTRIES)
			nr = ENTRIES;
		len = pread(fd, entry, nr * sizeof(*entry), start / page * sizeof(*entry));
		if (len < (ssize_t)sizeof(*entry))
			return -1;
		nr = len / sizeof(*entry);
		if (!each(to, start, entry, nr))
			return 0;
		start += nr * page;
	}
	return 0;
}

struct count {
	struct frames *f;
	__u64 pages;
};

static bool count_new(void *to, __u64 addr __attribute__((unused)), const __u64 *entry,
		      size_t nr)
{
	struct count *c = to;
	size_t i;

	for (i = 0; i < nr; i++)
		if (entry[i] & PAGEMAP_PRESENT)
			c->pages += see(c->f, entry[i] & PAGEMAP_FRAME);
	return true;
}

/*
 * Reading memory that was never written maps the zero page, or the huge one. pagemap has
 * it like others, but it is nobody's memory: smaps leaves it out.
 */
void frames_begin(struct frames *f)
{
	struct count c = { .f = f };
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *m = mmap(NULL, 2 * HUGE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t huge = ((uintptr_t)m + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;

	if (fd >= 0 && m != MAP_FAILED) {
		madvise(m, 2 * HUGE_PAGE, MADV_HUGEPAGE);
		(void)*(volatile char *)huge;
		madvise(m, 2 * HUGE_PAGE, MADV_NOHUGEPAGE);
		(void)*(volatile char *)(m == (char *)huge ? m + HUGE_PAGE : m);
		pagemap_walk(fd, (uintptr_t)m, (uintptr_t)m + 2 * HUGE_PAGE, count_new, &c);
	}
	/* a kernel that hides frames says 0, and of no page frame 0 is one that can be mapped */
	f->known = c.pages && !(f->bits[0] & 1);
	if (m != MAP_FAILED)
		munmap(m, 2 * HUGE_PAGE);
	if (fd >= 0)
		close(fd);
}

static void close_pagemap(const struct frames *f)
{
	if (f->pid && f->fd >= 0)
		close(f->fd);
}

__u64 frames_once(struct frames *f, const struct mem_process *p, const struct mem_mapping *m)
{
	const __u64 *b = m->bytes;
	struct count c = { .f = f };

	if (!b[MEM_SHARED])
		return b[MEM_RESIDENT];
	if (!f->known || (m->end - m->start > SPARSE_SIZE &&
			  (m->end - m->start) / SPARSE_SHARE > b[MEM_RESIDENT]))
		return b[MEM_PSS];
	if (f->pid != p->pid) {
		close_pagemap(f);
		f->pid = p->pid;
		f->fd = smaps_file(p, "pagemap");
	}
	if (f->fd < 0)
		return b[MEM_PSS];
	if (pagemap_walk(f->fd, m->start, m->end, count_new, &c))
		c.pages = b[MEM_PSS] / sysconf(_SC_PAGESIZE);
	return c.pages * sysconf(_SC_PAGESIZE);
}

void frames_free(struct frames *f)
{
	close_pagemap(f);
	if (f->size)
		munmap(f->bits, f->size);
	*f = (struct frames) { 0 };
}
