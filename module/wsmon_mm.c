// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_mm.c - the memory of a process: its mmap lock, its mappings, what the kernel counts
 *
 * Called by kwsmond with the monitor's lock held, unless noted; may sleep.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmstat.h>

#include "wsmon_sampler.h"

/*
 * Mappings of a member of a group that other members may have, too
 */

/* Initial room for parts, and for extents */
#define READ_ROOM	128U

/**
 * wsmon_array_resize - move an array to new memory
 * @array:	the array, from kvmalloc(), or NULL
 * @nr:		number of its elements
 * @cap:	number of elements that the new memory has room for, at least @nr
 * @size:	bytes of an element
 *
 * Does not wait for memory: the process that would have to free it may be the process whose mm is
 * referenced here. The next interval tries again.
 * Context: may sleep, no mmap lock held.
 * Return: false if there is no memory, with nothing changed.
 */
bool wsmon_array_resize(void **array, u32 nr, u32 cap, size_t size)
{
	void *new = kvmalloc_array(cap, size, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);

	if (!new)
		return false;
	if (nr)
		memcpy(new, *array, nr * size);
	kvfree(*array);
	*array = new;
	return true;
}

/* Make room for more parts, up to WSMON_MAX_EXTENTS. Return: 0 or -ENOMEM. */
static int parts_grow(struct wsmon_parts *parts)
{
	u32 cap = clamp(parts->cap * 2, READ_ROOM, WSMON_MAX_EXTENTS);

	if (!wsmon_array_resize((void **)&parts->p, parts->nr, cap, sizeof(*parts->p)))
		return -ENOMEM;
	parts->cap = cap;
	return 0;
}

/* Add a mapping that others may have, too. Parts beyond WSMON_MAX_EXTENTS are not sampled. */
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

/*
 * Hash the numbers of a file. Once the file is gone, another file may get an address_space at the
 * same address, but not the same inode number, generation and device as well.
 */
static u64 file_number(const struct file *file)
{
	const struct inode *inode = file->f_mapping->host;

	if (!inode)
		return 0;
	return wsmon_hash64(inode->i_ino ^ wsmon_hash64((u64)inode->i_generation << 32 ^
							inode->i_sb->s_dev));
}

/*
 * Add the parts of a mapping that others may have, too: the pages of its file, and anonymous
 * pages that processes share since a fork. All processes that may share such anonymous pages
 * have the same root of the anon_vma, and have the pages at the same offsets.
 * @addr: where reading begins.
 * Context: the mmap lock is held.
 * Return: 1 if the mapping may have private pages as well, 0 if not; -ENOSPC if there is no room.
 */
