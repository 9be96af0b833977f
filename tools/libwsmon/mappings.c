// SPDX-License-Identifier: GPL-2.0
/* mappings.c - memory that targets map: names of areas, mappings, and ranges mapped at any time */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mappings.h"
#include "sorted.h"
#include "util.h"

#define TARGETS_MAX		4096
#define AREAS_INDEX		65536		/* areas of a target */
#define AREAS_BYTES		(16 << 20)	/* all names and their arrays */
#define MAPPINGS_BYTES		(32 << 20)	/* all mappings with their paths */
#define RANGES_MAX		8192		/* of a target */

/* Mappings of a file are near each other: look at most this many back for the file's first one */
#define MODULE_SPREAD		64

/* Maximum number of mappings in a block: inserting a mapping moves at most these */
#define BLOCK			64

/**
 * struct target_areas - the names of a target's areas
 * @pid:	the target
 * @nr:		number of entries allocated at @paths
 * @paths:	names by index of the area; NULL without a name
 */
struct target_areas {
	__u32 pid;
	__u32 nr;
	char **paths;
};

struct areas {
	struct sorted targets;
	size_t bytes;
};

struct areas *areas_new(void)
{
	struct areas *as = calloc(1, sizeof(*as));

	if (as)
		as->targets = SORTED(struct target_areas, TARGETS_MAX, order_u32);
	return as;
}

static void forget_path(struct areas *as, char **path)
{
	if (*path)
		as->bytes -= strlen(*path) + 1;
	free(*path);
	*path = NULL;
}

static void clear_areas(struct areas *as, struct target_areas *t)
{
	__u32 i;

	for (i = 0; i < t->nr; i++)
		forget_path(as, &t->paths[i]);
	free(t->paths);
	as->bytes -= t->nr * sizeof(*t->paths);
	t->paths = NULL;
	t->nr = 0;
}

/* Makes room for @index by doubling, because a file's total of areas cannot be trusted */
static int areas_room(struct areas *as, struct target_areas *t, __u32 index)
{
	__u32 nr = t->nr ? t->nr : 16;
	size_t more;
	char **paths;

	if (index < t->nr)
		return 0;
	if (index >= AREAS_INDEX)
		return -1;
	while (nr <= index)
		nr *= 2;
	more = (nr - t->nr) * sizeof(*paths);
	if (as->bytes + more > AREAS_BYTES)
		return -1;
	paths = reallocarray(t->paths, nr, sizeof(*paths));
	if (!paths)
		return -1;
	memset(paths + t->nr, 0, more);
	as->bytes += more;
	t->paths = paths;
	t->nr = nr;
	return 0;
}

void areas_add(struct areas *as, const struct wsmon_rec_area *rec)
{
	const struct target_areas key = { .pid = rec->pid };
	struct target_areas *t = sorted_get(&as->targets, &key);
	size_t room = rec->rec.size - sizeof(*rec);
	size_t len = room ? strlen(rec->path) + 1 : 0;

	if (!t)
		return;
	if (!rec->index)
		clear_areas(as, t);
	if (areas_room(as, t, rec->index))
		return;
	forget_path(as, &t->paths[rec->index]);
	if (len <= 1 || as->bytes + len > AREAS_BYTES)
		return;
	t->paths[rec->index] = strdup(rec->path);
	if (t->paths[rec->index])
		as->bytes += len;
}

const char *areas_path(const struct areas *as, __u32 pid, __u32 index)
{
	const struct target_areas key = { .pid = pid };
	const struct target_areas *t = sorted_find(&as->targets, &key);

	if (!t || index >= t->nr || !t->paths[index])
		return "";
	return t->paths[index];
}

void areas_free(struct areas *as)
{
	size_t i;

	if (!as)
		return;
	for (i = 0; i < as->targets.nr; i++)
		clear_areas(as, (struct target_areas *)as->targets.base + i);
	free(as->targets.base);
	free(as);
}

struct chunk {
	size_t nr;
	struct mapping m[BLOCK];
};

/**
 * struct target_mappings - the mappings of a target, by address
 * @pid:	the target
 * @block:	blocks of mappings, none of them empty
 * @nr:		number of blocks
 * @room:	number of entries allocated at @block
 */
