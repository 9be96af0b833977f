// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_group.c - the members of a session together: a working set with each page once
 *
 * A session that follows children has a group from the moment it has a second member. The
 * group's samples are looked at once an interval, after those of the targets. (Those of members
 * with many major faults are looked at in rounds, too: wsmon_group_round().)
 *
 *	check	look at the samples in all members; read mappings that changed
 *	learn	from what was seen; sample what is new; estimate; write the records
 *	adapt	the regions: follow the mappings, split and merge
 *	arm	draw positions, plan in which members to look, clear Accessed bits
 *
 * A member that ends is looked at once more if its mm was kept (wsmon_member.c): at the
 * group's samples, and at its private memory that the group does not know yet. So what
 * processes used counts that came and went within an interval. What a child of a fork
 * reads of its parent's memory in its first interval does not.
 *
 * All is called by kwsmond with wsmon.lock held, and may sleep.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "wsmon_group.h"

/*
 * The memory of a group's members, and the space in which each page is once
 */

/* No one waits for this memory: the next interval tries again */
#define SHARE_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/* Extents of a group, at most; the private memory of members beyond is not sampled */
#define EXTENTS_MAX	(256U * 1024)

/* Members that ended and are remembered, at most */
#define ENDED_MAX	16384U
/* Visits and extents of those, at most: what ends has no memory of its own that pays for them */
#define ENDED_ROOM	BIT(19)

/* Objects that nobody maps stay for so long, so that the next short process finds them */
#define LINGER_NS	(10 * NSEC_PER_SEC)

/* Objects are tagged in the array of slots */
#define TAG_OBJECT	1

static int slot_alloc(struct wsmon_group *g, void *entry, u32 *slot)
{
	int ret = xa_alloc_cyclic(&g->slots, slot, entry, XA_LIMIT(1, WSMON_SLOTS_MAX),
				  &g->next_slot, SHARE_GFP);

	return min(ret, 0);
}

/* Objects */

static struct hlist_head *object_bucket(struct wsmon_group *g, const void *key)
{
	return &g->by_key[hash_ptr(key, WSMON_GROUP_BITS)];
}

static struct wsmon_object *object_find(struct wsmon_group *g, const struct wsmon_part *p)
{
	struct wsmon_object *o;

	hlist_for_each_entry(o, object_bucket(g, p->key), hash) {
		if (o->key == p->key && o->number == p->number && o->kind == p->kind &&
		    o->class == p->class)
			return o;
	}
	return NULL;
}

static struct wsmon_object *object_create(struct wsmon_group *g, const struct wsmon_part *p)
{
	struct wsmon_object *o;

	/* leave the other half to members */
	if (g->nr_objects >= WSMON_SLOTS_MAX / 2)
		return NULL;
	o = kzalloc(sizeof(*o), SHARE_GFP);
	if (!o)
		return NULL;
	if (slot_alloc(g, xa_tag_pointer(o, TAG_OBJECT), &o->slot)) {
		kfree(o);
		return NULL;
	}
	o->key = p->key;
	o->number = p->number;
	o->kind = p->kind;
	o->class = p->class;
	o->start = p->index;
	o->end = p->index + p->pages;
	hlist_add_head(&o->hash, object_bucket(g, p->key));
	list_add_tail(&o->node, &g->objects);
	g->nr_objects++;
	return o;
}

static void object_free(struct wsmon_group *g, struct wsmon_object *o)
{
	xa_erase(&g->slots, o->slot);
	hlist_del(&o->hash);
	list_del(&o->node);
	g->nr_objects--;
	kfree(o);
}

/* Let the parts of a share go. */
static void parts_put(struct wsmon_group *g, struct wsmon_parts *parts)
{
	u32 i;

	for (i = 0; i < parts->nr; i++) {
		struct wsmon_object *o = parts->p[i].object;

		if (!o)
			continue;
		rb_erase(&parts->p[i].node, &o->parts);
		o->mappers--;
		/* is there still anything that two processes may share? */
		g->changed |= o->known && !wsmon_object_counts(o);
		/* another process may get the same anon_vma at any time */
		if (!o->mappers && o->kind == WSMON_PART_FAMILY)
			object_free(g, o);
	}
	parts->nr = 0;
}

