// SPDX-License-Identifier: GPL-2.0
/*
 * mem_pages.c - pages by their frames: count each page once, and print pages with their flags
 *
 * A bitmap notes the frames that were seen. It takes up to 32 KiB for a GiB of RAM. Where frames
 * cannot be read, as without root, proportional shares (PSS) are used instead.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/cli.h"
#include "libwsmon/names.h"
#include "live/patience.h"
#include "mem.h"

#define ENTRIES		8192	/* entries read at once */

/* All frames of a machine are below this number: physical addresses have up to 52 bits */
#define FRAMES_MAX	(1ULL << 40)

/*
 * Reading the pagemap of a mapping larger than SPARSE_SIZE would take seconds, because it also has
 * entries for absent pages. So it is not read if less than 1 / SPARSE_SHARE is resident.
 */
#define SPARSE_SHARE	1024
#define SPARSE_SIZE	(64ULL << 30)

/*
 * A process may have thousands of smaller mappings of the same few pages. After this many bytes of
 * absent pages, which take some 2 s, pagemap is read only for mappings that are half resident.
 */
#define ABSENT_MAX	(1ULL << 40)

#define HUGE_PAGE	(2UL << 20)

/* Libraries are neighbours: read the entries of 8 MiB at once */
#define AHEAD		(2048 * sizeof(__u64))

/* Marks a frame as seen. Return: true if it was not seen before */
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

/*
 * Read the entries of a range of addresses
 * @ahead:	min. bytes to read at once, see patient_pread()
 * @each:	called with some of the entries at a time; returns false to end
 * Return: 0, or -1 if some could not be read
 */
