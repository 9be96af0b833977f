// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_mm.c - the memory of a process: its mmap lock, its mappings, its mm when it ends
 *
 * Called by kwsmond with wsmon.lock held; may sleep.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/pgtable.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/task_work.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "wsmon_sampler.h"

/*
 * What a member of a group maps that other members may map, too
 */

/* Initial room */
#define READ_ROOM	128U

/**
 * parts_grow - make room for more parts, up to WSMON_MAX_EXTENTS
 * @parts:	the parts
 *
 * Context: may sleep, no mmap lock held. Nobody waits for the memory.
 * Return: 0 or -ENOMEM.
 */
static int parts_grow(struct wsmon_parts *parts)
{
	u32 cap = clamp(parts->cap * 2, READ_ROOM, WSMON_MAX_EXTENTS);
	struct wsmon_part *p = kvmalloc_array(cap, sizeof(*p),
					      GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);

	if (!p)
		return -ENOMEM;
	if (parts->nr)
		memcpy(p, parts->p, sizeof(*p) * parts->nr);
	kvfree(parts->p);
	parts->p = p;
	parts->cap = cap;
	return 0;
}

/* Add a mapping that others may map, too. Beyond WSMON_MAX_EXTENTS it is not sampled. */
static void parts_add(struct wsmon_parts *parts, struct vm_area_struct *vma,
		      const void *key, u64 number, enum wsmon_part_kind kind, u32 class)
{
	struct wsmon_part part = {
		.key = key,
		.number = number,
		.kind = kind,
		.class = class,
		.vpn = vma->vm_start >> PAGE_SHIFT,
		.index = vma->vm_pgoff,
		.pages = vma_pages(vma),
	};

	if (parts->nr < parts->cap && part.index + part.pages < WSMON_SLOT_PAGES)
		parts->p[parts->nr++] = part;
}

/* Once a file is gone, another one may have its address_space, but not these, too */
static u64 file_number(const struct file *file)
{
	const struct inode *inode = file->f_mapping->host;

	if (!inode)
		return 0;
	return wsmon_hash64(inode->i_ino ^ wsmon_hash64((u64)inode->i_generation << 32 ^
							inode->i_sb->s_dev));
}

/**
 * parts_take - add what others may map, too, of a mapping
 * @parts:	the parts
 * @vma:	the mapping, under the mmap lock
 * @addr:	where reading begins
 * @class:	enum wsmon_class
 *
 * That is pages of its file, and anonymous pages that a fork shares. The root of the
 * anon_vma is the same in all processes that may share these, and the offsets are, too.
 * Return: 1 if it may have private pages as well, 0 if not, or -ENOSPC.
 */
static int parts_take(struct wsmon_parts *parts, struct vm_area_struct *vma,
		      unsigned long addr, u32 class)
{
	struct anon_vma *anon = READ_ONCE(vma->anon_vma);

	/* the rest of a mapping that was read in part */
	if (addr > vma->vm_start)
		return 1;
	/* room for two parts, or none is added */
	if (parts->nr + 2 > parts->cap && parts->cap < WSMON_MAX_EXTENTS)
		return -ENOSPC;
	if (vma->vm_file) {
		parts_add(parts, vma, vma->vm_file->f_mapping, file_number(vma->vm_file),
			  WSMON_PART_FILE, class);
		if (vma->vm_flags & VM_MAYSHARE || !anon)
			return 0;
	}
	if (anon)
		parts_add(parts, vma, anon->root, 0, WSMON_PART_FAMILY, class);
	return 1;
}

/* At most this many mappings, and page-table entries, are read under one mmap lock */
#define READ_BATCH	256
#define READ_TABLES	2048U
/* and in one reading: 2 TiB in use. The rest is taken without looking for holes */
#define READ_TABLES_ALL	(1024U * 1024)
/* Smaller mappings are not searched for holes */
#define READ_WHOLE	(2 * PMD_SIZE)
/* Initial room for extents */
#define READ_ROOM	128U