static bool part_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct wsmon_part, node)->share->rank <
	       rb_entry(b, struct wsmon_part, node)->share->rank;
}

/*
 * Find the objects of parts of a share, which stay where they are from now on. One that there
 * is no memory for is not sampled.
 */
static void parts_get(struct wsmon_group *g, struct wsmon_share *s, struct wsmon_parts *parts,
		      u64 now)
{
	u32 i;

	for (i = 0; i < parts->nr; i++) {
		struct wsmon_part *p = &parts->p[i];
		struct wsmon_object *o = object_find(g, p) ?: object_create(g, p);

		if (i % 256 == 255)
			cond_resched();
		p->object = o;
		if (!o)
			continue;
		p->share = s;
		rb_add(&p->node, &o->parts, part_before);
		o->mappers++;
		o->used_ns = now;
		if (o->known ? p->index < o->start || p->index + p->pages > o->end :
			       wsmon_object_counts(o))
			g->lacks = true;
		o->start = min(o->start, p->index);
		o->end = max(o->end, p->index + p->pages);
		g->changed |= g->lacks;
	}
}

/* Shares */

static struct hlist_head *share_bucket(struct wsmon_group *g, const struct mm_struct *mm)
{
	return &g->by_mm[hash_ptr(mm, WSMON_GROUP_BITS)];
}

/* Has its member left the mm since? Then another may have one at the same address. */
static bool share_present(const struct wsmon_share *s)
{
	struct mm_struct *mm;
	u64 exec_id = 0;

	mm = wsmon_member_mm(s->member, &exec_id);
	if (mm)
		mmdrop(mm);
	return mm == s->mm && exec_id == s->exec_id;
}

/**
 * share_find - find the share with an mm, of a member that uses it now
 * @g:	the group
 * @mm:	the mm, with a reference
 */
static struct wsmon_share *share_find(struct wsmon_group *g, const struct mm_struct *mm)
{
	struct wsmon_share *s;

	hlist_for_each_entry(s, share_bucket(g, mm), hash) {
		if (s->mm == mm && s->member && share_present(s))
			return s;
	}
	return NULL;
}

/**
 * share_create - begin with the memory of a member
 * @g:		the group
 * @m:		the member
 * @mm:		its mm
 * @exec_id:	its program
 * @since:	time after which its Accessed bits were set
 *
 * Return: the share, its mappings not read yet; NULL if there is no memory, or no slot.
 */
static struct wsmon_share *share_create(struct wsmon_group *g, struct wsmon_member *m,
					struct mm_struct *mm, u64 exec_id, u64 since)
{
	struct wsmon_share *s = kzalloc(sizeof(*s), SHARE_GFP);
	u64 ran = 0;

	if (!s)
		return NULL;
	if (slot_alloc(g, s, &s->slot)) {
		kfree(s);
		return NULL;
	}
	s->member = m;
	s->mm = mm;
	s->exec_id = exec_id;
	s->since_ns = since;
	s->salt = wsmon_hash64((u64)pid_nr(m->pid) << 32 ^ s->slot);
	s->rank = wsmon_hash64(s->salt);
	/* only what it faults from now on counts */
	wsmon_member_slept(m, mm, &ran, &s->majors, &s->minors);
	m->share = s;
	list_add_tail(&s->node, &g->shares);
	hlist_add_head(&s->hash, share_bucket(g, mm));
	return s;
}

/* Of a share that ended, only visits matter that have seen something. */
static void share_keep_seen(struct wsmon_share *s)
{
	struct wsmon_visit *v = NULL;
	u32 i, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		if (s->visits[i].seen_ns)
			s->visits[nr++] = s->visits[i];
	}
	if (nr)
		v = kvmalloc_array(nr, sizeof(*v), SHARE_GFP);
	if (v)
		memcpy(v, s->visits, nr * sizeof(*v));
	if (v || !nr) {
		kvfree(s->visits);
		s->visits = v;
		s->cap_visits = nr;
	}
	s->nr_visits = nr;
}

