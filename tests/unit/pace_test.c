// SPDX-License-Identifier: GPL-2.0
/*
 * pace_test.c - the CPU budget holds at any cost, and work is reduced for no
 * longer than needed
 */
#include "test.h"

#define MS	1000000ULL
#define SEC	(1000 * MS)

/* Cost of a session: for all regions, and fixed */
struct load {
	u64 first;		/* the first round of an interval, all regions */
	u64 check;		/* a round of checks */
	u64 fixed;		/* of either kind, for any number of regions */
};

/* The thread with its budget */
struct sim {
	struct wsmon_attrs a;
	struct wsmon_pace p;
	u64 now;
	u64 spent;		/* CPU time in all */
	u32 rounds;		/* of the last interval */
	bool busy;		/* other processes want the processor, too */
	bool blind;		/* time taken by others is not noticed */
	struct wsmon_stolen stolen;
};

static void sim_begin(struct sim *s, u64 sample_ms, u64 aggr_ms, u64 window_ms,
		      u32 permille)
{
	*s = (struct sim){ .a = {
		.sample_us = sample_ms * 1000, .aggr_us = aggr_ms * 1000,
		.windows_us = { window_ms * 1000 }, .nr_windows = 1,
		.cpu_permille = permille,
	} };
	wsmon_pace_begin(&s->p, &s->a);
}

static u64 cost(const struct sim *s, u64 of_all, const struct load *l)
{
	return l->fixed + of_all * s->p.share / WSMON_ONE;
}

/* Two other processes get 3 ms each for each 3 ms. Return: the wall time of @ns of work */
static u64 beside_others(struct sim *s, u64 ns)
{
	u64 before = s->spent / (3 * MS);

	s->spent += ns;
	return ns + (s->spent / (3 * MS) - before) * 6 * MS;
}

/* Two thirds of a round are timed in pieces, the rest is not */
static u64 wall(struct sim *s, u64 ns)
{
	u64 sum = 0, piece, left;

	for (left = ns - ns / 3; left; left -= piece) {
		u64 took;

		piece = min(left, 60000ULL);
		took = beside_others(s, piece);
		wsmon_stolen_note(&s->stolen, took, 60000);
		sum += took;
	}
	return sum + beside_others(s, ns / 3);
}

static void spend(struct sim *s, u64 ns, bool first)
{
	s->p.used = s->p.share;
	if (s->busy) {
		ns = wall(s, ns);
		if (!s->blind)
			ns = wsmon_stolen_spent(&s->stolen, ns, false);
	} else {
		s->spent += ns;
	}
	wsmon_pace_spent(&s->p, ns, first);
}

/* One interval, as in wsmon_session.c */
static void interval(struct sim *s, const struct load *l)
{
	u64 end = s->now + s->a.aggr_us * 1000, due = s->now;

	spend(s, cost(s, l->first, l), true);
	for (s->rounds = 1; ; s->rounds++) {
		u64 needed = end - wsmon_pace_needed(&s->a, end - s->now);

		due += s->p.step_ns;
		s->now = wsmon_pace_may_check(&s->p) ? min(due, needed) : needed;
		if (s->now + s->a.sample_us * 500 >= end)
			break;
		spend(s, cost(s, l->check, l), false);
	}
	s->now = end;
	wsmon_pace_next(&s->p, &s->a, s->a.aggr_us * 1000);
}

static void cheap_is_untouched(void)
{
	struct load l = { .first = 5 * MS, .check = 2 * MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 100; i++) {
		interval(&s, &l);
		CHECK(s.rounds == 10, "%u rounds", s.rounds);
		CHECK(s.p.share == WSMON_ONE, "share %u", s.p.share);
	}
	CHECK(s.p.step_ns == 100 * MS, "step %llu", (long long)s.p.step_ns);
}

/* Rounds are reduced first, and regions stay. */
static void rounds_before_regions(void)
{
	struct load l = { .first = 15 * MS, .check = 5 * MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 100; i++)
		interval(&s, &l);
	CHECK(s.p.share == WSMON_ONE, "share %u", s.p.share);
	/* 30 ms, less an eighth, are enough for 15 and twice 5 ms */
	CHECK(s.rounds == 3, "%u rounds", s.rounds);
	CHECK(s.p.step_ns / MS == 333, "step %llu", (long long)s.p.step_ns);
}

