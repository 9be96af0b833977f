// SPDX-License-Identifier: GPL-2.0
/*
 * live.c - the module's current figures, from its text files
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "debugfs.h"
#include "libwsmon/names.h"
#include "live.h"
#include "procfs.h"

#define TARGETS_MAX	4096	/* the module has at most 256 */
#define HOT_SHARE	0.5

static void take_memory(struct live *live, __u32 pid)
{
	struct wsmon_rec_proc proc = { .pid = pid };

	if (!proc_memory(pid, &proc))
		need(wsmon_wss_add(&live->rss, &(struct wsmon_wss_row) {
			.pid = pid, .bytes = proc.rss,
		}));
}

static void take_target(struct live *live, __u32 pid)
{
	const struct wss_name key = { .pid = pid };
	struct wss_name *name;

	if (sorted_find(&live->names, &key))
		return;
	take_memory(live, pid);
	name = sorted_get(&live->names, &key);
	if (name)
		proc_comm(pid, name->comm);
}

/* Return: 0, or -EINVAL */
static int take_wss(struct live *live, const char *line)
{
	struct wsmon_wss_row row = { 0 };
	char class[16];
	int c;

	if (sscanf(line, "pid=%u class=%15s window_us=%llu bytes=%llu low=%llu high=%llu mapped=%llu",
		   &row.pid, class, &row.window_us, &row.bytes, &row.low,
		   &row.high, &row.mapped) != 7)
		return -EINVAL;
	c = class_by_name(class);
	if (c < 0)
		return -EINVAL;
	row.class = c;
	need(wsmon_wss_add(&live->rows, &row));
	if (row.class == WSMON_CLASS_ALL)
		take_target(live, row.pid);
	return 0;
}

/* @text: the file "status", which has a line of targets with a secondary MMU */
static void take_secondary(struct live *live, const char *text)
{
	static const char key[] = "\nsecondary_mmu:";
	const char *p = strstr(text, key);
	struct wss_name *name;
	int len;

	for (p = p ? p + strlen(key) : ""; *p == ' '; p += len) {
		struct wss_name target = { 0 };

		if (sscanf(p, " %u%n", &target.pid, &len) != 1)
			break;
		name = sorted_find(&live->names, &target);
		if (name)
			name->secondary_mmu = true;
	}
}

/* Return: 0, or -EINVAL */
static int take_peak(struct live *live, const char *line)
{
	struct wsmon_rec_peak p = { .rec.type = WSMON_REC_PEAK };
	char group[16];

	/* a count of older peaks */
	if (!strncmp(line, "dropped=", strlen("dropped=")))
		return 0;
	if (sscanf(line, "pid=%u group=%15s number=%u sign=%d start_ns=%llu end_ns=%llu window_us=%llu bytes=%llu low=%llu high=%llu height=%llu baseline=%llu threshold=%llu",
		   &p.pid, group, &p.number, &p.sign, &p.start_ns, &p.end_ns,
		   &p.window_us, &p.bytes, &p.low, &p.high, &p.height, &p.baseline,
		   &p.threshold) != 13)
		return -EINVAL;
	while (strcmp(group, peak_group_name(p.group)))
		if (++p.group == WSMON_PEAK_GROUPS)
			return -EINVAL;
	p.edge = p.end_ns ? WSMON_PEAK_END : WSMON_PEAK_START;
	events_add(&live->events, &p.rec);
	return 0;
}

static void add_region(struct live *live, const struct live_class *key,
		       __u64 bytes, bool hot)
{
	struct live_class *c = sorted_get(&live->classes, key);

	if (!c)
		return;
	c->regions++;
	if (hot)
		c->hot += bytes;
}

/* Return: 0, or -EINVAL */
static int take_region(struct live *live, const char *line)
{
	unsigned long long start, end;
	struct live_class key = { 0 };
	char class[16];
	double share;
	int c;

	if (sscanf(line, "pid=%u class=%15s start=%llx end=%llx share=%lf",
		   &key.pid, class, &start, &end, &share) != 5 || end < start)
		return -EINVAL;
	c = class_by_name(class);
	if (c < 0)
		return -EINVAL;
	key.class = c;
	add_region(live, &key, end - start, share >= HOT_SHARE);
	key.class = WSMON_CLASS_ALL;
	add_region(live, &key, end - start, share >= HOT_SHARE);
	return 0;
}

static int read_lines(struct live *live, const char *name,
		      int (*take)(struct live *live, const char *line))
{
	int fd = debugfs_open(name, O_RDONLY), err = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	if (!f) {
		debugfs_explain(name, fd < 0 ? fd : -errno);
		return -1;
	}
	while (!err && fgets(line, sizeof(line), f))
		err = take(live, line);
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	if (err == -EINVAL)
		msg("the module's file %s has a line this wsmo does not understand: their versions differ",
		    name);
	else if (err)
		debugfs_explain(name, err);
	return err;
}

static __u64 stat_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, key, len) && text[len] == '=')
			return strtoull(text + len + 1, NULL, 10);
	return 0;
}

int live_status(char *status, size_t size, bool *running)
{
	char text[DEBUGFS_TEXT];

	if (debugfs_read("status", text, sizeof(text)))
		return -1;
	snprintf(status, size, "%.*s", (int)strcspn(text, "\n"), text);
	*running = !strncmp(text, "running", strlen("running"));
	return 0;
}

static int compare_class(const void *x, const void *y)
{
	const struct live_class *a = x, *b = y;

	return COMPARE(a->pid, b->pid) ?: COMPARE(a->class, b->class);
}

int live_read(struct live *live)
{
	char text[DEBUGFS_TEXT];
	int err;

	*live = (struct live) {
		.names = {
			.size = sizeof(struct wss_name), .max = TARGETS_MAX,
			.compare = wss_name_compare,
		},
		.classes = {
			.size = sizeof(struct live_class),
			.max = TARGETS_MAX * WSMON_NR_CLASSES,
			.compare = compare_class,
		},
	};
	if (live_status(live->status, sizeof(live->status), &live->running))
		return -1;
	if (debugfs_read("stats", text, sizeof(text)))
		return -1;
	live->cpu_ns = stat_of(text, "cpu_ns");
	live->lost = stat_of(text, "lost_records");
	/* after the end the figures would be old */
	err = live->running ? read_lines(live, "wss", take_wss) : 0;
	if (live->running && !err)
		err = read_lines(live, "peaks", take_peak);
	if (live->running && !err)
		err = debugfs_read("status", text, sizeof(text));
	take_secondary(live, live->running && !err ? text : "");
	wsmon_wss_sort(&live->rows, false);
	wsmon_wss_sort(&live->rss, false);
	return err;
}

int live_read_regions(struct live *live)
{
	return live->running ? read_lines(live, "regions", take_region) : 0;
}

void live_free(struct live *live)
{
	wsmon_wss_free(&live->rows);
	wsmon_wss_free(&live->rss);
	free(live->names.base);
	events_free(&live->events);
	free(live->classes.base);
}
