// SPDX-License-Identifier: GPL-2.0
/* gone_test.c - memory that was used and freed within a window */
#include "world.h"

/* A process with 1000 pages, and the balance that began with them */
static struct wsmon_counts counts;
static struct wsmon_balance balance;

static void process(void)
{
	counts = (struct wsmon_counts){
		.anon = 1000, .files = 100, .peak = 1100, .huge_pages = 512,
	};
	balance = (struct wsmon_balance){ };
	wsmon_balance_end(&balance, &counts);
}

/* The process maps and uses @pages, which are looked at if @look, and frees them. */
static void use_and_give_back(u64 pages, bool look)
{
	counts.faults += pages;
	counts.peak = max(counts.peak, counts.anon + counts.files + pages);
	if (look) {
		wsmon_balance_look(&balance, counts.anon + pages);
		wsmon_balance_look(&balance, counts.anon);
	}
}

static void check_went(u64 least, u64 most)
{
	struct wsmon_went w = wsmon_balance_end(&balance, &counts);

	CHECK(w.least == least && w.most == most, "%llu to %llu, not %llu to %llu", w.least, w.most,
	      least, most);
}

static void the_first_interval_says_nothing(void)
{
	process();
	balance.begun = false;
	counts.faults = 5000;
	wsmon_balance_look(&balance, 5000);
	check_went(0, 0);
	check_went(0, 0);
}

static void what_comes_and_goes_counts(void)
{
	process();
	use_and_give_back(500, true);
	check_went(500, 500);
	/* most: each use; least: the maximum at one time */
	use_and_give_back(500, true);
	use_and_give_back(500, false);
	check_went(500, 1000);
	/* no look saw it, but signs of the last interval still count */
	use_and_give_back(500, false);
	check_went(0, 500);
}

static void the_peak_of_the_kernel_counts(void)
{
	process();
	use_and_give_back(500, false);
	check_went(500, 500);
	/* the peak did not rise: it may be long ago */
	process();
	counts.peak = balance.begin.peak = 9000;
	counts.faults += 500;
	check_went(0, 0);
}

static void what_was_there_before_is_not_new(void)
{
	process();
	counts.anon -= 600;
	check_went(0, 600);
	/* 500 pages are new, and 100 of the earlier ones are freed */
	process();
	use_and_give_back(500, true);
	counts.anon -= 100;
	check_went(500, 600);
}

static void what_stays_does_not_count(void)
{
	process();
	use_and_give_back(500, true);
	counts.faults += 300;
	counts.anon += 300;
	check_went(200, 500);
	/* growth, also in huge pages */
	process();
	counts.faults += 4;
	counts.huge += 4;
	counts.anon += 4 * 512;
	check_went(0, 0);
	CHECK(!balance.suspect, "%u", balance.suspect);
}

static void faults_alone_say_nothing(void)
{
	u32 i;

	process();
	for (i = 0; i < 20; i++) {
		counts.faults += 100000;
		/* per-processor counters lack some pages */
		wsmon_balance_look(&balance, counts.anon - i % 2);
		check_went(0, 0);
		CHECK(balance.suspect, "%u", i);
	}
}

static void signs_fade(void)
{
	u32 i;

	process();
	use_and_give_back(500, true);
	check_went(500, 500);
	for (i = 0; i < 60; i++)
		wsmon_balance_end(&balance, &counts);
	counts.faults += 100000;
	check_went(0, 0);
	CHECK(!balance.churn && !balance.frees, "churn %llu", balance.churn);
}

static void copies_are_taken_off(void)
{
	process();
	use_and_give_back(500, true);
	counts.used = 400;
	counts.forks++;
	counts.fork_pages = 1000;
	counts.faults += 400;
	check_went(500, 500);
	/* copies by later writes, but no more than the process uses */
	use_and_give_back(300, true);
	use_and_give_back(300, true);
	counts.faults += 400;
	check_went(300, 600);
	/* all pages at the fork (1000) are copied */
	use_and_give_back(300, false);
	use_and_give_back(300, true);
	counts.faults += 175;
	check_went(300, 600);
	counts.faults += 300;
	check_went(0, 300);
	/* several forks */
	counts.forks += 3;
	use_and_give_back(300, true);
	counts.faults += 1200;
	check_went(300, 300);
	/* a forked process begins with copies */
	process();
	balance.begun = false;
	counts.forks = 1;
	counts.fork_pages = 1000;
	counts.used = 900;
	check_went(0, 0);
	use_and_give_back(100, true);
	counts.faults += 900;
	check_went(100, 100);
}

static void other_faults_are_taken_off(void)
{
	process();
	use_and_give_back(500, true);
	counts.faults += 3000;
	counts.hints += 3000;
	check_went(500, 500);
	use_and_give_back(500, true);
	counts.hints += 9999;
	check_went(500, 500);
}

static void huge_pages_are_many(void)
{
	process();
	/* a look that found a part of it shows that memory is freed */
	wsmon_balance_look(&balance, counts.anon + 512);
	counts.faults += 8;
	counts.huge += 4;
	check_went(512, 8 + 4 * 511);
}

