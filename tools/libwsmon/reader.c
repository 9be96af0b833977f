// SPDX-License-Identifier: GPL-2.0
/* reader.c - reads recordings and the stream of the module; packs snapshots */
#include <errno.h>
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "mappings.h"
#include "names.h"
#include "reader.h"
#include "util.h"

/* Bytes of the buffer: room for a record read in part, and for one more */
#define READER_BUF	(2 * WSMON_RECORD_MAX)

/* One more enum reader_result: a record that left_out() drops */
#define READER_SKIPPED	((enum reader_result)-1)

/* Maximum size of a header that a later version may write */
#define HEADER_MAX	4096

/* An index of more runs, which would be years of recording, is broken */
#define RUNS_MAX	(1 << 20)

/*
 * Parameters of zstd for snapshots. On recordings of 2000 regions level 3 saves 1 %, level 9 saves
 * 10 % but takes three times as long. A hash table of 16 KiB and a window of 8 KiB compress as well
 * as larger ones, and keep the compressor at 72 KiB.
 */
#define PACK_LEVEL	1
#define PACK_HASH_LOG	12
#define PACK_WINDOW_LOG	13

#define ENTRY		sizeof(struct wsmon_region_entry)

/*
 * Packing puts the first bytes of all regions side by side, then all second bytes, and so on;
 * addresses become differences. Most bytes then equal their neighbours, and zstd compresses
 * them well. Documentation/reference/abi.rst describes the format.
 */

/**
 * struct pack_work - memory to pack a record
 * @zstd:	the compressor
 * @raw:	uncompressed contents of the frame
 * @out:	the PACKED record
 */
struct pack_work {
	ZSTD_CCtx *zstd;
	__u8 raw[WSMON_RECORD_MAX];
	union {
		struct wsmon_rec_packed rec;
		__u8 bytes[WSMON_RECORD_MAX];
	} out;
};

/** struct unpacker - memory to unpack a record */
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

static bool packer_init(struct packer *pk)
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

	/* a longer record is of a later version: packing would lose its unknown fields */
	if (rec->type != WSMON_REC_SNAPSHOT ||
	    rec->size != sizeof(*s) + s->nr * ENTRY || !packer_init(pk))
		return rec;
	w = pk->work;
	memcpy(w->raw, s, sizeof(*s));
	transpose(w->raw + sizeof(*s), s);
	out = &w->out.rec;
	/* the PACKED record, with up to 7 bytes of padding, must be smaller than @rec */
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

static struct unpacker *unpacker_new(void)
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

static void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	ASAN_UNPOISON_MEMORY_REGION(u, sizeof(*u));
	free(u);
}

/* Checks a PACKED record without unpacking it. Return: as check_record() */
static const char *check_packed(const struct wsmon_rec_packed *p)
{
	size_t room = p->rec.size - sizeof(*p), i;

	if (p->bytes > room || room - p->bytes >= 8)
		return "contents that do not fill it";
	for (i = p->bytes; i < room; i++)
		if (p->data[i])
			return "something after its contents";
	return NULL;
}

/*
 * Restores a snapshot from a record that passed check_packed()
 * @s: gets the snapshot, valid until the next call; its regions are not checked
 * Return: as check_record()
 */
static const char *unpack(struct unpacker *u, const struct wsmon_rec_packed *p,
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
	/* poisoned bytes after the record reveal reads beyond it */
	ASAN_POISON_MEMORY_REGION(u->out.bytes + n, sizeof(u->out) - n);
	*s = out;
	return NULL;
}

struct index_part {
	__u64 offset;
	__u64 bytes;
};

/**
 * struct unwanted - parts of a file to skip, because all of their times are unwanted
 * @part:	parts in descending order, so that the next part is the last entry; adjacent runs
 *		are one part
 * @nr:		number of parts
 */
struct unwanted {
	struct index_part *part;
	size_t nr;
};

/** struct index_block - an INDEX record */
struct index_block {
	struct wsmon_rec_index head;
	struct wsmon_index_run run[WSMON_INDEX_RUNS];
};

bool index_has(__u32 type)
{
	switch (type) {
	case WSMON_REC_SNAPSHOT:
	case WSMON_REC_PACKED:
	case WSMON_REC_WSS:
	case WSMON_REC_GROUP:
	case WSMON_REC_TOTAL:
	case WSMON_REC_PROC:
	case WSMON_REC_STATS:
		return true;
	default:
		return false;
	}
}