/* A whole CPU is no limit, even if it is not enough. */
static void no_limit(void)
{
	struct load l = { .first = 5000 * MS, .check = 500 * MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 1000);
	for (i = 0; i < 100; i++) {
		interval(&s, &l);
		CHECK(s.rounds == 10 && s.p.share == WSMON_ONE &&
		      s.p.step_ns == 100 * MS, "%u rounds, share %u", s.rounds,
		      s.p.share);
	}
}

/* Over any ten seconds after costs have risen */
static void budget_holds(void)
{
	struct load cheap = { .first = 5 * MS, .check = 2 * MS, .fixed = MS / 2 };
	u32 permille[] = { 1, 5, 30, 100, 500 }, i, k, times;

	for (k = 0; k < sizeof(permille) / sizeof(permille[0]); k++) {
		for (times = 1; times <= 100; times *= 10) {
			struct load l = { cheap.first * times,
					  cheap.check * times, cheap.fixed };
			u64 max, worst = 0, at[64];
			struct sim s;

			sim_begin(&s, 100, 1000, 1000, permille[k]);
			for (i = 0; i < 20; i++)
				interval(&s, &cheap);
			for (i = 0; i < 64; i++) {
				at[i] = s.spent;
				interval(&s, &l);
				if (i >= 9)
					worst = max(worst, s.spent - at[i - 9]);
			}
			max = permille[k] * 10 * MS + l.fixed * 10;
			/* a rise of the first round's cost is noticed after two rounds */
			CHECK(worst <= max + max / 20 + 2 * l.first,
			      "%u permille, %u times: %llu of %llu us", permille[k],
			      times, (long long)worst / 1000, (long long)max / 1000);
		}
	}
}

static void comes_back(void)
{
	struct load dear = { .first = 500 * MS, .check = 200 * MS };
	struct load cheap = { .first = 5 * MS, .check = 2 * MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 100; i++)
		interval(&s, &dear);
	CHECK(s.p.share < WSMON_ONE / 16, "share %u", s.p.share);
	for (i = 0; i < 100; i++)
		interval(&s, &cheap);
	CHECK(s.p.share == WSMON_ONE && s.rounds == 10, "share %u, %u rounds",
	      s.p.share, s.rounds);
}

/*
 * The cost of a share shows two intervals later, as regions are merged and split at the
 * end of an interval. The share settles all the same.
 */
static void shares_settle(void)
{
	u32 permille[] = { 5, 10, 20, 29 }, i, k, was[2], low, high;
	struct sim s;

	for (k = 0; k < sizeof(permille) / sizeof(permille[0]); k++) {
		sim_begin(&s, 100, 1000, 1000, permille[k]);
		was[0] = was[1] = WSMON_ONE;
		low = WSMON_ONE;
		high = 0;
		for (i = 0; i < 200; i++) {
			/* samples of @was[1] are dropped, of @was[0] armed: 40 ms for all */
			s.p.used = (was[0] + was[1]) / 2;
			wsmon_pace_spent(&s.p, 40 * MS * s.p.used / WSMON_ONE, true);
			was[1] = was[0];
			was[0] = s.p.share;
			wsmon_pace_next(&s.p, &s.a, SEC);
			if (i < 60)
				continue;
			low = min(low, s.p.share);
			high = max(high, s.p.share);
		}
		CHECK(high - low <= low / 32, "%u permille: %u to %u", permille[k], low, high);
		CHECK(low >= WSMON_ONE * permille[k] / 40 * 3 / 4 &&
		      high <= WSMON_ONE * permille[k] / 40, "%u permille: share %u to %u",
		      permille[k], low, high);
	}
}

/* After a busy spell the share recovers before all of the debt is repaid. */
static void debts_hold_nothing_down(void)
{
	struct load dear = { .first = 500 * MS }, cheap = { .first = 5 * MS };
	struct sim s;
	u32 i, low;

	sim_begin(&s, 100, 1000, 1000, 10);
	for (i = 0; i < 4; i++)
		interval(&s, &dear);
	s.p.debt_ns = 100 * MS;
	low = s.p.share;
	for (i = 0; i < 6; i++)
		interval(&s, &cheap);
	CHECK(s.p.debt_ns && s.p.share > 2 * low, "debt %llu, share %u of %u",
	      (long long)s.p.debt_ns, s.p.share, low);
}