/**
 * wsmon_mm_lock - try to lock the address space of a process
 * @mm:		its mm, with a reference on mm_count
 * @tries:	attempts that may fail; counted down
 *
 * Takes the mmap lock for reading. A target that holds its lock for long delays the others by
 * @tries attempts a pass at most. A reference on mm_users is not taken: with that the memory of
 * a process would outlive it. The last user may leave while the lock is held. But exit_mmap()
 * takes it for writing before it frees page tables and mappings (all kernels since 5.18, for the
 * OOM reaper, which does the same as this). So a process that exits waits: call
 * mmap_read_unlock() soon. If there was no user any more when the lock was taken, that may have
 * come before.
 * Context: may sleep.
 * Return: is it locked?
 */
bool wsmon_mm_lock(struct mm_struct *mm, unsigned int *tries)
{
	for (;;) {
		if (mmap_read_trylock(mm)) {
			if (atomic_read(&mm->mm_users))
				return true;
			mmap_read_unlock(mm);
			return false;
		}
		if (!wsmon_mm_busy(mm) || !*tries)
			return false;
		--*tries;
		usleep_range(WSMON_LOCK_WAIT_US / 2, WSMON_LOCK_WAIT_US);
	}
}

/**
 * wsmon_mm_busy - tell whether wsmon_mm_lock() failed because of the lock
 * @mm:	the mm, with a reference on mm_count
 *
 * Return: false if it failed because the mm has no users any more.
 */
bool wsmon_mm_busy(const struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users);
}

/**
 * wsmon_vma_usable - tell whether Accessed bits of a mapping mean anything
 * @vma:	the mapping, under the mmap lock
 *
 * Those of device memory do not, nor those of the kernel's data that newer kernels map as
 * pages, as [vvar]: that is in nobody's resident memory.
 */
bool wsmon_vma_usable(struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_IO | VM_PFNMAP)) &&
	       (vma->vm_file || !(vma->vm_flags & VM_MIXEDMAP));
}

/**
 * wsmon_vma_may_share_tables - tell whether processes may share page tables of a mapping
 * @vma:	the mapping, under the mmap lock
 *
 * Only shared hugetlb mappings that span a whole PUD share page tables. Any of the
 * processes can unshare such a table.
 */
bool wsmon_vma_may_share_tables(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_HUGETLB && vma->vm_flags & VM_MAYSHARE &&
	       ALIGN(vma->vm_start, PUD_SIZE) + PUD_SIZE <= vma->vm_end;
}

/*
 * Which ranges of a mapping have page tables
 *
 * Where there is no page table, nothing was ever accessed, so there is nothing to
 * sample: of a terabyte that is merely reserved, only what is in use remains. Only
 * entries above the last level are read: one for each 2 MiB at most, and one for a
 * large hole.
 *
 * The mmap lock is held for reading, so the upper levels of page tables stay while
 * their range is mapped: see wsmon_walk.c. Shared page tables of hugetlb mappings may
 * go at any time; they are not read.
 */

/* End of the page-table entry of @size that holds @addr, at most @end */
static unsigned long table_entry_end(unsigned long addr, unsigned long size,
				     unsigned long end)
{
	unsigned long next = (addr & ~(size - 1)) + size;

	return next && next < end ? next : end;
}

/*
 * Tell whether there is a page table, or a huge page, at an address.
 * @left:	not 0; counted down for each entry that is taken
 * @next:	set to the end of the entry, or of the entries beside it in their table that
 *		are alike; at most @end
 */
