// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - one monitoring session of the module: attributes, start, stop
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrs.h"
#include "cgroup.h"
#include "cli/cli.h"
#include "debugfs.h"
#include "device.h"
#include "fallback.h"
#include "session.h"

#define FILLS_A_WAKEUP	64	/* then the caller's turn comes */
#define HEADER_PATIENCE	5000	/* ms; it comes at the end of an interval */

/* Return: 0, 1 if there is no device, or -1 after a message */
static int open_device(struct session *s)
{
	int fd = device_open();

	s->device = fd >= 0;
	if (fd >= 0)
		return session_read_from(s, fd);
	if (fd == -ENOENT)
		return 1;
	device_explain("buffer", fd);
	return -1;
}

int session_open(struct session *s)
{
	int res;

	debugfs_load_module();
	res = open_device(s);
	if (res > 0 && s->cgroup) {
		msg("a cgroup can only be watched with " DEVICE ", which is not in use here: load the module (modprobe wsmon), and leave out --debugfs");
		return -1;
	}
	return res > 0 ? fallback_open(s) : res;
}

int session_join(struct session *s)
{
	int res = open_device(s);

	if (res > 0)
		res = fallback_join(s);
	else if (!res)
		res = device_write(s->fd, "join");
	if (res == -ESRCH)
		return 1;
	if (res < -1)
		device_explain("buffer", res);
	s->started = s->joined = !res;
	return res;
}

int session_take(struct session *s,
		 bool (*take)(void *arg, const struct wsmon_record *rec),
		 void *arg)
{
	const struct wsmon_record *rec;
	enum reader_result res;
	ssize_t n;
	int i;

	for (i = 0; i < FILLS_A_WAKEUP; i++) {
		n = reader_fill(&s->reader);
		if (n == -EAGAIN)
			return 1;
		if (n <= 0) {
			msg("the stream ended too early%s%s", n ? ": " : "",
			    n ? strerror(-n) : "");
			return -1;
		}
		while ((res = session_parse(s, &rec)) <= READER_RECORD)
			if (!take(arg, res == READER_HEADER ? NULL : rec))
				return 0;
		if (res == READER_BAD) {
			msg("the stream is %s", s->reader.error);
			return -1;
		}
	}
	return 1;
}

bool session_behind(const struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	return s->reader.head != s->reader.tail || poll(&fd, 1, 0) > 0;
}

/* The settings of one kind, and the processes */
static char *request(const struct session *s, bool attrs, const char *target)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (i = 0; attrs && i < s->nr_settings; i++)
		fprintf(f, "%s=%s ", s->settings[i].key, s->settings[i].value);
	if (target && s->cgroup) {
		fputs("cgroup=", f);
		cgroup_put(f, s->cgroup);
	} else if (target) {
		fputs("pid=", f);
		for (; *target && *target != '\n'; target++)
			fputc(*target == ' ' ? ',' : *target, f);
	}
	fclose(f);
	return text;
}

static int ask(const struct session *s, bool attrs, const char *target)
{
	char *text = request(s, attrs, target);
	int err = text ? device_write(s->fd, text) : -ENOMEM;

	free(text);
	return err;
}

/* Waits for the header: the attributes in force. Return: is it there? */
static bool wait_for_header(struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	const struct wsmon_record *rec;

	return poll(&fd, 1, HEADER_PATIENCE) > 0 && reader_fill(&s->reader) > 0 &&
	       session_parse(s, &rec) == READER_HEADER;
}

/* Says which attributes of the session are others than these */
static void tell_differences(struct session *s, const struct setting **set, size_t nr)
{
	bool known = wait_for_header(s), given = set[0]->option;
	char text[1024], value[SETTING_TEXT];
	size_t len, i;

	len = snprintf(text, sizeof(text), "already monitored with other attributes:");
	for (i = 0; i < nr; i++) {
		attr_text(value, sizeof(value), &s->reader.header.attrs, set[i]->key);
		len += snprintf(text + len, sizeof(text) - len, " %s%s%s", set[i]->key,
				known ? "=" : "", known ? value : "");
	}
	len += snprintf(text + len, sizeof(text) - len, given ? "; leave out" : "; they apply here, too");
	for (i = 0; given && i < nr; i++)
		if (!i || strcmp(set[i]->option, set[i - 1]->option))
			len += snprintf(text + len, sizeof(text) - len, " --%s", set[i]->option);
	msg("%s%s", text, given ? ", or end that session" : "");
}

