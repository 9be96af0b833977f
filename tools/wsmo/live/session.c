// SPDX-License-Identifier: GPL-2.0
/* session.c - a monitoring session of the module: attributes, start, stream, stop */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "core/cli.h"
#include "core/files.h"
#include "core/units.h"
#include "libwsmon/util.h"
#include "session.h"
#include "wsmon.h"

static int windows_text(char *buf, size_t size, const struct wsmon_attrs *a)
{
	int len = 0;
	__u32 i;

	for (i = 0; i < a->nr_windows && i < WSMON_WINDOWS_MAX && len < (int)size; i++)
		len += snprintf(buf + len, size - len, "%s%llu", i ? "," : "", a->windows_us[i]);
	return len;
}

/**
 * attr_text() - write an attribute's value as the module does
 * @key: name of the attribute
 * Return: the length, as snprintf(); 0 for an unknown key
 */
static int attr_text(char *buf, size_t size, const struct wsmon_attrs *a, const char *key)
{
#define DETECTOR(id, name)	[WSMON_PEAK_##id] = name,
	static const char * const detectors[] = { WSMON_PEAK_DETECTORS(DETECTOR) };
	const struct {
		const char *key;
		__u64 value;
	} numbers[] = {
		{ "sample_us", a->sample_us }, { "aggr_us", a->aggr_us },
		{ "update_us", a->update_us }, { "seed", a->seed },
		{ "min_regions", a->min_regions }, { "max_regions", a->max_regions },
		{ "flush_tlb", a->flags & WSMON_ATTR_FLUSH_TLB },
		{ "cpu_permille", a->cpu_permille }, { "peak_window", a->peak_window },
		{ "follow", a->follow }, { "who_rate", a->who_rate }, { "precision", a->precision },
	};
	__u32 milli = strcmp(key, "peak_gain") ? a->peak_adapt : a->peak_gain;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(key, numbers[i].key))
			return snprintf(buf, size, "%llu", numbers[i].value);
	if (!strcmp(key, "window_us"))
		return windows_text(buf, size, a);
	if (!strcmp(key, "peak_detector") && a->peak_detector < ARRAY_SIZE(detectors))
		return snprintf(buf, size, "%s", detectors[a->peak_detector]);
	if (!strcmp(key, "peak_gain") || !strcmp(key, "peak_adapt"))
		return snprintf(buf, size, "%g", milli / 1000.0);
	return 0;
}

/* The module's files in debugfs */

const char *debugfs_dir(const char *set)
{
	static const char *dir;

	if (set)
		dir = set;
	if (!dir)
		dir = getenv("WSMON_DEBUGFS");
	if (!dir || !*dir)
		dir = DEBUGFS_DEFAULT;
	return dir;
}

static void set_dir(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	debugfs_dir(arg);
}

const struct option_desc debugfs_options[] = {
	{ "debugfs", 0, "DIR", "Use the module's files in DIR, not /dev/wsmon", OPT_CALL, .call = set_dir },
	{ 0 }
};

void debugfs_load_module(void)
{
	char name[] = "modprobe", quiet[] = "-q", module[] = "wsmon";
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { name, quiet, module, NULL };
	char *envp[] = { path, NULL };
	pid_t pid;

	if (strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT) || geteuid() ||
	    !access("/sys/module/wsmon", F_OK))
		return;
	if (!posix_spawn(&pid, "/sbin/modprobe", NULL, NULL, argv, envp))
		waitpid(pid, NULL, 0);
}

