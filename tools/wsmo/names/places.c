// SPDX-License-Identifier: GPL-2.0
/* places.c - mappings at addresses, kept with their names */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/cli.h"
#include "places.h"

#define PLACES_MAX	32768
#define PLACES_BYTES	(16 << 20)	/* bytes of all paths */

struct places {
	const struct wsmon_reader *reader;
	struct mappings *mappings;
	struct symbols *symbols;
	struct place *place;
	__u32 nr;
	__u32 room;
	size_t bytes;
	__u64 seed;
	/* hash table with open addressing: numbers of places; 0: free */
	__u32 table[2 * PLACES_MAX];
};

struct places *places_new(struct wsmon_reader *reader)
{
	struct places *ps = need(calloc(1, sizeof(*ps)));

	ps->reader = reader;
	if (!reader->areas)
		reader->areas = need(areas_new());
	ps->mappings = need(mappings_new());
	ps->symbols = symbols_new();
	ps->place = need(calloc(1, sizeof(*ps->place)));
	if (getrandom(&ps->seed, sizeof(ps->seed), 0) != sizeof(ps->seed)) {
		places_free(ps);
		return NULL;
	}
	ps->place[0].path = (char *)(uintptr_t)"";
	ps->nr = ps->room = 1;
	return ps;
}

void places_record(struct places *ps, const struct wsmon_record *rec)
{
	mappings_add(ps->mappings, rec);
}

static bool same_module(const struct place *a, const struct place *b)
{
	if (a->has_module != b->has_module)
		return false;
	return !a->has_module ||
	       (a->module.base == b->module.base &&
		a->module.inode == b->module.inode &&
		!strcmp(a->module.path, b->module.path) &&
		!memcmp(a->build_id, b->build_id, sizeof(a->build_id)));
}

static bool same(const struct place *a, const struct place *b)
{
	return a->start == b->start && a->offset == b->offset &&
	       a->tid == b->tid && !strcmp(a->path, b->path) && same_module(a, b);
}

static __u64 mix(__u64 hash, __u64 with)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ with) * (hash | 1);

	return product ^ product >> 64;
}

/* A recording may be hostile; with the random @seed it cannot contain places of one hash */
static __u32 hash_of(const struct place *p, __u64 seed)
{
	__u64 hash = mix(mix(mix(seed, p->start), p->offset), p->tid);
	const char *c;

	for (c = p->path; *c; c++)
		hash = mix(hash, (unsigned char)*c);
	return hash;
}

static bool make_room(struct places *ps, size_t bytes)
{
	__u32 room = 2 * ps->room;
	struct place *more;

	if (ps->nr == PLACES_MAX || ps->bytes + bytes > PLACES_BYTES)
		return false;
	ps->bytes += bytes;
	if (ps->nr < ps->room)
		return true;
	more = reallocarray(ps->place, room, sizeof(*more));
	if (!more)
		return false;
	ps->place = more;
	ps->room = room;
	return true;
}

static __u32 add(struct places *ps, const struct place *p)
{
	const char *path = p->has_module ? p->module.path : "";
	size_t bytes = strlen(p->path) + strlen(path) + 2;
	struct place *new;

	if (!make_room(ps, bytes))
		return 0;
	new = &ps->place[ps->nr];
	*new = *p;
	new->path = need(strdup(p->path));
	new->module.path = need(strdup(path));
	return ps->nr++;
}

static __u32 intern(struct places *ps, const struct place *p)
{
	__u32 i = hash_of(p, ps->seed) % ARRAY_SIZE(ps->table);

	while (ps->table[i]) {
		if (same(&ps->place[ps->table[i]], p))
			return ps->table[i];
		i = (i + 1) % ARRAY_SIZE(ps->table);
	}
	ps->table[i] = add(ps, p);
	return ps->table[i];
}

/* If the module saw anonymous memory, a recorded mapping of a file is out of date */
static bool fits(const struct mapping *m, __u32 class)
{
	if (class != WSMON_CLASS_HEAP && class != WSMON_CLASS_STACK &&
	    class != WSMON_CLASS_ANON)
		return true;
	return !m->inode;
}

__u32 places_at(struct places *ps, __u32 pid, const struct wsmon_region_entry *e)
{
	const struct mapping *m = mappings_find(ps->mappings, pid, e->start);
	struct place p = { 0 };

	if (!m || !fits(m, e->class)) {
		/* mappings were not recorded, or were too many: use the path of the area */
		p.path = (char *)(uintptr_t)wsmon_area_path(ps->reader, pid, e->area);
		return *p.path ? intern(ps, &p) : 0;
	}
	p.path = m->path;
	p.start = m->start;
	p.offset = m->offset;
	p.tid = m->tid;
	p.has_module = mappings_module(ps->mappings, pid, e->start, &p.module);
	if (p.has_module)
		memcpy(p.build_id, p.module.build_id, sizeof(p.build_id));
	return intern(ps, &p);
}

const struct place *places_get(const struct places *ps, __u32 number)
{
	struct place *p = &ps->place[number];

	/* reallocarray() may have moved @p since the place was added */
	p->module.build_id = p->build_id;
	return p;
}

static __u64 overlap(const struct symbol *s, __u64 start, __u64 end)
{
	__u64 from = s->start > start ? s->start : start;
	__u64 to = s->start + s->size < end ? s->start + s->size : end;

	return to > from ? to - from : 0;
}

size_t places_cover(struct places *ps, const struct place *p, __u64 start,
		    __u64 end, struct cover *c, size_t *more)
{
	struct symbol s;
	size_t nr = 0;
	__u64 at;

	*more = 0;
	if (!p->has_module)
		return 0;
	for (at = start; at < end && symbols_next(ps->symbols, &p->module, at, &s) &&
	     s.start < end; at = s.start + s.size) {
		struct cover new = { .symbol = s, .bytes = overlap(&s, start, end) };
		size_t i;

		if (nr < PLACES_SYMBOLS)
			nr++;
		else
			++*more;
		if (nr == PLACES_SYMBOLS && *more && c[nr - 1].bytes >= new.bytes)
			continue;
		for (i = nr - 1; i && c[i - 1].bytes < new.bytes; i--)
			c[i] = c[i - 1];
		c[i] = new;
	}
	return nr;
}

const char *places_line(struct places *ps, const struct place *p, __u64 addr,
			int *line)
{
	return p->has_module ? symbols_line(ps->symbols, &p->module, addr, line) :
			       NULL;
}

void places_free(struct places *ps)
{
	__u32 i;

	if (!ps)
		return;
	for (i = 1; i < ps->nr; i++) {
		free(ps->place[i].path);
		free((char *)(uintptr_t)ps->place[i].module.path);
	}
	free(ps->place);
	mappings_free(ps->mappings);
	if (ps->symbols)
		symbols_free(ps->symbols);
	free(ps);
}
