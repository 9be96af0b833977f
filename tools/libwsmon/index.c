// SPDX-License-Identifier: GPL-2.0
/*
 * index.c - the index of a recording: which parts of it are of which time
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index.h"

/* More are not believed: a recording of years */
#define RUNS_MAX	(1 << 20)

struct part {
	__u64 offset;
	__u64 bytes;
};

/**
 * struct unwanted - descending, so that the next one is the last
 * @part:	runs, those that touch joined
 * @nr:		their number
 */
struct unwanted {
	struct part *part;
	size_t nr;
};

/* One INDEX record */
struct block {
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

static bool read_block(int fd, off_t at, struct block *b)
{
	ssize_t n = pread(fd, b, sizeof(*b), at);
	size_t size = sizeof(b->head);

	return n >= (ssize_t)size && b->head.rec.type == WSMON_REC_INDEX &&
	       b->head.nr <= WSMON_INDEX_RUNS &&
	       b->head.rec.size == size + b->head.nr * sizeof(*b->run) &&
	       n >= (ssize_t)b->head.rec.size;
}

static void add(struct unwanted *u, __u64 offset, __u64 bytes)
{
	struct part *next = u->nr ? &u->part[u->nr - 1] : NULL;

	if (next && next->offset == offset + bytes) {
		next->offset = offset;
		next->bytes += bytes;
	} else {
		u->part[u->nr++] = (struct part){ offset, bytes };
	}
}

/*
 * Adds a block before those added, whose first run begins at @end
 * Return: whether it can be believed; @end is its first run's
 */
static bool add_block(struct unwanted *u, const struct block *b, __u64 *end,
		      __u64 from_ns, __u64 to_ns)
{
	struct part *more = reallocarray(u->part, u->nr + b->head.nr, sizeof(*more));
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
			add(u, run->offset, run->bytes);
	}
	return true;
}

/* @base: where the recording begins, @size: of the file */
static bool read_blocks(struct unwanted *u, int fd, off_t base, off_t size, __u64 from_ns, __u64 to_ns)
{
	__u64 at = size - base - sizeof(struct wsmon_rec_index), end = at;
	struct block b;

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

struct unwanted *unwanted_read(int fd, __u64 offset, size_t ahead, __u64 from_ns, __u64 to_ns)
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

__u64 unwanted_take(struct unwanted *u, __u64 offset)
{
	while (u->nr && u->part[u->nr - 1].offset < offset)
		u->nr--;
	return u->nr && u->part[u->nr - 1].offset == offset ? u->part[--u->nr].bytes : 0;
}

__u64 unwanted_after(const struct unwanted *u, __u64 offset)
{
	return u->nr && u->part[u->nr - 1].offset > offset ? u->part[u->nr - 1].offset - offset : ~0ULL;
}

void unwanted_free(struct unwanted *u)
{
	if (!u)
		return;
	free(u->part);
	free(u);
}
