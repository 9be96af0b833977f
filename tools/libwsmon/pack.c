// SPDX-License-Identifier: GPL-2.0
/*
 * pack.c - makes SNAPSHOT records small
 *
 * A snapshot is much like the one before it: what can be expected is left out,
 * the rest is small numbers of one kind each, which zstd makes few bits of.
 * unpack.c is the reverse; Documentation/reference/abi.rst describes the format.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "pack.h"

/*
 * Level 3 would save 3 % at most, and level 9 8 % in 12 times the time. A hash
 * table of 16 KiB and a window of 8 lose next to nothing, as little repeats
 * itself but zeroes, and all of the compressor fits into 72 KiB.
 */
#define PACK_LEVEL	1
#define PACK_HASH_LOG	12
#define PACK_WINDOW_LOG	13

#define VARINT_MAX	10

/**
 * struct pack_work - where a record is packed
 * @zstd:	the compressor
 * @raw:	the columns
 * @out:	the record
 */
struct pack_work {
	ZSTD_CCtx *zstd;
	__u8 raw[WSMON_RECORD_MAX];
	union {
		struct wsmon_rec_packed rec;
		__u8 bytes[WSMON_RECORD_MAX];
	} out;
};

/* Where the next number goes; @full: it found no room */
struct place {
	__u8 *p;
	const __u8 *end;
	bool full;
};

static void put(struct place *to, __u64 v)
{
	if (to->end - to->p < VARINT_MAX) {
		to->full = true;
		return;
	}
	for (; v >= 0x80; v >>= 7)
		*to->p++ = v | 0x80;
	*to->p++ = v;
}

/* Small numbers of either sign become small ones: 0, -1, 1, -2... */
static void put_signed(struct place *to, __s64 v)
{
	put(to, (__u64)v << 1 ^ (v < 0 ? ~0ULL : 0));
}

/* The hits that make the share, or else the share behind all of those */
static void put_freq(struct place *to, __u64 checks, __u16 freq)
{
	__u64 hits = (freq * checks + WSMON_SHARE_ONE - 1) / WSMON_SHARE_ONE;

	if (checks && hits <= checks &&
	    hits * WSMON_SHARE_ONE / checks == freq)
		put(to, hits);
	else
		put(to, checks + 1 + freq);
}

static void put_ages(struct place *to, struct past *past,
		     const struct wsmon_rec_snapshot *s)
{
	__u32 i, expected;

	for (i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *e = &s->regions[i];
		struct past_region *r = past_expect(past, e->start, e->end,
						    &expected);

		if (e->age_ms == expected) {
			put(to, 0);
		} else {
			put(to, 1ULL + e->age_ms);
			past_age(past, r, e->age_ms);
		}
	}
}

/* Differences are of 16 bits, whatever shares a record has */
static void put_shares(struct place *to, struct past_region *r,
		       const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	for (i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *e = &s->regions[i];

		put_signed(to, (__s16)(e->share - past_share(&r[i], e)));
		r[i].share = e->share;
	}
}

/* Where samples were: most records have none that tell */
static void put_samples(struct place *to, const struct wsmon_rec_snapshot *s)
{
	bool told = false;
	__u32 i;

	for (i = 0; i < s->nr; i++)
		told |= s->regions[i].samples;
	for (i = 0; i < s->nr && told; i++)
		put(to, s->regions[i].samples);
}

static void put_columns(struct place *to, struct past *past,
			const struct wsmon_rec_snapshot *s)
{
	const struct wsmon_region_entry *e = s->regions;
	struct past_region *r = past->now.r + past->now.nr;
	__u32 i;

	for (i = 0; i < s->nr; i++)
		put_signed(to, (e[i].start >> PACK_SHIFT) -
			       (i ? e[i - 1].end >> PACK_SHIFT : 0));
	for (i = 0; i < s->nr; i++)
		put(to, (e[i].end - e[i].start) >> PACK_SHIFT);
	for (i = 0; i < s->nr; i++)
		put_freq(to, 2ULL * s->rounds, e[i].freq);
	put_ages(to, past, s);
	put_shares(to, r, s);
	for (i = 0; i < s->nr; i++)
		put_signed(to, (__s64)e[i].class - (i ? e[i - 1].class : 0));
	for (i = 0; i < s->nr; i++)
		put_signed(to, (__s64)e[i].area - (i ? e[i - 1].area : 0));
	put_samples(to, s);
}

