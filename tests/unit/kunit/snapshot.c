// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot.c - suite wsmon_snapshot: snapshots of regions are as include/wsmon.h says
 */
#include <linux/sched.h>

#include "stream.h"

#define PER_RECORD	2046	/* entries in the largest snapshot record */

struct entry {
	const char *what;
	struct wsmon_region r;	/* its area is the heap or, if 1, shmem */
	struct wsmon_region_entry want;
};

static const struct entry entries[] = {
	{ "hot page at 0",
	  { .end = 1, .n = { 1, 0 }, .share = { ONE, 7 }, .hits = 1,
	    .checks = 1, .since_ns = NOW },
	  { .end = PAGE_SIZE, .share = ONE, .freq = ONE,
	    .class = WSMON_CLASS_HEAP } },
	{ "half of it, a quarter of the time",
	  { .start = 10, .end = 20, .n = { 6, 2 }, .share = { ONE / 2, ONE / 2 },
	    .s = { { 12, NOW }, { 18, NOW - 5 } }, .draws = 64,
	    .hits = 5, .checks = 20, .since_ns = NOW - 2 * NSEC_PER_MSEC + 1 },
	  { .start = 10 * PAGE_SIZE, .end = 20 * PAGE_SIZE, .share = ONE / 2,
	    .freq = ONE / 4, .class = WSMON_CLASS_HEAP, .age_ms = 1,
	    /* place 2 of 6 pages in the lower half, and 2 of 4 in the upper */
	    .samples = WSMON_SAMPLES_VALID | WSMON_SAMPLES_LOWER_HIT | 21 |
		       32 << WSMON_SAMPLES_UPPER_SHIFT } },
	{ "all of it for long",
	  { .start = 10, .end = 20, .n = { 6, 2 }, .share = { ONE, ONE },
	    .s = { { 12, NOW }, { 18, NOW } }, .draws = 4, .hits = 4,
	    .checks = 4, .since_ns = NOW },
	  { .start = 10 * PAGE_SIZE, .end = 20 * PAGE_SIZE, .share = ONE,
	    .freq = ONE, .class = WSMON_CLASS_HEAP } },
	{ "shares weighted by pages, nobody looked",
	  { .start = 10, .end = 20, .n = { 6, 2 }, .share = { ONE, 0 },
	    .since_ns = NOW - 2 * NSEC_PER_MSEC },
	  { .start = 10 * PAGE_SIZE, .end = 20 * PAGE_SIZE, .share = ONE * 3 / 4,
	    .class = WSMON_CLASS_HEAP, .samples = WSMON_SAMPLES_MISSED,
	    .age_ms = 2 } },
	{ "top of the address space, greatest counts",
	  { .start = TOP / 2, .end = TOP, .n = { TOP / 4, TOP / 4 },
	    .share = { ONE, ONE }, .hits = U32_MAX, .checks = U32_MAX,
	    .s = { { TOP / 2, 0 }, { TOP - 1, NOW } }, .since_ns = 0, .area = 1 },
	  { .start = 1ULL << 56, .end = 1ULL << 57, .share = ONE, .freq = ONE,
	    .class = WSMON_CLASS_SHMEM, .age_ms = U32_MAX, .area = 1,
	    .samples = WSMON_SAMPLES_VALID | WSMON_SAMPLES_UPPER_HIT |
		       63 << WSMON_SAMPLES_UPPER_SHIFT } },
	{ "oldest age that fits",
	  { .end = 1, .n = { 1, 0 }, .checks = 1,
	    .since_ns = NOW - U32_MAX * NSEC_PER_MSEC },
	  { .end = PAGE_SIZE, .class = WSMON_CLASS_HEAP, .age_ms = U32_MAX } },
};

KUNIT_ARRAY_PARAM_DESC(entry, entries, what);

static const struct mapping two_areas[] = {
	{ 0, 100, WSMON_CLASS_HEAP }, { TOP / 2, TOP, WSMON_CLASS_SHMEM },
};