/* Checks that only count accesses are left out if a precision is set. */
static void precision_needs_no_checks(void)
{
	struct load l = { .first = 5 * MS, .check = 2 * MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1500, 30);
	s.a.precision = 50;
	wsmon_pace_begin(&s.p, &s.a);
	for (i = 0; i < 20; i++) {
		interval(&s, &l);
		CHECK(s.rounds == 2, "%u rounds", s.rounds);
	}
	/* the second sampler needs checks */
	s.a.who_rate = 100;
	interval(&s, &l);
	interval(&s, &l);
	CHECK(s.rounds > 5, "%u rounds", s.rounds);
	s.a.who_rate = 0;
	/* so do targets that are reclaimed */
	s.p.reclaims = true;
	interval(&s, &l);
	interval(&s, &l);
	CHECK(s.rounds > 5, "%u rounds", s.rounds);
	s.p.reclaims = false;
	interval(&s, &l);
	/* regions: as many as the CPU time allows, and no more than wanted */
	CHECK(s.p.share == WSMON_ONE, "share %u", s.p.share);
	s.p.wanted = WSMON_ONE / 4;
	interval(&s, &l);
	CHECK(s.p.share == WSMON_ONE / 4, "share %u", s.p.share);
	l.first = 500 * MS;
	for (i = 0; i < 20; i++)
		interval(&s, &l);
	CHECK(s.p.share < WSMON_ONE / 8, "share %u", s.p.share);
}

/* A window that begins within an interval needs a round at its begin. */
static void windows_keep_their_ends(void)
{
	static const struct {
		u64 window, longer;	/* ms */
		u64 at[3];		/* rounds needed, ms before the end */
	} cases[] = {
		{ 1000, 0, { 0 } }, { 3000, 7000, { 0 } }, { 300, 0, { 300 } },
		{ 1500, 0, { 500 } }, { 300, 2700, { 700, 300 } },
		{ 300, 1300, { 300 } },
	};
	struct load l = { .first = 50 * MS, .check = 20 * MS };
	struct sim s;
	u32 i, k, nr;

	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		u64 left = 1000 * MS;

		sim_begin(&s, 100, 1000, cases[k].window, 30);
		s.a.nr_windows = cases[k].longer ? 2 : 1;
		s.a.windows_us[1] = cases[k].longer * 1000;
		for (nr = 0; nr < 3; nr++) {
			left = wsmon_pace_needed(&s.a, left);
			CHECK(left == cases[k].at[nr] * MS, "case %u: %llu", k,
			      (long long)left);
			if (!left)
				break;
		}
		for (i = 0; i < 100; i++) {
			interval(&s, &l);
			CHECK(s.rounds >= nr + 1, "%u rounds", s.rounds);
		}
		CHECK(s.spent < 110 * 30 * MS, "%llu us", (long long)s.spent / 1000);
	}
}

/* Regions become fewer, so that all ending processes get their last look. */
static void looks_have_room(void)
{
	struct load l = { .first = 40 * MS, .fixed = MS };
	u32 i, k, missed = 0;
	struct sim s;

	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 200; i++) {
		spend(&s, cost(&s, l.first, &l), true);
		for (k = 0; k < 12; k++) {
			if (wsmon_pace_may_look(&s.p, 0))
				spend(&s, l.fixed, false);
			else if (i > 20)
				missed++;
		}
		wsmon_pace_next(&s.p, &s.a, SEC);
	}
	CHECK(!missed, "%u of 12 in each interval", missed);
	CHECK(s.p.share > WSMON_ONE / 8, "share %u", s.p.share);
	CHECK(s.spent < 200 * 30 * MS, "%llu us", (long long)s.spent / 1000);
}

/* Sixty sessions, with less than a thousandth of a processor each. */
static void sessions_share(void)
{
	struct load l = { .first = 5 * MS, .check = MS };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 300; i++) {
		s.p.sharers = 60;
		interval(&s, &l);
	}
	CHECK(s.spent < 310 * 30 * MS / 60, "%llu us", (long long)s.spent / 1000);
}

/* No overflow, no division by zero, and shares stay in range. */
static void anything_goes(void)
{
	u32 i, k;

	for (k = 0; k < 20000; k++) {
		struct sim s = { .a = {
			.sample_us = WSMON_SAMPLE_US_MIN <<  test_below(30),
			.nr_windows = 1,
			.cpu_permille = 1 + test_below(1000),
		} };

		s.a.sample_us = min(s.a.sample_us, WSMON_INTERVAL_US_MAX);
		s.a.aggr_us = min(s.a.sample_us << test_below(10), WSMON_INTERVAL_US_MAX);
		s.a.windows_us[0] = s.a.aggr_us * (1 + test_below(3));
		wsmon_pace_begin(&s.p, &s.a);
		s.a.precision = test_below(2) * test_below(1001);
		for (i = 0; i < 20; i++) {
			s.p.used = test_random() >> (32 + test_below(32));
			wsmon_pace_spent(&s.p, test_random() >> test_below(64), test_below(2));
			wsmon_pace_may_check(&s.p);
			if (test_below(2))
				wsmon_pace_next(&s.p, &s.a, test_random() >> test_below(64));
			CHECK(s.p.share >= WSMON_ONE / 1024 && s.p.share <= WSMON_ONE,
			      "share %u", s.p.share);
			CHECK(s.p.step_ns >= s.a.sample_us * 1000 &&
			      s.p.step_ns <= s.a.aggr_us * 1000, "step %llu of %llu",
			      (long long)s.p.step_ns, (long long)s.a.sample_us * 1000);
		}
	}
}