static u32 share_room(const struct wsmon_share *s)
{
	return s->own.cap + s->cap_visits;
}

/**
 * share_free - forget a share
 * @g:	the group
 * @s:	the share
 */
static void share_free(struct wsmon_group *g, struct wsmon_share *s)
{
	if (s->member)
		s->member->share = NULL;
	g->changed |= s->known;
	if (s->ended) {
		g->nr_ended--;
		g->ended_room -= share_room(s);
	}
	parts_put(g, &s->parts);
	xa_erase(&g->slots, s->slot);
	hlist_del(&s->hash);
	list_del(&s->node);
	wsmon_space_free(&s->own);
	kvfree(s->parts.p);
	kvfree(s->visits);
	kfree(s);
}

/**
 * share_end - a member has ended, or executed another program
 * @g:		the group
 * @s:		its share, which stays until the windows have passed, or is freed
 * @now:	the time
 */
static void share_end(struct wsmon_group *g, struct wsmon_share *s, u64 now)
{
	struct wsmon_member *m = s->member;

	m->share = NULL;
	s->member = NULL;
	s->ended_ns = now;
	parts_put(g, &s->parts);
	kvfree(s->parts.p);
	memset(&s->parts, 0, sizeof(s->parts));
	if (!s->blind)
		share_keep_seen(s);
	if (!s->known && !s->nr_visits) {
		share_free(g, s);
	} else if (g->nr_ended >= ENDED_MAX || g->ended_room + share_room(s) > ENDED_ROOM) {
		g->missed++;
		g->past[g->at].unknown += m->made_rss;
		share_free(g, s);
	} else {
		g->nr_ended++;
		g->ended_room += share_room(s);
		s->ended = true;
	}
}

/* Copy an array of @nr elements, perhaps none. */
static bool array_copy(void **to, const void *from, u32 nr, size_t size)
{
	if (!nr)
		return true;
	*to = kvmalloc_array(nr, size, SHARE_GFP);
	if (*to)
		memcpy(*to, from, nr * size);
	return *to;
}

/**
 * wsmon_share_read - read the mappings of a share
 * @ss:		the session
 * @s:		the share
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * Afterwards @before of the group has the private memory as it was before.
 * Return: 0, or an error of wsmon_vaddr_read_parts(), with nothing changed.
 */
int wsmon_share_read(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		     u64 now)
{
	struct wsmon_group *g = ss->group;
	u64 stamp = wsmon_vaddr_stamp(mm);
	struct wsmon_parts parts = { };
	struct wsmon_space own = { };
	int err;

	err = wsmon_vaddr_read_parts(ss, &g->parts, mm);
	if (err)
		return err;
	/* scratch memory has room for the largest member: take what this one needs */
	if (!array_copy((void **)&parts.p, g->parts.p, g->parts.nr, sizeof(*parts.p)))
		return -ENOMEM;
	if (!array_copy((void **)&own.ext, ss->space.ext, ss->space.nr_ext, sizeof(*own.ext))) {
		kvfree(parts.p);
		return -ENOMEM;
	}
	parts.nr = g->parts.nr;
	parts.cap = parts.nr;
	own.nr_ext = ss->space.nr_ext;
	own.cap = own.nr_ext;
	/* take the new ones first, so that objects that are in both stay */
	parts_get(g, s, &parts, now);
	parts_put(g, &s->parts);
	kvfree(s->parts.p);
	s->parts = parts;
	g->changed |= s->known && !wsmon_space_same(&s->own, &own);
	wsmon_space_free(&g->before);
	g->before = s->own;
	s->own = own;
	/* mappings that changed meanwhile are read again */
	s->stamp = wsmon_vaddr_stamp(mm) == stamp ? stamp : 0;
	s->read_ns = now;
	s->known_ns = now;
	s->read = true;
	return 0;
}

/* The group's space */

/**
 * wsmon_group_object - find the object that a page belongs to
 * @g:		the group
 * @page:	the page, in the group's space
 *
 * Return: the object, or NULL if the page is private memory.
 */
