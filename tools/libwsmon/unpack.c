// SPDX-License-Identifier: GPL-2.0
/*
 * unpack.c - makes SNAPSHOT records of packed ones again
 *
 * The reverse of pack.c. Nothing in a record is trusted: zstd gets a buffer of
 * fixed size, every number is looked at for where it ends, and what a snapshot
 * builds on is limited by past.c.
 */
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "past.h"
#include "unpack.h"

/* Records that are kept for those that may need them, of all targets */
#define KEEP_MAX	(1 << 20)
#define KEEP_TARGETS	4096

static const char no_memory[] = "more regions than there is memory for";
static const char damaged[] = "contents that are damaged";

/**
 * struct kept - packed records of a target that were not unpacked yet
 * @pid:	the target
 * @room:	bytes there are for @data
 * @bytes:	bytes in use
 * @data:	the offset of each in the file, then the record
 */
struct kept {
	__u32 pid;
	size_t room;
	size_t bytes;
	unsigned char *data;
};

/**
 * struct unpack - the state
 * @pasts:	what the next records build on
 * @kept:	struct kept, by pid; what they have builds on @pasts
 * @room:	sum of their @room
 * @zstd:	the decompressor
 * @raw:	the columns
 * @out:	the record
 */
struct unpack {
	struct pasts pasts;
	struct sorted kept;
	size_t room;
	ZSTD_DCtx *zstd;
	__u8 raw[WSMON_RECORD_MAX];
	union {
		struct wsmon_rec_snapshot s;
		__u8 bytes[WSMON_RECORD_MAX];
	} out;
};

/* Where the next number is; @bad: there was none */
struct place {
	const __u8 *p;
	const __u8 *end;
	bool bad;
};

