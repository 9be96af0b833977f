// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - suite wsmon_stream: records are as include/wsmon.h says
 *
 * The buffer is a fake that keeps the records.
 */
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>

#include "stream.h"

#define REMOTE_NS	0x23456789aULL

/* The monitor that the records are about */
struct wsmon_monitor wsmon;

struct taken taken;

void wsmon_buffers_put(struct wsmon_monitor *mon, struct wsmon_record *rec)
{
	KUNIT_ASSERT_GE(taken.test, rec->size, sizeof(*rec));
	KUNIT_ASSERT_LE(taken.test, rec->size, WSMON_RECORD_MAX);
	KUNIT_EXPECT_EQ(taken.test, rec->size % 8, 0);
	KUNIT_ASSERT_LE(taken.test, taken.len + rec->size, taken.room);
	memcpy(taken.bytes + taken.len, rec, rec->size);
	taken.len += rec->size;
	taken.nr++;
	/* the memory of the next record: zeros have to be written there */
	memset(rec, 0xa5, rec->size);
}

u64 wsmon_tlb_remote_ns(const struct wsmon_monitor *mon)
{
	return REMOTE_NS;
}

const void *stream_record(u32 n)
{
	const u8 *p = taken.bytes;

	KUNIT_ASSERT_LT(taken.test, n, taken.nr);
	while (n--)
		p += ((const struct wsmon_record *)p)->size;
	return p;
}

/* The n-th record, apart from its time, is byte for byte as wanted. */
static void expect_record(u32 n, const void *want, size_t size)
{
	const struct wsmon_record *got = stream_record(n);

	KUNIT_ASSERT_EQ(taken.test, got->size, size);
	KUNIT_EXPECT_EQ(taken.test, got->type,
			((const struct wsmon_record *)want)->type);
	KUNIT_EXPECT_MEMEQ(taken.test, got + 1,
			   (const struct wsmon_record *)want + 1,
			   size - sizeof(*got));
}

int stream_begin(struct kunit *test)
{
	taken.test = test;
	taken.room = 2 << 20;
	taken.bytes = test_alloc(test, 1, taken.room);
	taken.len = 0;
	taken.nr = 0;
	memset(&wsmon, 0, sizeof(wsmon));
	wsmon.session = test_alloc(test, 1, sizeof(*wsmon.session));
	wsmon.session->mon = &wsmon;
	wsmon.session->ns = task_active_pid_ns(current);
	wsmon.session->scratch = test_alloc(test, 1, WSMON_RECORD_MAX);
	return 0;
}

struct wsmon_target *stream_target(struct kunit *test, struct world *w)
{
	struct wsmon_target *t = test_alloc(test, 1, sizeof(*t));

	t->session = wsmon.session;
	t->pid = task_pid(current);
	if (w) {
		t->space = w->sp;
		t->regions = w->rs;
	}
	return t;
}

/* Records have the present time. */
static void time_is_now(struct kunit *test)
{
	static const struct mapping map = { 0, 1, WSMON_CLASS_HEAP };
	struct world *w = world_new(test, 1, 1);
	struct wsmon_target *t;
	u64 before, after;
	u32 i;

	world_fill(w, &map, 1, 1);
	t = stream_target(test, w);
	before = ktime_get_ns();
	wsmon_stream_attrs(wsmon.session);
	wsmon_stream_target(t, WSMON_TARGET_START);
	wsmon_stream_areas(t);
	wsmon_stream_exited(t);
	wsmon_stream_stats(wsmon.session);
	wsmon_stream_end(wsmon.session, WSMON_END_STOPPED);
	after = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, taken.nr, 6);
	for (i = 0; i < taken.nr; i++) {
		const struct wsmon_record *rec = stream_record(i);

		KUNIT_EXPECT_GE_MSG(test, rec->time_ns, before, "type %u", rec->type);
		KUNIT_EXPECT_LE_MSG(test, rec->time_ns, after, "type %u", rec->type);
	}
}

static void attrs(struct kunit *test)
{
	struct wsmon_rec_attrs want = { { WSMON_REC_ATTRS }, {
		.sample_us = 1, .aggr_us = 2, .update_us = 3,
		.seed = U64_MAX, .min_regions = 6, .max_regions = 7,
		.flags = WSMON_ATTR_FLUSH_TLB, .nr_windows = 3,
		.windows_us = { 4, 5, WSMON_INTERVAL_US_MAX },
		.cpu_permille = 8, .peak_detector = WSMON_PEAK_FANO,
		.peak_window = 9, .peak_gain = 10, .peak_adapt = 11 } };

	wsmon.attrs = want.attrs;
	wsmon_stream_attrs(wsmon.session);
	KUNIT_EXPECT_EQ(test, taken.nr, 1);
	expect_record(0, &want, sizeof(want));
}