static int parts_take(struct wsmon_parts *parts, struct vm_area_struct *vma,
		      unsigned long addr, u32 class)
{
	struct anon_vma *anon = READ_ONCE(vma->anon_vma);

	/* the beginning of this mapping was read before, with its parts */
	if (addr > vma->vm_start)
		return 1;
	/* add both parts or none */
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

/* Maximum numbers of mappings, and of page-table entries, to read in one hold of the mmap lock */
#define READ_BATCH	256
#define READ_TABLES	2048U
/*
 * Maximum number of page-table entries to read of one process: 2 TiB in use. The rest is taken
 * with its holes.
 */
#define READ_TABLES_ALL	(1024U * 1024)
/* Smaller mappings are not searched for holes */
#define READ_WHOLE	(2 * PMD_SIZE)

/**
 * wsmon_mm_lock - try to take the mmap lock of a process for reading
 * @mm:		its mm, with a reference on mm_count
 * @tries:	attempts that may fail, WSMON_LOCK_WAIT_US apart; counted down
 *
 * @tries limits how long a target that holds its lock for long can delay the other targets.
 *
 * This takes no reference on mm_users, which would keep the memory of a process after its end.
 * So the last user may leave while the lock is held. But exit_mmap() takes the lock for writing
 * before it frees page tables and mappings (all kernels since 5.18, for the OOM reaper, which
 * relies on the same). So a process that exits waits: call mmap_read_unlock() soon. If there is
 * no user left once the lock is taken, exit_mmap() may have freed them already: then this fails.
 * Context: may sleep.
 * Return: true with the lock held.
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
 * wsmon_mm_unlock - release the mmap lock, and note in the statistics how long it was held
 * @ss:		the session
 * @mm:		the mm
 * @since:	when the lock was taken, ns
 *
 * Return: how long the lock was held, ns.
 */
u64 wsmon_mm_unlock(struct wsmon_session *ss, struct mm_struct *mm, u64 since)
{
	u64 held;

	mmap_read_unlock(mm);
	held = ktime_get_ns() - since;
	wsmon_hist_add(&ss->hold, held);
	ss->stats.max_hold_ns = max(ss->stats.max_hold_ns, held);
	return held;
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
 * Return: false for device memory, and for data of the kernel such as [vvar], which newer kernels
 * map as pages: it belongs to no process's resident memory.
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
 * A range without a page table was never accessed, so there is nothing to sample. If a process
 * reserves a terabyte, only the ranges in use are sampled. To find them, only entries above the
 * last level are read: at most one for each 2 MiB, and one for a large hole.
 *
 * The mmap lock is held for reading, so the upper levels of page tables stay while
 * their range is mapped: see wsmon_walk.c. Page tables of hugetlb mappings are not read: a
 * shared one may go at any time.
 */

/* Return: end of the range of the page-table entry of @size that holds @addr, at most @end. */
static unsigned long table_entry_end(unsigned long addr, unsigned long size,
				     unsigned long end)
{
	unsigned long next = (addr & ~(size - 1)) + size;

	return next && next < end ? next : end;
}

/*
 * Tell whether there is a page table, or a huge page, at an address.
 * @left:	entries that may be read, not 0; counted down
 * @next:	set to the end of the range for which the answer is the same, as far as known: the
 *		range of the entry, or of consecutive alike pmds in one table; at most @end
 */
static bool table_populated(struct mm_struct *mm, unsigned long addr, unsigned long end,
			    unsigned int *left, unsigned long *next)
{
	struct wsmon_upper u;
	pmd_t *pmdp = wsmon_find_pmd(mm, addr, &u);
	unsigned long nr, i;
	bool none;

	--*left;
	*next = table_entry_end(addr, u.size, end);
	/* a pud that is not none maps a huge page, or is the migration entry of one */
	if (!pmdp)
		return u.pudp && !u.none;
	none = pmd_none(READ_ONCE(*pmdp));
	addr &= PMD_MASK;
	nr = min(DIV_ROUND_UP(*next - addr, PMD_SIZE), *left + 1UL);
	for (i = 1; i < nr && pmd_none(READ_ONCE(pmdp[i])) == none; i++)
		;
	*left -= i - 1;
	*next = table_entry_end(addr + (i - 1) * PMD_SIZE, PMD_SIZE, *next);
	return !none;
}

/** wsmon_space_free - free the memory of a space, and empty it */
void wsmon_space_free(struct wsmon_space *sp)
{
	kvfree(sp->ext);
	kvfree(sp->area);
	memset(sp, 0, sizeof(*sp));
}

/** wsmon_space_clear - empty a space, and keep its memory */
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

/* Classify a mapping. @data_end: end of the last .data mapping, where .bss begins */
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

/* Make room for twice the extents, up to WSMON_MAX_EXTENTS. Return: 0 or -ENOMEM. */
static int space_grow(struct wsmon_space *sp)
{
	u32 cap = clamp(sp->cap * 2, READ_ROOM, WSMON_MAX_EXTENTS);

	sp->nr_area = 0;
	if (!wsmon_array_resize((void **)&sp->ext, sp->nr_ext, cap, sizeof(*sp->ext)) ||
	    !wsmon_array_resize((void **)&sp->area, 0, cap, sizeof(*sp->area)))
		return -ENOMEM;
	sp->cap = cap;
	return 0;
}

/*
 * Add the ranges of a mapping that have page tables, from *addr on. Stop when *left, the number
 * of entries that may be read, is 0. Set *addr to the address up to which entries were read.
 * Return: 0 or -ENOSPC.
 */
static int space_add_populated(struct wsmon_space *sp, struct vm_area_struct *vma,
			       u32 class, unsigned long *addr, unsigned int *left)
{
	unsigned long first = vma->vm_start >> PAGE_SHIFT, next;
	bool joined;
	int err;

	while (*addr < vma->vm_end && *left) {
		if (table_populated(vma->vm_mm, *addr, vma->vm_end, left, &next)) {
			/* the last extent may be of this mapping, perhaps from an earlier hold */
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
 * If a target maps a page of a file twice, samples may find it accessed in both mappings, although
 * it is in memory once. Samples do not show which pages this happens to. So the estimate is the
 * sum over the mappings, and the lower end of the confidence interval leaves out all pages that
 * are mapped again.
 */

/* Smaller overlaps, in pages, do not matter: a program's segments overlap by a page or so */
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

/* Count the pages that an earlier mapping of the same file has, too. Sorts @ss->files. */
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

/* Tell whether a process can access a mapping, and its Accessed bits mean anything. */
static bool vma_counts(struct vm_area_struct *vma)
{
	return vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC) &&
	       wsmon_vma_usable(vma);
}

/*
 * Read some mappings, from *addr on.
 * @parts:	parts of a member of a group; NULL for a target: its files are noted in @ss
 * @tables:	page-table entries that may be read, counted down; if 0 at the beginning,
 *		mappings are taken as a whole, with their holes
 *
 * Context: the mmap lock is held.
 * Return: 1 if there are more mappings, 0 at the end, -ENOSPC if room is needed. *addr is set to
 * the address at which to go on.
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
		/* the beginning of this mapping was read before, or it has grown downwards since */
		*addr = max(vma->vm_start, *addr);
		if (*addr >= vma->vm_end)
			continue;
		if (vma_counts(vma)) {
			class = vma_classify(vma, data_end);
			at = *addr;
			/* a mapping that was read in part is noted already */
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
				/* the mapping will be read again from its start, parts too */
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

/**
 * wsmon_vaddr_read_parts - read the mappings of a member of a group, or of a target
 * @ss:		the session; private memory goes to @ss->space, of a target all memory
 * @parts:	the result: mappings that other members may have, too; NULL for a target
 * @mm:		the mm, with a reference on mm_count
 *
 * Return: 0, -EAGAIN if the mmap lock was busy or the process has left the mm, -ENOMEM.
 */
int wsmon_vaddr_read_parts(struct wsmon_session *ss, struct wsmon_parts *parts,
			   struct mm_struct *mm)
{
	struct wsmon_space *sp = &ss->space;
	unsigned int tries = WSMON_LOCK_TRIES, budget = READ_TABLES_ALL, tables;
	unsigned long addr = 0;
	u64 data_end = 0, start;
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
		wsmon_mm_unlock(ss, mm, start);
		cond_resched();
	} while (ret == 1 || ret == -ENOSPC);
	return ret;
}

/**
 * wsmon_vaddr_read - read the mappings of a target into @ss->space
 * @ss:	the session
 * @t:	the target; sets @read_ns to the time this took, and @twice
 * @mm:	its mm, as wsmon_target_mm() returns it
 *
 * Return: 1 if the mappings changed, 0 if not; -EAGAIN if the mmap lock was busy or the process
 * has left the mm; -ENOMEM.
 */
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm)
{
	u64 start = ktime_get_ns();
	int ret = wsmon_vaddr_read_parts(ss, NULL, mm);

	if (!ret)
		t->twice = files_twice(ss);
	t->read_ns = ktime_get_ns() - start;
	if (ret)
		return ret;
	wsmon_space_group(&ss->space, max(t->regions.budget / 2, 1U));
	return !wsmon_space_same(&t->space, &ss->space);
}

/**
 * wsmon_vaddr_stamp - compute a number that changes with the mappings
 * @mm:	the mm
 *
 * The number changes when mappings come, go, grow, or get page tables. It is cheap to compute,
 * and may miss a change: unmapping a range and mapping another of the same size may leave it as
 * it was.
 */
u64 wsmon_vaddr_stamp(const struct mm_struct *mm)
{
	u64 stamp = wsmon_hash64(READ_ONCE(mm->total_vm));

	stamp = wsmon_hash64(stamp ^ READ_ONCE(mm->map_count));
	return wsmon_hash64(stamp ^ mm_pgtables_bytes(mm));
}

/**
 * wsmon_mm_has_secondary - tell whether a guest or a device uses an mm by page tables of its own
 * @mm:	the mm
 *
 * A virtual machine may appear at any time. Once an MMU notifier was registered, this is true
 * until the mm is gone.
 */
bool wsmon_mm_has_secondary(struct mm_struct *mm)
{
	/* the pointer is set once, under a lock not held here; only whether it is NULL matters */
	return data_race(mm_has_notifiers(mm));
}

/* Return: resident pages of an mm, including those of hugetlbfs. */
static u64 mm_resident(struct mm_struct *mm)
{
	u64 pages = get_mm_rss(mm);

#ifdef CONFIG_HUGETLB_PAGE
	pages += atomic_long_read(&mm->hugetlb_usage);
#endif
	return pages;
}

/**
 * wsmon_mm_unseen_pages - upper bound of pages that a guest or a device may have accessed unseen
 * @mm:	the mm
 *
 * Pages that these access by page tables of their own are resident in the process, too.
 */
u64 wsmon_mm_unseen_pages(struct mm_struct *mm)
{
	return wsmon_mm_has_secondary(mm) ? mm_resident(mm) : 0;
}

/** wsmon_mm_anon - return the anonymous pages of an mm, including those in swap */
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

/*
 * Once an interval, read the system's counts of two kinds of faults: those that allocate a huge
 * page, and those that allocate none (NUMA hint faults).
 */
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
 * @minors:	its minor faults, as found by wsmon_target_ran() or wsmon_member_slept()
 * @wss:	the last estimates of the shortest window, for the member or for its group
 * @c:		the result
 *
 * O(1), but once an interval O(processors). Each processor or thread adds its pages to the kernel's
 * counts in batches, so the counts may lack a few pages for each.
 */
void wsmon_counts_read(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, u64 minors, const struct wsmon_wss *wss,
		       struct wsmon_counts *c)
{
	session_count_events(ss);
	*c = (struct wsmon_counts){
		.anon = wsmon_mm_anon(mm),
		.files = get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES),
		/* this may miss a peak of this moment, which the next interval then has */
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
 * wsmon_counts_late - count the anonymous pages freed since the balance of a process was ended
 * @b:	the balance
 * @mm:	its mm, with a reference on mm_count
 *
 * Return: see wsmon_balance_late(); 0 if the process has exited, or is about to.
 */
u64 wsmon_counts_late(struct wsmon_balance *b, struct mm_struct *mm)
{
	u64 anon = wsmon_mm_anon(mm);

	/* if the mm has users after the pages were counted, exit_mmap() had freed none of them */
	smp_rmb();
	return wsmon_mm_busy(mm) ? wsmon_balance_late(b, anon) : 0;
}

/**
 * wsmon_regions_cap - return the room for @budget regions: a quarter more, as mappings may change
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