static int debugfs_path(char *path, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", debugfs_dir(NULL), name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/**
 * debugfs_open() - open a file of the module
 * @name: "target", ...
 * @flags: of open()
 * Return: the fd, or -errno without a message
 */
static int debugfs_open(const char *name, int flags)
{
	char path[PATH_MAX];
	int fd = debugfs_path(path, name);

	if (fd)
		return fd;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/**
 * debugfs_explain() - print the meaning of an error of these functions, and a cure
 * @err: -errno
 */
static void debugfs_explain(const char *name, int err)
{
	const char *dir = debugfs_dir(NULL);

	switch (err) {
	case -EACCES:
	case -EPERM:
		msg("%s/%s: not permitted; run it as root: sudo wsmo ...", dir, name);
		break;
	case -ENOENT:
	case -ENOTDIR:
		if (strcmp(dir, DEBUGFS_DEFAULT))
			msg("%s/%s: %s; 'wsmo check' says why the module is not there",
			    dir, name, strerror(-err));
		else if (!access("/sys/module/wsmon", F_OK))
			msg("%s/%s: missing though the module is loaded; mount debugfs: mount -t debugfs none /sys/kernel/debug",
			    dir, name);
		else
			msg("the module wsmon is not there, and could not be loaded: 'wsmo check' says why, and what to do");
		break;
	case -EBUSY:
		msg("%s/%s: busy; another recording is running: wait for it or end it",
		    dir, name);
		break;
	default:
		msg("%s/%s: %s", dir, name, strerror(-err));
	}
}

int debugfs_read(const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	int n = debugfs_path(path, name) ?: read_text(AT_FDCWD, path, text, size);

	if (n >= 0)
		return 0;
	debugfs_explain(name, n);
	return n;
}

/**
 * debugfs_write() - write text to a file with one write()
 * Return: 0, or -errno without a message
 */
static int debugfs_write(const char *name, const char *text)
{
	int fd = debugfs_open(name, O_WRONLY | O_TRUNC);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	else
		n = n == (ssize_t)strlen(text) ? 0 : -EIO;
	close(fd);
	return n;
}

/* /dev/wsmon: each open file of it is a session */

int device_open(void)
{
	int fd;

	if (strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT))
		return -ENOENT;
	fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Write a text to the device. Return: 0, or -errno without a message */
static int device_write(int fd, const char *text)
{
	ssize_t n = write(fd, text, strlen(text));

	return n < 0 ? -errno : 0;
}

static bool device_is_there(void)
{
	return !strcmp(debugfs_dir(NULL), DEBUGFS_DEFAULT) && !access(DEVICE, F_OK);
}

void device_explain(const char *name, int err)
{
	if (!device_is_there()) {
		debugfs_explain(name, err);
		return;
	}
	switch (err) {
	case -EACCES:
	case -EPERM:
		msg(DEVICE ": not permitted; run it as root: sudo wsmo ...");
		break;
	case -ENODEV:
	case -ENXIO:
		msg(DEVICE ": the module is being loaded or unloaded; try again");
		break;
	case -EMFILE:
		msg(DEVICE ": too many recordings are running; end one");
		break;
	default:
		msg(DEVICE ": %s", strerror(-err));
	}
}

/* A session and its stream */

static enum reader_result session_parse(struct session *s, const struct wsmon_record **rec)
{
	for (;;) {
		enum reader_result res = reader_parse(&s->reader, rec);

		if (res == READER_HEADER) {
			/* it fits: the parser refuses a larger header */
			s->header_size = s->reader.header.header_size;
			memcpy(s->header, *rec, s->header_size);
		}
		if (res != READER_RECORD ||
		    s->reader.at >= s->stale)
			return res;
	}
}

/**
 * session_read_from() - prepare to read the stream from @fd
 * Return: 0, or -1 after a message
 */
static int session_read_from(struct session *s, int fd)
{
	s->fd = fd;
	if (!reader_init(&s->reader, fd))
		return 0;
	msg("out of memory");
	return -1;
}

/* Gets the value of a key in "key=value ...". Return: false if @text has no such key */
static bool value_of(const char *text, const char *key, __u64 *value)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "=%llu", value) == 1;
}

