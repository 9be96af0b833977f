// SPDX-License-Identifier: GPL-2.0
/* output.c - the file that "wsmo record" writes */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli.h"
#include "core/identity.h"
#include "libwsmon/reader.h"
#include "libwsmon/wsmon_records.h"
#include "output.h"

/* INDEX records, so that a report with --time reads only a part of the file */

/* Skipping a shorter run gains little; with longer runs, a report of a short time reads too much */
#define RUN_MIN		(16 << 10)
#define RUN_MAX		(256 << 10)

static bool full(struct index *x)
{
	struct wsmon_rec_index *h = &x->head;

	h->rec.type = WSMON_REC_INDEX;
	h->rec.size = sizeof(*h) + h->nr * sizeof(*x->runs);
	return h->nr == WSMON_INDEX_RUNS;
}

static void end_run(struct index *x)
{
	if (x->run.bytes >= RUN_MIN)
		x->runs[x->head.nr++] = x->run;
	x->run.bytes = 0;
}

/**
 * index_add() - note a record of the file
 * @offset: offset of the record
 * Return: true if @head and @runs are full, and must be written; see index_written()
 */
static bool index_add(struct index *x, const struct wsmon_record *rec, __u64 offset)
{
	struct wsmon_index_run *run = &x->run;

	x->head.rec.time_ns = rec->time_ns;
	if (!index_has(rec->type)) {
		end_run(x);
		return full(x);
	}
	if (!run->bytes)
		*run = (struct wsmon_index_run){ offset, 0, rec->time_ns, rec->time_ns };
	run->bytes += rec->size;
	if (rec->time_ns < run->from_ns)
		run->from_ns = rec->time_ns;
	if (rec->time_ns > run->to_ns)
		run->to_ns = rec->time_ns;
	if (run->bytes >= RUN_MAX)
		end_run(x);
	return full(x);
}

/* End the last run. Return: true if there are runs to be written */
static bool index_end(struct index *x)
{
	end_run(x);
	full(x);
	return x->head.nr;
}

/* Begin a new INDEX record, after the last one was written at @offset */
static void index_written(struct index *x, __u64 offset)
{
	x->head.before = offset;
	x->head.nr = 0;
	full(x);
}

/* The file */

#define OLD_NAME	(NAME_MAX + 16)

/* Stands for FILE.old, instead of a number of rotations */
#define OLD	UINT_MAX

static const char *old_name(const struct output *o, unsigned int n, char *name)
{
	const char *base = o->file.base;

	if (n == OLD)
		snprintf(name, OLD_NAME, "%s.old", base);
	else
		snprintf(name, OLD_NAME, n ? "%s.%u" : "%s", base, n);
	return name;
}

/*
 * Looks for the recording that was rotated @n times. Only recordings and empty files, such as those
 * of mktemp(1), may be renamed, replaced or removed. Return: 1: there is one; 0: there is none; -1
 * after a message: the file is another one
 */