/* Time taken by others is not the module's: regions and rounds stay, and the budget holds. */
static void beside_busy_ones(void)
{
	struct load l = { .first = 60 * MS, .check = 5 * MS, .fixed = MS / 4 };
	u64 share[3] = { }, spent[3];
	u32 i, k;

	for (k = 0; k < 3; k++) {
		struct sim s;

		sim_begin(&s, 100, 1000, 1000, 30);
		s.busy = k;
		s.blind = k == 2;
		for (i = 0; i < 100; i++)
			interval(&s, &l);
		spent[k] = s.spent;
		for (i = 0; i < 100; i++) {
			interval(&s, &l);
			share[k] += s.p.share;
		}
		spent[k] = s.spent - spent[k];
	}
	CHECK(share[1] > share[0] * 8 / 10 && share[1] < share[0] * 12 / 10,
	      "%llu without, %llu with others", (long long)share[0], (long long)share[1]);
	CHECK(share[2] < share[0] / 2, "%llu if nothing is noticed", (long long)share[2]);
	CHECK(spent[1] < 100 * 30 * MS, "%llu ms", (long long)(spent[1] / MS));
}

static void stolen_time(void)
{
	struct wsmon_stolen s = { };
	u32 i;

	/* nothing was timed, or only short pieces */
	CHECK(wsmon_stolen_spent(&s, 5 * MS, false) == 5 * MS, "not all");
	for (i = 0; i < 10; i++)
		wsmon_stolen_note(&s, MS / 10, MS / 16);
	CHECK(wsmon_stolen_spent(&s, 5 * MS, false) == 5 * MS, "not all");
	/* of the timed ms 4 of 5 were stolen, and of the rest as many in proportion */
	memset(&s, 0, sizeof(s));
	wsmon_stolen_note(&s, MS, 2 * MS);
	wsmon_stolen_note(&s, 4 * MS, MS / 16);
	i = wsmon_stolen_spent(&s, 10 * MS, false);
	CHECK(i > 2 * MS && i < 5 * MS / 2, "%u", i);
	/* the next round was timed without loss, but the untimed part had its proportion */
	i = wsmon_stolen_spent(&s, 10 * MS, false);
	CHECK(i > 2 * MS && i < 5 * MS / 2, "%u", i);
	/* the kernel knows the stolen time itself */
	wsmon_stolen_note(&s, 4 * MS, MS / 16);
	CHECK(wsmon_stolen_spent(&s, MS, true) == MS, "taken twice");
	/* extreme values */
	wsmon_stolen_note(&s, U64_MAX, 1);
	wsmon_stolen_note(&s, U64_MAX, 1);
	CHECK(wsmon_stolen_spent(&s, U64_MAX, false) <= 86400ULL * SEC, "too much");
	CHECK(wsmon_stolen_spent(&s, 16, false) == 1, "nothing is left");
	for (i = 0; i < 1000; i++) {
		wsmon_stolen_note(&s, U64_MAX, 1);
		wsmon_stolen_spent(&s, U64_MAX, false);
	}
	CHECK(s.taken_ns <= s.timed_ns, "%llu", (long long)s.taken_ns);
}

