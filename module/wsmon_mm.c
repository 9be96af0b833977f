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
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/task_work.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "wsmon_sampler.h"

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
			err = parts ? wsmon_parts_take(parts, vma, *addr, class) : 1;
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
			ret = wsmon_parts_grow(parts);
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

/*
 * The memory of a program that is kept, so that its end can be looked at
 *
 * When its last thread ends, a process has left its mm, and with it the page tables. So a
 * reference on mm_users keeps the mm of a program that began while it is monitored, for as long
 * as a window holds the program's whole life. If it ends within that time, a task work in the
 * process waits for kwsmond, which looks at it a last time, and then releases the mm, before the
 * parent is notified. So nothing of a process outlives wait(). exec releases the mm before it
 * leaves it. A process may hang before it comes to its task works, as it closes a file of a server
 * that does not answer: then a worker releases the mm a second later.
 *
 * A reference costs: the process looks for another owner of its mm when it ends, among all
 * processes (mm_update_next_owner()). So there are as many as 1 % of the time pays for. Other
 * programs that end have no last look.
 */

/* What one look at another process costs a process that ends */
#define WALK_NS		50U

/* All those may take this part of the time, and as much at once as in a second */
#define WALK_SHARE	100U
#define WALK_MAX_NS	(NSEC_PER_SEC / WALK_SHARE)

/* A process that ends waits for kwsmond so long; one that the user named, for longer */
#define WAIT_MS		50U
#define WAIT_TARGET_MS	100U
/* Others do not wait if kwsmond was called so long ago, and did not come */
#define WAIT_CALLED_MS	100U
/* A look that has begun is waited for so long: real-time tasks or other modules may hold it up */
#define WAIT_LOOK_MS	1000U
/* A process that does not come to its task works is waited for so long */
#define LATE_MS		1000U

/* Task works that have not ended; and were there any? */
static atomic_t works = ATOMIC_INIT(0);
static bool works_used;

/* Members that kwsmond knows no more, and whose task work has not run yet (members_lock) */
static LIST_HEAD(late_members);

static void members_release_late(struct work_struct *work);
static DECLARE_DELAYED_WORK(late_work, members_release_late);

/* What is left to be spent (members_lock) */
static u64 walk_credit_ns;

/* Pay for a reference on an mm. Return: the price; 0: too much. Context: members_lock held. */
static u64 walk_pay(u64 now)
{
	static u64 since_ns;
	/* threads count, too: it is too much rather than too little */
	u64 price = (u64)WALK_NS * (READ_ONCE(init_pid_ns.pid_allocated) & ~PIDNS_ADDING);

	walk_credit_ns = min_t(u64, walk_credit_ns + (now - since_ns) / WALK_SHARE, WALK_MAX_NS);
	since_ns = now;
	if (price > walk_credit_ns)
		return 0;
	walk_credit_ns -= price;
	return price;
}

/**
 * wsmon_member_begin - a member begins with an mm: keep that, if it is not too expensive
 * @m:		the member
 * @task:	current if it executed a program, else a child of it that does not run yet
 * @born_ns:	when it began
 *
 * Context: members_lock held.
 */
void wsmon_member_begin(struct wsmon_member *m, struct task_struct *task, u64 born_ns)
{
	/* nobody looks for an owner: the parent is it */
	bool shared = task != current && task->mm == current->mm;

	/* before 6.10: exec has left it already */
	if (m->kept)
		mmput_async(m->mm);
	m->mm = task->mm;
	m->forked_rss = task != current ? get_mm_rss(task->mm) : 0;
	WRITE_ONCE(m->fork_pages, task != current ? wsmon_mm_anon(task->mm) : 0);
	WRITE_ONCE(m->forks, m->forks + 1);
	m->born_ns = born_ns;
	m->exec_id = READ_ONCE(task->self_exec_id);
	memcpy(m->comm, task->comm, sizeof(m->comm));
	m->price_ns = shared ? 0 : walk_pay(ktime_get_ns());
	m->kept = shared || m->price_ns;
	if (m->kept)
		mmget(m->mm);
}

/**
 * wsmon_member_release - keep the mm of a member no longer, which has it, too
 * @m:	the member
 *
 * If the process has left the mm, it is about to say that it ends: then this does nothing.
 * Context: members_lock held.
 */
void wsmon_member_release(struct wsmon_member *m)
{
	if (m->ending || (m->kept && !atomic_add_unless(&m->mm->mm_users, -1, 1)))
		return;
	if (m->kept)
		walk_credit_ns += m->price_ns;
	m->kept = false;
	m->mm = NULL;
}

/** wsmon_member_forget - the same, if the mm is still @which. Context: may sleep. */
void wsmon_member_forget(struct wsmon_member *m, const struct mm_struct *which)
{
	raw_spin_lock(&wsmon_members_lock);
	if (m->mm == which)
		wsmon_member_release(m);
	raw_spin_unlock(&wsmon_members_lock);
}