static void target_and_exit(struct kunit *test)
{
	static const u32 flags[] = {
		WSMON_TARGET_START, WSMON_TARGET_EXEC, WSMON_TARGET_AGAIN,
	};
	struct wsmon_rec_target want = { { WSMON_REC_TARGET } };
	struct wsmon_rec_exit gone = { { WSMON_REC_EXIT } };
	struct wsmon_target *t = stream_target(test, NULL);
	u32 i;

	/* the maximum length of names, and the NUL */
	strscpy(t->comm, "fifteen-letters", sizeof(t->comm));
	memcpy(want.comm, t->comm, sizeof(want.comm));
	want.pid = current->pid;
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		wsmon_stream_target(t, flags[i]);
		want.flags = flags[i];
		expect_record(i, &want, sizeof(want));
	}
	t->secondary_mmu = true;
	wsmon_stream_target(t, WSMON_TARGET_AGAIN);
	want.flags = WSMON_TARGET_AGAIN | WSMON_TARGET_SECONDARY_MMU;
	expect_record(3, &want, sizeof(want));
	wsmon_stream_exited(t);
	gone.pid = current->pid;
	expect_record(4, &gone, sizeof(gone));
}

/* The text as given, with the pid and the time */
static void peak(struct kunit *test)
{
	struct wsmon_rec_peak want = {
		{ WSMON_REC_PEAK }, .group = WSMON_PEAK_REST,
		.edge = WSMON_PEAK_END, .sign = -1, .number = U32_MAX,
		.start_ns = 1, .end_ns = 2, .window_us = 3, .bytes = 4, .low = 5,
		.high = 6, .height = 7, .baseline = 8, .threshold = U64_MAX,
	}, rec = want;
	const struct wsmon_record *got;

	wsmon_stream_peak(stream_target(test, NULL), &rec, NOW);
	want.pid = current->pid;
	expect_record(0, &want, sizeof(want));
	got = stream_record(0);
	KUNIT_EXPECT_EQ(test, got->time_ns, NOW);
	KUNIT_EXPECT_EQ(test, got->size, 16 + 24 + 9 * 8);
}

/* A pid that the session's opener cannot see is 0, not another process's. */
static void pid_elsewhere(struct kunit *test)
{
	struct pid_namespace *child = test_alloc(test, 1, sizeof(*child));
	struct wsmon_rec_exit want = { { WSMON_REC_EXIT } };

	child->level = 1;
	wsmon.session->ns = child;
	wsmon_stream_exited(stream_target(test, NULL));
	expect_record(0, &want, sizeof(want));
}

/* In bytes, not pages; mapped memory excludes gaps */
static void areas(struct kunit *test)
{
	static const struct mapping map[] = {
		{ 0, 1, WSMON_CLASS_TEXT },
		{ 100, 110, WSMON_CLASS_HEAP }, { 200, 210, WSMON_CLASS_ANON },
		{ TOP / 2, TOP, WSMON_CLASS_SHMEM },
	};
	static const struct {
		u32 class;
		u64 start;
		u64 end;
		u64 mapped;
	} want[] = {
		{ WSMON_CLASS_MIXED, 0, 210 << PAGE_SHIFT, 21 << PAGE_SHIFT },
		{ WSMON_CLASS_SHMEM, BIT_ULL(56), BIT_ULL(57), BIT_ULL(56) },
	};
	struct world *w = world_new(test, ARRAY_SIZE(map), 1);
	u32 i;

	world_fill(w, map, ARRAY_SIZE(map), ARRAY_SIZE(want));
	wsmon_stream_areas(stream_target(test, w));
	KUNIT_EXPECT_EQ(test, taken.nr, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const struct wsmon_rec_area rec = {
			{ WSMON_REC_AREA }, .pid = current->pid,
			.class = want[i].class, .index = i,
			.total = ARRAY_SIZE(want), .start = want[i].start,
			.end = want[i].end, .mapped = want[i].mapped,
		};

		expect_record(i, &rec, sizeof(rec));
	}
}

