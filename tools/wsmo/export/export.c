// SPDX-License-Identifier: GPL-2.0
/*
 * export.c - "wsmo export": recordings for other programs
 */
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/units.h"
#include "export.h"
#include "fleet.h"
#include "session/cgroup.h"
#include "session/session.h"

#define LIVE_INTERVAL	(10 * NSEC_PER_SEC)
#define LONGEST_WINDOW	86400000000ULL	/* us */

const char *export_json_text(char *buf, size_t size, const char *text)
{
	char utf8[EXPORT_TEXT];
	struct json_object *o = json_object_new_string(text_utf8(utf8,
						sizeof(utf8), text));

	FILE *f = need(fmemopen(buf, size, "w"));

	text_put_json(f, o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE) : "\"\"");
	fclose(f);
	json_object_put(o);
	return buf;
}

/**
 * struct export - the command line
 * @rp:		what to read, and the format
 * @file:	-o
 * @live:	export what is monitored now, not a recording
 * @interval_ns: how often
 * @fleet:	cgroups to watch, if it has a root
 */
struct export {
	struct report rp;
	const char *file;
	bool live;
	__u64 interval_ns;
	struct fleet fleet;
};

static void set_cgroup(struct argp_state *state, char *arg, const struct option_desc *o, void *to)
{
	struct fleet *f = &((struct export *)to)->fleet;

	if (f->root)
		usage_error(state, "only one of --cgroup and --cgroups");
	f->root = cgroup_option(state, arg, NULL);
	f->alone = !strcmp(o->name, "cgroup");
}

static struct setting *add_setting(struct session *how, const char *key)
{
	struct setting *set = &how->settings[how->nr_settings++];

	set->key = key;
	/* who watches the same cgroup with others decides */
	set->missing = "";
	return set;
}

static void set_cpu(struct argp_state *state, char *arg,
		    const struct option_desc *o __attribute__((unused)), void *to)
{
	struct fleet *f = to;
	__u64 permille = option_percent(state, arg) * 1000 + 0.5;

	if (!permille)
		usage_error(state, "'%s' is too little: at least 0.1%%", arg);
	f->cpu_permille = permille;
}

static void set_precision(struct argp_state *state, char *arg,
			  const struct option_desc *o __attribute__((unused)), void *to)
{
	((struct fleet *)to)->precision = 1 + option_precision(state, arg);
}

/* As the module wants them, in which no window is longer than a day */
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
	{ "output", 'o', "FILE", "Write to FILE; an old one stays until the new is complete", OPT_TEXT,
	  OPT_AT(struct export, file) },
	{ "live", 0, NULL, "openmetrics: export what is monitored now, repeatedly", OPT_FLAG,
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
	{ "max-cgroups", 0, "N", NULL, OPT_COUNT, OPT_AT(struct fleet, max),
	  1, 65536 },
	{ "at-once", 0, "N", NULL, OPT_COUNT,
	  OPT_AT(struct fleet, at_once), 1, 60 },
	{ "cpu", 0, "PERCENT", NULL, OPT_CALL, .call = set_cpu },
	{ "precision", 0, "PERCENT|max", NULL, OPT_CALL, .call = set_precision },
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
		usage_error(state, "one format at a time; name the record file with -i");
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
	if ((e->fleet.max || e->fleet.at_once || e->fleet.cpu_permille || e->fleet.precision) &&
	    !e->fleet.root)
		usage_error(state, "--max-cgroups, --at-once, --cpu and --precision are for --cgroups");
	if (e->fleet.root && (rp->file || rp->filter.pids.nr || has_times(&rp->filter)))
		usage_error(state, "--cgroup and --cgroups watch what there is now: they take none of -i, --time and --pid");
	for (i = 0; e->fleet.root && i < rp->filter.nr_windows; i++)
		if (rp->filter.windows[i] > LONGEST_WINDOW)
			usage_error(state, "a window is at most a day");
	if (e->live && !e->fleet.root && (rp->file || !filter_is_all(&rp->filter)))
		usage_error(state, "--live exports all that is monitored now: it takes none of -i, --time, --pid, --class and --window");
}

static int live(struct export *e)
{
	struct fleet *f = &e->fleet;

	if (!e->interval_ns)
		e->interval_ns = LIVE_INTERVAL;
	if (!f->root)
		return export_live(e->file, e->interval_ns);
	set_windows(&f->how, &e->rp.filter);
	if (!f->cpu_permille)
		f->cpu_permille = FLEET_CPU;
	snprintf(add_setting(&f->how, "cpu_permille")->value, SETTING_TEXT, "%u", f->cpu_permille);
	if (f->precision)
		snprintf(add_setting(&f->how, "precision")->value, SETTING_TEXT, "%u",
			 f->precision - 1);
	if (!f->max)
		f->max = FLEET_MAX;
	if (!f->at_once)
		f->at_once = FLEET_AT_ONCE;
	if (!e->rp.filter.classes)
		e->rp.filter.classes = 1U << WSMON_CLASS_ALL;
	return export_fleet(f, &e->rp.filter, e->file, e->interval_ns);
}

int cmd_export(int argc, char **argv)
{
	/* what it holds stays until the program ends */
	static struct export e;

	e = (struct export) { .rp.out.f = stdout };
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
