// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - one monitoring session of the module: attributes, start, stop
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "debugfs.h"
#include "session.h"

#define FILLS_A_WAKEUP	64	/* then the caller's turn comes */

static bool status_is(const char *text, const char *word)
{
	size_t len = strcspn(text, " \t\n:,;(");

	return len == strlen(word) && !memcmp(text, word, len);
}

static int check_idle(void)
{
	char status[DEBUGFS_TEXT];

	debugfs_load_module();
	if (debugfs_read("status", status, sizeof(status)))
		return -1;
	if (status_is(status, "idle"))
		return 0;
	msg("monitoring is already running; wait for it, or end it: as root: echo > %s/target",
	    debugfs_dir(NULL));
	return -1;
}

enum reader_result session_parse(struct session *s,
				 const struct wsmon_record **rec)
{
	for (;;) {
		enum reader_result res = reader_parse(&s->reader, rec);

		if (res == READER_HEADER) {
			/* the parser refuses one that is larger than this */
			s->header_size = s->reader.header.header_size;
			memcpy(s->header, *rec, s->header_size);
		}
		if (res != READER_RECORD ||
		    s->reader.at >= s->stale)
			return res;
	}
}

/* Drops what an earlier session left in the stream; none is running now */
static int drain(struct session *s)
{
	const struct wsmon_record *rec;
	enum reader_result res;
	ssize_t n;

	s->stale = ~0ULL;
	do {
		n = reader_fill(&s->reader);
		do {
			res = session_parse(s, &rec);
		} while (res == READER_HEADER);
		if (res == READER_BAD) {
			msg("the stream is broken: it %s", s->reader.error);
			return -1;
		}
	} while (n > 0);
	if (n && n != -EAGAIN) {
		debugfs_explain("buffer", n);
		return -1;
	}
	s->stale = s->reader.offset;
	if (s->reader.head != s->reader.tail)
		s->stale++;	/* the rest of a record is still to come */
	return 0;
}

int session_open(struct session *s)
{
	if (check_idle())
		return -1;
	s->fd = debugfs_open("buffer", O_RDONLY | O_NONBLOCK);
	if (s->fd < 0) {
		debugfs_explain("buffer", s->fd);
		return -1;
	}
	if (reader_init(&s->reader, s->fd)) {
		msg("out of memory");
		return -1;
	}
	return drain(s);
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

/* Finds "key=value" in @text; Return: length of the value, 0 if not there */
static size_t find_value(const char *text, const char *key, const char **value)
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (!strncmp(text, key, len) && text[len] == '=') {
			*value = text + len + 1;
			return strcspn(*value, " \t\n");
		}
	}
	return 0;
}

/* "key=value ..." of what is wanted, or of what was before */
static void settings_text(const struct session *s, bool before, char *text,
			  size_t size)
{
	size_t i, len = 0;

	for (i = 0; i < s->nr_settings; i++)
		len += snprintf(text + len, size - len, "%s%s=%s",
				i ? " " : "", s->settings[i].key,
				before ? s->settings[i].before :
					 s->settings[i].value);
	snprintf(text + len, size - len, "\n");
}

/* Finds the values before; drops settings that the module need not know */
static int keep_attrs(struct session *s, const char *text)
{
	const char *missing = "";
	size_t i, n = 0;

	for (i = 0; i < s->nr_settings; i++) {
		struct setting *set = &s->settings[n];
		const char *value;
		size_t len;

		*set = s->settings[i];
		len = find_value(text, set->key, &value);
		if (!len && set->missing) {
			missing = set->missing;
			continue;
		}
		if (!len || len >= sizeof(set->before)) {
			msg("the module does not know the attribute %s: its version does not fit",
			    set->key);
			return -1;
		}
		memcpy(set->before, value, len);
		set->before[len] = '\0';
		n++;
	}
	s->nr_settings = n;
	if (*missing)
		msg("%s", missing);
	return 0;
}

static int set_attrs(struct session *s)
{
	char text[DEBUGFS_TEXT];
	int err;

	if (!s->nr_settings)
		return 0;
	if (debugfs_read("attrs", text, sizeof(text)) || keep_attrs(s, text))
		return -1;
	if (!s->nr_settings)
		return 0;
	settings_text(s, false, text, sizeof(text));
	err = debugfs_write("attrs", text);
	text[strcspn(text, "\n")] = '\0';
	if (err == -EINVAL || err == -ERANGE) {
		msg("the module refuses '%s': a value out of range, or at odds with another (see %s/attrs)",
		    text, debugfs_dir(NULL));
		return -1;
	}
	if (err) {
		debugfs_explain("attrs", err);
		return -1;
	}
	s->changed = true;
	return 0;
}

int session_start(struct session *s, const char *target)
{
	int err;

	if (set_attrs(s))
		return -1;
	err = debugfs_write("target", target);
	switch (err) {
	case 0:
		s->started = true;
		return 0;
	case -ESRCH:
		msg("no such process, or it has no memory of its own: %.*s",
		    (int)strcspn(target, "\n"), target);
		break;
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
		msg("the module cannot monitor %.*s: a kernel thread, a process named twice, or more than max_regions / min_regions",
		    (int)strcspn(target, "\n"), target);
		break;
	default:
		debugfs_explain("target", err);
	}
	return -1;
}

int session_wait(const char *word)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	char status[DEBUGFS_TEXT];
	int i;

	for (i = 0; i < 400; i++) {
		if (debugfs_read("status", status, sizeof(status)))
			return -1;
		if (status_is(status, word))
			return 0;
		nanosleep(&pause, NULL);
	}
	msg("the module's status is not '%s' but '%.*s'", word,
	    (int)strcspn(status, "\n"), status);
	return -1;
}

void session_stop(struct session *s)
{
	int err = debugfs_write("target", "\n");

	s->started = false;
	if (err)
		debugfs_explain("target", err);
}

void session_close(struct session *s)
{
	char text[DEBUGFS_TEXT];
	int err;

	if (s->started)
		session_stop(s);
	if (s->changed) {
		settings_text(s, true, text, sizeof(text));
		err = debugfs_write("attrs", text);
		if (err)
			debugfs_explain("attrs", err);
	}
	if (s->fd >= 0)
		close(s->fd);
	reader_free(&s->reader);
}