struct wsmon_object *wsmon_group_object(struct wsmon_group *g, u64 page)
{
	void *entry = xa_load(&g->slots, wsmon_page_slot(page));

	return entry && xa_pointer_tag(entry) == TAG_OBJECT ? xa_untag_pointer(entry) : NULL;
}

/**
 * wsmon_group_has_ended - tell whether a page is private memory of a member that ended
 * @g:		the group
 * @page:	the page, in the group's space
 */
bool wsmon_group_has_ended(struct wsmon_group *g, u64 page)
{
	void *entry = xa_load(&g->slots, wsmon_page_slot(page));
	const struct wsmon_share *s = entry;

	return entry && xa_pointer_tag(entry) != TAG_OBJECT && (!s->member || s->ending);
}

/** wsmon_group_has_slept - tell whether a page is private memory of a member that has slept */
bool wsmon_group_has_slept(struct wsmon_group *g, u64 page)
{
	void *entry = xa_load(&g->slots, wsmon_page_slot(page));
	const struct wsmon_share *s = entry;

	return entry && xa_pointer_tag(entry) != TAG_OBJECT && s->slept;
}

/**
 * wsmon_group_forget - forget members that ended, and objects that nobody maps any more
 * @g:		the group
 * @before:	those that ended before this time
 */
void wsmon_group_forget(struct wsmon_group *g, u64 before)
{
	struct wsmon_object *o, *next_object;
	struct wsmon_share *s, *next;
	u64 linger = before - min_t(u64, before, LINGER_NS);

	list_for_each_entry_safe(s, next, &g->shares, node) {
		if (!s->member && s->ended_ns < before)
			share_free(g, s);
		cond_resched();
	}
	list_for_each_entry_safe(o, next_object, &g->objects, node) {
		if (o->mappers || o->used_ns >= linger)
			continue;
		g->changed |= o->known;
		object_free(g, o);
	}
}

static u32 group_count_extents(struct wsmon_group *g)
{
	struct wsmon_object *o;
	struct wsmon_share *s;
	u64 nr = 0;

	list_for_each_entry(o, &g->objects, node)
		nr += wsmon_object_counts(o);
	list_for_each_entry(s, &g->shares, node)
		nr += s->own.nr_ext;
	return min_t(u64, nr, EXTENTS_MAX);
}

static int group_room(struct wsmon_space *sp, u32 nr)
{
	if (nr <= sp->cap)
		return 0;
	wsmon_space_free(sp);
	nr += nr / 2;
	sp->ext = kvmalloc_array(nr, sizeof(*sp->ext), SHARE_GFP);
	sp->area = kvmalloc_array(nr, sizeof(*sp->area), SHARE_GFP);
	if (!sp->ext || !sp->area) {
		wsmon_space_free(sp);
		return -ENOMEM;
	}
	sp->cap = nr;
	return 0;
}

static void space_push(struct wsmon_space *sp, u32 slot, u64 start, u64 end, u32 class)
{
	struct wsmon_extent *e = &sp->ext[sp->nr_ext];

	/* sums of pages stay below 2^45; with five levels of page tables numbers are larger */
	if (sp->nr_ext == sp->cap || end > WSMON_SLOT_PAGES ||
	    wsmon_space_pages(sp) + end - start > WSMON_SLOT_PAGES)
		return;
	e->base = wsmon_space_pages(sp);
	e->start = wsmon_slot_page(slot) + start;
	e->end = wsmon_slot_page(slot) + end;
	e->class = class;
	e->joined = false;
	sp->nr_ext++;
}

/**
 * wsmon_group_build_space - make @g->next of what the members map now
 * @g:	the group
 *
 * What a share that ended had stays. O(extents).
 * Return: 0 or -ENOMEM.
 */
