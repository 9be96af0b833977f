// SPDX-License-Identifier: GPL-2.0
/*
 * act.c - "wsmo report act": what each rule of "wsmo act" did
 *
 * Records have sums since the beginning, so the last one of each rule tells all.
 */
#include <stdlib.h>
#include <string.h>

#include "act/scheme.h"
#include "act/table.h"
#include "cli/cli.h"
#include "report.h"

static const struct table_desc * const tables[] = { &act_desc };

struct rules {
	struct wsmon_rec_act *last[ACT_RULES];
};

static void act_begin_report(struct report *rp)
{
	rp->data = calloc(1, sizeof(struct rules));
	if (!rp->data) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
}

static void act_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_act *act = (const void *)rec;
	struct rules *rules = rp->data;
	struct wsmon_rec_act *copy;

	if (rec->type != WSMON_REC_ACT || act->rule >= ACT_RULES ||
	    !filter_wants(&rp->filter, rec))
		return;
	copy = realloc(rules->last[act->rule], rec->size);
	if (!copy) {
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	memcpy(copy, rec, rec->size);
	rules->last[act->rule] = copy;
}

static void act_end_report(struct report *rp)
{
	struct table *t = table_new(&act_desc, rp->format);
	struct rules *rules = rp->data;
	bool any = false;
	size_t i;

	for (i = 0; i < ACT_RULES; i++) {
		if (!rules->last[i])
			continue;
		act_row(t, rules->last[i]);
		any = true;
		free(rules->last[i]);
	}
	table_end(t);
	free(rules);
	if (!any)
		msg("no rules were applied; 'wsmo act -o FILE' records what they do");
}

const struct report_view report_act = {
	.name = "act",
	.help = "what each rule of 'wsmo act' did, up to the end or the time wanted",
	.tables = tables,
	.nr_tables = ARRAY_SIZE(tables),
	.no_snapshots = true,
	.begin = act_begin_report,
	.record = act_record,
	.end = act_end_report,
};