struct target_mappings {
	__u32 pid;
	struct chunk **block;
	size_t nr;
	size_t room;
};

/** struct spot - the place of mapping @i of block @b; the end is mapping 0 of block @nr */
struct spot {
	size_t b, i;
};

struct mappings {
	struct sorted targets;
	size_t bytes;
};

struct mappings *mappings_new(void)
{
	struct mappings *ms = calloc(1, sizeof(*ms));

	if (ms)
		ms->targets = SORTED(struct target_mappings, TARGETS_MAX, order_u32);
	return ms;
}

static struct mapping *get(const struct target_mappings *t, struct spot p)
{
	return p.b < t->nr ? &t->block[p.b]->m[p.i] : NULL;
}

static struct spot next(const struct target_mappings *t, struct spot p)
{
	return p.i + 1 < t->block[p.b]->nr ? (struct spot){ p.b, p.i + 1 } :
					     (struct spot){ p.b + 1, 0 };
}

/* Steps back to the mapping before @p. Return: that mapping; NULL at the first one */
static struct mapping *before(const struct target_mappings *t, struct spot *p)
{
	if (!p->i && !p->b)
		return NULL;
	if (!p->i)
		p->i = t->block[--p->b]->nr;
	p->i--;
	return get(t, *p);
}

static void remove_block(struct mappings *ms, struct target_mappings *t, size_t b)
{
	free(t->block[b]);
	ms->bytes -= sizeof(struct chunk);
	t->nr--;
	memmove(t->block + b, t->block + b + 1, (t->nr - b) * sizeof(*t->block));
}

/* Removes a mapping. Return: the place of the next mapping */
static struct spot remove_at(struct mappings *ms, struct target_mappings *t, struct spot p)
{
	struct chunk *b = t->block[p.b];

	ms->bytes -= strlen(b->m[p.i].path) + 1;
	free(b->m[p.i].path);
	b->nr--;
	memmove(b->m + p.i, b->m + p.i + 1, (b->nr - p.i) * sizeof(*b->m));
	if (p.i < b->nr)
		return p;
	if (b->nr)
		return (struct spot){ p.b + 1, 0 };
	remove_block(ms, t, p.b);
	return p;
}

static void clear_mappings(struct mappings *ms, struct target_mappings *t)
{
	while (t->nr)
		remove_at(ms, t, (struct spot){ t->nr - 1, t->block[t->nr - 1]->nr - 1 });
	free(t->block);
	ms->bytes -= t->room * sizeof(*t->block);
	t->block = NULL;
	t->room = 0;
}

/* Inserts an empty block before block @b. Return: the block; NULL without room */
static struct chunk *add_block(struct mappings *ms, struct target_mappings *t, size_t b)
{
	size_t room = t->nr < t->room ? t->room : t->room ? 2 * t->room : 8;
	size_t more = (room - t->room) * sizeof(*t->block) + sizeof(struct chunk);
	struct chunk **block = t->block, *new;

	if (ms->bytes + more > MAPPINGS_BYTES)
		return NULL;
	if (room > t->room) {
		block = reallocarray(block, room, sizeof(*block));
		if (!block)
			return NULL;
		ms->bytes += (room - t->room) * sizeof(*block);
		t->block = block;
		t->room = room;
	}
	new = malloc(sizeof(*new));
	if (!new)
		return NULL;
	ms->bytes += sizeof(*new);
	new->nr = 0;
	memmove(block + b + 1, block + b, (t->nr - b) * sizeof(*block));
	t->nr++;
	return block[b] = new;
}

/*
 * Makes room for a mapping before the mapping at @p. @p: gets the place of the new mapping.
 * Return: false without room
 */
