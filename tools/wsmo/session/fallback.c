// SPDX-License-Identifier: GPL-2.0
/*
 * fallback.c - a session in debugfs: there is only one, with attributes that stay
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "debugfs.h"
#include "fallback.h"

static bool status_is(const char *text, const char *word)
{
	size_t len = strcspn(text, " \t\n:,;(");

	return len == strlen(word) && !memcmp(text, word, len);
}

/* Return: 1 if the status begins with @word, 0 if not, -1 after a message */
static int look_at_status(const char *word)
{
	char status[DEBUGFS_TEXT];

	if (debugfs_read("status", status, sizeof(status)))
		return -1;
	return status_is(status, word);
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

/* Return: 0, or -1 after a message */
static int attach(struct session *s)
{
	s->fd = debugfs_open("buffer", O_RDONLY | O_NONBLOCK);
	if (s->fd >= 0)
		return session_read_from(s, s->fd);
	debugfs_explain("buffer", s->fd);
	return -1;
}

int fallback_open(struct session *s)
{
	int idle = look_at_status("idle");

	if (idle < 0)
		return -1;
	if (!idle) {
		msg("monitoring is already running; wait for it, or end it: as root: echo > %s/target",
		    debugfs_dir(NULL));
		return -1;
	}
	return attach(s) ? -1 : drain(s);
}

int fallback_join(struct session *s)
{
	int running = look_at_status("running");

	if (running <= 0)
		return running < 0 ? -1 : 1;
	return attach(s);
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
	if (err == -EINVAL || err == -ERANGE) {
		session_refused(text);
		return -1;
	}
	if (err) {
		debugfs_explain("attrs", err);
		return -1;
	}
	s->changed = true;
	return 0;
}

int fallback_start(struct session *s, const char *target)
{
	return set_attrs(s) ? 1 : debugfs_write("target", target);
}

int fallback_wait(void)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	int i;

	for (i = 0; i < 400; i++) {
		int running = look_at_status("running");

		if (running)
			return running < 0 ? -1 : 0;
		nanosleep(&pause, NULL);
	}
	msg("the module does not begin: see %s/status", debugfs_dir(NULL));
	return -1;
}

void fallback_stop(void)
{
	int err = debugfs_write("target", "\n");

	if (err)
		debugfs_explain("target", err);
}

void fallback_restore(const struct session *s)
{
	char text[DEBUGFS_TEXT];
	int err;

	if (!s->changed)
		return;
	settings_text(s, true, text, sizeof(text));
	err = debugfs_write("attrs", text);
	if (err)
		debugfs_explain("attrs", err);
}