static bool table_populated(struct mm_struct *mm, unsigned long addr, unsigned long end,
			    unsigned int *left, unsigned long *next)
{
	pgd_t *pgdp = pgd_offset(mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;
	unsigned long nr, i;
	pmd_t *pmdp;
	bool none;

	--*left;
	*next = table_entry_end(addr, PGDIR_SIZE, end);
	if (pgd_none(pgd) || unlikely(pgd_bad(pgd)))
		return false;
	*next = table_entry_end(addr, P4D_SIZE, end);
	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (p4d_none(p4d) || unlikely(p4d_bad(p4d)))
		return false;
	*next = table_entry_end(addr, PUD_SIZE, end);
	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (pud_none(pud))
		return false;
	if (!pud_present(pud) || pud_leaf(pud) || unlikely(pud_bad(pud)))
		return true;
	pmdp = pmd_offset_lockless(pudp, pud, addr);
	none = pmd_none(READ_ONCE(*pmdp));
	addr &= PMD_MASK;
	nr = min(DIV_ROUND_UP(*next - addr, PMD_SIZE), *left + 1UL);
	for (i = 1; i < nr && pmd_none(READ_ONCE(pmdp[i])) == none; i++)
		;
	*left -= i - 1;
	*next = table_entry_end(addr + (i - 1) * PMD_SIZE, PMD_SIZE, *next);
	return !none;
}

/**
 * wsmon_space_free - free the memory of a space, and empty it
 * @sp:	the space
 */
void wsmon_space_free(struct wsmon_space *sp)
{
	kvfree(sp->ext);
	kvfree(sp->area);
	memset(sp, 0, sizeof(*sp));
}

/**
 * wsmon_space_clear - empty a space, and keep its memory
 * @sp:	the space
 */
void wsmon_space_clear(struct wsmon_space *sp)
{
	sp->nr_ext = 0;
	sp->nr_area = 0;
}

static u32 vma_classify_file(const struct vm_area_struct *vma)
{
	const struct inode *inode = file_inode(vma->vm_file);

	if (vma->vm_flags & VM_MAYSHARE)
		return inode->i_sb->s_magic == TMPFS_MAGIC ?
		       WSMON_CLASS_SHMEM : WSMON_CLASS_FILE;
	return vma->vm_flags & VM_WRITE ? WSMON_CLASS_DATA : WSMON_CLASS_FILE;
}

/* Class of a mapping. @data_end: end of the last .data mapping, as .bss follows it */
static u32 vma_classify(const struct vm_area_struct *vma, u64 *data_end)
{
	const struct mm_struct *mm = vma->vm_mm;
	/* prctl(PR_SET_MM) writes these with the mmap lock held for reading */
	unsigned long stack = READ_ONCE(mm->start_stack);
	u32 class;

	if (vma->vm_flags & VM_HUGETLB)
		return WSMON_CLASS_HUGETLB;
	if (vma->vm_flags & VM_EXEC)
		return WSMON_CLASS_TEXT;
	if (vma->vm_file) {
		class = vma_classify_file(vma);
		if (class == WSMON_CLASS_DATA)
			*data_end = vma->vm_end;
		return class;
	}
	if (vma->vm_start <= stack && vma->vm_end >= stack)
		return WSMON_CLASS_STACK;
	if (vma->vm_start == *data_end)
		return WSMON_CLASS_DATA;
	if (vma->vm_start < READ_ONCE(mm->brk) &&
	    vma->vm_end > READ_ONCE(mm->start_brk))
		return WSMON_CLASS_HEAP;
	return WSMON_CLASS_ANON;
}

/*
 * Make room for twice the extents, up to WSMON_MAX_EXTENTS. Do not wait for memory: the
 * process that would have to give it up may be the one whose mm is held here. The next
 * interval tries again.
 */
static int space_grow(struct wsmon_space *sp)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN;
	u32 cap = clamp(sp->cap * 2, READ_ROOM, WSMON_MAX_EXTENTS);
	struct wsmon_extent *ext = kvmalloc_array(cap, sizeof(*ext), gfp);
	struct wsmon_area *area = kvmalloc_array(cap, sizeof(*area), gfp);

	if (!ext || !area) {
		kvfree(ext);
		kvfree(area);
		return -ENOMEM;
	}
	if (sp->nr_ext)
		memcpy(ext, sp->ext, sizeof(*ext) * sp->nr_ext);
	kvfree(sp->ext);
	kvfree(sp->area);
	sp->ext = ext;
	sp->area = area;
	sp->nr_area = 0;
	sp->cap = cap;
	return 0;
}

/*
 * Add the ranges of a mapping that have page tables, from *addr on; move *addr to the end
 * of what was read.
 * Return: 0, or -ENOSPC.
 */
static int space_add_populated(struct wsmon_space *sp, struct vm_area_struct *vma,
			       u32 class, unsigned long *addr, unsigned int *left)
{
	unsigned long first = vma->vm_start >> PAGE_SHIFT, next;
	bool joined;
	int err;

	while (*addr < vma->vm_end && *left) {
		if (table_populated(vma->vm_mm, *addr, vma->vm_end, left, &next)) {
			/* is the last extent of the same mapping, perhaps of an earlier lock? */
			joined = sp->nr_ext && sp->ext[sp->nr_ext - 1].end > first;
			err = wsmon_space_add(sp, *addr >> PAGE_SHIFT, next >> PAGE_SHIFT,
					      class, joined);
			if (err)
				return err;
		}
		*addr = next;
	}
	return 0;
}