static bool mappings_room(struct mappings *ms, struct target_mappings *t, struct spot *p)
{
	struct chunk *b, *new;

	/* prefer the end of a block to the start of the next block, which may not exist */
	if (!p->i && p->b && (p->b == t->nr || t->block[p->b - 1]->nr < BLOCK))
		p->i = t->block[--p->b]->nr;
	if (p->b < t->nr && t->block[p->b]->nr < BLOCK)
		return true;
	/* at the border of a full block, add a block: so mappings that come in order fill theirs */
	if (p->b == t->nr || !p->i || p->i == BLOCK) {
		*p = (struct spot){ p->b + (p->i > 0), 0 };
		return add_block(ms, t, p->b);
	}
	new = add_block(ms, t, p->b + 1);
	if (!new)
		return false;
	b = t->block[p->b];
	new->nr = BLOCK / 2;
	b->nr = BLOCK - new->nr;
	memcpy(new->m, b->m + b->nr, new->nr * sizeof(*new->m));
	if (p->i > b->nr)
		*p = (struct spot){ p->b + 1, p->i - b->nr };
	return true;
}

/* Inserts a copy of @new before the mapping at @p, or leaves it out without room */
static void insert_at(struct mappings *ms, struct target_mappings *t, struct spot p,
		      const struct mapping *new)
{
	size_t len = strlen(new->path) + 1;
	char *path = ms->bytes + len > MAPPINGS_BYTES ? NULL : strdup(new->path);
	struct chunk *b;

	if (!path || !mappings_room(ms, t, &p)) {
		free(path);
		return;
	}
	ms->bytes += len;
	b = t->block[p.b];
	memmove(b->m + p.i + 1, b->m + p.i, (b->nr - p.i) * sizeof(*b->m));
	b->m[p.i] = *new;
	b->m[p.i].path = path;
	b->nr++;
}

/* Return: the place of the first mapping that ends after @addr */
static struct spot locate(const struct target_mappings *t, __u64 addr)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct chunk *b = t->block[mid];

		if (b->m[b->nr - 1].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return (struct spot){ low, low == t->nr ? 0 :
		sorted_above(&t->block[low]->m->end, t->block[low]->nr, sizeof(struct mapping),
			     addr) };
}

static void cut_front(struct mapping *m, __u64 to)
{
	if (m->inode)
		m->offset += to - m->start;
	m->start = to;
}

/* Unmaps a range. Return: the place to insert a new mapping there */
static struct spot make_hole(struct mappings *ms, struct target_mappings *t,
			      __u64 start, __u64 end)
{
	struct spot p = locate(t, start);
	struct mapping *m = get(t, p);

	if (m && m->start < start) {
		struct mapping rest = *m;

		m->end = start;
		p = next(t, p);
		if (rest.end > end) {
			cut_front(&rest, end);
			insert_at(ms, t, p, &rest);
			return locate(t, start);
		}
	}
	while ((m = get(t, p)) && m->end <= end)
		p = remove_at(ms, t, p);
	if (m && m->start < end)
		cut_front(m, end);
	return p;
}

static void add_mapping(struct mappings *ms, const struct wsmon_rec_mapping *rec)
{
	const struct target_mappings key = { .pid = rec->pid };
	struct target_mappings *t = sorted_get(&ms->targets, &key);
	struct mapping m = {
		.start = rec->start,
		.end = rec->end,
		.offset = rec->offset,
		.inode = rec->inode,
		.prot = rec->prot,
		.tid = rec->tid,
		.build_id_len = rec->build_id_len,
		.path = (char *)(uintptr_t)rec->path,
	};

	if (!t)
		return;
	memcpy(m.build_id, rec->build_id, sizeof(m.build_id));
	insert_at(ms, t, make_hole(ms, t, m.start, m.end), &m);
}