static void member_put(struct wsmon_member *m)
{
	if (!refcount_dec_and_test(&m->refs))
		return;
	put_pid(m->pid);
	kfree_rcu(m, rcu);
}

/* Context: members_lock held */
static void member_not_late(struct wsmon_member *m)
{
	if (!m->late)
		return;
	list_del(&m->node);
	m->late = 0;
}

/* Release what members keep whose process hangs. The work of one that is listed references it. */
static void members_release_late(struct work_struct *work)
{
	unsigned long now = jiffies, next = 0;
	struct wsmon_member *m;

	raw_spin_lock(&wsmon_members_lock);
	while (!next && !list_empty(&late_members)) {
		m = list_first_entry(&late_members, struct wsmon_member, node);
		if (time_before(now, m->late)) {
			next = m->late - now;
		} else {
			/* one may wait for a server, too: the others do not wait for that */
			if (m->kept)
				mmput_async(m->mm);
			m->kept = false;
			member_not_late(m);
		}
	}
	raw_spin_unlock(&wsmon_members_lock);
	if (next)
		schedule_delayed_work(&late_work, next);
}

/* Runs in a process that has left its mm, before its parent is notified. */
static void member_release_work(struct callback_head *work)
{
	struct wsmon_member *m = container_of(work, struct wsmon_member, work);
	/* whose memory others wait for does not wait */
	bool waits = !tsk_is_oom_victim(current);
	unsigned long now = jiffies;
	struct mm_struct *mm = NULL;

	if (waits && m->waits && time_before(now, m->until))
		wait_for_completion_timeout(&m->looked, m->until - now);
	raw_spin_lock(&wsmon_members_lock);
	if (m->looking && waits) {
		raw_spin_unlock(&wsmon_members_lock);
		wait_for_completion_timeout(&m->looked, msecs_to_jiffies(WAIT_LOOK_MS));
		raw_spin_lock(&wsmon_members_lock);
	}
	/* else wsmon_member_free() releases it, when the look has ended */
	m->ending = !m->looking;
	member_not_late(m);
	if (m->ending && m->kept) {
		mm = m->mm;
		m->kept = false;
	}
	raw_spin_unlock(&wsmon_members_lock);
	if (mm)
		mmput(mm);
	member_put(m);
	atomic_dec(&works);
}

/**
 * wsmon_member_end - the process of a member ends: prepare to release its mm
 * @m:		the member
 * @wait:	kwsmond is to look at it before
 *
 * Context: members_lock held.
 * Return: give its task work to wsmon_member_work()?
 */
bool wsmon_member_end(struct wsmon_member *m, bool wait)
{
	const struct wsmon_session *ss = m->session;
	unsigned long limit = ss->hurry_at + msecs_to_jiffies(WAIT_CALLED_MS);

	if (!m->kept || m->ending)
		return false;
	m->ending = true;
	m->waits = wait;
	m->until = jiffies + msecs_to_jiffies(m->target ? WAIT_TARGET_MS : WAIT_MS);
	/* one with a busy mmap lock may hold it up, and what others run does not pay for that */
	if (!m->target && ss->hurry && time_before(limit, m->until))
		m->until = limit;
	refcount_inc(&m->refs);
	atomic_inc(&works);
	WRITE_ONCE(works_used, true);
	return true;
}

/* No thread can release the mm any more. */
static void member_work_failed(struct wsmon_member *m)
{
	raw_spin_lock(&wsmon_members_lock);
	m->ending = false;
	member_not_late(m);
	/* else wsmon_member_free() releases it */
	if (m->kept && !m->looking) {
		m->kept = false;
		mmput_async(m->mm);
	}
	raw_spin_unlock(&wsmon_members_lock);
	member_put(m);
	atomic_dec(&works);
}

/**
 * wsmon_member_work - have the present thread, which ends, release the mm of a member
 * @m:		the member, after wsmon_member_end()
 * @task:	the thread
 *
 * Context: without members_lock, as task_work_add() may allocate memory for KASAN.
 */
void wsmon_member_work(struct wsmon_member *m, struct task_struct *task)
{
	if (task_work_add(task, &m->work, TWA_RESUME))
		member_work_failed(m);
}

/**
 * wsmon_member_look - have a last look at the mm of a member that has ended
 * @m:	the member; wsmon_member_free() ends the look
 *
 * Context: the monitor's lock held.
 * Return: the mm; NULL if it was not kept, or the process no longer waits.
 */
struct mm_struct *wsmon_member_look(struct wsmon_member *m)
{
	struct mm_struct *mm;

	raw_spin_lock(&wsmon_members_lock);
	m->looking = m->kept;
	mm = m->kept ? m->mm : NULL;
	raw_spin_unlock(&wsmon_members_lock);
	return mm;
}