/*
 * The processes are monitored: with attributes that others asked for, while they do.
 * What the user asked for must be so; what the verb prefers need not.
 */
static int accept_attrs(struct session *s)
{
	const struct setting *given[SESSION_ATTRS], *preferred[SESSION_ATTRS];
	size_t i, nr_given = 0, nr_preferred = 0;
	char text[SETTING_TEXT + 32];

	for (i = 0; i < s->nr_settings; i++) {
		const struct setting *set = &s->settings[i];

		snprintf(text, sizeof(text), "%s=%s", set->key, set->value);
		if (!device_write(s->fd, text))
			continue;
		if (set->option)
			given[nr_given++] = set;
		else if (!set->missing || *set->missing)
			preferred[nr_preferred++] = set;
	}
	if (nr_given)
		tell_differences(s, given, nr_given);
	else if (nr_preferred)
		tell_differences(s, preferred, nr_preferred);
	return nr_given ? -1 : 0;
}

static bool is_invalid(int err)
{
	return err == -EINVAL || err == -ERANGE;
}

/* Return: 0, an error that the processes are the reason of, or 1 after a message */
static int start_device(struct session *s, const char *target)
{
	int err = ask(s, true, target);
	char *text;

	if (err == -EBUSY && s->nr_settings) {
		err = ask(s, false, target);
		if (!err)
			return accept_attrs(s) ? 1 : 0;
	}
	if (!is_invalid(err) || !s->nr_settings || !is_invalid(ask(s, true, NULL)))
		return err;
	text = request(s, true, NULL);
	session_refused(text ? text : "");
	free(text);
	return 1;
}

/* Return: was it said what an error of the cgroup means? */
static bool explain_cgroup(const struct session *s, int err)
{
	if (!s->cgroup)
		return false;
	switch (err) {
	case -ENOENT:
		msg("no such cgroup (of version 2): %s", s->cgroup);
		return true;
	case -EOPNOTSUPP:
		msg("this kernel has no cgroups (CONFIG_CGROUPS)");
		return true;
	case -EINVAL:
		msg("the module cannot watch cgroups: load the one that belongs to this wsmo");
		return true;
	default:
		return false;
	}
}

int session_start(struct session *s, const char *target)
{
	int err = s->device ? start_device(s, target) : fallback_start(s, target);

	if (explain_cgroup(s, err))
		return -1;
	switch (err) {
	case 0:
		s->started = true;
		return 0;
	case 1:
		break;
	case -ESRCH:
		return 1;
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
		msg("the module cannot monitor %.*s: more than 256 processes or than --max-regions / --min-regions, or one without memory of its own",
		    (int)strcspn(target, "\n"), target);
		break;
	default:
		device_explain("target", err);
	}
	return -1;
}

int session_watch(struct session *s)
{
	int err = device_open();

	if (err < 0)
		return err;
	s->device = true;
	if (session_read_from(s, err))
		return 1;
	err = start_device(s, s->cgroup);
	s->started = !err;
	return err;
}

int session_wait(const struct session *s)
{
	return s->device ? 0 : fallback_wait();
}

int session_mark(const struct session *s, const char *text)
{
	char line[WSMON_MARK_TEXT + 8];
	int fd = s ? s->fd : device_open(), err;

	if (s ? !s->device : fd == -ENOENT)
		return debugfs_write("mark", text);
	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "mark=%s", text);
	err = device_write(fd, line);
	if (!s)
		close(fd);
	return err;
}

void session_stop(struct session *s)
{
	s->started = false;
	if (s->device)
		device_write(s->fd, "stop");
	else if (!s->joined)
		fallback_stop();
}

void session_close(struct session *s)
{
	if (s->started)
		session_stop(s);
	fallback_restore(s);
	if (s->fd >= 0)
		close(s->fd);
	reader_free(&s->reader);
}