/*
 * Files that are mapped several times
 *
 * A page of a file that a target maps twice has two samples, and each may have been accessed: it
 * is in use once. Which pages these are is not known. So the estimate is the sum of the mappings,
 * and the interval goes down to what is left without those that are mapped again.
 */

/* Overlaps of fewer pages do not matter, like those of the segments of a program */
#define OVERLAP_MIN	16U

static void files_note(struct wsmon_session *ss, struct vm_area_struct *vma)
{
	if (!vma->vm_file || vma_pages(vma) < OVERLAP_MIN || ss->nr_files == WSMON_FILES_MAX)
		return;
	ss->files[ss->nr_files++] = (struct wsmon_file_part){
		vma->vm_file->f_mapping, vma->vm_pgoff, vma->vm_pgoff + vma_pages(vma)
	};
}

static int files_compare(const void *a, const void *b)
{
	const struct wsmon_file_part *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Count the pages that are in a mapping before, too. */
static u64 files_twice(struct wsmon_session *ss)
{
	const struct wsmon_file_part *p = ss->files;
	u64 end = 0, sum = 0;
	u32 i;

	sort(ss->files, ss->nr_files, sizeof(*ss->files), files_compare, NULL);
	for (i = 0; i < ss->nr_files; i++, p++) {
		if (!i || p->key != p[-1].key)
			end = 0;
		if (min(end, p->end) >= p->index + OVERLAP_MIN)
			sum += min(end, p->end) - p->index;
		end = max(end, p->end);
	}
	return sum;
}

/* Tell whether a mapping can be accessed, and its Accessed bits mean anything. */
static bool vma_counts(struct vm_area_struct *vma)
{
	return vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC) &&
	       wsmon_vma_usable(vma);
}

/*
 * Read some mappings while the mmap lock is held.
 * @parts:	NULL for a target: its files are noted in @ss
 * @tables:	page-table entries that may be read, counted down; if 0 at the beginning,
 *		mappings are taken with their holes
 * Return: 1 if there are more, 0 at the end, or -ENOSPC; *addr is where to go on.
 */
static int vaddr_read_batch(struct wsmon_session *ss, struct wsmon_parts *parts,
			    struct mm_struct *mm, unsigned long *addr, u64 *data_end,
			    unsigned int *tables)
{
	struct wsmon_space *sp = &ss->space;
	VMA_ITERATOR(vmi, mm, *addr);
	unsigned int left = READ_BATCH;
	struct vm_area_struct *vma;
	bool whole = !*tables;

	for_each_vma(vmi, vma) {
		u32 class, nr_parts = parts ? parts->nr : 0, nr_files = ss->nr_files;
		unsigned long at;
		int err;

		if (!left-- || (!whole && !*tables))
			return 1;
		/* part of a mapping was read before, or it has grown downwards since */
		*addr = max(vma->vm_start, *addr);
		if (*addr >= vma->vm_end)
			continue;
		if (vma_counts(vma)) {
			class = vma_classify(vma, data_end);
			at = *addr;
			/* else it was read in part */
			if (!parts && at == vma->vm_start)
				files_note(ss, vma);
			err = parts ? parts_take(parts, vma, *addr, class) : 1;
			if (err < 0)
				return err;
			if (!err) {
				*addr = vma->vm_end;
				continue;
			}
			if (whole || vma->vm_end - vma->vm_start < READ_WHOLE ||
			    is_vm_hugetlb_page(vma))
				err = wsmon_space_add(sp, *addr >> PAGE_SHIFT,
						      vma->vm_end >> PAGE_SHIFT,
						      class, false);
			else
				err = space_add_populated(sp, vma, class, addr, tables);
			if (err) {
				/* it will be read again from its beginning, parts and all */
				if (parts && *addr == at)
					parts->nr = nr_parts;
				if (*addr == at)
					ss->nr_files = nr_files;
				return err;
			}
			/* @tables may be used up in the middle of a mapping */
			if (!whole && !*tables)
				return 1;
		}
		*addr = vma->vm_end;
	}
	return 0;
}

static int vaddr_read_all(struct wsmon_session *ss, struct wsmon_parts *parts,
			  struct mm_struct *mm)
{
	struct wsmon_space *sp = &ss->space;
	unsigned int tries = WSMON_LOCK_TRIES, budget = READ_TABLES_ALL, tables;
	unsigned long addr = 0;
	u64 data_end = 0, start, held;
	int ret;