/* Is there nothing in it that has no place in a packed record? */
static bool usual(const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	if (s->rec.size != sizeof(*s) + s->nr * sizeof(s->regions[0]))
		return false;
	for (i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *e = &s->regions[i];

		if ((e->start | e->end) % (1 << PACK_SHIFT))
			return false;
	}
	return true;
}

/* The number of a snapshot; its parts have one */
static __u32 choose_number(const struct past *p,
			   const struct wsmon_rec_snapshot *s)
{
	if (s->first)
		return p->number;
	if (!p->known || p->now.nr != p->total ||
	    p->number + 1 >= WSMON_PACKED_KEY ||
	    s->rec.time_ns - p->key_ns >= WSMON_PACKED_KEY_NS)
		return 0;
	return p->number + 1;
}

/* Return: the frame's bytes, 0 if it is not worth it */
static size_t compress(struct pack_work *w, const struct place *raw, size_t room)
{
	size_t n = ZSTD_compress2(w->zstd, w->out.rec.data, room, w->raw,
				  raw->p - w->raw);

	/* the one error there can be is that it does not fit */
	return ZSTD_isError(n) ? 0 : n;
}

static const struct wsmon_record *pack(struct packer *pk, struct past *past,
				       const struct wsmon_rec_snapshot *s)
{
	struct pack_work *w = pk->work;
	struct wsmon_rec_packed *out = &w->out.rec;
	struct place to = { w->raw, w->raw + sizeof(w->raw), false };
	__u32 number = choose_number(past, s), size;

	if (s->rec.size <= sizeof(*out) + 8 ||
	    past_begin(&pk->pasts, past, s, number))
		return NULL;
	memcpy(to.p, s, sizeof(*s));
	to.p += sizeof(*s);
	put(&to, number);
	put_columns(&to, past, s);
	if (to.full)
		return NULL;
	*out = (struct wsmon_rec_packed) {
		.rec = { WSMON_REC_PACKED, 0, s->rec.time_ns },
		.pid = s->pid,
		.number = number,
		.first = s->first,
		/* padding fits, too: sizes are multiples of 8 */
		.bytes = compress(w, &to, s->rec.size - sizeof(*out) - 8),
	};
	if (!out->bytes)
		return NULL;
	size = sizeof(*out) + out->bytes;
	memset(w->out.bytes + size, 0, -size % 8);
	out->rec.size = size + -size % 8;
	return &out->rec;
}

static bool get_ready(struct packer *pk)
{
	struct pack_work *w;

	if (pk->work)
		return true;
	w = malloc(sizeof(*w));
	if (!w)
		return false;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		free(w);
		return false;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, PACK_LEVEL);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_hashLog, PACK_HASH_LOG);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_windowLog, PACK_WINDOW_LOG);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	pk->work = w;
	return true;
}

const struct wsmon_record *packer_take(struct packer *pk,
				       const struct wsmon_record *rec)
{
	const struct wsmon_rec_snapshot *s = (const void *)rec;
	const struct wsmon_record *packed = NULL;
	struct past *past;

	if (rec->type == WSMON_REC_SNAPSHOT && usual(s) && get_ready(pk)) {
		past = past_get(&pk->pasts, s->pid);
		if (past)
			packed = pack(pk, past, s);
	}
	if (packed)
		return packed;
	past_note(&pk->pasts, rec);
	return rec;
}

void packer_free(struct packer *pk)
{
	past_free(&pk->pasts);
	if (pk->work)
		ZSTD_freeCCtx(pk->work->zstd);
	free(pk->work);
}