int wsmon_group_build_space(struct wsmon_group *g)
{
	struct wsmon_space *sp = &g->next;
	unsigned long slot;
	void *entry;
	u32 i;
	int err;

	sp->nr_ext = 0;
	err = group_room(sp, group_count_extents(g));
	if (err)
		return err;
	xa_for_each(&g->slots, slot, entry) {
		if (xa_pointer_tag(entry) == TAG_OBJECT) {
			struct wsmon_object *o = xa_untag_pointer(entry);

			o->known = wsmon_object_counts(o);
			if (o->known)
				space_push(sp, slot, o->start, o->end, o->class);
		} else {
			struct wsmon_share *s = entry;

			s->known = s->read;
			for (i = 0; i < s->own.nr_ext; i++)
				space_push(sp, slot, s->own.ext[i].start, s->own.ext[i].end,
					   s->own.ext[i].class);
		}
		cond_resched();
	}
	wsmon_space_group(sp, max(g->regions.budget / 2, 1U));
	g->changed = false;
	g->lacks = false;
	return 0;
}

/*
 * What a member of a group maps that other members may map, too
 */

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

/* The group gets this share of max_regions, the targets the rest; without targets, all */
#define GROUP_SHARE	2U

/*
 * If it has many members, it keeps this share of them, as much of its cost is that of members;
 * else min_regions for each member
 */
#define LEAST_SHARE	8U

/* Pages looked at of the private memory of a member that came and went */
#define PAST_DRAWS	128U

/* Beginning and end */

static u32 group_share(const struct wsmon_session *ss)
{
	return ss->nr_targets ? GROUP_SHARE : 1;
}

static struct wsmon_group *group_alloc(const struct wsmon_session *ss)
{
	struct wsmon_group *g = kvzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	xa_init_flags(&g->slots, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&g->shares);
	INIT_LIST_HEAD(&g->objects);
	g->regions.limit = max(ss->mon->attrs.max_regions / group_share(ss), 1U);
	g->regions.budget = g->regions.limit;
	if (wsmon_regions_alloc(&g->regions)) {
		kvfree(g);
		return NULL;
	}
	return g;
}

/* Drop the samples of a member that runs, and pay their debts to reclaim. */
static void share_drop(struct wsmon_session *ss, struct wsmon_share *s)
{
	struct mm_struct *mm;
	u64 exec_id = 0;
	u32 i;

	mm = s->member ? wsmon_member_mm(s->member, &exec_id) : NULL;
	if (!mm)
		return;
	for (i = 0; i < s->nr_visits; i++) {
		s->visits[i].op = WSMON_SAMPLE_DROP;
		s->visits[i].skip = false;
	}
	if (mm == s->mm && exec_id == s->exec_id)
		wsmon_walk_visits(ss, s->member, mm, s->visits, s->nr_visits, true);
	mmdrop(mm);
}

/**
 * wsmon_group_leave - drop all samples of a session's group, and pay their debts to reclaim
 * @ss:	the session
 */
void wsmon_group_leave(struct wsmon_session *ss)
{
	struct wsmon_share *s;

	if (!ss->group)
		return;
	list_for_each_entry(s, &ss->group->shares, node) {
		share_drop(ss, s);
		cond_resched();
	}
}

/**
 * wsmon_group_free - end the group of a session, if there is one
 * @ss:	the session
 */
void wsmon_group_free(struct wsmon_session *ss)
{
	struct wsmon_share *s, *next;
	struct wsmon_member *m;

	if (ss->group) {
		list_for_each_entry(m, &ss->members, node)
			WRITE_ONCE(m->shared_ns, ktime_get_ns());
		list_for_each_entry_safe(s, next, &ss->group->shares, node) {
			share_free(ss->group, s);
			cond_resched();
		}
		wsmon_group_forget(ss->group, U64_MAX);
		xa_destroy(&ss->group->slots);
		wsmon_space_free(&ss->group->space);
		wsmon_space_free(&ss->group->next);
		wsmon_space_free(&ss->group->before);
		wsmon_regions_free(&ss->group->regions);
		kvfree(ss->group->parts.p);
		kvfree(ss->group->visits);
		kvfree(ss->group->answers);
		kvfree(ss->group);
	}
	ss->group = NULL;
}

/**
 * wsmon_group_budget - limit the regions of a session's group, if it has one
 * @ss:		the session
 * @regions:	max. regions of the session for now
 */