	sp->nr_ext = 0;
	ss->nr_files = 0;
	if (parts)
		parts->nr = 0;
	do {
		if (parts && parts->nr + 2 > parts->cap && parts->cap < WSMON_MAX_EXTENTS) {
			ret = parts_grow(parts);
			if (ret)
				return ret;
		}
		if (sp->nr_ext == sp->cap && sp->cap < WSMON_MAX_EXTENTS) {
			ret = space_grow(sp);
			if (ret)
				return ret;
		}
		if (!wsmon_mm_lock(mm, &tries)) {
			ss->stats.missed += wsmon_mm_busy(mm);
			return -EAGAIN;
		}
		start = ktime_get_ns();
		tables = min(budget, READ_TABLES);
		budget -= tables;
		ret = vaddr_read_batch(ss, parts, mm, &addr, &data_end, &tables);
		budget += tables;
		mmap_read_unlock(mm);
		held = ktime_get_ns() - start;
		wsmon_hist_add(&ss->hold, held);
		if (held > ss->stats.max_hold_ns)
			ss->stats.max_hold_ns = held;
		cond_resched();
	} while (ret == 1 || ret == -ENOSPC);
	return ret;
}

/**
 * wsmon_vaddr_read - read the mappings of a target into @ss->space
 * @ss:	the session
 * @t:	the target; @read_ns is set to the time this took
 * @mm:	its mm, as wsmon_target_mm() returns it
 *
 * Return: 1 if they changed, 0 if not, -EAGAIN if the mmap lock was busy,
 * -ENOMEM.
 */
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm)
{
	u64 start = ktime_get_ns();
	int ret = vaddr_read_all(ss, NULL, mm);

	if (!ret)
		t->twice = files_twice(ss);
	t->read_ns = ktime_get_ns() - start;
	if (ret)
		return ret;
	wsmon_space_group(&ss->space, max(t->regions.budget / 2, 1U));
	return !wsmon_space_same(&t->space, &ss->space);
}

/**
 * wsmon_vaddr_read_parts - read the mappings of a member of a group
 * @ss:		the session: private memory goes to @ss->space
 * @parts:	the result: mappings of what other members may map, too
 * @mm:		the mm, with a reference on mm_count
 *
 * Return: 0, -EAGAIN if the mmap lock was busy or the process has left the mm, -ENOMEM.
 */
int wsmon_vaddr_read_parts(struct wsmon_session *ss, struct wsmon_parts *parts,
			   struct mm_struct *mm)
{
	return vaddr_read_all(ss, parts, mm);
}

/**
 * wsmon_vaddr_adopt - fit the regions of a target to mappings that were read
 * @ss:		the session
 * @t:		the target
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 */
void wsmon_vaddr_adopt(struct wsmon_session *ss, struct wsmon_target *t,
		       u64 now, u64 origin)
{
	swap(t->space, ss->space);
	wsmon_regions_fit(&t->regions, &t->space, now, origin);
}

/**
 * wsmon_vaddr_stamp - compute a number that changes with the mappings
 * @mm:	the mm
 *
 * It changes when mappings come, go, grow, or get page tables. It is cheap, and may miss
 * a change: unmapping and mapping the same size leaves it as it was.
 */
u64 wsmon_vaddr_stamp(const struct mm_struct *mm)
{
	u64 stamp = wsmon_hash64(READ_ONCE(mm->total_vm));

	stamp = wsmon_hash64(stamp ^ READ_ONCE(mm->map_count));
	return wsmon_hash64(stamp ^ mm_pgtables_bytes(mm));
}

/**
 * wsmon_mm_has_secondary - does something use an mm by page tables of its own?
 * @mm:	the mm
 *
 * A virtual machine may appear at any time; its notifier stays until the mm is gone.
 */
bool wsmon_mm_has_secondary(struct mm_struct *mm)
{
	/* the pointer is set once, under a lock not held here; only NULL or not matters */
	return data_race(mm_has_notifiers(mm));
}

/**
 * mm_resident - pages of an mm that are in memory, those of hugetlbfs too
 * @mm:	the mm
 */
