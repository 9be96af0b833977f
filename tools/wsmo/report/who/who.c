// SPDX-License-Identifier: GPL-2.0
/*
 * who.c - "wsmo report who": which threads and functions touch what memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "map.h"
#include "model.h"
#include "report/report.h"
#include "table.h"

struct who_options {
	enum who_by by;
	bool first;
	bool folded;
	__u32 top;
};

/**
 * struct view - state of the view
 * @who:	the records
 * @pid:	the first process, or 0
 * @comm:	its name
 */
struct view {
	struct who *who;
	__u32 pid;
	char comm[WSMON_COMM_LEN];
};

static void who_begin(struct report *rp)
{
	struct view *v = need(calloc(1, sizeof(*v)));

	v->who = who_new();
	rp->data = v;
}

static void view_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct who_options *opt = rp->options;
	struct view *v = rp->data;

	if (rec->type == WSMON_REC_TARGET && filter_wants_pid(&rp->filter, target->pid) &&
	    (!v->pid || target->pid == v->pid)) {
		v->pid = target->pid;
		memcpy(v->comm, target->comm, sizeof(v->comm));
	}
	who_record(v->who, &rp->filter, opt->first, rec);
}

static int draw(const struct report *rp, const struct view *v)
{
	const struct who_options *opt = rp->options;
	bool others = false;
	char title[200];
	size_t i;

	for (i = 0; i < v->who->nr; i++)
		others |= v->who->row[i].pid != v->pid;
	snprintf(title, sizeof(title), "%.*s (%u)%s: who touches what, as share of %s",
		 WSMON_COMM_LEN, v->comm, v->pid, others ? " and others" : "",
		 opt->first ? "what was touched for the first time" : "the working set");
	return who_picture(&rp->out.picture, v->who, opt->top, title);
}

static void who_end(struct report *rp)
{
	const struct who_options *opt = rp->options;
	struct view *v = rp->data;

	if (!v->who->nr)
		msg(opt->first ? "no records of first touches" :
		    "no records of who touched memory: wsmo record --who makes them");
	else
		who_sum_up(v->who, opt->by);
	rp->failed = !v->who->nr;
	if (rp->out.picture.file && v->who->nr)
		rp->failed = draw(rp, v) != 0;
	else if (opt->folded)
		who_folded(rp->out.f, v->who);
	else if (v->who->nr)
		who_table(rp->out.f, rp->out.format, v->who, opt->by, opt->top, false);
	who_free(v->who);
	free(v);
}

static void who_check(struct argp_state *state, const struct report *rp)
{
	const struct who_options *opt = rp->options;

	if (rp->out.picture.file && (opt->by != WHO_BY_ALL || opt->folded))
		usage_error(state, "a picture is of threads and objects: leave out --by and --folded");
	if (opt->folded && opt->by == WHO_BY_NODE)
		usage_error(state, "--folded is not of nodes");
}

static const struct option_desc own[] = {
	{ "by", 0, "all|function|thread|object|node",
	  "What a row is of (all: thread, function and object; node: of the CPU and of the memory)", OPT_CHOICE,
	  OPT_AT(struct who_options, by) },
	{ "first", 0, NULL, "Only what was touched for the first time, or mapped anew", OPT_FLAG,
	  OPT_AT(struct who_options, first) },
	{ "top", 0, "N", "Rows, the largest shares first (50); in a picture threads and objects", OPT_COUNT,
	  OPT_AT(struct who_options, top), 1, 1000000 },
	{ "folded", 0, NULL, "For flame graphs: 'thread;function;object;read count'", OPT_FLAG,
	  OPT_AT(struct who_options, folded) },
	{ 0 }
};

static struct who_options options = { .top = 50 };

const struct report_view report_who = {
	.name = "who",
	.help = "Which threads and functions touch what memory (record --who)",
	.takes = TAKES_FORMAT | TAKES_PICTURE,
	.own = own,
	.options = &options,
	.of_processes = true,
	.no_snapshots = true,
	.check = who_check,
	.begin = who_begin,
	.record = view_record,
	.end = who_end,
};