/* Print a message about attributes that the module refuses */
static void session_refused(const char *text)
{
	static const struct {
		const char *key, *option;
	} times[] = {
		{ "aggr_us", "aggr" }, { "update_us", "update" }, { "window_us", "window" },
	};
	__u64 sample = WSMON_DEFAULT_SAMPLE_US, us, min = WSMON_DEFAULT_MIN_REGIONS, max = WSMON_DEFAULT_MAX_REGIONS;
	bool given = value_of(text, "sample_us", &sample), few;
	char time[UNITS_LEN], least[UNITS_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (!value_of(text, times[i].key, &us) || us >= sample)
			continue;
		msg("--%s %s is shorter than --sample %s%s", times[i].option,
		    units_time(time, us * NSEC_PER_USEC), units_time(least, sample * NSEC_PER_USEC),
		    given ? "" : " (the default): give both");
		return;
	}
	few = value_of(text, "max_regions", &max);
	given = value_of(text, "min_regions", &min);
	if (max < min) {
		msg("--max-regions %llu%s is less than --min-regions %llu%s", max, few ? "" : " (the default)",
		    min, given ? "" : " (the default)");
		return;
	}
	if (value_of(text, "sample_us", &sample) && sample > WSMON_DEFAULT_AGGR_US) {
		msg("--sample %s is longer than --aggr, --update or --window, by default %s: give these, too",
		    units_time(time, sample * NSEC_PER_USEC), units_time(least, WSMON_DEFAULT_AGGR_US * NSEC_PER_USEC));
		return;
	}
	msg("the module refuses an option: its value is out of range, or contradicts another option (%.*s)",
	    (int)strcspn(text, "\n"), text);
}

/*
 * A session in debugfs, which has only one session. Attributes keep their values after the session,
 * so session_close() restores the old values.
 */

static bool status_is(const char *text, const char *word)
{
	size_t len = strcspn(text, " \t\n:,;(");

	return len == strlen(word) && !memcmp(text, word, len);
}

/* Does the status begin with @word? Return: 1 or 0, -1 after a message */
static int look_at_status(const char *word)
{
	char status[DEBUGFS_TEXT];

	if (debugfs_read("status", status, sizeof(status)))
		return -1;
	return status_is(status, word);
}

/* Drops the records that an earlier session left in the stream. Context: no session is running */
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
		s->stale++;	/* the rest of the last record will be read later */
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

/* Check that no session is running, attach, drop the records of an earlier session */
static int fallback_open(struct session *s)
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

/* Attach to the running session */
static int fallback_join(struct session *s)
{
	int running = look_at_status("running");

	if (running <= 0)
		return running < 0 ? -1 : 1;
	return attach(s);
}

/* Finds "key=value" in @text. Return: length of the value; 0 if @text has no such key */
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

/* Writes "key=value ...", with the wanted values; @before: with the values before the session */
static void settings_text(const struct session *s, bool before, char *text, size_t size)
{
	size_t i, len = 0;

	for (i = 0; i < s->nr_settings; i++)
		len += snprintf(text + len, size - len, "%s%s=%s",
				i ? " " : "", s->settings[i].key,
				before ? s->settings[i].before :
					 s->settings[i].value);
	snprintf(text + len, size - len, "\n");
}

/* Saves the values before the session; drops optional settings that the module does not know */
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

static int fallback_start(struct session *s, const char *target)
{
	return set_attrs(s) ? 1 : debugfs_write("target", target);
}

static int fallback_wait(void)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	int i;

	for (i = 0; i < 400; i++) {
		int running = look_at_status("running");

		if (running)
			return running < 0 ? -1 : 0;
		nanosleep(&pause, NULL);
	}
	msg("monitoring did not start: see %s/status", debugfs_dir(NULL));
	return -1;
}

static void fallback_stop(const struct session *s)
{
	int err = s->joined ? 0 : debugfs_write("target", "\n");

	if (err)
		debugfs_explain("target", err);
}

static int fallback_mark(int fd, const char *text)
{
	return debugfs_write("mark", text);
}

/* Restore the attributes if they were set */
static void fallback_restore(const struct session *s)
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

/* A session on the device */

#define HEADER_PATIENCE	5000	/* ms; the header comes at the end of an interval */

/* Return: the text of a request: settings, and the processes; malloc()ed */
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