/* For each window: the target's total always, and the classes it has */
static void working_sets(struct kunit *test)
{
	static const struct {
		u32 window;
		u32 class;
		struct wsmon_wss wss;
	} rows[] = {
		{ 0, WSMON_CLASS_ALL, { 3, 2, TOP, TOP } },
		{ 0, WSMON_CLASS_TEXT, { 0, 0, 0, 1 } },
		{ 0, WSMON_CLASS_MIXED, { 3, 2, TOP, TOP } },
		{ 1, WSMON_CLASS_ALL, { 0, 0, 0, 0 } },
		{ 2, WSMON_CLASS_ALL, { 7, 6, 8, 9 } },
		{ 2, WSMON_CLASS_HUGETLB, { 7, 6, 8, 9 } },
	};
	static const u64 windows_us[] = { 5, 6, WSMON_INTERVAL_US_MAX };
	struct wsmon_target *t = stream_target(test, NULL);
	u32 i;

	memcpy(wsmon.attrs.windows_us, windows_us, sizeof(windows_us));
	wsmon.attrs.nr_windows = 3;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		t->wss[rows[i].window][rows[i].class] = rows[i].wss;
	/* of no present window */
	t->wss[3][WSMON_CLASS_ALL] = rows[0].wss;
	wsmon_stream_wss(t, 0, NOW);

	KUNIT_ASSERT_EQ(test, taken.nr, ARRAY_SIZE(rows));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct wsmon_wss *w = &rows[i].wss;
		const struct wsmon_rec_wss want = {
			{ WSMON_REC_WSS }, .pid = current->pid,
			.class = rows[i].class, .window_us = windows_us[rows[i].window],
			.bytes = w->pages * PAGE_SIZE,
			.low = w->low * PAGE_SIZE,
			.high = w->high * PAGE_SIZE,
			.mapped = w->mapped * PAGE_SIZE,
		};
		const struct wsmon_record *rec = stream_record(i);

		expect_record(i, &want, sizeof(want));
		KUNIT_EXPECT_EQ(test, rec->time_ns, NOW);
	}
}

static void stats(struct kunit *test)
{
	struct wsmon_rec_stats want = {
		.rec = { WSMON_REC_STATS },
		.rounds = 1, .late_rounds = 2, .missed = 3, .checks = 4,
		.arms = 5, .flushes = 6, .walk_ns = 7, .flush_ns = 8,
		.adapt_ns = 9, .emit_ns = 10, .cpu_ns = 11,
		.max_hold_ns = U64_MAX,
		/* two targets with 3 and 1 regions, two of which are single pages */
		.regions = 4, .samples = 6, .targets = 1,
		.budget = 77, .sample_ns = 12, .remote_ns = REMOTE_NS - 13,
		.idle_rounds = 14, .late_p50_ns = 16, .late_p99_ns = 1000,
		.late_max_ns = 1000, .hold_p99_ns = 18,
		.members = 19, .unfollowed = 20,
	};
	struct wsmon_session *ss = wsmon.session;
	struct world *w[2] = { world_new(test, 1, 3), world_new(test, 1, 1) };
	u32 i;

	ss->stats = (struct wsmon_rec_stats){
		.rounds = 1, .late_rounds = 2, .missed = 3, .checks = 4,
		.arms = 5, .flushes = 6, .walk_ns = 7, .flush_ns = 8,
		.adapt_ns = 9, .emit_ns = 10, .cpu_ns = 11,
		.max_hold_ns = U64_MAX, .idle_rounds = 14,
	};
	ss->unfollowed = 20;
	ss->pace.step_ns = 12;
	ss->remote_start_ns = 13;
	/* two of three values are 15: the bucket ends at 16 */
	wsmon_hist_add(&ss->late, 15);
	wsmon_hist_add(&ss->late, 15);
	wsmon_hist_add(&ss->late, 1000);
	wsmon_hist_add(&ss->hold, 18);
	ss->nr_targets = 2;
	ss->nr_alive = 1;
	ss->nr_members = 19;
	ss->targets = test_alloc(test, 2, sizeof(*ss->targets));
	w[0]->rs.nr = 3;
	w[1]->rs.nr = 1;
	w[0]->rs.budget = 70;
	w[1]->rs.budget = 7;
	for (i = 0; i < 2; i++)
		ss->targets[i].regions = w[i]->rs;
	w[0]->rs.r[0].n[1] = 1;
	w[0]->rs.r[2].n[1] = TOP;
	wsmon_stream_stats(ss);
	expect_record(0, &want, sizeof(want));
}

static void end(struct kunit *test)
{
	struct wsmon_rec_end want = { { WSMON_REC_END } };

	wsmon_stream_end(wsmon.session, WSMON_END_STOPPED);
	expect_record(0, &want, sizeof(want));
	want.reason = WSMON_END_TARGETS_GONE;
	wsmon_stream_end(wsmon.session, WSMON_END_TARGETS_GONE);
	expect_record(1, &want, sizeof(want));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(time_is_now),
	KUNIT_CASE(attrs),
	KUNIT_CASE(target_and_exit),
	KUNIT_CASE(peak),
	KUNIT_CASE(pid_elsewhere),
	KUNIT_CASE(areas),
	KUNIT_CASE(working_sets),
	KUNIT_CASE(stats),
	KUNIT_CASE(end),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_stream",
	.init = stream_begin,
	.test_cases = cases,
};

kunit_test_suite(suite);