/* Fields of the header and of an entry; nothing remains of the previous record. */
static void snapshot_entry(struct kunit *test)
{
	const struct entry *e = test->param_value;
	struct wsmon_rec_snapshot want = {
		{ WSMON_REC_SNAPSHOT }, .nr = 2, .total = 2, .interval_ns = 5,
		.rounds = U32_MAX, .budget = 78,
	};
	struct world *w = world_new(test, 2, 2);
	const struct wsmon_rec_snapshot *rec;
	struct wsmon_target *t;
	u32 i;

	world_fill(w, two_areas, 2, 2);
	w->rs.r[0] = e->r;
	w->rs.r[1] = e->r;
	w->rs.nr = 2;
	w->rs.budget = 78;
	t = stream_target(test, w);
	t->rounds = U32_MAX;
	t->interval_ns = NOW - 5;
	want.pid = current->pid;
	for (i = 0; i < 2; i++) {
		wsmon_stream_snapshot(t, NOW);
		rec = stream_record(i);
		KUNIT_EXPECT_EQ(test, rec->rec.type, WSMON_REC_SNAPSHOT);
		KUNIT_EXPECT_EQ(test, rec->rec.time_ns, NOW);
		KUNIT_EXPECT_MEMEQ(test, &rec->rec + 1, &want.rec + 1,
				   sizeof(want) - sizeof(want.rec));
		KUNIT_EXPECT_MEMEQ(test, &rec->regions[0], &e->want,
				   sizeof(e->want));
		KUNIT_EXPECT_MEMEQ(test, &rec->regions[1], &e->want,
				   sizeof(e->want));
	}
}

struct snapshot {
	const char *what;
	u32 regions;
	u32 records;
};

static const struct snapshot snapshots[] = {
	{ "no region", 0, 1 },
	{ "one", 1, 1 },
	{ "as many as one record holds", PER_RECORD, 1 },
	{ "one more", PER_RECORD + 1, 2 },
	{ "two full records", 2 * PER_RECORD, 2 },
	{ "the most there may be", WSMON_REGIONS_LIMIT, 17 },
};

KUNIT_ARRAY_PARAM_DESC(snapshot, snapshots, what);

/* Above WSMON_RECORD_MAX a snapshot is several records, all full but the last. */
static void snapshot_split(struct kunit *test)
{
	const struct snapshot *s = test->param_value;
	struct world *w = world_new(test, 2, WSMON_REGIONS_LIMIT);
	u32 i, j, first = 0;

	world_fill(w, two_areas, 2, 2);
	w->rs.nr = s->regions;
	for (i = 0; i < s->regions; i++) {
		w->rs.r[i].start = i;
		w->rs.r[i].end = i + 1;
		w->rs.r[i].n[0] = 1;
	}
	wsmon_stream_snapshot(stream_target(test, w), NOW);

	KUNIT_ASSERT_EQ(test, taken.nr, s->records);
	for (i = 0; i < taken.nr; i++) {
		const struct wsmon_rec_snapshot *rec = stream_record(i);
		u32 nr = min_t(u32, s->regions - first, PER_RECORD);

		KUNIT_ASSERT_EQ(test, rec->nr, nr);
		KUNIT_EXPECT_EQ(test, rec->first, first);
		KUNIT_EXPECT_EQ(test, rec->total, s->regions);
		KUNIT_EXPECT_EQ(test, rec->rec.size, 48 + 32 * nr);
		KUNIT_EXPECT_EQ(test, rec->rec.time_ns, NOW);
		KUNIT_EXPECT_EQ(test, rec->pid, current->pid);
		for (j = 0; j < nr; j++)
			KUNIT_ASSERT_EQ(test, rec->regions[j].start,
					(u64)(first + j) << PAGE_SHIFT);
		first += nr;
	}
	KUNIT_EXPECT_EQ(test, first, s->regions);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(snapshot_entry, entry_gen_params),
	KUNIT_CASE_PARAM(snapshot_split, snapshot_gen_params),
	{}
};

static struct kunit_suite suite = {
	.name = "wsmon_snapshot",
	.init = stream_begin,
	.test_cases = cases,
};

kunit_test_suite(suite);