static void faults_may_be_unknown(void)
{
	process();
	counts.faults = 5000;
	check_went(0, 0);
	use_and_give_back(500, true);
	use_and_give_back(400, true);
	counts.faults = U64_MAX;
	check_went(500, 900);
	/* nor is the count before known */
	counts.faults = 100000;
	check_went(0, 0);
}

/* Two regions of two halves each: pages 0 to 400 */
static struct wsmon_region regions[2];
static struct wsmon_regions rs = { .r = regions, .nr = 2 };
static struct wsmon_extent extents[2];
static struct wsmon_area areas[2];
static struct wsmon_space space = { .ext = extents, .nr_ext = 2, .area = areas, .nr_area = 2 };
static struct wsmon_interval iv;
static struct wsmon_gone gone;

static void sampled(u32 class)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		regions[i] = (struct wsmon_region){
			.start = 200 * i, .end = 200 * i + 200, .n = { 100, 100 }, .area = i,
			.s = { { .vpn = 200 * i + 50 }, { .vpn = 200 * i + 150 } },
		};
		extents[i] = (struct wsmon_extent){
			.start = 200 * i, .end = 200 * i + 200, .base = 200 * i, .class = class,
		};
		areas[i] = (struct wsmon_area){ .first = i, .nr = 1, .class = class };
	}
	gone = (struct wsmon_gone){ };
	iv = (struct wsmon_interval){
		.begin_ns = 1000, .now = 1100, .aggr_ns = 100, .slack_ns = 5, .nr_windows = 2,
		.window_ns = { 100, 1000 },
	};
}

static void check_within(u32 k, u64 least, u64 most)
{
	struct wsmon_went w = wsmon_gone_within(&gone, &iv, k);

	CHECK(w.least == least && w.most == most, "window %u: %llu to %llu, not %llu to %llu", k,
	      w.least, w.most, least, most);
}

static void add(u64 least, u64 most)
{
	wsmon_gone_add(&gone, &iv, (struct wsmon_went){ least, most, 0 }, &rs, &space);
}

static void next(void)
{
	iv.begin_ns = iv.now;
	iv.now += iv.aggr_ns;
}

static void samples_knew_some_of_it(void)
{
	/* no region with samples was unmapped */
	sampled(WSMON_CLASS_ANON);
	add(300, 500);
	check_within(0, 300, 500);
	/* an accessed half went, and a half without accesses */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 3;
	regions[0].s[0].seen_ns = 1050;
	add(300, 500);
	check_within(0, 75, 400);
	/* at most as much as went in all */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 3;
	regions[1].went = 1;
	add(30, 50);
	check_within(0, 0, 50);
	/* freed memory ends somewhere near the middle: variance 100^2 / 6 */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 1;
	regions[0].s[0].seen_ns = 1050;
	add(0, 100);
	check_within(0, 0, 2 * 41);
	/* where a mapping ends, it is known where freed memory ends */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 3;
	regions[0].s[0].seen_ns = 1050;
	regions[0].s[1].seen_ns = 1050;
	add(0, 210);
	check_within(0, 0, 10);
	/* ten pages were freed after the count, but before the look at their samples */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 3;
	regions[0].s[0].seen_ns = 1050;
	regions[0].s[1].seen_ns = 1050;
	balance.frees = true;
	wsmon_gone_add(&gone, &iv, (struct wsmon_went){
		0, 210, wsmon_balance_late(&balance, balance.last - 10) }, &rs, &space);
	check_within(0, 0, 10 + 10);
	CHECK(!wsmon_balance_late(&balance, balance.last + 5), "a rise");
	/* nothing before: that is all */
	sampled(WSMON_CLASS_ANON);
	wsmon_gone_add(&gone, &iv, (struct wsmon_went){ 0, 0, 10 }, &rs, &space);
	check_within(0, 0, 10);
	balance.frees = false;
	CHECK(!wsmon_balance_late(&balance, 0), "a process that frees nothing");
	/* files are separate */
	sampled(WSMON_CLASS_FILE);
	regions[0].went = 3;
	add(300, 500);
	check_within(0, 300, 500);
	/* nothing went, whatever the samples found */
	sampled(WSMON_CLASS_ANON);
	regions[0].went = 3;
	add(0, 0);
	check_within(0, 0, 0);
}

static void windows_hold_their_intervals(void)
{
	u32 i;

	sampled(WSMON_CLASS_ANON);
	for (i = 1; i <= 30; i++) {
		add(1, 10);
		check_within(0, 1, 10);
		check_within(1, min(i, 10U), min(i, 10U) * 10);
		next();
	}
}

