// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_vaddr.c - the mappings of a target
 *
 * Called by the kthread with wsmon.lock held; may sleep.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/ktime.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "wsmon_internal.h"

/* Mappings looked at under one hold of the mmap lock, and page-table entries */
#define READ_BATCH	256
#define READ_TABLES	2048U
/* and in one reading: 2 TiB in use; beyond it mappings are taken as they are */
#define READ_TABLES_ALL	(1024U * 1024)
/* Mappings of less are not worth looking for holes in */
#define READ_WHOLE	(2 * PMD_SIZE)
/* Extents there is room for at first */
#define READ_ROOM	128U

static u32 vma_classify_file(const struct vm_area_struct *vma)
{
	const struct inode *inode = file_inode(vma->vm_file);

	if (vma->vm_flags & VM_MAYSHARE)
		return inode->i_sb->s_magic == TMPFS_MAGIC ?
		       WSMON_CLASS_SHMEM : WSMON_CLASS_FILE;
	return vma->vm_flags & VM_WRITE ? WSMON_CLASS_DATA : WSMON_CLASS_FILE;
}

/* Class of a mapping; @data_end: where the last .data ended, as .bss follows */
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

/**
 * wsmon_space_free - free the memory of a space
 * @sp:	the space, empty afterwards
 */
void wsmon_space_free(struct wsmon_space *sp)
{
	kvfree(sp->ext);
	kvfree(sp->area);
	memset(sp, 0, sizeof(*sp));
}

/*
 * Room for twice the extents, up to WSMON_MAX_EXTENTS. Memory is not waited for:
 * the address space that would have to give it may be the one held here. The
 * next interval tries again.
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
 * Add the parts of a mapping that have page tables, from *addr on, which moves
 * behind what was looked at.
 * Return: 0, or -ENOSPC.
 */
static int space_add_populated(struct wsmon_space *sp, struct vm_area_struct *vma,
		     u32 class, unsigned long *addr, unsigned int *left)
{
	unsigned long first = vma->vm_start >> PAGE_SHIFT, start, end;
	bool joined;
	int err;

	while (*addr < vma->vm_end && *left) {
		start = *addr;
		end = wsmon_populated(vma->vm_mm, &start, vma->vm_end, left);
		/* parts of the same mapping, perhaps read under another hold */
		joined = sp->nr_ext && sp->ext[sp->nr_ext - 1].end > first;
		if (start < end) {
			err = wsmon_space_add(sp, start >> PAGE_SHIFT,
					      end >> PAGE_SHIFT, class, joined);
			if (err)
				return err;
		}
		*addr = end;
	}
	return 0;
}

/* Can anything be accessed through a mapping, and can its page tables be read? */
static bool vma_counts(struct vm_area_struct *vma)
{
	return vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC) &&
	       wsmon_vma_usable(vma);
}

/*
 * Read some mappings under one hold of the lock.
 * @tables:	page-table entries that may be looked at, counted down; with none
 *		from the beginning, mappings are taken as they are, holes and all
 * Return: 1 if there are more, 0 at the end, or -ENOSPC; *addr is where to go on.
 */
static int vaddr_read_batch(struct wsmon_space *sp, struct mm_struct *mm,
		      unsigned long *addr, u64 *data_end, unsigned int *tables)
{
	VMA_ITERATOR(vmi, mm, *addr);
	unsigned int left = READ_BATCH;
	struct vm_area_struct *vma;
	bool whole = !*tables;

	for_each_vma(vmi, vma) {
		u32 class;
		int err;

		if (!left-- || (!whole && !*tables))
			return 1;
		/* a mapping that grew downwards in the meantime begins at *addr */
		*addr = max(vma->vm_start, *addr);
		if (*addr >= vma->vm_end)
			continue;
		if (vma_counts(vma)) {
			class = vma_classify(vma, data_end);
			if (whole || vma->vm_end - vma->vm_start < READ_WHOLE ||
			    is_vm_hugetlb_page(vma))
				err = wsmon_space_add(sp, *addr >> PAGE_SHIFT,
						      vma->vm_end >> PAGE_SHIFT,
						      class, false);
			else
				err = space_add_populated(sp, vma, class, addr, tables);
			if (err)
				return err;
			/* perhaps in the middle of it */
			if (!whole && !*tables)
				return 1;
		}
		*addr = vma->vm_end;
	}
	return 0;
}

static int vaddr_read_all(struct wsmon_session *ss, struct mm_struct *mm)
{
	struct wsmon_space *sp = &ss->space;
	unsigned int tries = WSMON_LOCK_TRIES, budget = READ_TABLES_ALL, tables;
	unsigned long addr = 0;
	u64 data_end = 0, start, held;
	int ret;

	sp->nr_ext = 0;
	do {
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
		ret = vaddr_read_batch(sp, mm, &addr, &data_end, &tables);
		budget += tables;
		wsmon_mm_unlock(mm);
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
 * @t:	the target; remembers how long it took
 * @mm:	its mm, as wsmon_target_mm() gives it
 *
 * Return: 1 if they changed, 0 if not, -EAGAIN if the mmap lock was busy,
 * -ENOMEM.
 */
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm)
{
	u64 start = ktime_get_ns();
	int ret = vaddr_read_all(ss, mm);

	t->read_ns = ktime_get_ns() - start;
	if (ret)
		return ret;
	wsmon_space_group(&ss->space, max(t->regions.budget / 2, 1U));
	return !wsmon_space_same(&t->space, &ss->space);
}

/**
 * wsmon_vaddr_adopt - fit the regions of a target to mappings that were read
 * @ss:		the session
 * @t:		the target
 * @now:	the time
 * @origin:	nothing of what is new was there before; 0: not so
 */
void wsmon_vaddr_adopt(struct wsmon_session *ss, struct wsmon_target *t,
		       u64 now, u64 origin)
{
	swap(t->space, ss->space);
	wsmon_regions_fit(&t->regions, &t->space, now, origin);
}

/**
 * wsmon_vaddr_stamp - changes when mappings come, go, grow, or get page tables
 * @mm:	the mm
 *
 * Cheap, and not quite certain: what is unmapped and mapped at once in the same size
 * leaves it as it was.
 */
u64 wsmon_vaddr_stamp(const struct mm_struct *mm)
{
	u64 stamp = wsmon_hash64(READ_ONCE(mm->total_vm));

	stamp = wsmon_hash64(stamp ^ READ_ONCE(mm->map_count));
	return wsmon_hash64(stamp ^ mm_pgtables_bytes(mm));
}
