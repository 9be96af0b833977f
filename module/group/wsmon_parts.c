// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_parts.c - what a member of a group maps that other members may map, too
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/slab.h>

#include "../wsmon_internal.h"

/* Initial room */
#define READ_ROOM	128U

/**
 * wsmon_parts_grow - make room for more parts, up to WSMON_MAX_EXTENTS
 * @parts:	the parts
 *
 * Context: may sleep, no mmap lock held. Nobody waits for the memory.
 * Return: 0 or -ENOMEM.
 */
int wsmon_parts_grow(struct wsmon_parts *parts)
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
 * wsmon_parts_take - add what others may map, too, of a mapping
 * @parts:	the parts
 * @vma:	the mapping, under the mmap lock
 * @addr:	where reading begins
 * @class:	enum wsmon_class
 *
 * That is pages of its file, and anonymous pages that a fork shares. The root of the
 * anon_vma is the same in all processes that may share these, and the offsets are, too.
 * Return: 1 if it may have private pages as well, 0 if not, or -ENOSPC.
 */
int wsmon_parts_take(struct wsmon_parts *parts, struct vm_area_struct *vma,
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