void wsmon_group_budget(struct wsmon_session *ss, u64 regions)
{
	struct wsmon_group *g = ss->group;
	u32 least;

	if (!g)
		return;
	least = clamp_t(u64, (u64)READ_ONCE(ss->nr_members) * ss->mon->attrs.min_regions, 1,
			g->regions.limit / LEAST_SHARE + 1);
	g->regions.budget = clamp_t(u64, regions / group_share(ss), least, g->regions.limit);
}

/**
 * wsmon_group_leaves - what a session's group, if it has one, leaves of a target's regions
 * @ss:		the session
 * @regions:	the target's
 */
u64 wsmon_group_leaves(const struct wsmon_session *ss, u64 regions)
{
	return ss->group ? regions - regions / GROUP_SHARE : regions;
}

/** wsmon_group_total - the last estimate of a group for the shortest window; NULL: no group */
const struct wsmon_wss *wsmon_group_total(const struct wsmon_session *ss)
{
	return ss->group ? &ss->group->wss[0][WSMON_CLASS_ALL] : NULL;
}

/** wsmon_group_half - half the width of its interval, as far as samples have a part in it */
u64 wsmon_group_half(const struct wsmon_session *ss)
{
	return ss->group->half;
}

/** wsmon_group_regions - the regions of a session's group; NULL: it has none */
const struct wsmon_regions *wsmon_group_regions(const struct wsmon_session *ss)
{
	return ss->group ? &ss->group->regions : NULL;
}

/* The members' memory */

/**
 * wsmon_group_get_share - get the share of a member with its present mm
 * @ss:		the session, with a group
 * @m:		the member
 * @mmp:	set to the mm, to be given to mmdrop()
 * @now:	the time
 *
 * Return: the share; NULL if it has none: the member has ended, another one uses the same
 * mm, or there is no memory.
 */
struct wsmon_share *wsmon_group_get_share(struct wsmon_session *ss, struct wsmon_member *m,
					  struct mm_struct **mmp, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_share *s = m->share;
	struct mm_struct *mm;
	u64 exec_id = 0;

	mm = wsmon_member_mm(m, &exec_id);
	if (!mm)
		return NULL;
	if (s && (s->mm != mm || s->exec_id != exec_id)) {
		/* the program before was not looked at when it ended */
		s->blind = true;
		g->missed++;
		share_end(g, s, now);
		s = NULL;
	}
	if (!s && !share_find(g, mm)) {
		u64 born = wsmon_member_born(m, mm);

		s = share_create(g, m, mm, exec_id, born ?: now);
		g->missed += !s;
	}
	if (!s) {
		mmdrop(mm);
		return NULL;
	}
	/* a thread that comes or goes may have been missed the last time */
	s->ending = false;
	*mmp = mm;
	return s;
}

/**
 * wsmon_group_adopt_space - make the regions follow @next, which becomes the space
 * @ss:		the session
 * @now:	the time
 * @origin:	time before which none of the new memory existed; 0: unknown
 */
void wsmon_group_adopt_space(struct wsmon_session *ss, u64 now, u64 origin)
{
	struct wsmon_group *g = ss->group;

	swap(g->space, g->next);
	wsmon_regions_fit(&g->regions, &g->space, now, origin);
}

/**
 * wsmon_group_draw - adapt the regions, and draw the samples of those at rest
 * @ss:	the session
 *
 * @last of these is set.
 */
void wsmon_group_draw(struct wsmon_session *ss)
{
	u64 key = wsmon_draw_key(~ss->mon->attrs.seed, ss->epoch);
	struct wsmon_group *g = ss->group;
	u32 i, h;

	wsmon_regions_adapt(&g->regions, &g->space, &ss->adapt);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		if (r->armed_ns)
			continue;
		wsmon_region_draw(&g->space, r, key);
		r->weight = 1;
		r->last = 1;
		for (h = 0; h < 2 && r->n[h]; h++) {
			const struct wsmon_object *o = wsmon_group_object(g, r->s[h].vpn);
			u64 random = wsmon_hash64(r->s[h].vpn ^ key);

			wsmon_sample_reach(&r->s[h], o ? o->mappers : 1, random);
			r->weight = max_t(u32, r->weight, U32_MAX / r->s[h].chance);
			/* the process that forked had it before */
			if (o && o->kind == WSMON_PART_FAMILY)
				r->origin_ns = 0;
		}
	}
}

