// SPDX-License-Identifier: GPL-2.0
/*
 * mappings.c - what targets have mapped, from the MAPPING records so far
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mappings.h"
#include "sorted.h"
#include "util.h"

#define MAPPINGS_TARGETS	4096
#define MAPPINGS_BYTES		(32 << 20)	/* all of them, paths included */

/* A file's mappings stand together: its first one is this near */
#define MODULE_SPREAD		64

/* Of a target, in a row: a new one moves no more than these */
#define BLOCK			64

struct block {
	size_t nr;
	struct mapping m[BLOCK];
};

/**
 * struct target_mappings - those of a target, by address
 * @pid:	the target
 * @block:	@nr of them with one mapping or more, room for @room
 */
struct target_mappings {
	__u32 pid;
	struct block **block;
	size_t nr;
	size_t room;
};

/** struct place - of a mapping: number @i of block @b; at the end of all 0 of block @nr */
struct place {
	size_t b, i;
};

struct mappings {
	struct sorted targets;
	size_t bytes;
};

static int compare(const void *a, const void *b)
{
	const struct target_mappings *x = a, *y = b;

	return COMPARE(x->pid, y->pid);
}

struct mappings *mappings_new(void)
{
	struct mappings *ms = calloc(1, sizeof(*ms));

	if (ms)
		ms->targets = (struct sorted) {
			.size = sizeof(struct target_mappings),
			.max = MAPPINGS_TARGETS,
			.compare = compare,
		};
	return ms;
}

static struct mapping *get(const struct target_mappings *t, struct place p)
{
	return p.b < t->nr ? &t->block[p.b]->m[p.i] : NULL;
}

static struct place next(const struct target_mappings *t, struct place p)
{
	return p.i + 1 < t->block[p.b]->nr ? (struct place){ p.b, p.i + 1 } :
					     (struct place){ p.b + 1, 0 };
}

/* The mapping before, NULL if there is none */
static struct mapping *before(const struct target_mappings *t, struct place *p)
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
	ms->bytes -= sizeof(struct block);
	t->nr--;
	memmove(t->block + b, t->block + b + 1, (t->nr - b) * sizeof(*t->block));
}

/* Return: where what was behind it is now */
static struct place remove_at(struct mappings *ms, struct target_mappings *t, struct place p)
{
	struct block *b = t->block[p.b];

	ms->bytes -= strlen(b->m[p.i].path) + 1;
	free(b->m[p.i].path);
	b->nr--;
	memmove(b->m + p.i, b->m + p.i + 1, (b->nr - p.i) * sizeof(*b->m));
	if (p.i < b->nr)
		return p;
	if (b->nr)
		return (struct place){ p.b + 1, 0 };
	remove_block(ms, t, p.b);
	return p;
}

static void clear(struct mappings *ms, struct target_mappings *t)
{
	while (t->nr)
		remove_at(ms, t, (struct place){ t->nr - 1, t->block[t->nr - 1]->nr - 1 });
	free(t->block);
	ms->bytes -= t->room * sizeof(*t->block);
	t->block = NULL;
	t->room = 0;
}

/* Puts an empty block before number @b; Return: it, NULL if there is no room */
static struct block *add_block(struct mappings *ms, struct target_mappings *t, size_t b)
{
	size_t room = t->nr < t->room ? t->room : t->room ? 2 * t->room : 8;
	size_t more = (room - t->room) * sizeof(*t->block) + sizeof(struct block);
	struct block **block = t->block, *new;

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

/* Where a mapping can stand before the one at @p; Return: false if there is no room */
static bool make_room(struct mappings *ms, struct target_mappings *t, struct place *p)
{
	struct block *b, *new;

	/* rather the end of one than the beginning of the next, which may be none */
	if (!p->i && p->b && (p->b == t->nr || t->block[p->b - 1]->nr < BLOCK))
		p->i = t->block[--p->b]->nr;
	if (p->b < t->nr && t->block[p->b]->nr < BLOCK)
		return true;
	/* what comes in order fills its blocks */
	if (p->b == t->nr || !p->i || p->i == BLOCK) {
		*p = (struct place){ p->b + (p->i > 0), 0 };
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
		*p = (struct place){ p->b + 1, p->i - b->nr };
	return true;
}

/* Puts a copy of @new before what is at @p */
static void insert_at(struct mappings *ms, struct target_mappings *t, struct place p,
		      const struct mapping *new)
{
	size_t len = strlen(new->path) + 1;
	char *path = ms->bytes + len > MAPPINGS_BYTES ? NULL : strdup(new->path);
	struct block *b;

	if (!path || !make_room(ms, t, &p)) {
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

/* The first that ends after @addr */
static struct place locate(const struct target_mappings *t, __u64 addr)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct block *b = t->block[mid];

		if (b->m[b->nr - 1].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return (struct place){ low, low == t->nr ? 0 :
		sorted_above(&t->block[low]->m->end, t->block[low]->nr, sizeof(struct mapping), addr) };
}

static void cut_front(struct mapping *m, __u64 to)
{
	if (m->inode)
		m->offset += to - m->start;
	m->start = to;
}

/* Removes what is in the range; Return: where a new mapping there belongs */
static struct place make_hole(struct mappings *ms, struct target_mappings *t,
			      __u64 start, __u64 end)
{
	struct place p = locate(t, start);
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

static void add(struct mappings *ms, const struct wsmon_rec_mapping *rec)
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
		add(ms, (const void *)rec);
	if (rec->type != WSMON_REC_TARGET ||
	    (target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		return;
	key.pid = target->pid;
	t = sorted_find(&ms->targets, &key);
	if (t)
		clear(ms, t);
}

static const struct target_mappings *find_target(const struct mappings *ms,
						 __u32 pid)
{
	const struct target_mappings key = { .pid = pid };

	return sorted_find(&ms->targets, &key);
}

static struct mapping *find(const struct target_mappings *t, __u64 addr, struct place *p)
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
	struct place p;

	return find(find_target(ms, pid), addr, &p);
}

static bool is_file(const struct mapping *m)
{
	return m->inode && m->path[0] == '/';
}

/* A .bss is anonymous memory after the file's; without ASLR the heap follows it */
static bool may_be_bss(const struct mapping *m)
{
	return !m->inode && (!m->path[0] || !strcmp(m->path, "[heap]"));
}

bool mappings_module(const struct mappings *ms, __u32 pid, __u64 addr,
		     struct module *module)
{
	const struct target_mappings *t = find_target(ms, pid);
	struct place p, q;
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
		clear(ms, (struct target_mappings *)ms->targets.base + i);
	free(ms->targets.base);
	free(ms);
}