static int compare(const void *x, const void *y)
{
	const struct kept *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

struct unpack *unpack_new(void)
{
	struct unpack *u = malloc(sizeof(*u));
	ZSTD_DCtx *zstd = ZSTD_createDCtx();

	if (!u || !zstd) {
		ZSTD_freeDCtx(zstd);
		free(u);
		return NULL;
	}
	/* the buffers need no zeroes */
	memset(u, 0, offsetof(struct unpack, raw));
	u->zstd = zstd;
	u->kept = (struct sorted) {
		.size = sizeof(struct kept), .max = KEEP_TARGETS, .compare = compare,
	};
	return u;
}

void unpack_free(struct unpack *u)
{
	struct kept *k;
	size_t i;

	if (!u)
		return;
	k = u->kept.base;
	for (i = 0; i < u->kept.nr; i++)
		free(k[i].data);
	free(u->kept.base);
	past_free(&u->pasts);
	ZSTD_freeDCtx(u->zstd);
	ASAN_UNPOISON_MEMORY_REGION(u, sizeof(*u));
	free(u);
}

const char *unpack_check(const struct wsmon_rec_packed *p)
{
	size_t room = p->rec.size - sizeof(*p), i;

	if (p->bytes > room || room - p->bytes >= 8)
		return "contents that do not fill it";
	for (i = p->bytes; i < room; i++)
		if (p->data[i])
			return "something behind its contents";
	return NULL;
}

static __u64 get_long(struct place *from)
{
	unsigned int shift = 0;
	__u64 v = 0;
	__u8 byte;

	do {
		if (from->p == from->end || shift >= 64) {
			from->bad = true;
			return 0;
		}
		byte = *from->p++;
		v |= (__u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

/* Nearly all numbers are small. */
static inline __u64 get(struct place *from)
{
	if (from->p < from->end && *from->p < 0x80)
		return *from->p++;
	return get_long(from);
}

static __u64 get_signed(struct place *from)
{
	__u64 v = get(from);

	return v >> 1 ^ (v & 1 ? ~0ULL : 0);
}

static __u16 get_freq(struct place *from, __u64 checks)
{
	__u64 v = get(from);

	if (v > checks) {
		from->bad |= v - checks - 1 > 0xffff;
		return v - checks - 1;
	}
	/* nearly all samples were never accessed, or always */
	if (!v)
		return 0;
	return v == checks ? WSMON_SHARE_ONE : v * WSMON_SHARE_ONE / checks;
}

static void get_ages(struct place *from, struct past *past,
		     struct wsmon_rec_snapshot *s)
{
	__u32 i, expected;

	for (i = 0; i < s->nr; i++) {
		struct wsmon_region_entry *e = &s->regions[i];
		struct past_region *r = past_expect(past, e->start, e->end,
						    &expected);
		__u64 v = get(from);

		e->age_ms = expected;
		if (!v)
			continue;
		from->bad |= v - 1 > 0xffffffff;
		e->age_ms = v - 1;
		past_age(past, r, e->age_ms);
	}
}

/* The column is not there if no region tells of its samples. */
static void get_samples(struct place *from, struct wsmon_rec_snapshot *s)
{
	bool told = from->p != from->end;
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		__u64 samples = told ? get(from) : 0;

		from->bad |= samples > 0xffff;
		s->regions[i].samples = samples;
	}
}

static void get_columns(struct place *from, struct past *past,
			struct wsmon_rec_snapshot *s)
{
	struct past_region *r = past->now.r + past->now.nr;
	struct wsmon_region_entry *e = s->regions;
	__u64 checks = 2ULL * s->rounds, end = 0;
	__u32 i, class = 0, area = 0;

	for (i = 0; i < s->nr; i++)
		e[i].start = get_signed(from) << PACK_SHIFT;
	for (i = 0; i < s->nr; i++) {
		e[i].start += end;
		end = e[i].start + (get(from) << PACK_SHIFT);
		e[i].end = end;
	}
	for (i = 0; i < s->nr; i++)
		e[i].freq = get_freq(from, checks);
	get_ages(from, past, s);
	for (i = 0; i < s->nr; i++) {
		e[i].share = past_share(&r[i], &e[i]) + get_signed(from);
		r[i].share = e[i].share;
	}
	for (i = 0; i < s->nr; i++) {
		class += get_signed(from);
		e[i].class = class;
	}
	for (i = 0; i < s->nr; i++) {
		area += get_signed(from);
		e[i].area = area;
	}
	get_samples(from, s);
}

/* Does what was packed belong to the record it is in? */
static bool belongs(const struct wsmon_rec_snapshot *s, __u64 number,
		    const struct wsmon_rec_packed *p)
{
	return s->rec.type == WSMON_REC_SNAPSHOT &&
	       s->nr <= (WSMON_RECORD_MAX - sizeof(*s)) / sizeof(s->regions[0]) &&
	       s->rec.size == sizeof(*s) + s->nr * sizeof(s->regions[0]) &&
	       s->rec.time_ns == p->rec.time_ns && s->pid == p->pid &&
	       s->first == p->first && number == p->number;
}

/* Return: NULL, or what is wrong; @u->out is the snapshot */
static const char *decode(struct unpack *u, const struct wsmon_rec_packed *p)
{
	struct wsmon_rec_snapshot *s = &u->out.s;
	struct place from = { 0 };
	struct past *past;
	const char *why;
	size_t n;

	ASAN_UNPOISON_MEMORY_REGION(u->raw, sizeof(u->raw) + sizeof(u->out));
	n = ZSTD_decompressDCtx(u->zstd, u->raw, sizeof(u->raw), p->data,
				p->bytes);
	if (ZSTD_isError(n) || n < sizeof(*s))
		return damaged;
	/* what lies behind would hide that somebody reads beyond it */
	ASAN_POISON_MEMORY_REGION(u->raw + n, sizeof(u->raw) - n);
	memcpy(s, u->raw, sizeof(*s));
	from.p = u->raw + sizeof(*s);
	from.end = u->raw + n;
	if (!belongs(s, get(&from), p) || from.bad)
		return "contents of another one";
	ASAN_POISON_MEMORY_REGION(u->out.bytes + s->rec.size,
				  sizeof(u->out) - s->rec.size);
	past = past_get(&u->pasts, p->pid);
	if (!past)
		return no_memory;
	why = past_begin(&u->pasts, past, s, p->number);
	if (why)
		return why;
	get_columns(&from, past, s);
	return from.bad || from.p != from.end ? damaged : NULL;
}

static struct kept *find_kept(struct unpack *u, __u32 pid)
{
	const struct kept key = { .pid = pid };

	return u->kept.nr ? sorted_find(&u->kept, &key) : NULL;
}

/* Unpacks what was kept; Return: NULL, or what is wrong with the one at @offset */
static const char *catch_up(struct unpack *u, struct kept *k, __u64 *offset)
{
	size_t at = 0;

	while (k && at < k->bytes) {
		const struct wsmon_rec_packed *p;
		const char *why;

		p = (const void *)(k->data + at + sizeof(*offset));
		why = decode(u, p);
		if (why) {
			memcpy(offset, k->data + at, sizeof(*offset));
			return why;
		}
		at += sizeof(*offset) + p->rec.size;
	}
	if (k)
		k->bytes = 0;
	return NULL;
}

/* Return: whether there is room for @size more bytes */
static bool make_room(struct unpack *u, struct kept *k, size_t size)
{
	size_t room = k->room ? k->room : 4096;
	unsigned char *data;

	while (room < k->bytes + size)
		room *= 2;
	if (room == k->room)
		return true;
	if (room - k->room > KEEP_MAX - u->room)
		return false;
	data = realloc(k->data, room);
	if (!data)
		return false;
	u->room += room - k->room;
	k->data = data;
	k->room = room;
	return true;
}

const char *unpack_keep(struct unpack *u, const struct wsmon_rec_packed *p,
			__u64 *offset)
{
	const struct wsmon_rec_snapshot *s;
	const struct kept key = { .pid = p->pid };
	struct kept *k = sorted_get(&u->kept, &key);

	if (!k)
		return no_memory;
	/* what came before a key serves nobody */
	if (!p->number && !p->first)
		k->bytes = 0;
	if (!make_room(u, k, sizeof(*offset) + p->rec.size))
		return unpack(u, p, offset, &s);
	memcpy(k->data + k->bytes, offset, sizeof(*offset));
	memcpy(k->data + k->bytes + sizeof(*offset), p, p->rec.size);
	k->bytes += sizeof(*offset) + p->rec.size;
	return NULL;
}

const char *unpack(struct unpack *u, const struct wsmon_rec_packed *p,
		   __u64 *offset, const struct wsmon_rec_snapshot **s)
{
	struct kept *k = find_kept(u, p->pid);
	const char *why;

	if (k && !p->number && !p->first)
		k->bytes = 0;
	why = catch_up(u, k, offset);
	*s = &u->out.s;
	return why ? why : decode(u, p);
}

void unpack_note(struct unpack *u, const struct wsmon_record *rec)
{
	struct kept *k = u->kept.base;
	size_t i;

	past_note(&u->pasts, rec);
	for (i = 0; past_may_end(rec) && i < u->kept.nr; i++)
		if (past_ends(rec, k[i].pid))
			k[i].bytes = 0;
}
