// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_map.c - the memory of a group's members, and the space that has each page once
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "wsmon_group.h"

/* These allocations may fail: the next interval tries again */
#define MAP_GFP	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/* Max. extents of a group; further extents are not sampled */
#define EXTENTS_MAX	(256U * 1024)

/* Max. ended members that a group remembers */
#define ENDED_MAX	16384U
/* Max. visits and extents of these: they use memory although the processes are gone */
#define ENDED_ROOM	BIT(19)

/* Objects that no member maps stay this long, so that the next short-lived process finds them */
#define LINGER_NS	(10 * NSEC_PER_SEC)

/* Tag of objects in the array of slots */
#define TAG_OBJECT	1

static int slot_alloc(struct wsmon_group *g, void *entry, u32 *slot)
{
	int ret = xa_alloc_cyclic(&g->slots, slot, entry, XA_LIMIT(1, WSMON_SLOTS_MAX),
				  &g->next_slot, MAP_GFP);

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

	/* leave the other half of the slots to members */
	if (g->nr_objects >= WSMON_SLOTS_MAX / 2)
		return NULL;
	o = kzalloc(sizeof(*o), MAP_GFP);
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

/* Detach the parts of a map from their objects. */
static void parts_put(struct wsmon_group *g, struct wsmon_parts *parts)
{
	u32 i;

	for (i = 0; i < parts->nr; i++) {
		struct wsmon_object *o = parts->p[i].object;

		wsmon_loop_resched(i);
		if (!o)
			continue;
		rb_erase(&parts->p[i].node, &o->parts);
		o->mappers--;
		/* anonymous memory of only one member leaves the space */
		g->changed |= o->known && !wsmon_object_counts(o);
		/* an unrelated process may get an anon_vma at the same address at any time */
		if (!o->mappers && o->kind == WSMON_PART_FAMILY)
			object_free(g, o);
	}
	parts->nr = 0;
}

static bool part_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct wsmon_part, node)->map->rank <
	       rb_entry(b, struct wsmon_part, node)->map->rank;
}

/*
 * Attach the parts of a map to their objects. Objects link to the parts, so the array must not
 * move afterwards. A part is not sampled if there is no memory for its object.
 */