static int pagemap_walk(struct patient *pagemap, __u64 start, __u64 end, size_t ahead,
			bool (*each)(void *to, __u64 addr, const __u64 *entry, size_t nr), void *to)
{
	static __u64 entry[ENTRIES];
	const __u64 page = sysconf(_SC_PAGESIZE);

	while (start < end) {
		size_t nr = (end - start) / page;
		ssize_t len;

		if (nr > ENTRIES)
			nr = ENTRIES;
		len = patient_pread(pagemap, entry, nr * sizeof(*entry), start / page * sizeof(*entry),
				    ahead);
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

static bool count_new(void *to, __u64 addr, const __u64 *entry, size_t nr)
{
	struct count *c = to;
	size_t i;

	for (i = 0; i < nr; i++)
		if (entry[i] & PAGEMAP_PRESENT)
			c->pages += see(c->f, entry[i] & PAGEMAP_FRAME);
	return true;
}

/*
 * Reading memory that was never written maps the zero page, or the huge zero page. pagemap shows
 * these two like other pages, but smaps does not count them. So mark them as seen.
 */
void frames_begin(struct frames *f)
{
	struct count c = { .f = f };
	int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct patient *pagemap = patient_open(getpid(), proc, "pagemap");
	char *m = mmap(NULL, 2 * HUGE_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t huge = ((uintptr_t)m + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;

	if (pagemap && m != MAP_FAILED) {
		madvise(m, 2 * HUGE_PAGE, MADV_HUGEPAGE);
		(void)*(volatile char *)huge;
		madvise(m, 2 * HUGE_PAGE, MADV_NOHUGEPAGE);
		(void)*(volatile char *)(m == (char *)huge ? m + HUGE_PAGE : m);
		pagemap_walk(pagemap, (uintptr_t)m, (uintptr_t)m + 2 * HUGE_PAGE, 0, count_new, &c);
	}
	/* if the kernel hides frames, all frames read as 0, which no process can map */
	f->known = c.pages && !(f->bits[0] & 1);
	if (m != MAP_FAILED)
		munmap(m, 2 * HUGE_PAGE);
	patient_close(pagemap);
	close(proc);
}

__u64 frames_once(struct frames *f, const struct mem_process *p, const struct mem_mapping *m)
{
	const __u64 *b = m->bytes, size = m->end - m->start;
	__u64 absent = size > b[MEM_RESIDENT] ? size - b[MEM_RESIDENT] : 0;
	struct count c = { .f = f };

	if (!b[MEM_SHARED])
		return b[MEM_RESIDENT];
	if (!f->known || (size > SPARSE_SIZE && size / SPARSE_SHARE > b[MEM_RESIDENT]) ||
	    (absent > size / 2 && absent > ABSENT_MAX - f->absent))
		return b[MEM_PSS];
	f->absent += absent < ABSENT_MAX - f->absent ? absent : ABSENT_MAX - f->absent;
	if (f->pid != p->pid) {
		patient_close(f->pagemap);
		f->pid = p->pid;
		f->pagemap = patient_open(p->pid, p->dir, "pagemap");
	}
	if (!f->pagemap)
		return b[MEM_PSS];
	if (pagemap_walk(f->pagemap, m->start, m->end, AHEAD, count_new, &c))
		c.pages = b[MEM_PSS] / sysconf(_SC_PAGESIZE);
	return c.pages * sysconf(_SC_PAGESIZE);
}

void frames_free(struct frames *f)
{
	patient_close(f->pagemap);
	if (f->size)
		munmap(f->bits, f->size);
	*f = (struct frames) { 0 };
}

/* "wsmo mem --pages" and "--frames": the state of each page, its frame and its flags */

#define FLAGS_TEXT	256

/* Bits of /proc/kpageflags by number, as the kernel's include/uapi/linux/kernel-page-flags.h */
static const char * const flag_names[] = {
	"locked", "error", "referenced", "uptodate", "dirty", "lru", "active", "slab", "writeback",
	"reclaim", "buddy", "mmap", "anon", "swapcache", "swapbacked", "compound_head",
	"compound_tail", "huge", "unevictable", "hwpoison", "nopage", "ksm", "thp", "offline",
	"zero_page", "idle", "pgtable",
};

/* Flags that change rarely: dirty, anon, huge, unevictable, hwpoison, ksm, thp, zero_page */
#define FLAGS_LASTING	(1U << 4 | 1U << 12 | 1U << 17 | 1U << 18 | 1U << 19 | 1U << 21 | \
			 1U << 22 | 1U << 24)

struct page_row {
	__u64 pid;
	const char *comm, *class;
	__u64 start, end, size;
	const char *state;
	__u64 frame, mappings;
	const char *flags, *path;
};

#define ROW struct page_row

TABLE(page_table, "mem_page",
	COL(pid, COUNT, 7, "PID", 0, "the process"),
	COL(comm, TEXT, 4, "NAME", NOT_HUMAN, "its name"),
	COL(class, TEXT, 7, "CLASS", 0, "class of memory"),
	COL(start, ADDR, 14, "START", 0, "first address"),
	COL(end, ADDR, 14, "END", 0, "end, exclusive"),
	COL(size, SIZE, 9, "SIZE", 0, "size of the range"),
	COL(state, TEXT, 8, "STATE", 0, "``resident``, ``swapped`` or ``absent``"),
	COL(frame, ADDR, 8, "FRAME", OR_NULL, "page frame of the first page; ``--frames`` only"),
	COL(mappings, COUNT, 8, "MAPPINGS", OR_NULL, "mappings of each page; ``--frames`` only"),
	COL(flags, TEXT, 12, "FLAGS", 0,
	    "``private`` or ``shared``, and the names of the kernel's flags"),
	COL(path, TEXT, 4, "FILE", 0, "the file, empty for memory without a name"));

/* A range of pages that differ in nothing that is printed; with --frames, frames are consecutive */
struct run {
	__u64 start, end;
	__u64 entry;		/* entry of pagemap: only bits that are compared */
	__u64 frame;		/* of the first page */
	__u64 flags, count;
};

struct dump {
	struct mem *mem;
	struct table *table;
	int flags_fd, count_fd;
	const struct mem_process *p;
	const struct mem_mapping *m;
	struct run run;
	int failed;
};

static void flags_text(char *text, const struct run *r)
{
	size_t i, len = 0;

	*text = '\0';
	if (!(r->entry & PAGEMAP_PRESENT))
		return;
	len = sprintf(text, "%s", r->entry & PAGEMAP_EXCLUSIVE ? "private" : "shared");
	for (i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (r->flags & 1ULL << i)
			len += snprintf(text + len, FLAGS_TEXT - len, " %s", flag_names[i]);
}

static void print_run(struct dump *d)
{
	const struct run *r = &d->run;
	const bool present = r->entry & PAGEMAP_PRESENT;
	char flags[FLAGS_TEXT];

	if (r->start == r->end)
		return;
	flags_text(flags, r);
	table_row(d->table, &(struct page_row) {
		.pid = d->p->pid, .comm = d->p->comm,
		.class = class_name(d->m->class),
		.start = r->start, .end = r->end, .size = r->end - r->start,
		.state = present ? "resident" : r->entry & PAGEMAP_SWAP ? "swapped" : "absent",
		.frame = present && d->mem->frames ? r->frame : UNKNOWN_U64,
		.mappings = present && d->mem->frames ? r->count : UNKNOWN_U64,
		.flags = flags,
		.path = d->m->path,
	});
}

static __u64 number_of(int fd, __u64 frame)
{
	__u64 n;

	return pread(fd, &n, sizeof(n), frame * sizeof(n)) == sizeof(n) ? n : 0;
}

static void look(const struct dump *d, __u64 entry, struct run *r)
{
	if (!(entry & PAGEMAP_PRESENT)) {
		r->entry = entry & PAGEMAP_SWAP;
		return;
	}
	r->entry = entry & (PAGEMAP_PRESENT | PAGEMAP_EXCLUSIVE);
	r->frame = entry & PAGEMAP_FRAME;
	if (!d->mem->seen.known)
		return;
	r->flags = number_of(d->flags_fd, r->frame);
	if (d->mem->frames)
		r->count = number_of(d->count_fd, r->frame);
	else
		r->flags &= FLAGS_LASTING;
}

static bool goes_on(const struct dump *d, const struct run *r)
{
	const struct run *run = &d->run;

	return run->end == r->start && run->entry == r->entry && run->flags == r->flags &&
	       run->count == r->count &&
	       (!d->mem->frames || !(r->entry & PAGEMAP_PRESENT) ||
		r->frame == run->frame + (run->end - run->start) / (r->end - r->start));
}

static bool take(void *to, __u64 addr, const __u64 *entry, size_t nr)
{
	const __u64 page = sysconf(_SC_PAGESIZE);
	struct dump *d = to;
	size_t i;

	for (i = 0; i < nr; i++, addr += page) {
		struct run r = { .start = addr, .end = addr + page };

		look(d, entry[i], &r);
		if (goes_on(d, &r)) {
			d->run.end = r.end;
			continue;
		}
		print_run(d);
		d->run = r;
	}
	return !output_error();
}

static struct dump *dumping;

static void dump_mapping(void *to, const struct mem_process *p, const struct mem_mapping *m)
{
	struct dump *d = dumping;
	struct patient *pagemap;

	if (!mem_wants(to, p, m))
		return;
	d->p = p;
	d->m = m;
	d->run = (struct run) { .start = m->start, .end = m->start };
	/* if nothing is resident or in swap, do not read the pagemap: it may cover terabytes */
	if (!m->bytes[MEM_RESIDENT] && !m->bytes[MEM_SWAP]) {
		d->run.end = m->end;
	} else {
		pagemap = patient_open(p->pid, p->dir, "pagemap");
		if (!pagemap || pagemap_walk(pagemap, m->start, m->end, 0, take, d))
			d->failed++;
		patient_close(pagemap);
	}
	print_run(d);
}

int mem_pages(struct mem *mem)
{
	struct dump d = {
		.mem = mem,
		.flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC),
		.count_fd = open("/proc/kpagecount", O_RDONLY | O_CLOEXEC),
	};

	frames_begin(&mem->seen);
	mem->seen.known &= d.flags_fd >= 0 && d.count_fd >= 0;
	if (mem->frames && !mem->seen.known) {
		msg("the kernel hides page frames; only root may see them: sudo wsmo mem --frames");
		return WSMO_FAILURE;
	}
	if (!mem->seen.known)
		msg("the kernel hides the flags of pages; only root may see them");
	d.table = table_new(&page_table, mem->format);
	table_show(d.table, offsetof(ROW, frame), NOT_HUMAN, mem->frames);
	table_show(d.table, offsetof(ROW, mappings), NOT_HUMAN, mem->frames);
	dumping = &d;
	mem_read(mem, dump_mapping);
	table_end(d.table);
	if (d.failed)
		msg("%d mappings changed meanwhile, and are incomplete", d.failed);
	frames_free(&mem->seen);
	close(d.flags_fd);
	close(d.count_fd);
	return mem->failed || !mem->read ? WSMO_FAILURE : WSMO_OK;
}
