// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - the file "record" writes
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "cli/cli.h"
#include "cli/outfile.h"
#include "output.h"

static int open_special(struct output *o)
{
	o->fd = open(o->name, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0) {
		msg("%s: cannot be written: %s", o->name, strerror(errno));
		return -1;
	}
	return 0;
}

static int open_temp(struct output *o)
{
	struct identity user;

	o->fd = outfile_temp(o->temp, o->name);
	if (o->fd < 0) {
		msg("%s: cannot be created: %s; name another file with -o",
		    o->name, strerror(-o->fd));
		o->fd = -1;
		return -1;
	}
	/* whoever runs sudo wants to read the recording */
	if (!identity_get(&user) && user.uid &&
	    fchown(o->fd, user.uid, user.gid))
		msg("%s: still belongs to root: %s", o->name, strerror(errno));
	return 0;
}

int output_open(struct output *o, const char *name)
{
	struct stat st;

	o->name = name;
	o->temp[0] = '\0';
	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode)) {
			msg("%s: a directory; name a file with -o", name);
			return -1;
		}
		return open_special(o);
	}
	return open_temp(o);
}

/* The file rotated @n times; 0 is NAME itself. Return: @name, PATH_MAX bytes */
static const char *old_name(const struct output *o, unsigned int n, char *name)
{
	snprintf(name, PATH_MAX, n ? "%.*s.%u" : "%.*s", PATH_MAX - 16, o->name, n);
	return name;
}

static int rename_old(const char *from, const char *to)
{
	if (!rename(from, to) || errno == ENOENT)
		return 0;
	msg("%s: cannot be renamed to %s: %s", from, to, strerror(errno));
	return -1;
}

int output_commit(struct output *o, unsigned int keep)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = 0;

	if (!o->temp[0])
		return 0;
	snprintf(to, sizeof(to), "%.*s.old", PATH_MAX - 16, o->name);
	if (!keep)
		err = rename_old(o->name, to);
	for (; keep && !err; keep--)
		err = rename_old(old_name(o, keep - 1, from), old_name(o, keep, to));
	if (err)
		return -1;
	if (rename(o->temp, o->name)) {
		msg("%s: cannot be created: %s", o->name, strerror(errno));
		return -1;
	}
	o->temp[0] = '\0';
	return 0;
}

void output_remove(const struct output *o, unsigned int keep, __u64 bytes)
{
	char name[PATH_MAX];
	unsigned int i;
	struct stat st;

	for (i = 1; i <= keep; i++) {
		if (stat(old_name(o, i, name), &st))
			continue;
		if (bytes < (__u64)st.st_size) {
			bytes = 0;
			unlink(name);
		} else {
			bytes -= st.st_size;
		}
	}
}

void output_put(struct output *o, const void *data, size_t size)
{
	const char *p = data;

	if (o->fd < 0)
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
		ssize_t n = write(o->fd, o->buf + done, o->used - done);

		if (n < 0 && errno != EINTR)
			o->error = -errno;
		if (n > 0) {
			done += n;
			o->bytes += n;
		}
	}
	o->used = 0;
}

/* The last record is one without runs */
static void end_index(struct output *o)
{
	if (index_end(&o->index))
		put_index(o);
	if (o->index.head.before)
		put_index(o);
	memset(&o->index, 0, sizeof(o->index));
}

int output_next(struct output *o)
{
	if (output_close(o) || o->error)
		return -1;
	o->begun = o->bytes;
	return output_open(o, o->name);
}

int output_close(struct output *o)
{
	int before = o->error;

	if (o->fd < 0)
		return 0;
	end_index(o);
	output_flush(o);
	/* NFS and quotas report a full disk at close() */
	if (close(o->fd) && !o->error)
		o->error = -errno;
	o->fd = -1;
	if (o->temp[0])
		unlink(o->temp);
	if (before || !o->error)
		return 0;
	msg("%s: %s", o->name, strerror(-o->error));
	return -1;
}