/* Waits for the header, which has the attributes in force. Return: false if none came in time */
static bool wait_for_header(struct session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	const struct wsmon_record *rec;

	return poll(&fd, 1, HEADER_PATIENCE) > 0 && reader_fill(&s->reader) > 0 &&
	       session_parse(s, &rec) == READER_HEADER;
}

/* Prints which attributes of the session differ from these settings */
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
 * Another program monitors the processes already, and its attributes apply. An attribute that the
 * user set must be the same. An attribute that the verb prefers may differ: this is only reported.
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

/* Return: 0, an error caused by the processes, or 1 after a message */
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

/* Nothing to do: an open file of the device is a session */
static int device_opened(struct session *s)
{
	return 0;
}

static int device_join(struct session *s)
{
	int err = device_write(s->fd, "join");

	if (err == -ESRCH)
		return 1;
	if (err)
		device_explain("buffer", err);
	return err ? -1 : 0;
}

static int device_runs(void)
{
	return 0;
}

static void device_stop(const struct session *s)
{
	device_write(s->fd, "stop");
}

static int device_mark(int fd, const char *text)
{
	char line[WSMON_MARK_TEXT + 8];

	snprintf(line, sizeof(line), "mark=%s", text);
	return device_write(fd, line);
}

/* A session on the device or in debugfs */

#define FILLS_A_WAKEUP	64	/* max. reads in a call: the caller has other work, too */

/**
 * struct interface - how a session reaches the module; the functions are parts of session_*()
 * @open:	prepare to start; Return: 0, or -1 after a message
 * @join:	attach to the running session; Return: 0, 1 if none is running, -1 after a message
 * @start:	set the attributes, write the target; Return: 0, an error caused by the
 *		processes, or 1 after a message
 * @wait:	wait until the session runs; Return: 0, or -1 after two seconds and a message
 * @stop:	stop monitoring; in debugfs a session that was joined keeps running
 * @mark:	mark this moment; Return: 0 or -errno
 */
struct interface {
	int (*open)(struct session *s);
	int (*join)(struct session *s);
	int (*start)(struct session *s, const char *target);
	int (*wait)(void);
	void (*stop)(const struct session *s);
	int (*mark)(int fd, const char *text);
};

static const struct interface on_device = {
	device_opened, device_join, start_device, device_runs, device_stop, device_mark,
}, in_debugfs = {
	fallback_open, fallback_join, fallback_start, fallback_wait, fallback_stop, fallback_mark,
};

/* Chooses the device, or debugfs if there is no device. Return: 0, or -1 after a message */
static int choose_interface(struct session *s)
{
	int fd = device_open();

	s->interface = fd == -ENOENT ? &in_debugfs : &on_device;
	if (fd >= 0)
		return session_read_from(s, fd);
	if (fd == -ENOENT)
		return 0;
	device_explain("buffer", fd);
	return -1;
}

int session_open(struct session *s)
{
	debugfs_load_module();
	if (choose_interface(s))
		return -1;
	if (s->cgroup && s->interface != &on_device) {
		msg("a cgroup can only be watched with " DEVICE ", which is not in use here: load the module (modprobe wsmon), and leave out --debugfs");
		return -1;
	}
	return s->interface->open(s);
}

int session_join(struct session *s)
{
	int res = choose_interface(s) ?: s->interface->join(s);

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

/* Explains an error that the cgroup caused. Return: false if it has another cause */
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
	int err = s->interface->start(s, target);

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
	s->interface = &on_device;
	if (session_read_from(s, err))
		return 1;
	err = start_device(s, s->cgroup);
	s->started = !err;
	return err;
}

int session_wait(const struct session *s)
{
	return s->interface->wait();
}

int session_mark(const struct session *s, const char *text)
{
	int fd, err;

	if (s)
		return s->interface->mark(s->fd, text);
	fd = device_open();
	if (fd == -ENOENT)
		return fallback_mark(fd, text);
	if (fd < 0)
		return fd;
	err = device_mark(fd, text);
	close(fd);
	return err;
}

void session_stop(struct session *s)
{
	s->started = false;
	s->interface->stop(s);
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
