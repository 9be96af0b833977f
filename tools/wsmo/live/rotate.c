// SPDX-License-Identifier: GPL-2.0
/* rotate.c - a recording in several files, instead of one file that grows */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli.h"
#include "core/units.h"
#include "libwsmon/reader.h"
#include "rotate.h"

#define MIN_TIME	NSEC_PER_SEC
#define MIN_SIZE	(64 << 10)

/**
 * struct kept - records of a target that the next file begins with
 * @pid:	the process
 * @target:	its last TARGET record
 * @areas:	AREA records of the last set, so far
 * @bytes:	size of @areas
 */
struct kept {
	__u32 pid;
	struct wsmon_rec_target target;
	char *areas;
	size_t bytes;
};

static void set_rotate(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct rotation *rot = to;
	__u64 value;

	rot->every_ns = rot->every_bytes = 0;
	if (!units_parse_time(arg, &value))
		rot->every_ns = value;
	else if (!units_parse_size(arg, &value))
		rot->every_bytes = value;
	else
		usage_error(state, "'%s' is neither a time (1h) nor a size (100M)", arg);
	if (rot->every_ns < MIN_TIME && rot->every_bytes < MIN_SIZE)
		usage_error(state, "'%s' is too small: at least 1s or 64K", arg);
}

const struct option_desc rotate_options[] = {
	/* wsmo-record(1) describes these */
	{ "rotate", 0, "TIME", NULL, OPT_CALL, .call = set_rotate },
	{ "keep", 0, "N", NULL, OPT_COUNT, OPT_AT(struct rotation, keep), 1, 1000 },
	{ "max-size", 0, "SIZE", NULL, OPT_SIZE, OPT_AT(struct rotation, max_bytes), 2 * MIN_SIZE },
	{ 0 }
};

void rotate_check(struct argp_state *state, const struct rotation *rot)
{
	if (rot->keep && !rotates(rot))
		usage_error(state, "--keep needs --rotate");
	/* leave room for an old file */
	if (rot->every_bytes > rot->max_bytes / 3 && rot->max_bytes)
		usage_error(state, "--max-size must be at least three times the size of --rotate");
}

static struct kept *find(struct rotation *rot, __u32 pid)
{
	const struct kept key = { .pid = pid };

	if (!rot->targets.size)
		rot->targets = SORTED(key, 65536, order_u32);
	return sorted_get(&rot->targets, &key);
}

static void keep_area(struct kept *k, const struct wsmon_rec_area *area, const char *name)
{
	size_t len = strlen(name) + 1, size = sizeof(*area) + len + -len % 8;
	struct wsmon_rec_area *copy;
	char *more;

	if (!area->index)
		k->bytes = 0;
	more = realloc(k->areas, k->bytes + size);
	/* without memory, leave the areas out: then the next file lacks some names */
	if (!more)
		return;
	k->areas = more;
	copy = memset(more + k->bytes, 0, size);
	*copy = *area;
	copy->rec.size = size;
	memcpy(copy->path, name, len);
	k->bytes += size;
}

void rotate_note(struct rotation *rot, const struct wsmon_record *rec, const char *name)
{
	struct kept *k;
	__u32 pid;

	if (!rotates(rot))
		return;
	if (rec->type == WSMON_REC_ATTRS)
		wsmon_record_copy(rec, &rot->attrs, sizeof(rot->attrs));
	if ((rec->type != WSMON_REC_TARGET && rec->type != WSMON_REC_AREA &&
	     rec->type != WSMON_REC_EXIT) || !wsmon_record_pid(rec, &pid))
		return;
	k = find(rot, pid);
	if (!k)
		return;
	if (rec->type == WSMON_REC_AREA) {
		keep_area(k, (const void *)rec, name);
		return;
	}
	if (rec->type == WSMON_REC_TARGET) {
		k->target = *(const struct wsmon_rec_target *)(const void *)rec;
		if ((k->target.flags & WSMON_TARGET_REASON) != WSMON_TARGET_AGAIN)
			k->bytes = 0;
		k->target.rec.size = sizeof(k->target);
		k->target.flags = (k->target.flags & ~WSMON_TARGET_REASON) | WSMON_TARGET_AGAIN;
		return;
	}
	free(k->areas);
	sorted_remove(&rot->targets, k);
}

