// SPDX-License-Identifier: GPL-2.0
/*
 * act.c - "wsmo report act": totals of each rule of "wsmo act"
 *
 * Records have sums since the beginning, so the last record of each rule is enough.
 */
#include <stdlib.h>
#include <string.h>

#include "core/act_table.h"
#include "core/cli.h"
#include "libwsmon/wsmon_records.h"
#include "report.h"

struct rules {
	struct wsmon_rec_act *last[ACT_RULES];
};

static void act_begin_report(struct report *rp)
{
	rp->data = need(calloc(1, sizeof(struct rules)));
}

static void act_record(struct report *rp, const struct wsmon_record *rec)
{
	const struct wsmon_rec_act *act = (const void *)rec;
	struct rules *rules = rp->data;

	if (rec->type != WSMON_REC_ACT || act->rule >= ACT_RULES ||
	    !filter_wants(&rp->filter, rec))
		return;
	rules->last[act->rule] = need(realloc(rules->last[act->rule], rec->size));
	memcpy(rules->last[act->rule], rec, rec->size);
}

static void act_end_report(struct report *rp)
{
	struct table *t = act_table(rp->out.f, rp->out.format);
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
	rp->failed = !any;
	if (!any)
		msg("no rules were applied; 'wsmo act -o FILE' records what they do");
}

REPORT_VIEW(act_view) = {
	.order = 11,
	.name = "act",
	.help = "What each rule of 'wsmo act' did",
	.takes = TAKES_FORMAT,
	.no_snapshots = true,
	.begin = act_begin_report,
	.record = act_record,
	.end = act_end_report,
};
