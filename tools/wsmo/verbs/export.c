// SPDX-License-Identifier: GPL-2.0
/*
 * export.c - "wsmo export": recordings for other programs; the formats chrome and damo
 *
 * A format is a view, like those of "wsmo report": it has the same filters.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/cli.h"
#include "core/text.h"
#include "core/units.h"
#include "export.h"
#include "libwsmon/names.h"
#include "libwsmon/wsmon_records.h"
#include "live/cgroup.h"
#include "live/session.h"
#include "views/collect.h"

#define TEXT_MAX	1024	/* max. bytes of a text of unknown origin */

/*
 * "wsmo export chrome": counters of the Trace Event Format
 *
 * Each class and window has three counters: the estimate and the ends of its interval. As three
 * values of one counter, viewers would stack or split them.
 */

static void chrome_begin(struct report *rp)
{
	/* each further event begins with a comma */
	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
	      "{\"name\":\"wsmon\",\"ph\":\"M\",\"pid\":0,\"args\":{}}", stdout);
}

/* Prints a text of unknown origin as JSON */
static void put_text(const char *text)
{
	char utf8[TEXT_MAX];
	struct json_object *o = need(json_object_new_string(text_utf8(utf8, sizeof(utf8), text)));

	text_put_json(stdout, json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void counter(const struct report *rp, __u64 time_ns, __u32 pid,
		    const char *name, __u64 bytes)
{
	printf(",\n{\"name\":\"%s\",\"ph\":\"C\",\"pid\":%u,\"ts\":%.3f,\"args\":{\"bytes\":%llu}}",
	       name, pid, filter_time(&rp->filter, time_ns) * 1e6, bytes);
}

/* Prints a working set; the total of a group belongs to no process */
static void working_set(const struct report *rp, const struct wsmon_wss_row *w)
{
	char window[UNITS_LEN], name[96];
	int len;

	len = snprintf(name, sizeof(name), "%sworking set %s, %s", w->group ? "total " : "",
		       class_name(w->class),
		       units_time(window, w->window_us * NSEC_PER_USEC));
	counter(rp, w->time_ns, w->pid, name, w->bytes);
	snprintf(name + len, sizeof(name) - len, " (low)");
	counter(rp, w->time_ns, w->pid, name, w->low);
	snprintf(name + len, sizeof(name) - len, " (high)");
	counter(rp, w->time_ns, w->pid, name, w->high);
}

static void instant(const struct report *rp, const struct wsmon_record *rec,
		    __u32 pid, const char *scope, const char *what)
{
	fputs(",\n{\"name\":", stdout);
	put_text(what);
	printf(",\"ph\":\"i\",\"s\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
	       scope, pid, pid, filter_time(&rp->filter, rec->time_ns) * 1e6);
}

static void peak(const struct report *rp, const struct wsmon_rec_peak *p)
{
	char text[64];

	snprintf(text, sizeof(text), "peak %u of %s %s%s", p->number,
		 peak_group_name(p->group), p->sign < 0 ? "down " : "",
		 p->edge == WSMON_PEAK_START ? "begins" : "ends");
	instant(rp, &p->rec, p->pid, "p", text);
}

static void mark(const struct report *rp, const struct wsmon_rec_mark *m)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "mark %u: %s", m->number, m->text);
	instant(rp, &m->rec, 0, "g", text);
}

static void chrome_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_proc *proc = (const void *)rec;
	const struct wsmon_rec_lost *lost = (const void *)rec;
	struct wsmon_wss_row row;
	char text[64];

	/* filters apply neither to names nor to losses */
	if (rec->type == WSMON_REC_TARGET) {
		printf(",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":",
		       target->pid);
		put_text(target->comm);
		fputs("}}", stdout);
	}
	if (rec->type == WSMON_REC_LOST) {
		snprintf(text, sizeof(text), "%llu records lost", lost->records);
		instant(rp, rec, 0, "g", text);
	}
	if (!filter_wants(&rp->filter, rec))
		return;
	if (collect_row(&rp->filter, rec, &row)) {
		working_set(rp, &row);
	} else if (rec->type == WSMON_REC_PROC) {
		counter(rp, rec->time_ns, proc->pid, "resident", proc->rss);
		counter(rp, rec->time_ns, proc->pid, "swapped out", proc->swap);
	} else if (rec->type == WSMON_REC_PEAK) {
		peak(rp, (const void *)rec);
	} else if (rec->type == WSMON_REC_MARK) {
		mark(rp, (const void *)rec);
	} else if (rec->type == WSMON_REC_EXIT) {
		instant(rp, rec, ((const struct wsmon_rec_exit *)rec)->pid, "p",
			"exit");
	}
}

