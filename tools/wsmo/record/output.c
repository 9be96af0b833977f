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

int output_commit(struct output *o)
{
	char old[PATH_MAX];

	if (!o->temp[0])
		return 0;
	snprintf(old, sizeof(old), "%s.old", o->name);
	if (rename(o->name, old) && errno != ENOENT) {
		msg("%s: cannot be renamed to %s: %s", o->name, old,
		    strerror(errno));
		return -1;
	}
	if (rename(o->temp, o->name)) {
		msg("%s: cannot be created: %s", o->name, strerror(errno));
		return -1;
	}
	o->temp[0] = '\0';
	return 0;
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

void output_record(struct output *o, const struct wsmon_record *rec)
{
	output_put(o, rec, rec->size);
	o->records++;
}

void output_named(struct output *o, const struct wsmon_record *rec, size_t size,
		  const char *text)
{
	size_t len = *text ? strlen(text) + 1 : 0;
	struct wsmon_record head = *rec;
	static const char zeros[8];

	head.size = size + len + -len % 8;
	output_put(o, &head, sizeof(head));
	output_put(o, rec + 1, size - sizeof(head));
	output_put(o, text, len);
	output_put(o, zeros, -len % 8);
	o->records++;
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

int output_close(struct output *o)
{
	int before = o->error;

	if (o->fd < 0)
		return 0;
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