static bool read_block(int fd, off_t at, struct index_block *b)
{
	ssize_t n = pread(fd, b, sizeof(*b), at);
	size_t size = sizeof(b->head);

	return n >= (ssize_t)size && b->head.rec.type == WSMON_REC_INDEX &&
	       b->head.nr <= WSMON_INDEX_RUNS &&
	       b->head.rec.size == size + b->head.nr * sizeof(*b->run) &&
	       n >= (ssize_t)b->head.rec.size;
}

static void add_part(struct unwanted *u, __u64 offset, __u64 bytes)
{
	struct index_part *next = u->nr ? &u->part[u->nr - 1] : NULL;

	if (next && next->offset == offset + bytes) {
		next->offset = offset;
		next->bytes += bytes;
	} else {
		u->part[u->nr++] = (struct index_part){ offset, bytes };
	}
}

/*
 * Adds the unwanted runs of a block
 * @end: offset where the last run must end at the latest; gets the offset of the first run
 * Return: false if the block is broken, or without memory
 */
static bool add_block(struct unwanted *u, const struct index_block *b, __u64 *end,
		      __u64 from_ns, __u64 to_ns)
{
	struct index_part *more = reallocarray(u->part, u->nr + b->head.nr, sizeof(*more));
	__u32 i;

	if (!more || u->nr > RUNS_MAX)
		return false;
	u->part = more;
	for (i = b->head.nr; i--;) {
		const struct wsmon_index_run *run = &b->run[i];

		if (!run->bytes || run->bytes % 8 || run->offset % 8 || run->offset > *end ||
		    run->bytes > *end - run->offset)
			return false;
		*end = run->offset;
		if (run->to_ns < from_ns || run->from_ns > to_ns)
			add_part(u, run->offset, run->bytes);
	}
	return true;
}

/*
 * Reads the whole index, from the end of the file.
 * @base: offset of the recording in the file
 * @size: size of the file
 * Return: false if there is no valid index, no memory, or nothing to skip
 */
static bool read_blocks(struct unwanted *u, int fd, off_t base, off_t size, __u64 from_ns,
			__u64 to_ns)
{
	__u64 at = size - base - sizeof(struct wsmon_rec_index), end = at;
	struct index_block b;

	if (!read_block(fd, base + at, &b) || b.head.nr)
		return false;
	while (b.head.before) {
		if (b.head.before >= at)
			return false;
		at = b.head.before;
		if (end > at)
			end = at;
		if (!read_block(fd, base + at, &b) || !b.head.nr ||
		    !add_block(u, &b, &end, from_ns, to_ns))
			return false;
	}
	return u->nr;
}

static void unwanted_free(struct unwanted *u)
{
	if (!u)
		return;
	free(u->part);
	free(u);
}

/*
 * Finds the parts of a file to skip. The position of @fd is @ahead bytes after @offset of the
 * recording.
 * Return: NULL if there is nothing to skip, no valid index or no memory, or @fd cannot seek
 */
static struct unwanted *unwanted_read(int fd, __u64 offset, size_t ahead, __u64 from_ns,
				      __u64 to_ns)
{
	off_t base = lseek(fd, 0, SEEK_CUR) - (off_t)(offset + ahead);
	struct unwanted *u = calloc(1, sizeof(*u));
	struct stat st;

	if (u && !fstat(fd, &st) && S_ISREG(st.st_mode) && base >= 0 &&
	    st.st_size - base > (off_t)sizeof(struct wsmon_rec_index) &&
	    read_blocks(u, fd, base, st.st_size, from_ns, to_ns))
		return u;
	unwanted_free(u);
	return NULL;
}

/* Drops the parts up to an offset. Return: bytes of the part that begins there, 0 if none does */
static __u64 unwanted_take(struct unwanted *u, __u64 offset)
{
	while (u->nr && u->part[u->nr - 1].offset < offset)
		u->nr--;
	return u->nr && u->part[u->nr - 1].offset == offset ? u->part[--u->nr].bytes : 0;
}

/* Return: bytes from an offset to the next part to skip; ~0 if there is none */
static __u64 unwanted_after(const struct unwanted *u, __u64 offset)
{
	__u64 next = u->nr ? u->part[u->nr - 1].offset : 0;

	return next > offset ? next - offset : ~0ULL;
}