/* Arm the samples of a share that were drawn. */
static void share_arm(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	struct wsmon_share *s = m->share, *present;
	struct mm_struct *mm;

	s->drawn = false;
	present = wsmon_group_get_share(ss, m, &mm, now);
	if (!present) {
		/* it has ended: the last look plans its visits again */
		if (m->share)
			wsmon_visit_undo(m->share);
		return;
	}
	/* another program has no samples yet */
	if (present == s) {
		sort(s->visits, s->nr_visits, sizeof(*s->visits), wsmon_visit_compare, NULL);
		wsmon_visit_arm(ss, s, mm, now);
	}
	mmdrop(mm);
}

/**
 * wsmon_group_arm - plan the visits of the regions at rest, and arm these: an interval begins
 * @ss:		the session
 */
void wsmon_group_arm(struct wsmon_session *ss)
{
	struct wsmon_group *g = ss->group;
	u64 now = ktime_get_ns();
	struct wsmon_member *m;
	u32 i;

	g->nr_visits = 0;
	wsmon_visit_draw(g);
	list_for_each_entry(m, &ss->members, node) {
		if (m->share && m->share->drawn)
			share_arm(ss, m, now);
		if (m->share)
			g->nr_visits += m->share->nr_visits;
		cond_resched();
	}
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		if (!r->armed_ns && r->last && !wsmon_region_has_ended(g, r))
			r->armed_ns = now;
		r->last = 0;
	}
	g->interval_ns = now;
	g->arming_ns = ktime_get_ns() - now;
	ss->armed_ns = now;
}

/**
 * wsmon_group_begin - begin with a group, if a session is to have one
 * @ss:	the session
 *
 * That is one that follows, from its second member on, and one of a cgroup. Also begins anew if
 * attributes changed that it depends on. If there is no memory for it, the next look at members
 * makes this try again.
 */
void wsmon_group_begin(struct wsmon_session *ss)
{
	struct wsmon_group *g;
	struct wsmon_member *m;
	struct mm_struct *mm;
	struct wsmon_share *s;
	u64 now = ktime_get_ns();

	if (ss->regroup) {
		wsmon_group_leave(ss);
		wsmon_group_free(ss);
		ss->regroup = false;
	}
	if (ss->group ||
	    (!ss->cgroup && (!ss->mon->attrs.follow || READ_ONCE(ss->nr_members) < 2)))
		return;
	g = group_alloc(ss);
	if (!g)
		return;
	ss->group = g;
	wsmon_members_left(ss, NULL);
	wsmon_session_share(ss, &ss->mon->attrs, ss->pace.share);
	list_for_each_entry(m, &ss->members, node) {
		s = wsmon_group_get_share(ss, m, &mm, now);
		if (!s)
			continue;
		wsmon_share_read(ss, s, mm, now);
		/* in the first interval nobody knows who gives memory back */
		s->balance.suspect = true;
		wsmon_share_count(ss, s, mm);
		mmdrop(mm);
		cond_resched();
	}
	if (!wsmon_group_build_space(g))
		wsmon_group_adopt_space(ss, now, 0);
	wsmon_group_draw(ss);
	wsmon_group_arm(ss);
}

/* Members that end */

/* Have samples at once in what the space does not have yet. */
static void group_extend(struct wsmon_session *ss, u64 now)
{
	struct wsmon_group *g = ss->group;
	u32 i;

	if (!g->lacks || wsmon_group_build_space(g))
		return;
	wsmon_group_adopt_space(ss, now, g->interval_ns);
	wsmon_group_draw(ss);
	for (i = 0; i < g->regions.nr; i++) {
		struct wsmon_region *r = &g->regions.r[i];

		wsmon_loop_resched(i);
		/* bits in new memory are not cleared: they were set in this interval */
		if (!r->armed_ns && r->origin_ns)
			r->armed_ns = g->interval_ns;
		r->last = 0;
	}
}

