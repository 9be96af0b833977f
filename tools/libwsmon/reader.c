// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c - parser of the stream and the record file
 */
#include <errno.h>
#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index.h"
#include "names.h"
#include "pack.h"
#include "reader.h"

/* Room for a record read in part, and for one more */
#define READER_BUF	(2 * WSMON_RECORD_MAX)

/* enum reader_result of a record that nobody gets */
#define READER_SKIPPED	((enum reader_result)-1)

/* A header may grow up to this size */
#define HEADER_MAX	4096

int reader_init(struct reader *r, int fd)
{
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->to_ns = ~0ULL;
	r->buf = malloc(READER_BUF);
	return r->buf ? 0 : -ENOMEM;
}

void reader_free(struct reader *r)
{
	free(r->buf);
	r->buf = NULL;
	unwanted_free(r->unwanted);
	r->unwanted = NULL;
	unpacker_free(r->unpacker);
	r->unpacker = NULL;
}

/*
 * Under AddressSanitizer only @size bytes at the head of the buffer can be read, so
 * that reading beyond a record is noticed.
 */
static void expose(const struct reader *r, size_t size)
{
	ASAN_POISON_MEMORY_REGION(r->buf, READER_BUF);
	ASAN_UNPOISON_MEMORY_REGION(r->buf + r->head, size);
}

ssize_t reader_fill(struct reader *r)
{
	size_t room;
	ssize_t n;

	ASAN_UNPOISON_MEMORY_REGION(r->buf, READER_BUF);
	/* records stay aligned: buf is, and all sizes are multiples of 8 */
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
bad(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return READER_BAD;
}

static enum reader_result parse_header(struct reader *r)
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
	/* fields that an older writer did not know are 0 */
	if (h.header_size < sizeof(h))
		memset((char *)&h + h.header_size, 0, sizeof(h) - h.header_size);
	if (h.clock_id != WSMON_CLOCK_MONOTONIC)
		return bad(r, "has times of clock %u, this wsmo knows %u only",
			   h.clock_id, WSMON_CLOCK_MONOTONIC);
	r->header = h;
	r->have_header = true;
	return READER_HEADER;
}

/* Minimum size of the records that this program looks into */
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

	if (type < sizeof(sizes) / sizeof(sizes[0]) && sizes[type])
		return sizes[type];
	return sizeof(struct wsmon_record);
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

/* A record that ends with a text, after @head bytes */
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
	if (!memchr(s->comm, '\0', sizeof(s->comm)))
		return "a name without an end";
	return NULL;
}

static const char *check_group(const struct wsmon_rec_group *g)
{
	const char *path = (const char *)(g + 1);
	size_t size = g->rec.size - sizeof(*g);

	if (size && *path == '/' && !memchr(path, '\0', size))
		return "a path without an end";
	return NULL;
}

/* Snapshots are checked later, if they are wanted */
static const char *check_record(const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target;
	const struct wsmon_rec_who *who;

	if (rec->size < min_size(rec->type))
		return "too few bytes for its type";
	switch (rec->type) {
	case WSMON_REC_TARGET:
		target = (const void *)rec;
		if (!memchr(target->comm, '\0', sizeof(target->comm)))
			return "a name without an end";
		return NULL;
	case WSMON_REC_WHO:
		who = (const void *)rec;
		if (!memchr(who->comm, '\0', sizeof(who->comm)))
			return "a name without an end";
		return NULL;
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
		return unpack_check((const void *)rec);
	default:
		return NULL;
	}
}

/* The index is the reader's own; other records as reader_only() says */
static bool left_out(const struct reader *r, const struct wsmon_record *rec)
{
	return rec->type == WSMON_REC_INDEX ||
	       (index_has(rec->type) && (rec->time_ns < r->from_ns || rec->time_ns > r->to_ns));
}

/*
 * @rec: a snapshot; gets what is to be delivered
 * Return: NULL, or what is wrong with the record
 */
static const char *take_snapshot(struct reader *r,
				 const struct wsmon_record **rec)
{
	const struct wsmon_rec_snapshot *s = (const void *)*rec;
	const char *why;

	if (r->want && !r->want(r->want_data, *rec)) {
		/* nobody may look at more of it than reader_pid() does */
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

void reader_only(struct reader *r, __u64 from_ns, __u64 to_ns)
{
	r->from_ns = from_ns;
	r->to_ns = to_ns;
	r->unwanted = unwanted_read(r->fd, r->offset, r->tail - r->head, from_ns, to_ns);
}

static void skip(struct reader *r, __u64 bytes)
{
	size_t have = r->tail - r->head;

	r->offset += bytes;
	r->head += bytes < have ? bytes : have;
	if (bytes > have)
		lseek(r->fd, bytes - have, SEEK_CUR);
}

static enum reader_result parse(struct reader *r, const struct wsmon_record **rec)
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
	if (!why && !skipped &&
	    (next->type == WSMON_REC_SNAPSHOT || next->type == WSMON_REC_PACKED))
		why = take_snapshot(r, rec);
	if (why)
		return bad(r, "broken at byte %llu: a %s record with %s; what is before it was used",
			   r->at, record_name(next->type), why);
	r->head += size;
	r->offset += size;
	return skipped ? READER_SKIPPED : READER_RECORD;
}

enum reader_result reader_parse(struct reader *r, const struct wsmon_record **rec)
{
	enum reader_result res;

	do {
		if (r->unwanted)
			skip(r, unwanted_take(r->unwanted, r->offset));
		res = parse(r, rec);
	} while (res == READER_SKIPPED);
	return res;
}

enum reader_result reader_next(struct reader *r,
			       const struct wsmon_record **rec)
{
	enum reader_result res;
	ssize_t n;

	for (;;) {
		res = reader_parse(r, rec);
		if (res != READER_MORE)
			return res;
		n = reader_fill(r);
		if (n < 0)
			return bad(r, "cannot be read: %s", strerror(-n));
		if (!n)
			break;
	}
	if (r->have_header && r->head == r->tail)
		return READER_END;
	if (r->have_header) {
		bad(r, "cut off inside a record at byte %llu", r->offset);
		return READER_CUT;
	}
	if (r->head == r->tail)
		return bad(r, "empty: nothing was recorded, record again");
	return bad(r, "ends inside its header: nothing was recorded, record again");
}

void reader_copy(const struct wsmon_record *rec, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, rec, rec->size < size ? rec->size : size);
}

const char *reader_cgroup(const struct wsmon_record *rec)
{
	const char *path = (const char *)rec + sizeof(struct wsmon_rec_group);

	if (rec->type != WSMON_REC_GROUP || rec->size == sizeof(struct wsmon_rec_group))
		return "";
	/* anything else is what a newer writer adds */
	return *path == '/' ? path : "";
}

bool reader_pid(const struct wsmon_record *rec, __u32 *pid)
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
		/* all of these begin with it */
		*pid = ((const struct wsmon_rec_exit *)(const void *)rec)->pid;
		return true;
	default:
		return false;
	}
}