static void chrome_end(struct report *rp)
{
	puts("\n]}");
}

static const struct report_view export_chrome = {
	.name = "chrome",
	.begin = chrome_begin,
	.record = chrome_record,
	.end = chrome_end,
};

/*
 * "wsmo export damo": the input of "damo report"
 *
 * damo's record is a JSON array with an object for each target, which has all its snapshots. So the
 * snapshots of each target are first collected in a temporary file. DAMON's nr_accesses is
 * the number of sampling rounds that found a region accessed: freq times the number of rounds.
 * DAMON has no share of pages.
 *
 * The output is compressed by zlib, as damo's own records are: damo recognizes records by file(1),
 * which does not recognize large JSON.
 *
 * Ages are in microseconds. The age in intervals is always 0: otherwise damo's heatmap would extend
 * each snapshot back by its age, over earlier snapshots.
 */

#define FILES_MAX	256	/* targets, each with an open file */

/**
 * struct damo_target - a target's snapshots
 * @pid:	the target
 * @snapshots:	temporary file with their JSON
 * @nr:		number of snapshots
 * @open:	the last snapshot has no end yet
 * @regions:	number of regions in the last snapshot so far
 * @bytes:	bytes of these regions
 */
struct damo_target {
	__u32 pid;
	FILE *snapshots;
	__u64 nr;
	bool open;
	__u32 regions;
	__u64 bytes;
};

struct damo {
	struct sorted targets;
	struct wsmon_attrs attrs;
};

static void damo_begin(struct report *rp)
{
	struct damo *d = need(calloc(1, sizeof(*d)));

	d->attrs = rp->reader.header.attrs;
	d->targets = SORTED(struct damo_target, FILES_MAX, order_u32);
	rp->data = d;
}

static struct damo_target *target_of(struct report *rp, __u32 pid)
{
	const struct damo_target key = { .pid = pid };
	struct damo *d = rp->data;
	struct damo_target *t = sorted_get(&d->targets, &key);

	if (rp->failed)
		return NULL;
	if (t && !t->snapshots)
		t->snapshots = tmpfile();
	if (t && t->snapshots)
		return t;
	msg("no room for process %u: %s; choose some with --pid", pid,
	    t ? strerror(errno) : "too many processes");
	rp->failed = true;
	return NULL;
}

static void close_snapshot(struct damo_target *t)
{
	if (t->open)
		fprintf(t->snapshots, "],\"total_bytes\":%llu}", t->bytes);
	t->open = false;
}

static void open_snapshot(const struct report *rp, struct damo_target *t,
			  const struct wsmon_rec_snapshot *s)
{
	__u64 end = s->rec.time_ns - rp->reader.header.mono_ns +
		    rp->reader.header.real_ns;

	close_snapshot(t);
	fprintf(t->snapshots, "%s{\"start_time\":%llu,\"end_time\":%llu,\"regions\":[",
		t->nr++ ? ",\n" : "", end - s->interval_ns, end);
	t->open = true;
	t->regions = 0;
	t->bytes = 0;
}

static void put_region(struct damo_target *t, const struct wsmon_rec_snapshot *s,
		       const struct wsmon_region_entry *e)
{
	fprintf(t->snapshots, "%s{\"start\":%llu,\"end\":%llu,\"nr_accesses\":{\"samples\":%llu,\"percent\":%.3f},\"age\":{\"usec\":%llu,\"aggr_intervals\":0}}",
		t->regions++ ? "," : "", e->start, e->end,
		((__u64)e->freq * s->rounds + WSMON_SHARE_ONE / 2) /
		WSMON_SHARE_ONE, 100.0 * e->freq / WSMON_SHARE_ONE,
		e->age_ms * 1000ULL);
	t->bytes += e->end - e->start;
}

