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
#include "session/debugfs.h"

#define LIVE_INTERVAL	(10 * NSEC_PER_SEC)

const char *export_json_text(char *buf, size_t size, const char *text)
{
	char utf8[EXPORT_TEXT];
	struct json_object *o = json_object_new_string(text_utf8(utf8,
						sizeof(utf8), text));

	snprintf(buf, size, "%s", o ? json_object_to_json_string_ext(o,
			JSON_C_TO_STRING_NOSLASHESCAPE) : "\"\"");
	json_object_put(o);
	return buf;
}

/**
 * struct export - the command line
 * @rp:		what to read, and the format
 * @file:	-o
 * @live:	export what is monitored now, not a recording
 * @interval_ns: how often
 */
struct export {
	struct report rp;
	const char *file;
	bool live;
	__u64 interval_ns;
};

static const struct option_desc options[] = {
	{ "output", 'o', "FILE", "Write to FILE; an old one stays until the new is complete", OPT_TEXT,
	  OPT_AT(struct export, file) },
	{ "live", 0, NULL, "openmetrics: export what is monitored now, repeatedly", OPT_FLAG,
	  OPT_AT(struct export, live) },
	{ "interval", 0, "TIME", "Time between two exports with --live (10s)", OPT_TIME,
	  OPT_AT(struct export, interval_ns), NSEC_PER_MSEC },
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

static void check(struct argp_state *state, void *to)
{
	const struct export *e = to;
	const struct report *rp = &e->rp;

	if (!rp->view)
		usage_error(state, "name a format: chrome, damo or openmetrics");
	if ((e->live || e->interval_ns) && rp->view != &export_openmetrics)
		usage_error(state, "--live and --interval are for openmetrics");
	if (e->interval_ns && !e->live)
		usage_error(state, "--interval is for --live");
	if (e->live && (rp->file || !filter_is_all(&rp->filter)))
		usage_error(state, "--live exports all that is monitored now: it takes none of -i, --time, --pid, --class and --window");
}

int cmd_export(int argc, char **argv)
{
	struct export e = { .rp.out.f = stdout };

	filter_init(&e.rp.filter);
	options_parse(&(struct command_line) {
		.name = "wsmo export",
		.args = "chrome|damo|openmetrics",
		.doc = "Convert a recording for other programs."
		       "\vchrome: counters for ui.perfetto.dev. damo: regions for DAMON's damo. "
		       "openmetrics: text for Prometheus. Tables: 'wsmo report' with --csv or --json.",
		.groups = {
			OPT_GROUP(options, &e), OPT_GROUP(recording_options, &e.rp),
			OPT_GROUP(class_options, &e.rp), OPT_GROUP(window_options, &e.rp),
			OPT_GROUP(debugfs_options, NULL),
		},
		.to = &e, .arg = set_view, .check = check,
	}, argc, argv);
	if (e.live)
		return export_live(e.file, e.interval_ns ? e.interval_ns :
							   LIVE_INTERVAL);
	if (!e.rp.file)
		e.rp.file = "wsmon.data";
	return report_run(&e.rp, e.file);
}