/* Add the private memory that the group does not know yet: @before has what it knows. */
static void share_add_past(struct wsmon_session *ss, struct wsmon_share *s,
			   struct mm_struct *mm)
{
	static const struct wsmon_regions none;
	DECLARE_BITMAP(seen, WSMON_FRESH_MAX) = { };
	struct wsmon_group *g = ss->group;
	struct wsmon_past *p = &g->past[g->at];
	struct wsmon_wss wss[WSMON_NR_WSS];
	struct wsmon_fresh *f = &ss->fresh;
	u32 c;

	wsmon_fresh_draw(f, &s->own, &g->before, wsmon_hash64(s->salt), PAST_DRAWS);
	if (!f->nr)
		return;
	wsmon_visit_fresh(ss, s, mm, f, seen, true);
	wsmon_wss_estimate(&none, &g->before, f, 0, wss);
	for (c = 0; c < WSMON_NR_WSS; c++)
		wsmon_totals_join(&p->wss[c], &wss[c]);
}

/* Look at a program for the last time. */
static void share_last_look(struct wsmon_session *ss, struct wsmon_share *s,
			    struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;

	if (wsmon_share_read(ss, s, mm, now)) {
		g->missed++;
		s->blind = true;
		return;
	}
	/* its threads are gone, and what they faulted; before this interval it may not have been */
	s->minors = U64_MAX;
	s->balance.begun = true;
	wsmon_share_count(ss, s, mm);
	if (!s->known)
		wsmon_space_clear(&g->before);
	share_add_past(ss, s, mm);
	/* what others may map, too, is added to the space, the private memory is not */
	swap(s->own, g->before);
	group_extend(ss, now);
	if (!wsmon_visit_plan(g, s))
		wsmon_visit_check(ss, s, mm, true, now);
}

/* Nothing is known of what a program accessed. */
static void past_add_unknown(struct wsmon_past *p, const struct wsmon_member *m)
{
	/* two threads may note them at once */
	u64 inherited = m->rss - min(m->rss, m->made_rss);

	p->unknown += m->made_rss;
	p->inherited += inherited;
	p->inherited_max = max(p->inherited_max, inherited);
}

/* A program ends: @mm was kept since it began, or is NULL. */
static void group_end_program(struct wsmon_session *ss, struct wsmon_member *m,
			      struct mm_struct *mm, u64 now)
{
	struct wsmon_group *g = ss->group;
	struct wsmon_share *s = m->share;

	/* others have its memory */
	if (!s && mm && share_find(g, mm))
		return;
	/* if no CPU time is left, it is not known what it used */
	if (!wsmon_pace_may_look(&ss->pace, ss->looks_ns + ktime_get_ns() - now) ||
	    ktime_get_ns() - now > wsmon_sample_ns(ss))
		mm = NULL;
	if (!mm) {
		g->missed++;
		if (s)
			s->blind = true;
		else
			past_add_unknown(&g->past[g->at], m);
	}
	/* it executed another program that nobody has noticed */
	if (s && mm && (s->mm != mm || s->exec_id != m->exec_id)) {
		g->missed++;
		s->blind = true;
		share_end(g, s, now);
		s = NULL;
	}
	if (!s && mm && !share_find(g, mm))
		s = share_create(g, m, mm, m->exec_id, m->born_ns);
	if (s && mm)
		share_last_look(ss, s, mm, now);
	if (s)
		share_end(g, s, now);
}

/**
 * wsmon_group_exit - a member has ended
 * @ss:	the session
 * @m:	the member, which is removed next
 * @now:	the time
 */
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m, u64 now)
{
	wsmon_group_begin(ss);
	if (!ss->group)
		return;
	ss->group->went++;
	/* it has only left the cgroup: all was looked at when the interval ended */
	if (wsmon_pid_alive(m->pid)) {
		if (m->share) {
			share_drop(ss, m->share);
			share_end(ss->group, m->share, now);
		}
		return;
	}
	group_end_program(ss, m, wsmon_member_look(m), now);
}
