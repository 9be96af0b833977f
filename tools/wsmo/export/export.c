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

#define LIVE_INTERVAL	(10 * NSEC_PER_SEC)

static int compare(const void *a, const void *b)
{
	const struct export_target *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void export_targets_init(struct sorted *targets)
{
	*targets = (struct sorted) {
		.size = sizeof(struct export_target), .max = EXPORT_TARGETS,
		.compare = compare,
	};
}

void export_target_note(struct sorted *targets, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *name = (const void *)rec;
	const struct wsmon_rec_proc *proc = (const void *)rec;
	struct export_target key = { 0 }, *t;

	if (rec->type != WSMON_REC_TARGET && rec->type != WSMON_REC_PROC)
		return;
	reader_pid(rec, &key.pid);
	t = sorted_get(targets, &key);
	if (t && rec->type == WSMON_REC_TARGET) {
		memcpy(t->comm, name->comm, sizeof(t->comm));
	} else if (t) {
		t->have_rss = true;
		t->rss = proc->rss;
		t->swap = proc->swap;
	}
}

struct export_target export_target(const struct sorted *targets, __u32 pid)
{
	const struct export_target key = { .pid = pid };
	const struct export_target *t = sorted_find(targets, &key);

	return t ? *t : key;
}

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
 * @rp:		what is read, and the format
 * @file:	-o
 * @live:	no recording but what the module knows now
 * @interval_ns: how often
 */
struct export {
	struct report rp;
	const char *file;
	bool live;
	__u64 interval_ns;
};

enum {
	OPT_CSV = 256, OPT_JSON, OPT_CHROME, OPT_DAMO, OPT_OPENMETRICS, OPT_LIVE,
	OPT_INTERVAL,
};

static const struct argp_option options[] = {
	{ "csv", OPT_CSV, NULL, 0, "Working set and resident sizes, comma separated", 0 },
	{ "json", OPT_JSON, NULL, 0, "The same, one JSON object a line", 0 },
	{ "chrome", OPT_CHROME, NULL, 0, "Chrome's trace format: counters, for ui.perfetto.dev", 0 },
	{ "damo", OPT_DAMO, NULL, 0, "A record of DAMON's user space tool damo: regions", 0 },
	{ "openmetrics", OPT_OPENMETRICS, NULL, 0, "OpenMetrics text, for Prometheus", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE, which is replaced when all is written", 1 },
	{ "live", OPT_LIVE, NULL, 0, "With --openmetrics: no recording but what is monitored now, again and again", 1 },
	{ "interval", OPT_INTERVAL, "TIME", 0, "With --live: how often (10s)", 1 },
	{ 0 }
};

static void set_view(struct argp_state *state, struct report *rp,
		     const struct report_view *view, enum table_format format)
{
	if (rp->view)
		usage_error(state, "one format at a time");
	rp->view = view;
	rp->out.format = format;
}

static void check(struct argp_state *state, const struct export *e)
{
	const struct report *rp = &e->rp;

	if (!rp->view)
		usage_error(state, "name a format: --csv, --json, --chrome, --damo or --openmetrics");
	if ((e->live || e->interval_ns) && rp->view != &export_openmetrics)
		usage_error(state, "--live and --interval are for --openmetrics");
	if (e->interval_ns && !e->live)
		usage_error(state, "--interval is for --live");
	if (e->live && (rp->file || !filter_is_all(&rp->filter)))
		usage_error(state, "--live is of all that is monitored now: it takes none of -i, --time, --pid, --class and --tau");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct export *e = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &e->rp;
		return 0;
	case OPT_CSV:
		set_view(state, &e->rp, &export_table, TABLE_CSV);
		return 0;
	case OPT_JSON:
		set_view(state, &e->rp, &export_table, TABLE_JSON);
		return 0;
	case OPT_CHROME:
		set_view(state, &e->rp, &export_chrome, TABLE_JSON);
		return 0;
	case OPT_DAMO:
		set_view(state, &e->rp, &export_damo, TABLE_JSON);
		return 0;
	case OPT_OPENMETRICS:
		set_view(state, &e->rp, &export_openmetrics, TABLE_RAW);
		return 0;
	case 'o':
		e->file = arg;
		return 0;
	case OPT_LIVE:
		e->live = true;
		return 0;
	case OPT_INTERVAL:
		if (units_parse_time(arg, &e->interval_ns) ||
		    e->interval_ns < NSEC_PER_MSEC)
			usage_error(state, "'%s' is not a time; try --interval 15s",
				    arg);
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is too much; name the record file with -i",
			    arg);
	case ARGP_KEY_END:
		check(state, e);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ .argp = &report_filter_argp, .group = 2 },
	{ .argp = &verb_common_argp },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.children = children,
	.doc = "Write a recording in a format of other programs.",
};

int cmd_export(int argc, char **argv)
{
	struct export e = { .rp.out.f = stdout };

	filter_init(&e.rp.filter);
	verb_parse(&argp, "wsmo export", argc, argv, &e);
	if (e.live)
		return export_live(e.file, e.interval_ns ? e.interval_ns :
							   LIVE_INTERVAL);
	if (!e.rp.file)
		e.rp.file = "wsmon.data";
	return report_run(&e.rp, e.file);
}