static void parts_get(struct wsmon_group *g, struct wsmon_map *s, struct wsmon_parts *parts,
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
		p->map = s;
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

static struct hlist_head *map_bucket(struct wsmon_group *g, const struct mm_struct *mm)
{
	return &g->by_mm[hash_ptr(mm, WSMON_GROUP_BITS)];
}

/*
 * Tell whether the member of a map still uses the mm. If not, another process may have an mm at
 * the same address.
 */
static bool map_present(const struct wsmon_map *s)
{
	struct mm_struct *mm;
	u64 exec_id = 0;

	mm = wsmon_member_mm(s->member, &exec_id);
	if (mm)
		mmdrop(mm);
	return mm == s->mm && exec_id == s->exec_id;
}

/**
 * wsmon_map_find - find the map with an mm that a member uses now
 * @g:	the group
 * @mm:	the mm, with a reference
 *
 * Return: the map, or NULL.
 */
struct wsmon_map *wsmon_map_find(struct wsmon_group *g, const struct mm_struct *mm)
{
	struct wsmon_map *s;

	hlist_for_each_entry(s, map_bucket(g, mm), hash) {
		if (s->mm == mm && s->member && map_present(s))
			return s;
	}
	return NULL;
}

/**
 * wsmon_map_create - create a map for the memory of a member
 * @g:		the group
 * @m:		the member
 * @mm:		its mm
 * @exec_id:	distinguishes @mm from earlier mms at its address
 * @since:	its Accessed bits were set after this time
 *
 * Return: the map, its mappings not read yet; NULL if there is no memory, or no slot.
 */
struct wsmon_map *wsmon_map_create(struct wsmon_group *g, struct wsmon_member *m,
				   struct mm_struct *mm, u64 exec_id, u64 since)
{
	struct wsmon_map *s = kzalloc(sizeof(*s), MAP_GFP);
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
	/* take the present fault counts as the base */
	wsmon_member_slept(m, mm, &ran, &s->majors, &s->minors);
	m->map = s;
	list_add_tail(&s->node, &g->maps);
	hlist_add_head(&s->hash, map_bucket(g, mm));
	return s;
}

/* Keep only visits that saw an access: the others no longer matter, as the member has ended. */
static void map_keep_seen(struct wsmon_map *s)
{
	u32 i, nr = 0;

	for (i = 0; i < s->nr_visits; i++) {
		if (s->visits[i].seen_ns)
			s->visits[nr++] = s->visits[i];
	}
	s->nr_visits = nr;
	if (nr && !wsmon_array_resize((void **)&s->visits, nr, nr, sizeof(*s->visits)))
		return;
	s->cap_visits = nr;
	if (!nr) {
		kvfree(s->visits);
		s->visits = NULL;
	}
}

static u32 map_room(const struct wsmon_map *s)
{
	return s->own.cap + s->cap_visits;
}

/** wsmon_map_free - forget a map */
void wsmon_map_free(struct wsmon_group *g, struct wsmon_map *s)
{
	if (s->member)
		s->member->map = NULL;
	g->changed |= s->known;
	if (s->ended) {
		g->nr_ended--;
		g->ended_room -= map_room(s);
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
 * wsmon_map_end - detach a map from a member that ended, or executed another program
 * @g:		the group
 * @s:		the map: freed if it has nothing that counts, or if there are too many; else
 *		kept until the windows have passed
 * @now:	the time
 */
void wsmon_map_end(struct wsmon_group *g, struct wsmon_map *s, u64 now)
{
	struct wsmon_member *m = s->member;

	m->map = NULL;
	s->member = NULL;
	s->ended_ns = now;
	parts_put(g, &s->parts);
	kvfree(s->parts.p);
	memset(&s->parts, 0, sizeof(s->parts));
	if (!s->blind)
		map_keep_seen(s);
	if (!s->known && !s->nr_visits) {
		wsmon_map_free(g, s);
	} else if (g->nr_ended >= ENDED_MAX || g->ended_room + map_room(s) > ENDED_ROOM) {
		g->missed++;
		g->past[g->at].unknown += m->made_rss;
		wsmon_map_free(g, s);
	} else {
		g->nr_ended++;
		g->ended_room += map_room(s);
		s->ended = true;
	}
}

/* Copy an array of @nr elements; @nr may be 0. Return: false if there is no memory. */
static bool array_copy(void **to, const void *from, u32 nr, size_t size)
{
	if (!nr)
		return true;
	*to = kvmalloc_array(nr, size, MAP_GFP);
	if (*to)
		memcpy(*to, from, nr * size);
	return *to;
}

/**
 * wsmon_map_read - read the mappings of a map
 * @ss:		the session
 * @s:		the map
 * @mm:		its mm, with a reference on mm_count
 * @now:	the time
 *
 * Afterwards @before of the group has the private memory as it was before this reading.
 * Return: 0, or an error of wsmon_vaddr_read_parts(), with nothing changed.
 */
int wsmon_map_read(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
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
	/* scratch memory has room for the largest member: copy only the part that is in use */
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
	/* attach the new parts before the old ones go, so that objects of both are not freed */
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
 * wsmon_group_owner - find the map whose private memory has a page
 * @g:		the group
 * @page:	the page, in the group's space
 *
 * Return: the map, or NULL if the page belongs to an object, or to no slot.
 */
struct wsmon_map *wsmon_group_owner(struct wsmon_group *g, u64 page)
{
	void *entry = xa_load(&g->slots, wsmon_page_slot(page));

	return entry && xa_pointer_tag(entry) != TAG_OBJECT ? entry : NULL;
}

/**
 * wsmon_group_forget - free maps of members that ended, and objects that no member maps
 * @g:		the group
 * @before:	free maps that ended before this time, and objects that were last read LINGER_NS
 *		before it
 */
void wsmon_group_forget(struct wsmon_group *g, u64 before)
{
	struct wsmon_object *o, *next_object;
	struct wsmon_map *s, *next;
	u64 linger = before - min_t(u64, before, LINGER_NS);

	list_for_each_entry_safe(s, next, &g->maps, node) {
		if (!s->member && s->ended_ns < before)
			wsmon_map_free(g, s);
		cond_resched();
	}
	list_for_each_entry_safe(o, next_object, &g->objects, node) {
		cond_resched();
		if (o->mappers || o->used_ns >= linger)
			continue;
		g->changed |= o->known;
		object_free(g, o);
	}
}

static u32 group_count_extents(struct wsmon_group *g)
{
	struct wsmon_object *o;
	struct wsmon_map *s;
	u64 nr = 0;

	list_for_each_entry(o, &g->objects, node) {
		nr += wsmon_object_counts(o);
		cond_resched();
	}
	list_for_each_entry(s, &g->maps, node) {
		nr += s->own.nr_ext;
		cond_resched();
	}
	return min_t(u64, nr, EXTENTS_MAX);
}

static int group_room(struct wsmon_space *sp, u32 nr)
{
	if (nr <= sp->cap)
		return 0;
	wsmon_space_free(sp);
	nr += nr / 2;
	sp->ext = kvmalloc_array(nr, sizeof(*sp->ext), MAP_GFP);
	sp->area = kvmalloc_array(nr, sizeof(*sp->area), MAP_GFP);
	if (!sp->ext || !sp->area) {
		wsmon_space_free(sp);
		return -ENOMEM;
	}
	sp->cap = nr;
	return 0;
}

/*
 * Maximum size of an object: 64 TiB. A larger one, such as a file with a page at 0 and one at its
 * end, is not sampled: it would take the room of the memory of all others.
 */
#define OBJECT_PAGES_MAX	(WSMON_SLOT_PAGES / 64)

static void space_push(struct wsmon_group *g, u32 slot, u64 start, u64 end, u32 class)
{
	struct wsmon_space *sp = &g->next;
	struct wsmon_extent *e = &sp->ext[sp->nr_ext];

	/*
	 * A sum of pages must not exceed WSMON_SLOT_PAGES, 2^40. With five levels of page tables,
	 * page numbers reach 2^45: memory beyond a slot is not sampled.
	 */
	if (sp->nr_ext == sp->cap || end > WSMON_SLOT_PAGES ||
	    wsmon_space_pages(sp) + end - start > WSMON_SLOT_PAGES) {
		g->refused = true;
		return;
	}
	e->base = wsmon_space_pages(sp);
	e->start = wsmon_slot_page(slot) + start;
	e->end = wsmon_slot_page(slot) + end;
	e->class = class;
	e->joined = false;
	sp->nr_ext++;
}

/**
 * wsmon_group_build_space - build @g->next from the memory that members map now
 * @g:	the group
 *
 * Private memory of maps that ended stays in it. O(extents).
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
	g->refused = false;
	err = group_room(sp, group_count_extents(g));
	if (err)
		return err;
	xa_for_each(&g->slots, slot, entry) {
		if (xa_pointer_tag(entry) == TAG_OBJECT) {
			struct wsmon_object *o = xa_untag_pointer(entry);

			o->known = wsmon_object_counts(o);
			if (o->known && o->end - o->start > OBJECT_PAGES_MAX)
				g->refused = true;
			else if (o->known)
				space_push(g, slot, o->start, o->end, o->class);
		} else {
			struct wsmon_map *s = entry;

			s->known = s->read;
			for (i = 0; i < s->own.nr_ext; i++)
				space_push(g, slot, s->own.ext[i].start, s->own.ext[i].end,
					   s->own.ext[i].class);
		}
		cond_resched();
	}
	wsmon_space_group(sp, max(g->regions.budget / 2, 1U));
	g->changed = false;
	g->lacks = false;
	return 0;
}
