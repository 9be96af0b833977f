// SPDX-License-Identifier: GPL-2.0
/*
 * sim.c - a target without a kernel, observed by the module's pure files
 *
 * Reads SETTINGS (times are in ns; regions that are "still" adapt once), mappings, then an
 * aggregation interval a line, of each of which it writes the snapshot:
 *
 *	map START END CLASS	pages, in hex; enum wsmon_class
 *	run NS LOOK DIGITS	its length; 0 if nobody looks at the samples; for each mapped
 *				page the chance in 9 that a round finds it accessed
 */
#include <stdio.h>

#include "../../module/wsmon_control.h"

#define PAGE_SHIFT	12
#define SETTINGS	"pid %llu seed %llu now %llu budget %llu still %llu rounds %llu part %llu window %llu"

static u64 pid, seed, now, budget, still, rounds, part;
static struct wsmon_interval iv = { .nr_windows = 1, .aggr_ns = 1000000000 };
static struct wsmon_extent ext[WSMON_MAX_EXTENTS];
static struct wsmon_area area[WSMON_MAX_EXTENTS];
static struct wsmon_region region[2][WSMON_REGIONS_LIMIT];
static struct wsmon_space sp = { .ext = ext, .area = area, .cap = WSMON_MAX_EXTENTS };
static struct wsmon_regions rs = {
	.r = region[0], .spare = region[1], .cap = WSMON_REGIONS_LIMIT, .limit = WSMON_REGIONS_LIMIT
};
static char digits[1 << 20];

static void check_samples(struct wsmon_region *r)
{
	const struct wsmon_area all = { .nr = sp.nr_ext };
	u32 h;

	for (h = 0; h < 2 && r->n[h]; h++) {
		u64 random = wsmon_hash64(wsmon_hash64(seed ^ now) ^ r->s[h].vpn);
		char digit = digits[wsmon_area_rank(&sp, &all, r->s[h].vpn)];
		bool hit = digit > '0' + (char)(random % 9);

		r->checks++;
		r->hits += hit;
		r->s[h].seen_ns = hit ? now : r->s[h].seen_ns;
	}
}

static void place_samples(void)
{
	static struct wsmon_adapt ws;
	u32 i;

	if (!iv.active || !still)
		wsmon_regions_adapt(&rs, &sp, &ws);
	for (i = 0; i < rs.nr; i++) {
		if (!rs.r[i].armed_ns)
			wsmon_region_draw(&sp, &rs.r[i], wsmon_draw_key(seed, iv.active));
		rs.r[i].armed_ns = rs.r[i].armed_ns ?: now;
	}
}

static void write_part(u32 first, u32 nr)
{
	struct wsmon_rec_snapshot rec = {
		.rec = { WSMON_REC_SNAPSHOT, sizeof(rec) + nr * sizeof(rec.regions[0]), now },
		.pid = pid, .nr = nr, .first = first, .total = rs.nr,
		.interval_ns = now - iv.begin_ns, .rounds = rounds, .budget = budget,
	};
	const struct wsmon_region *r;

	fwrite(&rec, sizeof(rec), 1, stdout);
	for (r = rs.r + first; r < rs.r + first + nr; r++) {
		struct wsmon_region_entry e = {
			.start = r->start << PAGE_SHIFT, .end = r->end << PAGE_SHIFT,
			.area = r->area, .class = area[r->area].class,
			.share = wsmon_region_share(r),
			.freq = r->checks ? r->hits * WSMON_ONE / r->checks : 0,
			.samples = wsmon_region_samples(r, iv.begin_ns),
			.age_ms = (now - r->since_ns) / 1000000,
		};

		fwrite(&e, sizeof(e), 1, stdout);
	}
}

static void interval(u64 length, bool look)
{
	u32 round, i;

	iv.active++;
	iv.begin_ns = now;
	for (round = 1; round <= rounds; round++) {
		now = iv.begin_ns + length * round / rounds;
		for (i = 0; i < rs.nr && look; i++)
			check_samples(&rs.r[i]);
	}
	iv.now = now;
	for (i = 0; i < rs.nr && look; i++) {
		rs.r[i].last = 1;
		rs.r[i].dropped = wsmon_region_due(&rs, i, &iv);
	}
	wsmon_regions_learn(&rs, &iv, false);
	for (i = 0; i < rs.nr; i += part)
		write_part(i, min_t(u64, part, rs.nr - i));
	wsmon_regions_rest(&rs);
	place_samples();
}

int main(void)
{
	u64 start, end;
	u32 n;

	if (scanf(SETTINGS, &pid, &seed, &now, &budget, &still, &rounds, &part, iv.window_ns) != 8)
		return 2;
	while (scanf(" map %llx %llx %u", &start, &end, &n) == 3)
		if (wsmon_space_add(&sp, start, end, n, false))
			return 2;
	rs.budget = budget;
	iv.slack_ns = iv.aggr_ns / rounds / 2;
	wsmon_space_group(&sp, budget);
	wsmon_regions_fit(&rs, &sp, now, 0);
	place_samples();
	while (scanf(" run %llu %u %1048575[0-9]", &end, &n, digits) == 3)
		interval(end, n);
	return feof(stdin) ? 0 : 2;
}