static void snapshot(struct report *rp, const struct wsmon_rec_snapshot *s)
{
	struct damo_target *t = target_of(rp, s->pid);
	__u32 i;

	if (!t)
		return;
	/* a large snapshot comes in several records */
	if (!s->first || !t->open)
		open_snapshot(rp, t, s);
	for (i = 0; i < s->nr; i++)
		if (filter_wants_class(&rp->filter, s->regions[i].class))
			put_region(t, s, &s->regions[i]);
}

static void damo_record(struct report *rp, const struct wsmon_record *rec)
{
	struct damo *d = rp->data;
	struct wsmon_rec_attrs attrs;

	if (rec->type == WSMON_REC_ATTRS) {
		wsmon_record_copy(rec, &attrs, sizeof(attrs));
		d->attrs = attrs.attrs;
	} else if (rec->type == WSMON_REC_SNAPSHOT && filter_wants(&rp->filter, rec)) {
		snapshot(rp, (const void *)rec);
	}
}

static void deflate_to_stdout(z_stream *z, int flush)
{
	unsigned char buf[65536];

	do {
		z->next_out = buf;
		z->avail_out = sizeof(buf);
		deflate(z, flush);
		fwrite(buf, 1, sizeof(buf) - z->avail_out, stdout);
	} while (!z->avail_out);
}

static ssize_t deflate_write(void *cookie, const char *buf, size_t size)
{
	z_stream *z = cookie;

	z->next_in = (void *)buf;
	z->avail_in = size;
	deflate_to_stdout(z, Z_NO_FLUSH);
	return size;
}

static int deflate_close(void *cookie)
{
	deflate_to_stdout(cookie, Z_FINISH);
	return deflateEnd(cookie);
}

/* Opens a stream that compresses to standard output; fclose() writes the end of the output */
static FILE *open_deflate(z_stream *z)
{
	FILE *out = NULL;

	if (deflateInit(z, Z_DEFAULT_COMPRESSION) == Z_OK)
		out = fopencookie(z, "w", (cookie_io_functions_t) {
			.write = deflate_write, .close = deflate_close,
		});
	return need(out);
}

static void put_target(struct report *rp, struct damo_target *t, FILE *out)
{
	const struct damo *d = rp->data;
	char buf[65536];
	size_t n;

	close_snapshot(t);
	fprintf(out, "{\"kdamond_idx\":null,\"context_idx\":null,\"scheme_idx\":null,\"scheme_filters\":[],\n"
		"\"intervals\":{\"sample_us\":%llu,\"aggr_us\":%llu,\"ops_update_us\":%llu},\n"
		"\"target_id\":%u,\"snapshots\":[\n", d->attrs.sample_us,
		d->attrs.aggr_us, d->attrs.update_us, t->pid);
	/* ferror(): an earlier write may have failed, even if the disk has room again */
	if (fflush(t->snapshots) || ferror(t->snapshots) || fseek(t->snapshots, 0, SEEK_SET)) {
		msg("cannot write a temporary file: %s", strerror(errno ?: EIO));
		rp->failed = true;
	}
	while ((n = fread(buf, 1, sizeof(buf), t->snapshots)) > 0)
		fwrite(buf, 1, n, out);
	if (ferror(t->snapshots) && !rp->failed) {
		msg("cannot read a temporary file: %s", strerror(errno));
		rp->failed = true;
	}
	fputs("\n]}", out);
}

static void damo_end(struct report *rp)
{
	struct damo *d = rp->data;
	struct damo_target *t = d->targets.base;
	z_stream z = { 0 };
	FILE *out = open_deflate(&z);
	size_t i;

	putc('[', out);
	for (i = 0; i < d->targets.nr; i++) {
		if (!t[i].snapshots)
			continue;
		if (i)
			fputs(",\n", out);
		put_target(rp, &t[i], out);
		fclose(t[i].snapshots);
	}
	fputs("]\n", out);
	fclose(out);
	free(t);
	free(d);
}

