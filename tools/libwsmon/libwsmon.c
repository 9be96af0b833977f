// SPDX-License-Identifier: GPL-2.0
/*
 * libwsmon.c - the public interface of the reader; numbers/ has that of what is computed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "areas.h"
#include "libwsmon.h"
#include "names.h"
#include "reader.h"

/**
 * struct wsmon_reader - an open recording
 * @reader:	the reader
 * @areas:	names of areas so far
 * @own_fd:	to be closed, -1 if it is the caller's
 * @skip:	no snapshots are delivered
 */
struct wsmon_reader {
	struct reader reader;
	struct areas *areas;
	int own_fd;
	bool skip;
};

struct wsmon_reader *wsmon_open_fd(int fd)
{
	struct wsmon_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->own_fd = -1;
	r->areas = areas_new();
	if (!r->areas || reader_init(&r->reader, fd)) {
		wsmon_close(r);
		errno = ENOMEM;
		return NULL;
	}
	return r;
}

struct wsmon_reader *wsmon_open(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct wsmon_reader *r;

	if (fd < 0)
		return NULL;
	r = wsmon_open_fd(fd);
	if (r)
		r->own_fd = fd;
	else
		close(fd);
	return r;
}

void wsmon_close(struct wsmon_reader *r)
{
	if (!r)
		return;
	if (r->own_fd >= 0)
		close(r->own_fd);
	reader_free(&r->reader);
	areas_free(r->areas);
	free(r);
}

const struct wsmon_file_header *wsmon_header(struct wsmon_reader *r)
{
	const struct wsmon_record *rec;

	/* nothing is delivered before the header */
	if (!r->reader.have_header)
		reader_next(&r->reader, &rec);
	return r->reader.have_header ? &r->reader.header : NULL;
}

static bool want_none(const void *data __attribute__((unused)),
		      const struct wsmon_record *rec __attribute__((unused)))
{
	return false;
}

void wsmon_skip_snapshots(struct wsmon_reader *r)
{
	r->skip = true;
	r->reader.want = want_none;
}

int wsmon_next(struct wsmon_reader *r, const struct wsmon_record **rec)
{
	for (;;) {
		switch (reader_next(&r->reader, rec)) {
		case READER_HEADER:
			continue;
		case READER_END:
			return 0;
		case READER_CUT:
			return -ENODATA;
		case READER_RECORD:
			if (r->skip && ((*rec)->type == WSMON_REC_SNAPSHOT ||
					(*rec)->type == WSMON_REC_PACKED))
				continue;
			if ((*rec)->type == WSMON_REC_AREA)
				areas_add(r->areas, (const void *)*rec);
			return 1;
		default:
			return -EBADMSG;
		}
	}
}

const char *wsmon_error(const struct wsmon_reader *r)
{
	return r->reader.error;
}

const char *wsmon_area_path(const struct wsmon_reader *r, __u32 pid, __u32 index)
{
	return areas_path(r->areas, pid, index);
}

bool wsmon_record_pid(const struct wsmon_record *rec, __u32 *pid)
{
	return reader_pid(rec, pid);
}

void wsmon_record_copy(const struct wsmon_record *rec, void *to, size_t size)
{
	reader_copy(rec, to, size);
}

const char *wsmon_class_name(__u32 class)
{
	return class < WSMON_NR_CLASSES ? class_name(class) : NULL;
}

int wsmon_class_by_name(const char *name)
{
	return class_by_name(name);
}

const char *wsmon_record_name(__u32 type)
{
	return type && type < WSMON_NR_RECORDS ? record_name(type) : NULL;
}
