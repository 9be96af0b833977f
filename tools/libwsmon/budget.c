// SPDX-License-Identifier: GPL-2.0
/*
 * budget.c - how much sampling was reduced, for the CPU budget or for a precision, and its cost
 *
 * STATS records have the sampling interval and the maximum of regions in force, but the first
 * STATS record comes after the first aggregation interval. Rounds left out before it show only
 * in the number of rounds. Rounds left out because targets slept, or because a round was late,
 * do not count.
 */
#include <math.h>
#include <stdio.h>

#include "budget.h"
#include "libwsmon.h"
#include "util.h"

/* Report reductions from this part on */
#define WORTH	0.1

/* Report CPU time above this multiple of the budget */
#define EXCESS	1.25

/* After this time, later intervals have made up for a beginning above the budget */
#define SAVED_NS	60e9

static void begin(struct budget *b, const struct wsmon_rec_stats *from)
{
	b->stats = *from;
	b->known = true;
}

static double share_of_regions(const struct budget *b)
{
	/* each target gets an equal part, rounded down: the sum may lack up to one per target */
	double allowed = (double)b->stats.budget + b->targets;

	if (!b->stats.budget || allowed >= b->attrs.max_regions)
		return 1;
	return allowed / b->attrs.max_regions;
}

/* Adds the time from the last STATS record to this one */
static void add_interval(struct budget *b, const struct wsmon_rec_stats *now)
{
	const struct wsmon_rec_stats *was = &b->stats;
	double time = (double)now->rec.time_ns - was->rec.time_ns;
	double sample_ns = b->attrs.sample_us * (double)NSEC_PER_USEC;
	double due = time / sample_ns, missing;

	if (now->rec.time_ns <= was->rec.time_ns || now->rounds < was->rounds)
		return;
	if (now->idle_rounds == was->idle_rounds)
		missing = due - (now->rounds - was->rounds) - (now->late_rounds - was->late_rounds);
	else	/* rounds may be missing because all targets slept: use the sampling interval */
		missing = was->sample_ns > sample_ns ? due - time / was->sample_ns : 0;
	/*
	 * Without targets there is one round per interval. A difference of 1 means nothing, as
	 * intervals do not begin and end exactly at rounds.
	 */
	if (missing > 1 && (was->targets || now->targets))
		b->left_out += missing;
	b->rounds += due;
	b->time += time;
	b->regions_time += time * share_of_regions(b);
	b->cpu_ns += (double)(now->cpu_ns + now->remote_ns) - (was->cpu_ns + was->remote_ns);
}

static void take_stats(struct budget *b, const struct wsmon_record *rec)
{
	struct wsmon_rec_stats stats;

	wsmon_record_copy(rec, &stats, sizeof(stats));
	if (b->known && b->attrs.sample_us)
		add_interval(b, &stats);
	begin(b, &stats);
	if (b->bytes > 0) {
		b->widths += sqrt(b->var) / b->bytes;
		b->intervals++;
	}
	b->bytes = 0;
	b->var = 0;
	b->group = false;
}

static void take_size(struct budget *b, __u64 bytes, __u64 low, __u64 high)
{
	double half = ((double)high - low) / 2;

	b->bytes += bytes;
	b->var += half * half;
}

void budget_take(struct budget *b, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const struct wsmon_rec_total *total = (const void *)rec;
	const struct wsmon_rec_group *group = (const void *)rec;
	const struct wsmon_rec_wss *wss = (const void *)rec;
	struct wsmon_rec_attrs attrs;

	switch (rec->type) {
	case WSMON_REC_ATTRS:
		wsmon_record_copy(rec, &attrs, sizeof(attrs));
		b->attrs = attrs.attrs;
		break;
	case WSMON_REC_TARGET:
		if ((target->flags & WSMON_TARGET_REASON) != WSMON_TARGET_START)
			break;
		/* the counters are 0 when the first target starts */
		if (!b->targets++ && !b->known)
			begin(b, &(struct wsmon_rec_stats){ .rec.time_ns = rec->time_ns });
		break;
	case WSMON_REC_GROUP:
		/* they were also 0 before the first interval: the one in which all members came */
		if (!b->known && group->came && group->came >= group->members)
			begin(b, &(struct wsmon_rec_stats){
				.rec.time_ns = rec->time_ns - group->interval_ns });
		break;
	case WSMON_REC_WSS:
		if (wss->class == WSMON_CLASS_ALL && wss->window_us == b->attrs.windows_us[0] &&
		    !b->group)
			take_size(b, wss->bytes, wss->low, wss->high);
		break;
	case WSMON_REC_TOTAL:
		if (total->class != WSMON_CLASS_ALL || total->window_us != b->attrs.windows_us[0])
			break;
		/* the total replaces the sizes of targets, as it counts shared pages once */
		b->bytes = 0;
		b->var = 0;
		b->group = true;
		take_size(b, total->bytes, total->low, total->high);
		break;
	case WSMON_REC_STATS:
		take_stats(b, rec);
		break;
	}
}

const char *budget_text(char *buf, const struct budget *b)
{
	double rounds = b->rounds > 0 ? b->left_out / b->rounds : 0;
	double regions = b->time > 0 ? 1 - b->regions_time / b->time : 0;
	double cpu = b->time > 0 ? b->cpu_ns / b->time : 0;
	__u32 permille = b->attrs.cpu_permille;
	int len;

	if (b->attrs.precision) {
		if (!b->intervals || b->time <= 0)
			return NULL;
		snprintf(buf, BUDGET_TEXT,
			 "for --precision %g%%: ±%.1f %% with %.0f of %u regions and %.2g %% of one CPU%s",
			 b->attrs.precision / 10.0, 100 * b->widths / b->intervals,
			 b->regions_time / b->time * b->attrs.max_regions, b->attrs.max_regions,
			 100 * b->cpu_ns / b->time,
			 b->attrs.who_rate ? "" : "; freq and ACCESSES are by intervals");
		return buf;
	}
	/* 0: the recording's writer knew no budget; 1000: no limit */
	if (!permille || permille == 1000)
		return NULL;
	/* the first look at many processes exceeds the budget; later intervals make up for it */
	if (cpu * 1000 > permille * EXCESS) {
		snprintf(buf, BUDGET_TEXT, "took %.2g %% of one CPU, more than --cpu %g%%%s",
			 100 * cpu, permille / 10.0, b->time > SAVED_NS ? "" :
			 "; the beginning takes more, what follows less: record for longer");
		return buf;
	}
	if (rounds < WORTH && regions < WORTH)
		return NULL;
	/* the estimates stay unbiased; fewer regions widen their confidence intervals */
	len = snprintf(buf, BUDGET_TEXT, "--cpu %g%% left out", permille / 10.0);
	if (rounds >= WORTH)
		len += snprintf(buf + len, BUDGET_TEXT - len, " %.0f %% of the rounds%s", 100 * rounds,
				regions >= WORTH ? " and" : "");
	if (regions >= WORTH)
		len += snprintf(buf + len, BUDGET_TEXT - len, " %.0f %% of the regions", 100 * regions);
	snprintf(buf + len, BUDGET_TEXT - len, ": for %s give more",
		 regions >= WORTH ? "narrower intervals" : "an exact freq");
	return buf;
}