/* Return: size at which FILE is rotated, or at which recording ends; 0: never */
static __u64 limit(const struct rotation *rot)
{
	if (rot->every_bytes)
		return rot->every_bytes;
	return rotates(rot) ? rot->max_bytes / 4 : rot->max_bytes;
}

/* Return: max. size of FILE; at least half of FILE must follow the kept records at its start */
static __u64 max_size(const struct rotation *rot)
{
	return limit(rot) > 2 * rot->begun_bytes ? limit(rot) : 2 * rot->begun_bytes;
}

bool rotate_due(const struct rotation *rot, const struct output *o, __u64 now_ns)
{
	if (rot->every_ns && now_ns >= rot->begun_ns + rot->every_ns)
		return true;
	return limit(rot) && output_size(o) >= max_size(rot);
}

/* Write the header of a file, whose time begins with the file */
static void put_header(const struct rotation *rot, struct output *o, const struct session *s,
		       __u64 now_ns)
{
	union {
		struct wsmon_file_header h;
		char bytes[sizeof(s->header)];
	} copy;

	memcpy(copy.bytes, s->header, s->header_size);
	copy.h.real_ns += now_ns - copy.h.mono_ns;
	copy.h.mono_ns = now_ns;
	output_put(o, copy.bytes, s->header_size);
	if (rot->attrs.rec.size) {
		struct wsmon_rec_attrs attrs = rot->attrs;

		attrs.rec.size = sizeof(attrs);
		attrs.rec.time_ns = now_ns;
		output_record(o, &attrs.rec);
	}
}

static void put_target(struct output *o, struct kept *k, __u64 now_ns)
{
	size_t at = 0;

	k->target.rec.time_ns = now_ns;
	if (k->target.rec.size)
		output_record(o, &k->target.rec);
	while (at < k->bytes) {
		struct wsmon_record *area = (void *)(k->areas + at);

		area->time_ns = now_ns;
		output_record(o, area);
		at += area->size;
	}
}

int rotate(struct rotation *rot, struct output *o, const struct session *s,
	   const struct wsmon_rec_stats *stats)
{
	__u64 now_ns = stats->rec.time_ns;
	struct wsmon_rec_stats first = *stats;
	const struct wsmon_rec_end end = {
		.rec = { WSMON_REC_END, sizeof(end), now_ns }, .reason = WSMON_END_ROTATED,
	};
	struct kept *k = rot->targets.base;
	size_t i;

	rot->ended_bytes = output_size(o);
	output_record(o, &end.rec);
	if (output_next(o))
		return -1;
	put_header(rot, o, s, now_ns);
	/* the last STATS record: counters are since monitoring began */
	first.rec.size = sizeof(first);
	output_record(o, &first.rec);
	for (i = 0; i < rot->targets.nr; i++)
		put_target(o, &k[i], now_ns);
	rot->begun_ns = now_ns;
	return 0;
}

void rotate_begun(struct rotation *rot, struct output *o)
{
	__u64 size;

	/* after this, FILE and the older files have their names */
	output_flush(o);
	if (o->error)
		return;
	rot->files++;
	rot->begun_bytes = output_size(o);
	/* a file ends with an interval and so exceeds its limit; the next file may do so, too */
	size = max_size(rot) > rot->ended_bytes ? max_size(rot) : rot->ended_bytes;
	if (rot->max_bytes)
		output_remove(o, rot->max_bytes > size ? rot->max_bytes - size : 0);
}

void rotate_free(struct rotation *rot)
{
	struct kept *k = rot->targets.base;
	size_t i;

	for (i = 0; i < rot->targets.nr; i++)
		free(k[i].areas);
	free(k);
}