void mappings_add(struct mappings *ms, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	struct target_mappings *t, key;

	if (rec->type == WSMON_REC_MAPPING)
		add_mapping(ms, (const void *)rec);
	if (rec->type != WSMON_REC_TARGET ||
	    (target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		return;
	key.pid = target->pid;
	t = sorted_find(&ms->targets, &key);
	if (t)
		clear_mappings(ms, t);
}

static const struct target_mappings *find_target(const struct mappings *ms,
						 __u32 pid)
{
	const struct target_mappings key = { .pid = pid };

	return sorted_find(&ms->targets, &key);
}

static struct mapping *find(const struct target_mappings *t, __u64 addr, struct spot *p)
{
	struct mapping *m;

	if (!t)
		return NULL;
	*p = locate(t, addr);
	m = get(t, *p);
	return m && m->start <= addr ? m : NULL;
}

const struct mapping *mappings_find(const struct mappings *ms, __u32 pid,
				    __u64 addr)
{
	struct spot p;

	return find(find_target(ms, pid), addr, &p);
}

static bool is_file(const struct mapping *m)
{
	return m->inode && m->path[0] == '/';
}

/* A .bss is anonymous memory after a mapping of its file; without ASLR, maybe joined to the heap */
static bool may_be_bss(const struct mapping *m)
{
	return !m->inode && (!m->path[0] || !strcmp(m->path, "[heap]"));
}

bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module)
{
	const struct target_mappings *t = find_target(ms, pid);
	struct spot p, q;
	const struct mapping *m = find(t, addr, &p), *first;
	size_t spread;

	if (!m)
		return false;
	q = p;
	first = may_be_bss(m) ? before(t, &q) : NULL;
	if (first && first->end == m->start) {
		m = first;
		p = q;
	}
	if (!is_file(m))
		return false;
	for (first = m, spread = 0; first->offset || first->inode != m->inode ||
	     strcmp(first->path, m->path); spread++) {
		first = before(t, &p);
		if (!first || spread == MODULE_SPREAD)
			return false;
	}
	*module = (struct module) {
		.path = m->path,
		.inode = m->inode,
		.build_id = m->build_id,
		.build_id_len = m->build_id_len,
		.base = first->start,
		.pid = pid,
		.start = m->start,
		.end = m->end,
	};
	return true;
}

void mappings_free(struct mappings *ms)
{
	size_t i;

	if (!ms)
		return;
	for (i = 0; i < ms->targets.nr; i++)
		clear_mappings(ms, (struct target_mappings *)ms->targets.base + i);
	free(ms->targets.base);
	free(ms);
}

size_t ranges_find(const struct ranges *s, __u64 addr)
{
	return s->nr ? sorted_above(&s->range->end, s->nr, sizeof(*s->range), addr) : 0;
}

static bool same(const struct range *s, __u32 class, const char *name)
{
	return s->class == class && !strcmp(s->name, name);
}

static int ranges_room(struct ranges *s)
{
	struct range *more = s->nr < RANGES_MAX ? array_more(s->range, s->nr, sizeof(*more)) : NULL;

	if (!more)
		return -1;
	s->range = more;
	return 0;
}

/*
 * Extends an adjacent range of the same class and name by @new, which is in the gap before range
 * @i. Return: false if there is none
 */
static bool extend(struct ranges *s, size_t i, const struct range *new)
{
	struct range *below = i ? &s->range[i - 1] : NULL;
	struct range *above = i < s->nr ? &s->range[i] : NULL;

	if (below && below->end == new->start &&
	    same(below, new->class, new->name)) {
		below->end = new->end;
		return true;
	}
	if (above && new->end == above->start &&
	    same(above, new->class, new->name)) {
		above->start = new->start;
		return true;
	}
	return false;
}

/* Inserts a range before range @i, or extends an adjacent one */
static void insert_range(struct ranges *s, size_t i, const struct range *new)
{
	char *copy;

	if (extend(s, i, new))
		return;
	copy = ranges_room(s) ? NULL : strdup(new->name);
	if (!copy) {
		s->full = true;
		return;
	}
	memmove(s->range + i + 1, s->range + i, (s->nr - i) * sizeof(*new));
	s->range[i] = *new;
	s->range[i].name = copy;
	s->nr++;
}

void ranges_add(struct ranges *s, __u64 start, __u64 end, __u32 class,
	       const char *name)
{
	while (start < end) {
		size_t i = ranges_find(s, start);
		__u64 stop = end;

		if (i < s->nr && s->range[i].start <= start) {
			start = s->range[i].end;
			continue;
		}
		if (i < s->nr && s->range[i].start < end)
			stop = s->range[i].start;
		insert_range(s, i, &(struct range) {
			.start = start, .end = stop, .class = class,
			.name = (char *)(uintptr_t)name,
		});
		start = stop;
	}
}

void ranges_free(struct ranges *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->range[i].name);
	free(s->range);
}
