// SPDX-License-Identifier: GPL-2.0
/* debugfs-fuzz: texts for attrs and target, and the results that the ABI allows */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../include/wsmon.h"
#include "debugfs_fuzz.h"

enum key {
	SAMPLE, AGGR, UPDATE, WINDOW, MIN, MAX, FLUSH, CPU, PEAK_WINDOW, PEAK_GAIN, PEAK_ADAPT,
	PEAK_DETECTOR, FOLLOW, PRECISION, WHO, NR_KEYS
};

static const char *const keys[NR_KEYS] = {
	"sample_us", "aggr_us", "update_us", "window_us", "min_regions",
	"max_regions", "flush_tlb", "cpu_permille", "peak_window", "peak_gain", "peak_adapt",
	"peak_detector", "follow", "precision", "who_rate"
};

/* Keys that may be other than 0: arm64 has no hint faults */
#ifdef __x86_64__
#define NR_SET NR_KEYS
#else
#define NR_SET WHO
#endif

static const char *const detectors[] = { "off", "sigma", "fano" };

/* Minimum and maximum of each key */
static const uint64_t limits[NR_KEYS][2] = {
	[SAMPLE] = { SAMPLE_US_MIN, DAY_US }, [AGGR] = { SAMPLE_US_MIN, DAY_US },
	[UPDATE] = { SAMPLE_US_MIN, DAY_US }, [WINDOW] = { SAMPLE_US_MIN, DAY_US },
	[MIN] = { 1, REGIONS_LIMIT }, [MAX] = { 1, REGIONS_LIMIT },
	[FLUSH] = { 0, 1 }, [CPU] = { 1, 1000 }, [PEAK_WINDOW] = { 2, 10000 },
	/* gain and adapt in 1/1000, and the index of a name */
	[PEAK_GAIN] = { 1, 100000 }, [PEAK_ADAPT] = { 0, 1000 }, [PEAK_DETECTOR] = { 0, 2 },
	[FOLLOW] = { 0, 1 }, [WHO] = { 0, WSMON_WHO_RATE_MAX }, [PRECISION] = { 0, 1000 }
};

static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->len += vsnprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, fmt, ap);
	va_end(ap);
}

static void add_blanks(struct text *t, unsigned int n)
{
	while (n--)
		t->bytes[t->len++] = " \t\n\r"[pick(4)];
}

/* Values that fit together: mostly short intervals, and little work in each */
static void good_values(uint64_t v[NR_KEYS])
{
	uint64_t most = one_in(20) ? DAY_US : 100000;
	bool many = one_in(10);

	v[SAMPLE] = log_pick(SAMPLE_US_MIN, most);
	v[AGGR] = log_pick(v[SAMPLE], most);
	v[UPDATE] = log_pick(v[SAMPLE], most);
	v[WINDOW] = log_pick(v[SAMPLE], most);
	v[MIN] = log_pick(1, many ? REGIONS_LIMIT / MAX_TARGETS : 4);
	/* enough for the largest number of targets */
	v[MAX] = log_pick(v[MIN] * MAX_TARGETS, many ? REGIONS_LIMIT : 1200);
	v[FLUSH] = pick(2);
	v[CPU] = log_pick(1, 1000);
	v[PEAK_WINDOW] = log_pick(2, one_in(4) ? 10000 : 20);
	v[PEAK_GAIN] = log_pick(1, 100000);
	v[PEAK_ADAPT] = pick(1001);
	v[PEAK_DETECTOR] = pick(3);
	v[FOLLOW] = pick(2);
	v[WHO] = NR_SET > WHO && one_in(2) ? log_pick(1, WSMON_WHO_RATE_MAX) : 0;
	v[PRECISION] = one_in(2) ? log_pick(1, 1000) : 0;
}

static void add_value(struct text *t, enum key k, uint64_t v)
{
	unsigned long long n = v;

	if ((k == PEAK_GAIN || k == PEAK_ADAPT) && (n % 1000 || one_in(2)))
		add(t, "%llu.%03llu", n / 1000, n % 1000);
	else if (k == PEAK_GAIN || k == PEAK_ADAPT)
		add(t, "%llu", n / 1000);
	else if (k == PEAK_DETECTOR && n < 3)
		add(t, "%s", detectors[n]);
	else
		add(t, "%llu", n);
}

static void add_attrs(struct text *t, const uint64_t v[NR_KEYS])
{
	/* strides prime to NR_KEYS visit all keys */
	static const unsigned int strides[] = { 1, 4, 7, 11 };
	unsigned int first = pick(NR_KEYS), stride = strides[pick(4)];

	for (unsigned int i = 0; i < NR_KEYS; i++) {
		unsigned int k = (first + i * stride) % NR_KEYS;

		add(t, "%s=", keys[k]);
		add_value(t, k, v[k]);
		/* up to seven more windows, all different */
		for (unsigned int n = k == WINDOW && one_in(4) ? pick(8) : 0; n; n--)
			add(t, ",%llu", (unsigned long long)(DAY_US - n));
		add_blanks(t, 1 + (one_in(8) ? pick(20) : 0));
	}
}