/* A window of a minute in intervals of 100 ms counts too much, never too little. */
static void long_windows_count_together(void)
{
	u32 i;

	sampled(WSMON_CLASS_ANON);
	iv.window_ns[1] = 600 * iv.aggr_ns;
	for (i = 1; i <= 3000; i++) {
		struct wsmon_went w;

		add(1, 1);
		w = wsmon_gone_within(&gone, &iv, 1);
		CHECK(w.most >= min(i, 600U) && w.most <= min(i, 610U), "%llu of %u", w.most, i);
		next();
	}
}

static void what_is_dropped_stays_in_long_windows(void)
{
	struct wsmon_space now = { .ext = extents, .nr_ext = 1 };

	sampled(WSMON_CLASS_ANON);
	add(0, 0);
	next();
	add(0, 0);
	regions[0].s[0].seen_ns = 1150;
	regions[0].out[1][0] = WSMON_ONE;
	/*
	 * the second region is dropped: one half was accessed, and half of the other half's cluster
	 */
	regions[1].s[0].seen_ns = 1150;
	regions[1].out[1][0] = WSMON_ONE;
	regions[1].s[1].seen_ns = 1050;
	regions[1].out[1][1] = WSMON_ONE / 2;
	wsmon_gone_drop(&gone, &iv, &rs, &now);
	next();
	add(0, 0);
	check_within(0, 0, 0);
	check_within(1, 150, 150);
	/* 1000 ns after the end of the first interval */
	iv.now = 2100;
	check_within(1, 100, 100);
	/* a sample seen before the begin of all windows does not count */
	sampled(WSMON_CLASS_ANON);
	iv.now = 9000;
	regions[1].s[0].seen_ns = 50;
	regions[1].out[1][0] = WSMON_ONE;
	add(0, 0);
	wsmon_gone_drop(&gone, &iv, &rs, &now);
	check_within(1, 0, 0);
	/* windows of one interval are already over */
	sampled(WSMON_CLASS_ANON);
	iv.nr_windows = 1;
	regions[1].s[0].seen_ns = 1050;
	regions[1].out[0][0] = WSMON_ONE;
	add(0, 0);
	wsmon_gone_drop(&gone, &iv, &rs, &now);
	check_within(0, 0, 0);
}

static void estimates_include_it(void)
{
	struct wsmon_wss wss[WSMON_NR_WSS] = { };

	wss[WSMON_CLASS_ALL] = (struct wsmon_wss){ 100, 90, 120, 1000, 0 };
	wss[WSMON_WSS_REST] = (struct wsmon_wss){ 50, 40, 70, 75, 0 };
	wss[WSMON_CLASS_TEXT] = (struct wsmon_wss){ 50, 40, 70, 300, 0 };
	wsmon_wss_add_went(wss, (struct wsmon_went){ 10, 30, 0 });
	CHECK(wss[0].pages == 110 && wss[0].low == 90 && wss[0].high == 150 && wss[0].mapped == 1000,
	      "%llu %llu %llu", wss[0].pages, wss[0].low, wss[0].high);
	CHECK(wss[WSMON_WSS_REST].high == 100 && wss[WSMON_WSS_REST].mapped == 100, "%llu",
	      wss[WSMON_WSS_REST].high);
	CHECK(wss[WSMON_CLASS_TEXT].high == 70, "%llu", wss[WSMON_CLASS_TEXT].high);
	/* it may be of the heap only if there is one */
	CHECK(wss[WSMON_CLASS_ANON].high == 30, "%llu", wss[WSMON_CLASS_ANON].high);
	CHECK(!wss[WSMON_CLASS_HEAP].high, "%llu", wss[WSMON_CLASS_HEAP].high);
	wss[WSMON_CLASS_HEAP].mapped = 5;
	wsmon_wss_add_went(wss, (struct wsmon_went){ 10, 30, 0 });
	CHECK(wss[WSMON_CLASS_HEAP].high == 30 && !wss[WSMON_CLASS_HEAP].pages, "%llu",
	      wss[WSMON_CLASS_HEAP].high);
}

void test_gone(void)
{
	test_run("what went: the first interval says nothing", the_first_interval_says_nothing);
	test_run("what went: what comes and goes counts", what_comes_and_goes_counts);
	test_run("what went: the kernel's peak counts", the_peak_of_the_kernel_counts);
	test_run("what went: what was there before is not new", what_was_there_before_is_not_new);
	test_run("what went: what stays does not count", what_stays_does_not_count);
	test_run("what went: faults alone say nothing", faults_alone_say_nothing);
	test_run("what went: signs fade", signs_fade);
	test_run("what went: copies after a fork are taken off", copies_are_taken_off);
	test_run("what went: other faults are taken off", other_faults_are_taken_off);
	test_run("what went: huge pages are many", huge_pages_are_many);
	test_run("what went: faults may be unknown", faults_may_be_unknown);
	test_run("what went: samples knew some of it", samples_knew_some_of_it);
	test_run("what went: windows hold their intervals", windows_hold_their_intervals);
	test_run("what went: long windows count several together", long_windows_count_together);
	test_run("what went: what is dropped stays in long windows",
		 what_is_dropped_stays_in_long_windows);
	test_run("what went: estimates include it", estimates_include_it);
}