static int is_there(const struct output *o, unsigned int n, __u64 *bytes)
{
	char name[OLD_NAME], magic[sizeof(WSMON_MAGIC) - 1];
	bool good = false;
	struct stat st;
	int fd;

	if (fstatat(o->file.dir, old_name(o, n, name), &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return 0;
		/* the file cannot be looked at: treat it as another file */
		st.st_mode = 0;
	}
	if (S_ISREG(st.st_mode) && !outfile_foreign(o->file.dir, &st)) {
		if (!st.st_size)
			return 0;
		fd = openat(o->file.dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		good = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		       !memcmp(magic, WSMON_MAGIC, sizeof(magic));
		if (fd >= 0)
			close(fd);
	}
	if (bytes)
		*bytes = st.st_size;
	if (good)
		return 1;
	msg("%.*s%s is not a recording of yours, and is kept; name another file with -o",
	    (int)(strlen(o->name) - strlen(o->file.base)), o->name, name);
	return -1;
}

static int move(const struct output *o, unsigned int from, unsigned int to)
{
	char name[OLD_NAME], after[OLD_NAME];
	int there = is_there(o, from, NULL);

	if (there <= 0)
		return there;
	if (is_there(o, to, NULL) < 0)
		return -1;
	if (!renameat(o->file.dir, old_name(o, from, name), o->file.dir, old_name(o, to, after)))
		return 0;
	msg("%s cannot be renamed to %s: %s", name, after, strerror(errno));
	return -1;
}

/* Return: number of files FILE, FILE.1, ... up to the first gap or @keep; -1 after a message */
static int series(const struct output *o, unsigned int keep)
{
	unsigned int n = 0;
	int there = 1;

	while (n < keep && (there = is_there(o, n, NULL)) > 0)
		n++;
	return there < 0 ? -1 : (int)n;
}

/* Return: 0; -1 after a message: an older file cannot be renamed, or is no recording */
static int check(const struct output *o)
{
	unsigned int last = o->keep ?: OLD;
	char name[OLD_NAME];
	int nr = is_there(o, 0, NULL);

	if (nr >= 0 && (nr || o->keep) && strlen(old_name(o, last, name)) > NAME_MAX) {
		msg("%s: the name leaves no room for the %s of an older recording; name another file with -o",
		    o->name, name + strlen(o->file.base));
		return -1;
	}
	if (nr > 0)
		nr = series(o, o->keep ?: 1);
	if (nr < 0 || (nr == (int)(o->keep ?: 1) && is_there(o, last, NULL) < 0))
		return -1;
	return 0;
}

static int begin(struct output *o)
{
	struct identity user;

	if (outfile_open(&o->file, o->name, 0600))
		return -1;
	if (o->file.dir < 0) {
		if (!isatty(o->file.fd))
			return 0;
		msg("%s: a recording is not for a terminal; name a file with -o, or redirect", o->name);
		return -1;
	}
	/* under sudo, let the calling user read the recording */
	if (!identity_get(&user, NULL) && user.uid && fchown(o->file.fd, user.uid, user.gid))
		msg("%s: still belongs to root: %s", o->name, strerror(errno));
	return 0;
}

int output_open(struct output *o, const char *name, unsigned int keep)
{
	o->name = name;
	o->keep = keep;
	if (!begin(o) && (o->file.dir < 0 || !check(o)))
		return 0;
	outfile_close(&o->file);
	return -1;
}

/* After the first data, give the file its name, and rename older files */
static int commit(struct output *o)
{
	int n = series(o, o->keep), err = n < 0 ? n : 0;

	if (!o->keep)
		err = move(o, 0, OLD);
	for (; n > 0 && !err; n--)
		err = move(o, n - 1, n);
	if (err)
		return -ECANCELED;
	return outfile_place(&o->file);
}

void output_remove(const struct output *o, __u64 bytes)
{
	char name[OLD_NAME];
	unsigned int i;
	__u64 size;

	for (i = 1; i <= o->keep && is_there(o, i, &size) > 0; i++) {
		if (bytes < size) {
			bytes = 0;
			unlinkat(o->file.dir, old_name(o, i, name), 0);
		} else {
			bytes -= size;
		}
	}
}

void output_put(struct output *o, const void *data, size_t size)
{
	const char *p = data;

	if (o->file.fd < 0)
		return;
	while (size) {
		size_t n = sizeof(o->buf) - o->used;

		if (n > size)
			n = size;
		memcpy(o->buf + o->used, p, n);
		o->used += n;
		p += n;
		size -= n;
		if (o->used == sizeof(o->buf))
			output_flush(o);
	}
}

static void put_index(struct output *o)
{
	__u64 at = output_size(o);

	output_put(o, &o->index.head, sizeof(o->index.head));
	output_put(o, o->index.runs, o->index.head.nr * sizeof(*o->index.runs));
	index_written(&o->index, at);
}

void output_record(struct output *o, const struct wsmon_record *rec)
{
	bool full = index_add(&o->index, rec, output_size(o));

	output_put(o, rec, rec->size);
	o->records++;
	if (full)
		put_index(o);
}

void output_named(struct output *o, const struct wsmon_record *rec, size_t size,
		  const char *text)
{
	size_t len = *text ? strlen(text) + 1 : 0;
	struct wsmon_record head = *rec;
	static const char zeros[8];

	bool full;

	head.size = size + len + -len % 8;
	full = index_add(&o->index, &head, output_size(o));
	output_put(o, &head, sizeof(head));
	output_put(o, rec + 1, size - sizeof(head));
	output_put(o, text, len);
	output_put(o, zeros, -len % 8);
	o->records++;
	if (full)
		put_index(o);
}

void output_flush(struct output *o)
{
	size_t done = 0;

	while (!o->error && done < o->used) {
		ssize_t n = write(o->file.fd, o->buf + done, o->used - done);

		if (n < 0 && errno != EINTR)
			o->error = -errno;
		if (n > 0) {
			done += n;
			o->bytes += n;
		}
	}
	if (!o->error && o->used && o->file.dir >= 0 && !o->file.placed) {
		o->error = commit(o);
		if (o->error)
			o->bytes = o->begun;
	}
	o->used = 0;
}

/* Write the last runs, then an INDEX record without runs, which ends the file */
static void end_index(struct output *o)
{
	if (index_end(&o->index))
		put_index(o);
	if (o->index.head.before)
		put_index(o);
	memset(&o->index, 0, sizeof(o->index));
}

/* Return: -1 after a message if ending the file failed; 0, also if an earlier write had failed */
static int end(struct output *o, bool sync)
{
	int before = o->error, err = 0;

	if (o->file.fd < 0)
		return 0;
	end_index(o);
	output_flush(o);
	if (sync && !o->error && o->file.placed)
		o->error = outfile_sync(&o->file);
	err = outfile_close(&o->file);
	if (!o->error)
		o->error = err;
	if (before || !o->error)
		return 0;
	if (o->error != -ECANCELED)
		msg("%s: %s", o->name, strerror(-o->error));
	/* the error was reported */
	o->error = -ECANCELED;
	return -1;
}

int output_next(struct output *o)
{
	/* no sync: the next file does not wait until the disk has this one */
	if (end(o, false) || o->error)
		return -1;
	o->begun = o->bytes;
	return begin(o);
}

int output_close(struct output *o)
{
	return end(o, true);
}
