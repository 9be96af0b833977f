// SPDX-License-Identifier: GPL-2.0
/*
 * areas.c - names of areas, from the last AREA records
 */
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "sorted.h"
#include "util.h"

#define AREAS_TARGETS	4096		/* targets */
#define AREAS_INDEX	65536		/* areas of a target */
#define AREAS_BYTES	(16 << 20)	/* all names and their arrays */

struct target_areas {
	__u32 pid;
	__u32 nr;
	char **paths;
};

struct areas {
	struct sorted targets;
	size_t bytes;
};

static int compare(const void *a, const void *b)
{
	const struct target_areas *x = a, *y = b;

	return COMPARE(x->pid, y->pid);
}

struct areas *areas_new(void)
{
	struct areas *as = calloc(1, sizeof(*as));

	if (as)
		as->targets = (struct sorted) {
			.size = sizeof(struct target_areas),
			.max = AREAS_TARGETS,
			.compare = compare,
		};
	return as;
}

static void forget(struct areas *as, char **path)
{
	if (*path)
		as->bytes -= strlen(*path) + 1;
	free(*path);
	*path = NULL;
}

static void clear(struct areas *as, struct target_areas *t)
{
	__u32 i;

	for (i = 0; i < t->nr; i++)
		forget(as, &t->paths[i]);
	free(t->paths);
	as->bytes -= t->nr * sizeof(*t->paths);
	t->paths = NULL;
	t->nr = 0;
}

/* Makes room for @index by doubling: a total in a file is not trusted */
static int make_room(struct areas *as, struct target_areas *t, __u32 index)
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
		clear(as, t);
	if (make_room(as, t, rec->index))
		return;
	forget(as, &t->paths[rec->index]);
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
		clear(as, (struct target_areas *)as->targets.base + i);
	free(as->targets.base);
	free(as);
}
