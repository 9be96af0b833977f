// SPDX-License-Identifier: GPL-2.0
/*
 * pack.c - makes SNAPSHOT records smaller, and restores them
 *
 * Of each region the first bytes come together, then the second ones, and so on;
 * addresses are differences. Most bytes are then like their neighbours, and zstd
 * makes little of them. Documentation/abi.rst describes the format.
 */
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "pack.h"

/*
 * On recordings of 2000 regions level 3 saves 1 %, level 9 10 % in three times the
 * time. A hash table of 16 KiB and a window of 8 KiB are as good as larger ones, and
 * keep the compressor at 72 KiB.
 */
#define PACK_LEVEL	1
#define PACK_HASH_LOG	12
#define PACK_WINDOW_LOG	13

#define ENTRY		sizeof(struct wsmon_region_entry)

/**
 * struct pack_work - where a record is packed
 * @zstd:	the compressor
 * @raw:	the contents of the frame
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

struct unpacker {
	ZSTD_DCtx *zstd;
	__u8 raw[WSMON_RECORD_MAX];
	union {
		struct wsmon_rec_snapshot s;
		__u8 bytes[WSMON_RECORD_MAX];
	} out;
};

static void transpose(__u8 *to, const struct wsmon_rec_snapshot *s)
{
	__u64 end = 0;
	__u32 i, b;

	for (i = 0; i < s->nr; i++) {
		struct wsmon_region_entry e = s->regions[i];

		e.end -= e.start;
		e.start -= end;
		end = s->regions[i].end;
		for (b = 0; b < ENTRY; b++)
			to[b * s->nr + i] = ((const __u8 *)&e)[b];
	}
}

static void restore(struct wsmon_rec_snapshot *s, const __u8 *from)
{
	__u64 end = 0;
	__u32 i, b;

	for (i = 0; i < s->nr; i++) {
		struct wsmon_region_entry *e = &s->regions[i];

		for (b = 0; b < ENTRY; b++)
			((__u8 *)e)[b] = from[b * s->nr + i];
		e->start += end;
		e->end += e->start;
		end = e->end;
	}
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
	struct wsmon_rec_packed *out;
	struct pack_work *w;
	size_t n;

	/* one that is longer is of a later version: what follows would be lost */
	if (rec->type != WSMON_REC_SNAPSHOT ||
	    rec->size != sizeof(*s) + s->nr * ENTRY || !get_ready(pk))
		return rec;
	w = pk->work;
	memcpy(w->raw, s, sizeof(*s));
	transpose(w->raw + sizeof(*s), s);
	out = &w->out.rec;
	/* it is to be smaller, with its padding */
	n = ZSTD_compress2(w->zstd, out->data, rec->size - sizeof(*out) - 8,
			   w->raw, rec->size);
	if (ZSTD_isError(n))
		return rec;
	memset(out->data + n, 0, -n % 8);
	out->rec = (struct wsmon_record) {
		WSMON_REC_PACKED, sizeof(*out) + n + -n % 8, rec->time_ns,
	};
	out->pid = s->pid;
	out->bytes = n;
	return &out->rec;
}

void packer_free(struct packer *pk)
{
	if (pk->work)
		ZSTD_freeCCtx(pk->work->zstd);
	free(pk->work);
}

struct unpacker *unpacker_new(void)
{
	struct unpacker *u = malloc(sizeof(*u));
	ZSTD_DCtx *zstd = ZSTD_createDCtx();

	if (!u || !zstd) {
		ZSTD_freeDCtx(zstd);
		free(u);
		return NULL;
	}
	u->zstd = zstd;
	return u;
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
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
			return "something after its contents";
	return NULL;
}

const char *unpack(struct unpacker *u, const struct wsmon_rec_packed *p,
		   const struct wsmon_rec_snapshot **s)
{
	struct wsmon_rec_snapshot *out = &u->out.s;
	size_t n;

	ASAN_UNPOISON_MEMORY_REGION(u, sizeof(*u));
	n = ZSTD_decompressDCtx(u->zstd, u->raw, sizeof(u->raw), p->data,
				p->bytes);
	if (ZSTD_isError(n) || n < sizeof(*out))
		return "contents that are damaged";
	memcpy(out, u->raw, sizeof(*out));
	if (out->rec.type != WSMON_REC_SNAPSHOT || out->rec.size != n ||
	    n != sizeof(*out) + out->nr * ENTRY ||
	    out->rec.time_ns != p->rec.time_ns || out->pid != p->pid)
		return "contents of another one";
	restore(out, u->raw + sizeof(*out));
	/* bytes after the record would hide that somebody reads beyond it */
	ASAN_POISON_MEMORY_REGION(u->out.bytes + n, sizeof(u->out) - n);
	*s = out;
	return NULL;
}