static void good_attrs(struct text *t)
{
	uint64_t v[NR_KEYS];

	t->results = TAKEN;
	if (one_in(4)) {
		add(t, "flush_tlb=%d\n", (int)pick(2));
		return;
	}
	good_values(v);
	add_attrs(t, v);
}

/* Attributes that may conflict with those in force, or with the number of targets */
static void partial_attrs(struct text *t)
{
	unsigned int k = pick(NR_SET);
	uint64_t max = limits[k][1];

	if (!one_in(8))
		max = k < MIN ? 100000 : k < FLUSH ? 2000 : max;

	t->results = TAKEN | INVAL;
	add(t, "%s=", keys[k]);
	add_value(t, k, log_pick(limits[k][0], max));
	add(t, "\n");
}

static void add_nul(struct text *t)
{
	size_t at = pick(t->len + 1);

	memmove(t->bytes + at + 1, t->bytes + at, t->len - at);
	t->bytes[at] = 0;
	t->len++;
}

/*
 * Valid but for one thing, to see that nothing of it is taken; tests/unit/kunit/parse.c and
 * tests/unit/fuzz/parse.c test everything else that the parser refuses
 */
static void bad_attrs(struct text *t)
{
	good_attrs(t);
	switch (pick(3)) {
	case 0:
		add_nul(t);
		break;
	case 1:
		add(t, " seed=1 sample_us=%d", (int)pick(SAMPLE_US_MIN));
		break;
	case 2:
		t->len = 0;
		add_blanks(t, pick(20));
		break;
	}
	t->results = REFUSED;
}

static void good_target(struct text *t)
{
	unsigned int first = pick(nr_known), n = 1 + pick(nr_known);

	t->results = TAKEN;
	if (one_in(8)) {
		add_blanks(t, 1 + pick(4));
		return;
	}
	if (one_in(2))
		n = 1;
	/* too few regions for each, depending on the attributes in force */
	if (n > 1)
		t->results |= INVAL;
	for (unsigned int i = 0; i < n; i++) {
		add(t, "%d", known[(first + i) % nr_known]);
		add_blanks(t, 1 + (one_in(8) ? pick(20) : 0));
	}
}

/* Any pids, existing or not; kernel threads, too */
static void some_target(struct text *t)
{
	t->results = TAKEN | REFUSED | SRCH;
	for (unsigned int n = log_pick(1, 300); n; n--)
		add(t, "%llu ", (unsigned long long)log_pick(1, 5000));
}

static void bad_target(struct text *t)
{
	t->results = REFUSED;
	switch (pick(5)) {
	case 0:
		add(t, "%d %d", known[0], known[0]);
		break;
	case 1:
		for (int i = 1; i <= MAX_TARGETS + 1; i++)
			add(t, "%d ", i);
		break;
	case 2:
		good_target(t);
		add_nul(t);
		t->results = REFUSED;
		break;
	case 3:
		/* a number in the range of pids, but no process */
		add(t, "%d 2147483647", known[0]);
		t->results = INVAL | SRCH;
		break;
	default:
		add(t, "%s%d %s", one_in(2) ? "\n" : "", known[0], one_in(2) ? "0" : "2 2x");
		break;
	}
}

static void noise(struct text *t)
{
	t->len = 1 + log_pick(0, sizeof(t->bytes) - 1);
	for (size_t i = 0; i < t->len; i++)
		t->bytes[i] = pick(256);
	t->results = TAKEN | REFUSED | SRCH;
}

/* Blanks up to the maximum size, or a byte more */
static void pad(struct text *t)
{
	size_t len = INPUT_MAX - 1 + pick(3), n = len - t->len;

	if (t->len >= len)
		return;
	if (one_in(2)) {
		add_blanks(t, n);
		return;
	}
	memmove(t->bytes + n, t->bytes, t->len);
	t->len = 0;
	add_blanks(t, n);
	t->len = len;
}

/* No blanks: they may be cut off, or be part of the name */
static void some_mark(struct text *t)
{
	size_t len = log_pick(1, 300);

	while (t->len < len)
		t->bytes[t->len++] = '!' + pick(256 - '!');
	t->results = len < MARK_MAX ? TAKEN | SRCH : INVAL;
}

/* A text that must be taken, or refused for a known reason */
void make_good(struct text *t, enum file f)
{
	t->len = 0;
	if (f == ATTRS)
		good_attrs(t);
	else if (f == TARGET)
		good_target(t);
	else
		some_mark(t);
}

/* A text of any kind for attrs or target */
void make_text(struct text *t, enum file f)
{
	if (f == MARK) {
		make_good(t, f);
		return;
	}
	t->len = 0;
	switch (pick(4)) {
	case 0:
		make_good(t, f);
		break;
	case 1:
		if (f == ATTRS)
			partial_attrs(t);
		else
			some_target(t);
		break;
	case 2:
		if (f == ATTRS)
			bad_attrs(t);
		else
			bad_target(t);
		break;
	case 3:
		noise(t);
		break;
	}
	if (one_in(4))
		pad(t);
	if (!t->len || t->len > INPUT_MAX)
		t->results = INVAL;
}