/** wsmon_member_alloc - make a member of a session @ss. Return: it, or NULL. */
struct wsmon_member *wsmon_member_alloc(struct wsmon_session *ss)
{
	struct wsmon_member *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	m->session = ss;
	refcount_set(&m->refs, 1);
	init_completion(&m->looked);
	init_task_work(&m->work, member_release_work);
	return m;
}

/*
 * A process has left its mm, and no probe has noticed yet, or it no longer waits: have any of its
 * threads release the mm, after wsmon_member_end().
 */
static void member_hand_over(struct wsmon_member *m)
{
	struct task_struct *leader, *thread;
	bool done = false;

	rcu_read_lock();
	leader = pid_task(m->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			done = !task_work_add(thread, &m->work, TWA_RESUME);
			if (done)
				break;
		}
	}
	rcu_read_unlock();
	if (!done)
		member_work_failed(m);
}

/**
 * wsmon_member_free - free a member
 * @m:	the member, which no probe can find
 *
 * Context: may sleep.
 */
void wsmon_member_free(struct wsmon_member *m)
{
	bool left, late;

	if (m->target)
		m->target->member = NULL;
	raw_spin_lock(&wsmon_members_lock);
	m->looking = false;
	wsmon_member_release(m);
	left = wsmon_member_end(m, false);
	late = m->ending && m->kept;
	if (late) {
		m->late = (jiffies + msecs_to_jiffies(LATE_MS)) | 1;
		list_add_tail(&m->node, &late_members);
	}
	raw_spin_unlock(&wsmon_members_lock);
	complete_all(&m->looked);
	if (late)
		schedule_delayed_work(&late_work, msecs_to_jiffies(LATE_MS) + 1);
	if (left)
		member_hand_over(m);
	member_put(m);
}

/** wsmon_kept_exit - wait for task works: then the module may go. Context: no probe is left. */
void wsmon_kept_exit(void)
{
	while (atomic_read(&works))
		schedule_timeout_idle(1);
	cancel_delayed_work_sync(&late_work);
	/* the last one may be preempted on its way out of the module */
	if (works_used)
		synchronize_rcu_tasks();
}

/**
 * wsmon_member_born - return when a member began with a program
 * @m:	the member
 * @mm:	its mm
 *
 * Context: the monitor's lock held.
 * Return: the time; 0 if that was before it was monitored, or before all windows.
 */
u64 wsmon_member_born(const struct wsmon_member *m, const struct mm_struct *mm)
{
	u64 born;

	raw_spin_lock(&wsmon_members_lock);
	born = m->mm == mm ? m->born_ns : 0;
	raw_spin_unlock(&wsmon_members_lock);
	return born;
}

/**
 * wsmon_members_left - tell what programs had that were left by exec, and begin anew
 * @ss:	the session
 * @m:	a member of it; NULL for all together
 *
 * Nobody knows what they accessed since the last interval.
 * Return: resident pages, at most.
 */
u64 wsmon_members_left(struct wsmon_session *ss, struct wsmon_member *m)
{
	u64 *left_rss = m ? &m->left_rss : &ss->left_rss, left;

	raw_spin_lock(&wsmon_members_lock);
	left = *left_rss;
	*left_rss = 0;
	raw_spin_unlock(&wsmon_members_lock);
	return left;
}

/**
 * wsmon_members_keeping - count the references that members of all sessions keep on an mm
 * @m:	a member; only those that are the same process count
 * @mm:	the mm
 */
u32 wsmon_members_keeping(const struct wsmon_member *m, const struct mm_struct *mm)
{
	const struct wsmon_member *other;
	u32 nr = 0;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(other, m->pid)
		nr += other->kept && other->mm == mm;
	raw_spin_unlock(&wsmon_members_lock);
	return nr;
}

/** wsmon_member_shared - is a member sampled by other sessions, too, or by the group? */
bool wsmon_member_shared(const struct wsmon_member *m)
{
	const struct wsmon_member *other;
	bool shared = m->target && m->session->group;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(other, m->pid)
		shared |= other != m;
	raw_spin_unlock(&wsmon_members_lock);
	return shared;
}

/*
 * A member is sampled no more: tell those of other sessions, which may not have looked at
 * its notes yet. Context: members_lock held.
 */
void wsmon_member_stop_sharing(const struct wsmon_member *m)
{
	struct wsmon_member *other;

	for_each_member_of(other, m->pid)
		WRITE_ONCE(other->shared_ns, ktime_get_ns());
}

/** wsmon_members_have - is the process of a task a member of a session @ss? */
bool wsmon_members_have(const struct wsmon_session *ss, struct task_struct *task)
{
	const struct wsmon_member *m;
	bool have = false;

	raw_spin_lock(&wsmon_members_lock);
	for_each_member_of(m, task_tgid(task))
		have |= m->session == ss;
	raw_spin_unlock(&wsmon_members_lock);
	return have;
}
