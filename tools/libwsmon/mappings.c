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

struct target_mappings {
	__u32 pid;
	struct mapping *m;
	size_t nr;
	size_t room;
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

static void remove_at(struct mappings *ms, struct target_mappings *t, size_t i)
{
	ms->bytes -= strlen(t->m[i].path) + 1;
	free(t->m[i].path);
	t->nr--;
	memmove(t->m + i, t->m + i + 1, (t->nr - i) * sizeof(*t->m));
}

static void clear(struct mappings *ms, struct target_mappings *t)
{
	while (t->nr)
		remove_at(ms, t, t->nr - 1);
	free(t->m);
	ms->bytes -= t->room * sizeof(*t->m);
	t->m = NULL;
	t->room = 0;
}

static bool make_room(struct mappings *ms, struct target_mappings *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	size_t more = (room - t->room) * sizeof(*t->m);
	struct mapping *m;

	if (t->nr < t->room)
		return true;
	if (ms->bytes + more > MAPPINGS_BYTES)
		return false;
	m = reallocarray(t->m, room, sizeof(*m));
	if (!m)
		return false;
	ms->bytes += more;
	t->m = m;
	t->room = room;
	return true;
}

/* Puts a copy of @new before @i */
static void insert_at(struct mappings *ms, struct target_mappings *t, size_t i,
		      const struct mapping *new)
{
	size_t len = strlen(new->path) + 1;
	char *path;

	if (!make_room(ms, t) || ms->bytes + len > MAPPINGS_BYTES)
		return;
	path = strdup(new->path);
	if (!path)
		return;
	ms->bytes += len;
	memmove(t->m + i + 1, t->m + i, (t->nr - i) * sizeof(*t->m));
	t->m[i] = *new;
	t->m[i].path = path;
	t->nr++;
}

/* Index of the first that ends after @addr */
static size_t locate(const struct target_mappings *t, __u64 addr)
{
	return t->nr ? sorted_above(&t->m->end, t->nr, sizeof(*t->m), addr) : 0;
}

static void cut_front(struct mapping *m, __u64 to)
{
	if (m->inode)
		m->offset += to - m->start;
	m->start = to;
}

/* Removes what is in the range; Return: index for a new mapping there */
static size_t make_hole(struct mappings *ms, struct target_mappings *t,
			__u64 start, __u64 end)
{
	size_t i = locate(t, start);

	if (i < t->nr && t->m[i].start < start) {
		struct mapping rest = t->m[i];

		t->m[i].end = start;
		i++;
		if (rest.end > end) {
			cut_front(&rest, end);
			rest.path = t->m[i - 1].path;
			insert_at(ms, t, i, &rest);
			return i;
		}
	}
	while (i < t->nr && t->m[i].end <= end)
		remove_at(ms, t, i);
	if (i < t->nr && t->m[i].start < end)
		cut_front(&t->m[i], end);
	return i;
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

const struct mapping *mappings_find(const struct mappings *ms, __u32 pid,
				    __u64 addr)
{
	const struct target_mappings *t = find_target(ms, pid);
	size_t i = t ? locate(t, addr) : 0;

	return t && i < t->nr && t->m[i].start <= addr ? &t->m[i] : NULL;
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
	const struct mapping *m = mappings_find(ms, pid, addr), *first;
	size_t spread;

	if (!m)
		return false;
	if (may_be_bss(m) && m > t->m && m[-1].end == m->start)
		m--;
	if (!is_file(m))
		return false;
	for (first = m, spread = 0; first->offset || first->inode != m->inode ||
	     strcmp(first->path, m->path); first--, spread++)
		if (first == t->m || spread == MODULE_SPREAD)
			return false;
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