int reader_init(struct wsmon_reader *r, int fd)
{
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->to_ns = ~0ULL;
	r->buf = malloc(READER_BUF);
	return r->buf ? 0 : -ENOMEM;
}

void reader_free(struct wsmon_reader *r)
{
	free(r->buf);
	r->buf = NULL;
	unwanted_free(r->unwanted);
	r->unwanted = NULL;
	unpacker_free(r->unpacker);
	r->unpacker = NULL;
	areas_free(r->areas);
	r->areas = NULL;
}

/* Makes AddressSanitizer report accesses to @buf outside the @size bytes from @head */
static void expose(const struct wsmon_reader *r, size_t size)
{
	ASAN_POISON_MEMORY_REGION(r->buf, READER_BUF);
	ASAN_UNPOISON_MEMORY_REGION(r->buf + r->head, size);
}

ssize_t reader_fill(struct wsmon_reader *r)
{
	size_t room;
	ssize_t n;

	ASAN_UNPOISON_MEMORY_REGION(r->buf, READER_BUF);
	/* records stay aligned: the buffer is aligned, and all sizes are multiples of 8 */
	if (r->head == r->tail || READER_BUF - r->tail < WSMON_RECORD_MAX) {
		memmove(r->buf, r->buf + r->head, r->tail - r->head);
		r->tail -= r->head;
		r->head = 0;
	}
	room = READER_BUF - r->tail;
	if (r->unwanted) {
		__u64 wanted = unwanted_after(r->unwanted, r->offset + r->tail - r->head);

		room = wanted < room ? wanted : room;
	}
	do {
		n = read(r->fd, r->buf + r->tail, room);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->tail += n;
	return n;
}

static enum reader_result __attribute__((format(printf, 2, 3)))
bad(struct wsmon_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return READER_BAD;
}

static enum reader_result parse_header(struct wsmon_reader *r)
{
	struct wsmon_file_header h = { 0 };
	size_t have = r->tail - r->head;
	size_t magic = have < sizeof(h.magic) ? have : sizeof(h.magic);

	if (memcmp(r->buf + r->head, WSMON_MAGIC, magic))
		return bad(r, "not a wsmon record: name a file that 'wsmo record' wrote");
	if (have < offsetof(struct wsmon_file_header, page_size))
		return READER_MORE;
	memcpy(&h, r->buf + r->head, have < sizeof(h) ? have : sizeof(h));
	if (h.version > WSMON_VERSION)
		return bad(r, "has format version %u, this wsmo knows %u: use a newer wsmo",
			   h.version, WSMON_VERSION);
	if (h.version && h.version < WSMON_VERSION)
		return bad(r, "has format version %u, this wsmo reads %u: record again",
			   h.version, WSMON_VERSION);
	if (!h.version ||
	    h.header_size < offsetof(struct wsmon_file_header, attrs.cpu_permille) ||
	    h.header_size % 8 || h.header_size > HEADER_MAX)
		return bad(r, "has a broken header (version %u, %u bytes): record again",
			   h.version, h.header_size);
	if (have < h.header_size)
		return READER_MORE;
	/* fields unknown to an older writer are 0 */
	if (h.header_size < sizeof(h))
		memset((char *)&h + h.header_size, 0, sizeof(h) - h.header_size);
	if (h.clock_id != WSMON_CLOCK_MONOTONIC)
		return bad(r, "has times of clock %u, this wsmo knows %u only",
			   h.clock_id, WSMON_CLOCK_MONOTONIC);
	r->header = h;
	r->have_header = true;
	return READER_HEADER;
}

/* Minimum size of a record, by type: fields up to there are read without another check */
static size_t min_size(__u32 type)
{
	static const size_t sizes[] = {
		[WSMON_REC_ATTRS]	= offsetof(struct wsmon_rec_attrs, attrs.cpu_permille),
		[WSMON_REC_TARGET]	= sizeof(struct wsmon_rec_target),
		[WSMON_REC_AREA]	= sizeof(struct wsmon_rec_area),
		[WSMON_REC_SNAPSHOT]	= sizeof(struct wsmon_rec_snapshot),
		[WSMON_REC_WSS]		= sizeof(struct wsmon_rec_wss),
		[WSMON_REC_EXIT]	= sizeof(struct wsmon_rec_exit),
		[WSMON_REC_LOST]	= sizeof(struct wsmon_rec_lost),
		[WSMON_REC_STATS]	= offsetof(struct wsmon_rec_stats, sample_ns),
		[WSMON_REC_END]		= sizeof(struct wsmon_rec_end),
		[WSMON_REC_PROC]	= offsetof(struct wsmon_rec_proc, pss),
		[WSMON_REC_ACT]		= sizeof(struct wsmon_rec_act),
		[WSMON_REC_PACKED]	= sizeof(struct wsmon_rec_packed),
		[WSMON_REC_MAPPING]	= sizeof(struct wsmon_rec_mapping),
		[WSMON_REC_PEAK]	= sizeof(struct wsmon_rec_peak),
		[WSMON_REC_STACK]	= sizeof(struct wsmon_rec_stack),
		[WSMON_REC_MARK]	= sizeof(struct wsmon_rec_mark),
		[WSMON_REC_GROUP]	= sizeof(struct wsmon_rec_group),
		[WSMON_REC_TOTAL]	= sizeof(struct wsmon_rec_total),
		[WSMON_REC_INDEX]	= sizeof(struct wsmon_rec_index),
		[WSMON_REC_WHO]		= sizeof(struct wsmon_rec_who),
		[WSMON_REC_ALLOC]	= sizeof(struct wsmon_rec_alloc),
		[WSMON_REC_REFAULT]	= sizeof(struct wsmon_rec_refault),
	};

	if (type < ARRAY_SIZE(sizes) && sizes[type])
		return sizes[type];
	return sizeof(struct wsmon_record);
}

static const char *check_comm(const char comm[WSMON_COMM_LEN])
{
	return memchr(comm, '\0', WSMON_COMM_LEN) ? NULL : "a name without an end";
}

static const char *check_area(const struct wsmon_rec_area *a)
{
	size_t path = a->rec.size - sizeof(*a);

	if (a->start >= a->end)
		return "an area that ends before it starts";
	if (a->index >= a->total)
		return "an area beyond the number of areas";
	if (path && !memchr(a->path, '\0', path))
		return "a path without an end";
	return NULL;
}

static const char *check_snapshot(const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	if (s->nr > (s->rec.size - sizeof(*s)) / sizeof(s->regions[0]))
		return "more regions than fit into it";
	if (s->first > s->total || s->nr > s->total - s->first)
		return "more regions than the snapshot has";
	for (i = 0; i < s->nr; i++) {
		const struct wsmon_region_entry *e = &s->regions[i];

		if (e->start >= e->end)
			return "a region that ends before it starts";
		if (e->share > WSMON_SHARE_ONE || e->freq > WSMON_SHARE_ONE)
			return "a share above 1";
	}
	return NULL;
}

/* Checks a record that ends with a text after @head bytes */
static const char *check_text(const struct wsmon_record *rec, size_t head)
{
	if (!memchr((const char *)rec + head, '\0', rec->size - head))
		return "a text without an end";
	return NULL;
}

static const char *check_mapping(const struct wsmon_rec_mapping *m)
{
	if (m->start >= m->end)
		return "a mapping that ends before it starts";
	if (m->build_id_len > sizeof(m->build_id))
		return "a build ID that is too long";
	if (!memchr(m->path, '\0', m->rec.size - sizeof(*m)))
		return "a path without an end";
	return NULL;
}

static const char *check_stack(const struct wsmon_rec_stack *s)
{
	if (s->nr > (s->rec.size - sizeof(*s)) / sizeof(s->pc[0]))
		return "more frames than fit into it";
	return check_comm(s->comm);
}

static const char *check_group(const struct wsmon_rec_group *g)
{
	const char *path = (const char *)(g + 1);
	size_t size = g->rec.size - sizeof(*g);

	if (size && *path == '/' && !memchr(path, '\0', size))
		return "a path without an end";
	return NULL;
}

/*
 * Checks a record. take_snapshot() checks snapshots later, if they are wanted.
 * Return: NULL, or the end of the message "a ... record with ..."
 */
static const char *check_record(const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_who *who = (const void *)rec;

	if (rec->size < min_size(rec->type))
		return "too few bytes for its type";
	switch (rec->type) {
	case WSMON_REC_TARGET:
		return check_comm(target->comm);
	case WSMON_REC_WHO:
		return check_comm(who->comm);
	case WSMON_REC_AREA:
		return check_area((const void *)rec);
	case WSMON_REC_ACT:
		return check_text(rec, sizeof(struct wsmon_rec_act));
	case WSMON_REC_REFAULT:
		return check_text(rec, sizeof(struct wsmon_rec_refault));
	case WSMON_REC_MAPPING:
		return check_mapping((const void *)rec);
	case WSMON_REC_STACK:
		return check_stack((const void *)rec);
	case WSMON_REC_MARK:
		return check_text(rec, sizeof(struct wsmon_rec_mark));
	case WSMON_REC_GROUP:
		return check_group((const void *)rec);
	case WSMON_REC_PACKED:
		return check_packed((const void *)rec);
	default:
		return NULL;
	}
}

static bool is_snapshot(const struct wsmon_record *rec)
{
	return rec->type == WSMON_REC_SNAPSHOT || rec->type == WSMON_REC_PACKED;
}

/* Return: true for an INDEX record, which only the reader uses, or one outside reader_only() */
static bool left_out(const struct wsmon_reader *r, const struct wsmon_record *rec)
{
	return rec->type == WSMON_REC_INDEX ||
	       (index_has(rec->type) && (rec->time_ns < r->from_ns || rec->time_ns > r->to_ns));
}

/* Checks and unpacks a snapshot. @rec: gets the record to deliver. Return: as check_record() */
static const char *take_snapshot(struct wsmon_reader *r,
				 const struct wsmon_record **rec)
{
	const struct wsmon_rec_snapshot *s = (const void *)*rec;
	const char *why;

	if (r->want && !r->want(r->want_data, *rec)) {
		/* see @want: the receiver may look at the head and the pid only */
		expose(r, sizeof(struct wsmon_rec_exit));
		return NULL;
	}
	if ((*rec)->type != WSMON_REC_PACKED)
		return check_snapshot(s);
	if (!r->unpacker)
		r->unpacker = unpacker_new();
	if (!r->unpacker)
		return "more than there is memory for";
	why = unpack(r->unpacker, (const void *)*rec, &s);
	if (!why)
		why = check_snapshot(s);
	if (why)
		return why;
	*rec = &s->rec;
	expose(r, 0);
	return NULL;
}

void reader_only(struct wsmon_reader *r, __u64 from_ns, __u64 to_ns)
{
	r->from_ns = from_ns;
	r->to_ns = to_ns;
	r->unwanted = unwanted_read(r->fd, r->offset, r->tail - r->head, from_ns, to_ns);
}

static void skip(struct wsmon_reader *r, __u64 bytes)
{
	size_t have = r->tail - r->head;

	r->offset += bytes;
	r->head += bytes < have ? bytes : have;
	if (bytes > have)
		lseek(r->fd, bytes - have, SEEK_CUR);
}

static enum reader_result parse(struct wsmon_reader *r, const struct wsmon_record **rec)
{
	size_t have = r->tail - r->head;
	const struct wsmon_record *next = (const void *)(r->buf + r->head);
	const char *why;
	bool skipped;
	__u32 size;

	expose(r, have);
	if (!r->have_header) {
		enum reader_result res = parse_header(r);

		if (res == READER_HEADER) {
			*rec = next;
			expose(r, r->header.header_size);
			r->head += r->header.header_size;
			r->offset += r->header.header_size;
		}
		return res;
	}
	if (have < sizeof(*next))
		return READER_MORE;
	if (next->size < sizeof(*next) || next->size % 8 ||
	    next->size > WSMON_RECORD_MAX)
		return bad(r, "broken at byte %llu: a record of %u bytes; what is before it was used",
			   r->offset, next->size);
	if (have < next->size)
		return READER_MORE;
	expose(r, next->size);
	*rec = next;
	size = next->size;
	r->at = r->offset;
	skipped = left_out(r, next);
	why = check_record(next);
	if (!why && !skipped && is_snapshot(next))
		why = take_snapshot(r, rec);
	if (why)
		return bad(r, "broken at byte %llu: a %s record with %s; what is before it was used",
			   r->at, record_name(next->type), why);
	r->head += size;
	r->offset += size;
	return skipped ? READER_SKIPPED : READER_RECORD;
}

enum reader_result reader_parse(struct wsmon_reader *r, const struct wsmon_record **rec)
{
	enum reader_result res;

	do {
		if (r->unwanted)
			skip(r, unwanted_take(r->unwanted, r->offset));
		res = parse(r, rec);
	} while (res == READER_SKIPPED);
	return res;
}

/* Tells a good end of the file from a cut one. Return: as wsmon_next() */
static int at_end(struct wsmon_reader *r)
{
	if (r->head == r->tail && r->have_header)
		return 0;
	if (r->have_header) {
		bad(r, "cut off inside a record at byte %llu", r->offset);
		return -ENODATA;
	}
	bad(r, r->head == r->tail ? "empty: nothing was recorded, record again" :
	    "ends inside its header: nothing was recorded, record again");
	return -EBADMSG;
}

/* Reads the header or the next record. Return: as wsmon_next() */
static int next(struct wsmon_reader *r, const struct wsmon_record **rec)
{
	enum reader_result res;
	ssize_t n;

	while ((res = reader_parse(r, rec)) == READER_MORE) {
		n = reader_fill(r);
		if (!n)
			return at_end(r);
		if (n < 0) {
			bad(r, "cannot be read: %s", strerror(-n));
			return -EBADMSG;
		}
	}
	return res == READER_BAD ? -EBADMSG : 1;
}

const struct wsmon_file_header *wsmon_header(struct wsmon_reader *r)
{
	const struct wsmon_record *rec;

	/* the first call of next() reads the header */
	if (!r->have_header)
		next(r, &rec);
	return r->have_header ? &r->header : NULL;
}

int wsmon_next(struct wsmon_reader *r, const struct wsmon_record **rec)
{
	int res;

	if (!wsmon_header(r))
		return -EBADMSG;
	do {
		res = next(r, rec);
	} while (res > 0 && r->no_snapshots && is_snapshot(*rec));
	if (res > 0 && r->areas && (*rec)->type == WSMON_REC_AREA && (*rec)->time_ns <= r->to_ns)
		areas_add(r->areas, (const void *)*rec);
	return res;
}

const char *wsmon_error(const struct wsmon_reader *r)
{
	return r->error;
}

static bool want_none(const void *data, const struct wsmon_record *rec)
{
	return false;
}

void wsmon_skip_snapshots(struct wsmon_reader *r)
{
	r->no_snapshots = true;
	r->want = want_none;
}

const char *wsmon_area_path(const struct wsmon_reader *r, __u32 pid, __u32 index)
{
	return areas_path(r->areas, pid, index);
}

struct wsmon_reader *wsmon_open_fd(int fd)
{
	struct wsmon_reader *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	if (!reader_init(r, fd))
		r->areas = areas_new();
	if (r->areas)
		return r;
	wsmon_close(r);
	errno = ENOMEM;
	return NULL;
}

struct wsmon_reader *wsmon_open(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct wsmon_reader *r;

	if (fd < 0)
		return NULL;
	r = wsmon_open_fd(fd);
	if (r)
		r->own_fd = true;
	else
		close(fd);
	return r;
}

void wsmon_close(struct wsmon_reader *r)
{
	if (!r)
		return;
	if (r->own_fd)
		close(r->fd);
	reader_free(r);
	free(r);
}

void wsmon_record_copy(const struct wsmon_record *rec, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, rec, rec->size < size ? rec->size : size);
}

const char *reader_cgroup(const struct wsmon_record *rec)
{
	const char *path = (const char *)rec + sizeof(struct wsmon_rec_group);

	if (rec->type != WSMON_REC_GROUP || rec->size == sizeof(struct wsmon_rec_group))
		return "";
	/* a newer writer may have other bytes there */
	return *path == '/' ? path : "";
}

bool wsmon_record_pid(const struct wsmon_record *rec, __u32 *pid)
{
	switch (rec->type) {
	case WSMON_REC_TARGET:
	case WSMON_REC_AREA:
	case WSMON_REC_SNAPSHOT:
	case WSMON_REC_WSS:
	case WSMON_REC_EXIT:
	case WSMON_REC_PROC:
	case WSMON_REC_PEAK:
	case WSMON_REC_STACK:
	case WSMON_REC_PACKED:
	case WSMON_REC_MAPPING:
	case WSMON_REC_ALLOC:
	case WSMON_REC_WHO:
		/* all of these records begin with the pid */
		*pid = ((const struct wsmon_rec_exit *)(const void *)rec)->pid;
		return true;
	default:
		return false;
	}
}