static u64 mm_resident(struct mm_struct *mm)
{
	u64 pages = get_mm_rss(mm);

#ifdef CONFIG_HUGETLB_PAGE
	pages += atomic_long_read(&mm->hugetlb_usage);
#endif
	return pages;
}

/**
 * wsmon_mm_unseen_pages - pages of an mm that may be accessed by page tables of another kind
 * @mm:	the mm
 *
 * What a guest or a device accesses is resident in the process, too.
 */
u64 wsmon_mm_unseen_pages(struct mm_struct *mm)
{
	return wsmon_mm_has_secondary(mm) ? mm_resident(mm) : 0;
}

/** wsmon_mm_anon - pages of anonymous memory of an mm, those in swap too */
u64 wsmon_mm_anon(struct mm_struct *mm)
{
	return get_mm_counter(mm, MM_ANONPAGES) + get_mm_counter(mm, MM_SWAPENTS);
}

#ifdef CONFIG_VM_EVENT_COUNTERS
static u64 __maybe_unused events_sum(enum vm_event_item item)
{
	u64 sum = 0;
	int cpu;

	for_each_online_cpu(cpu)
		sum += READ_ONCE(per_cpu(vm_event_states, cpu).event[item]);
	return sum;
}
#endif

/* Count faults of all processes that make more than a page, or none. */
static void session_count_events(struct wsmon_session *ss)
{
	if (ss->events.epoch == ss->epoch + 1)
		return;
	ss->events.epoch = ss->epoch + 1;
#if defined(CONFIG_VM_EVENT_COUNTERS) && defined(CONFIG_TRANSPARENT_HUGEPAGE)
	ss->events.huge = events_sum(THP_FAULT_ALLOC);
#endif
#if defined(CONFIG_VM_EVENT_COUNTERS) && defined(CONFIG_NUMA_BALANCING)
	ss->events.hints = events_sum(NUMA_HINT_FAULTS);
#endif
}

/**
 * wsmon_counts_read - read what the kernel counts of a member
 * @ss:		the session
 * @m:		the member; NULL if it is gone
 * @mm:		its mm, with a reference
 * @minors:	its minor faults, as wsmon_target_ran() or wsmon_member_slept() found them
 * @wss:	the last estimates of the shortest window, of the member or of its group
 * @c:		the result
 *
 * O(1), but once an interval O(processors). The kernel's counts of pages may lack some of each
 * processor, or thread.
 */
void wsmon_counts_read(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, u64 minors, const struct wsmon_wss *wss,
		       struct wsmon_counts *c)
{
	session_count_events(ss);
	*c = (struct wsmon_counts){
		.anon = wsmon_mm_anon(mm),
		.files = get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES),
		/* a peak of just now may be missed: the next interval has it */
		.peak = data_race(get_mm_hiwater_rss(mm)),
		.faults = minors,
		.huge = ss->events.huge,
		.huge_pages = PMD_SIZE / PAGE_SIZE,
		.hints = ss->events.hints + ss->stats.who_seen,
		.forks = m ? READ_ONCE(m->forks) : 0,
		.fork_pages = m ? READ_ONCE(m->fork_pages) : 0,
		.used = wss[WSMON_WSS_REST].low,
	};
}

/**
 * wsmon_regions_cap - room for so many regions: a quarter more, for mappings that change
 * @budget:	the number of regions
 */
u32 wsmon_regions_cap(u32 budget)
{
	return budget + budget / 4 + 64;
}

/**
 * wsmon_regions_alloc - allocate room for regions
 * @rs:		the regions
 * @budget:	their number
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_regions_alloc(struct wsmon_regions *rs, u32 budget)
{
	u32 cap = wsmon_regions_cap(budget);

	rs->r = kvcalloc(cap, sizeof(*rs->r), GFP_KERNEL);
	rs->spare = kvcalloc(cap, sizeof(*rs->spare), GFP_KERNEL);
	if (!rs->r || !rs->spare) {
		kvfree(rs->r);
		kvfree(rs->spare);
		rs->r = NULL;
		rs->spare = NULL;
		return -ENOMEM;
	}
	rs->cap = cap;
	return 0;
}

/** wsmon_regions_free - free what wsmon_regions_alloc() allocated */
void wsmon_regions_free(struct wsmon_regions *rs)
{
	kvfree(rs->r);
	kvfree(rs->spare);
}