static const struct report_view export_damo = {
	.name = "damo",
	.begin = damo_begin,
	.record = damo_record,
	.end = damo_end,
};

/**
 * struct export - the command line
 * @rp:		what to read, and the format
 * @file:	-o
 * @live:	export present figures, not a recording
 * @interval_ns: time between two exports
 * @fleet:	cgroups to watch; its root is NULL if there are none
 */
struct export {
	struct report rp;
	const char *file;
	bool live;
	__u64 interval_ns;
	struct export_fleet fleet;
};

static void set_cgroup(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct export_fleet *f = &((struct export *)to)->fleet;

	if (f->root)
		usage_error(state, "only one of --cgroup and --cgroups");
	cgroup_option(state, arg, o, &f->root);
	f->alone = !strcmp(o->name, "cgroup");
}

static struct setting *add_setting(struct session *how, const char *key)
{
	struct setting *set = &how->settings[how->nr_settings++];

	set->key = key;
	/* marked as missing: if another program watches the same cgroup, its settings count */
	set->missing = "";
	return set;
}

/* Sets the windows in the module's text form */
static void set_windows(struct session *how, const struct filter *filter)
{
	char *text;
	size_t len = 0;
	__u32 i;

	if (!filter->nr_windows)
		return;
	text = add_setting(how, "window_us")->value;
	for (i = 0; i < filter->nr_windows; i++)
		len += snprintf(text + len, SETTING_TEXT - len, "%s%llu", i ? "," : "",
				filter->windows[i]);
}

static const struct option_desc options[] = {
	{ "output", 'o', "FILE", "Write to FILE; an older file stays until the new file is complete", OPT_TEXT,
	  OPT_AT(struct export, file) },
	{ "live", 0, NULL, "openmetrics: export the running sessions, repeatedly", OPT_FLAG,
	  OPT_AT(struct export, live) },
	{ "interval", 0, "TIME", "Time between two exports with --live (10s)", OPT_TIME,
	  OPT_AT(struct export, interval_ns), NSEC_PER_MSEC },
	{ "cgroup", 0, "CGROUP", "With --live: watch all processes of this cgroup", OPT_CALL, .call = set_cgroup },
	{ "cgroups", 0, "ROOT", "With --live: watch each service and container below this cgroup", OPT_CALL,
	  .call = set_cgroup },
	{ 0 }
};

/* wsmo-export(1) describes these */
static const struct option_desc fleet_options[] = {
	{ "max-cgroups", 0, "N", NULL, OPT_COUNT, OPT_AT(struct export_fleet, max),
	  1, 65536 },
	{ "at-once", 0, "N", NULL, OPT_COUNT,
	  OPT_AT(struct export_fleet, at_once), 1, 60 },
	{ "cpu", 0, "PERCENT", NULL, OPT_PERMILLE, OPT_AT(struct export_fleet, cpu_permille) },
	{ "precision", 0, "PERCENT|max", NULL, OPT_PRECISION,
	  OPT_AT(struct export_fleet, precision) },
	{ 0 }
};

static void set_view(struct argp_state *state, const char *name, void *to)
{
	struct report *rp = &((struct export *)to)->rp;
	static const struct report_view * const views[] = {
		&export_chrome, &export_damo, &export_openmetrics,
	};
	size_t i;

	if (rp->view)
		usage_error(state, "one format at a time; name the recording with -i");
	for (i = 0; i < ARRAY_SIZE(views); i++)
		if (!strcmp(name, views[i]->name))
			rp->view = views[i];
	if (!rp->view)
		usage_error(state, "'%s' is not a format: chrome, damo or openmetrics",
			    name);
}

static bool has_times(const struct filter *f)
{
	struct filter all;

	filter_init(&all);
	return f->from_ns != all.from_ns || f->to_ns != all.to_ns;
}