/* Regions of a group are few at first, and also when its members multiply; but not for long */
static void crowds_begin_small(void)
{
	const struct load cheap = { MS, MS / 100, 0 };
	struct sim s;
	u32 i;

	sim_begin(&s, 100, 1000, 1000, 30);
	wsmon_pace_crowd(&s.p, &s.a, 64);
	CHECK(s.p.share == WSMON_ONE, "%u for few members", s.p.share);
	wsmon_pace_crowd(&s.p, &s.a, 256);
	CHECK(s.p.share == WSMON_ONE / 4, "%u for 256 members", s.p.share);
	wsmon_pace_crowd(&s.p, &s.a, 300);
	CHECK(s.p.share == WSMON_ONE / 4, "%u for a few more", s.p.share);
	for (i = 0; i < 12; i++)
		interval(&s, &cheap);
	CHECK(s.p.share == WSMON_ONE, "%u although there is time", s.p.share);
	wsmon_pace_crowd(&s.p, &s.a, U32_MAX);
	CHECK(s.p.share == WSMON_ONE / 8, "%u for as many as there can be", s.p.share);
	wsmon_pace_crowd(&s.p, &s.a, 0);
	wsmon_pace_crowd(&s.p, &s.a, 6400);
	CHECK(s.p.share == WSMON_ONE / 8, "%u raised", s.p.share);
	/* members that come and go in bursts, whose cost is known by now */
	sim_begin(&s, 100, 1000, 1000, 30);
	for (i = 0; i < 40; i++) {
		interval(&s, &cheap);
		wsmon_pace_crowd(&s.p, &s.a, i % 4 ? 60 : 200);
	}
	CHECK(s.p.share == WSMON_ONE, "%u with bursts", s.p.share);
	/* they are forgotten after a while */
	for (i = 0; i < 20; i++)
		wsmon_pace_crowd(&s.p, &s.a, 10);
	wsmon_pace_crowd(&s.p, &s.a, 200);
	CHECK(s.p.share < WSMON_ONE / 2, "%u for new members", s.p.share);
	sim_begin(&s, 100, 1000, 1000, 1000);
	wsmon_pace_crowd(&s.p, &s.a, 10000);
	CHECK(s.p.share == WSMON_ONE, "%u without a limit", s.p.share);
	s.p.sharers = 8;
	wsmon_pace_begin(&s.p, &s.a);
	CHECK(s.p.share == WSMON_ONE, "%u for each of eight sessions without a limit", s.p.share);
	s.a.cpu_permille = 30;
	wsmon_pace_begin(&s.p, &s.a);
	CHECK(s.p.share == WSMON_ONE / 2 && s.p.limit == s.p.share, "%u for each of eight", s.p.share);
}

static void percentiles(void)
{
	struct wsmon_hist h = { };
	u64 i, got, want;
	u32 p;

	CHECK(!wsmon_hist_percentile(&h, 50), "nothing, but half of it is less");
	for (i = 1; i <= 10000; i++)
		wsmon_hist_add(&h, i * i);
	for (p = 1; p <= 100; p++) {
		got = wsmon_hist_percentile(&h, p);
		want = (u64)p * 100 * p * 100;
		CHECK(got >= want && got <= want + want / 4, "%u %%: %llu, not %llu",
		      p, (long long)got, (long long)want);
	}
	CHECK(wsmon_hist_percentile(&h, 100) == 100000000, "the largest");
	wsmon_hist_add(&h, U64_MAX);
	CHECK(wsmon_hist_percentile(&h, 100) == U64_MAX, "the largest there can be");
	h = (struct wsmon_hist){ };
	wsmon_hist_add(&h, 0);
	CHECK(!wsmon_hist_percentile(&h, 99), "all are 0");
	for (i = 0; i < 256; i++) {
		h = (struct wsmon_hist){ };
		want = (4 + i % 4) << (i / 4) >> 2;
		want = i / 4 > 61 ? (4 + i % 4) << (i / 4 - 2) : want;
		wsmon_hist_add(&h, want);
		wsmon_hist_add(&h, U64_MAX);
		CHECK(wsmon_hist_percentile(&h, 50) >= want, "below %llx", (long long)want);
	}
}

void test_pace(void)
{
	test_run("pace: what is cheap is untouched", cheap_is_untouched);
	test_run("pace: fewer rounds come before fewer regions", rounds_before_regions);
	test_run("pace: a whole CPU is no limit", no_limit);
	test_run("pace: the budget holds over ten seconds", budget_holds);
	test_run("pace: what is cheap again is done again", comes_back);
	test_run("pace: shares settle", shares_settle);
	test_run("pace: debts hold nothing down", debts_hold_nothing_down);
	test_run("pace: a precision needs no checks", precision_needs_no_checks);
	test_run("pace: windows keep their ends", windows_keep_their_ends);
	test_run("pace: processes that end have their look", looks_have_room);
	test_run("pace: sessions share the budget", sessions_share);
	test_run("pace: any figures", anything_goes);
	test_run("pace: what others take is theirs", beside_busy_ones);
	test_run("pace: stolen time", stolen_time);
	test_run("pace: crowds begin small", crowds_begin_small);
	test_run("hist: percentiles", percentiles);
}