#define LONGEST_WINDOW	86400000000ULL	/* us; the module's limit */

static void check(struct argp_state *state, void *to)
{
	const struct export *e = to;
	const struct report *rp = &e->rp;
	__u32 i;

	if (!rp->view)
		usage_error(state, "name a format: chrome, damo or openmetrics");
	if ((e->live || e->interval_ns) && rp->view != &export_openmetrics)
		usage_error(state, "--live and --interval are for openmetrics");
	if (e->interval_ns && !e->live)
		usage_error(state, "--interval is for --live");
	if (e->fleet.root && !e->live)
		usage_error(state, "--cgroup and --cgroups are for --live");
	if ((e->fleet.max || e->fleet.at_once || e->fleet.cpu_permille || e->fleet.precision != NO_PRECISION) &&
	    !e->fleet.root)
		usage_error(state, "--max-cgroups, --at-once, --cpu and --precision are for --cgroups");
	if (e->fleet.root && (rp->file || rp->filter.pids.nr || has_times(&rp->filter)))
		usage_error(state, "--cgroup and --cgroups watch running processes: they take none of -i, --time and --pid");
	for (i = 0; e->fleet.root && i < rp->filter.nr_windows; i++)
		if (rp->filter.windows[i] > LONGEST_WINDOW)
			usage_error(state, "a window is at most a day");
	if (e->live && !e->fleet.root && (rp->file || !filter_is_all(&rp->filter)))
		usage_error(state, "--live exports all running sessions: it takes none of -i, --time, --pid, --class and --window");
}

#define LIVE_INTERVAL	(10 * NSEC_PER_SEC)

/* Defaults for cgroups; the module has 63 sessions, and the same CPU time by default */
#define FLEET_MAX	500
#define FLEET_AT_ONCE	32
#define FLEET_CPU	30	/* 1/1000 of one CPU */

static int live(struct export *e)
{
	struct export_fleet *f = &e->fleet;

	if (!e->interval_ns)
		e->interval_ns = LIVE_INTERVAL;
	if (!f->root)
		return export_live(e->file, e->interval_ns);
	set_windows(&f->how, &e->rp.filter);
	if (!f->cpu_permille)
		f->cpu_permille = FLEET_CPU;
	snprintf(add_setting(&f->how, "cpu_permille")->value, SETTING_TEXT, "%u", f->cpu_permille);
	if (f->precision != NO_PRECISION)
		snprintf(add_setting(&f->how, "precision")->value, SETTING_TEXT, "%u", f->precision);
	if (!f->max)
		f->max = FLEET_MAX;
	if (!f->at_once)
		f->at_once = FLEET_AT_ONCE;
	if (!e->rp.filter.classes)
		e->rp.filter.classes = 1U << WSMON_CLASS_ALL;
	return export_cgroups(f, &e->rp.filter, e->file, e->interval_ns);
}

int cmd_export(int argc, char **argv)
{
	/* static: its memory stays allocated until the program ends */
	static struct export e;

	e = (struct export) { .rp.out.f = stdout, .fleet.precision = NO_PRECISION };
	filter_init(&e.rp.filter);
	options_parse(&(struct command_line) {
		.name = "wsmo export",
		.args = "chrome|damo|openmetrics",
		.doc = "Convert a recording for other programs."
		       "\vchrome: counters for ui.perfetto.dev. damo: regions for DAMON's damo. "
		       "openmetrics: text for Prometheus. Tables: 'wsmo report' with --csv or --json.",
		.groups = {
			OPT_GROUP(options, &e), OPT_GROUP(fleet_options, &e.fleet),
			OPT_GROUP(recording_options, &e.rp), OPT_GROUP(time_options, &e.rp),
			OPT_GROUP(class_options, &e.rp), OPT_GROUP(window_options, &e.rp),
			OPT_GROUP(debugfs_options, NULL),
		},
		.to = &e, .arg = set_view, .check = check,
	}, argc, argv);
	if (e.live)
		return live(&e);
	if (!e.rp.file)
		e.rp.file = "wsmon.data";
	return report_run(&e.rp, e.file);
}
