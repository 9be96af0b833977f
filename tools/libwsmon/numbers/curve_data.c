// SPDX-License-Identifier: GPL-2.0
/*
 * curve_data.c - the working-set curves of a recording
 *
 * Intervals have two parts. One is that of the estimates, from the sample pages: these
 * stay for the longest window, so it does not shrink with the number of moments. The
 * other is the error of the mean over time: working sets of moments that are a window
 * apart count as independent.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "curve_data.h"
#include "libwsmon/util.h"

#define Z		1.96	/* 97.5 % quantile of the normal distribution */
#define TOGETHER	"all together"

/* A window counts if it was observed for its length and 1/MIN_PART more */
#define MIN_PART	4

/* Rows by target, the group last, class, time and window: those of a moment side by side */
static int by_moment(const void *x, const void *y)
{
	const struct wsmon_wss_row *a = x, *b = y;

	return COMPARE(a->group, b->group) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->class, b->class) ?: COMPARE(a->time_ns, b->time_ns) ?:
	       COMPARE(a->window_us, b->window_us);
}

/* A broken file may have rows twice, and a curve needs different windows */
static void remove_doubles(struct wsmon_wss_rows *rows)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i++)
		if (!n || by_moment(&rows->row[n - 1], &rows->row[i]))
			rows->row[n++] = rows->row[i];
	rows->nr = n;
}

/* Index after the rows of one moment, or of one target and class */
static size_t end_of(const struct wsmon_wss_rows *rows, size_t first, bool moment)
{
	const struct wsmon_wss_row *r = &rows->row[first], *s;
	size_t i;

	for (i = first + 1; i < rows->nr; i++) {
		s = &rows->row[i];
		if (s->group != r->group || s->pid != r->pid || s->class != r->class ||
		    (moment && s->time_ns != r->time_ns))
			break;
	}
	return i;
}

/**
 * struct moments - the rows of a target and class that count
 * @windows:	number of windows, the same ones at each moment
 * @row:	@nr times @windows of them, by time, then by window
 * @nr:		number of moments
 */
struct moments {
	size_t windows;
	struct wsmon_wss_row *row;
	size_t nr;
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Counts windows, from the shortest on, that were observed for long enough. Longer ones
 * become complete later: the last moment has all, and the first moment with n windows
 * says since when.
 */
static size_t windows_that_count(const struct wsmon_wss_rows *rows, size_t first,
				 size_t end)
{
	size_t n, max = 0, i, next;
	__u64 last = rows->row[end - 1].time_ns;

	for (i = first; i < end; i = next) {
		next = end_of(rows, i, true);
		n = min_size(next - i, WSMON_WINDOWS_MAX);
		while (n > max && last - rows->row[i].time_ns <
		       rows->row[i + n - 1].window_us * NSEC_PER_USEC / MIN_PART)
			n--;
		max = n > max ? n : max;
	}
	return max;
}

static bool same_windows(const struct wsmon_wss_row *a, const struct wsmon_wss_row *b,
			 size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (a[i].window_us != b[i].window_us)
			return false;
	return true;
}

/* Moves the rows that count to the front */
static struct moments choose(const struct wsmon_wss_rows *rows, size_t first,
			     size_t end)
{
	struct moments m = {
		.windows = windows_that_count(rows, first, end),
		.row = &rows->row[first],
	};
	size_t i, next;

	for (i = first; m.windows && i < end; i = next) {
		next = end_of(rows, i, true);
		if (next - i < m.windows ||
		    (m.nr && !same_windows(m.row, &rows->row[i], m.windows)))
			continue;
		memmove(&m.row[m.nr++ * m.windows], &rows->row[i],
			m.windows * sizeof(*m.row));
	}
	return m;
}

static const struct wsmon_wss_row *at(const struct moments *m, size_t i, size_t k)
{
	return &m->row[i * m->windows + k];
}

/* Difference from the working set of the next shorter window, or from 0 */
static double rise(const struct moments *m, size_t i, size_t k)
{
	double before = k ? at(m, i, k - 1)->bytes : 0;

	return at(m, i, k)->bytes - before;
}

static double seconds(const struct moments *m)
{
	return (at(m, m->nr - 1, 0)->time_ns - at(m, 0, 0)->time_ns) /
	       (double)NSEC_PER_SEC;
}

/* Variance of a mean over the moments, of the k-th working set or its rise */
static double variance(const struct moments *m, size_t k, bool of_rise)
{
	double mean = 0, sum = 0, window = at(m, 0, k)->window_us / 1e6;
	double independent = fmin(m->nr, 1 + seconds(m) / window);
	size_t i;

	for (i = 0; i < m->nr; i++)
		mean += (of_rise ? rise(m, i, k) : at(m, i, k)->bytes) / m->nr;
	for (i = 0; i < m->nr; i++) {
		double x = of_rise ? rise(m, i, k) : at(m, i, k)->bytes;

		sum += (x - mean) * (x - mean);
	}
	return m->nr > 1 ? sum / (m->nr - 1) / independent : 0;
}

static void make_point(const struct moments *m, size_t k, struct wsmon_curve_point *p)
{
	double over = Z * Z * variance(m, k, false), low = 0, high = 0;
	size_t i;

	*p = (struct wsmon_curve_point) { .window = at(m, 0, k)->window_us / 1e6 };
	for (i = 0; i < m->nr; i++) {
		const struct wsmon_wss_row *row = at(m, i, k);

		p->mean += (double)row->bytes / m->nr;
		low += ((double)row->bytes - row->low) / m->nr;
		high += ((double)row->high - row->bytes) / m->nr;
	}
	p->low = fmax(0, p->mean - sqrt(low * low + over));
	p->high = p->mean + sqrt(high * high + over);
}

/*
 * The size that a sample page stands for, derived from intervals: a count of n pages has
 * the variance n, so a size made of such pieces has the variance piece * size.
 */
static double piece(const struct moments *m)
{
	double max = 0;
	size_t i, k;

	for (k = 0; k < m->windows; k++) {
		double half = 0, size = 0;

		for (i = 0; i < m->nr; i++) {
			half += ((double)at(m, i, k)->high - at(m, i, k)->low) /
				2 / Z / m->nr;
			size += (double)at(m, i, k)->bytes / m->nr;
		}
		if (size > 0)
			max = fmax(max, half * half / size);
	}
	return max;
}

static int compare_sizes(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return COMPARE(*x, *y);
}

static void make_range(const struct moments *m, size_t k, __u64 *size,
		       struct wsmon_curve_point *p)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		size[i] = at(m, i, k)->bytes;
	qsort(size, m->nr, sizeof(*size), compare_sizes);
	/* the nearest rank, as in percentiles of report wss */
	p->p5 = size[(5 * m->nr + 99) / 100 - 1];
	p->p50 = size[(50 * m->nr + 99) / 100 - 1];
	p->p95 = size[(95 * m->nr + 99) / 100 - 1];
}

/* RSS, and how fast it grew, over the moments that count */
static void make_memory(const struct wsmon_curves *cs, const struct moments *m,
			struct wsmon_curve *of)
{
	__u64 from = at(m, 0, 0)->time_ns, to = at(m, m->nr - 1, 0)->time_ns;
	const struct wsmon_wss_row *first = NULL, *last = NULL;
	size_t i, n = 0;
	double sum = 0;

	of->rss = of->growth = -1;
	for (i = 0; i < cs->rss.nr; i++) {
		const struct wsmon_wss_row *row = &cs->rss.row[i];

		/* it is read a little after the moment it belongs to */
		if (of->group || row->pid != of->pid || row->time_ns < from ||
		    row->time_ns > to + NSEC_PER_SEC)
			continue;
		first = first ? first : row;
		last = row;
		sum += row->bytes;
		n++;
	}
	if (n)
		of->rss = sum / n;
	if (n > 1 && last->time_ns > first->time_ns &&
	    of->class == WSMON_CLASS_ALL)
		of->growth = fmax(0, (double)last->high - first->high) /
			     (last->time_ns - first->time_ns) * NSEC_PER_SEC;
}

static void make_one(struct wsmon_curves *cs, struct moments *m)
{
	struct wsmon_curve *of = &cs->of[cs->nr++];
	const struct curves_target *t = m->row->group ? NULL : curves_target(cs, m->row->pid);
	double of_one = piece(m);
	__u64 *size = calloc(m->nr, sizeof(*size));
	size_t k;

	*of = (struct wsmon_curve) {
		.pid = m->row->pid, .class = m->row->class, .group = m->row->group,
		.page_size = cs->page_size,
	};
	if (t)
		memcpy(of->comm, t->comm, sizeof(of->comm));
	else if (of->group)
		strcpy(of->comm, TOGETHER);
	of->nr = m->windows;
	for (k = 0; k < m->windows; k++) {
		struct wsmon_curve_point *p = &of->point[k];
		double before = k ? p[-1].mean : 0;

		make_point(m, k, p);
		if (size)
			make_range(m, k, size, p);
		p->slack = Z * sqrt(of_one * fmax(0, p->mean - before) +
				    variance(m, k, true));
	}
	cs->failed |= !size;
	free(size);
	make_memory(cs, m, of);
	curve_fit(of);
}

/* Errors of different processes are independent: their squares add up */
static double together(double a, double b)
{
	return sqrt(a * a + b * b);
}

static void add(struct wsmon_curve *sum, const struct wsmon_curve *of)
{
	size_t k;

	sum->nr = min_size(sum->nr, of->nr);
	for (k = 0; k < sum->nr; k++) {
		const struct wsmon_curve_point *p = &of->point[k];
		struct wsmon_curve_point *s = &sum->point[k];
		double low = together(s->mean - s->low, p->mean - p->low);
		double high = together(s->high - s->mean, p->high - p->mean);

		s->mean += p->mean;
		s->low = fmax(0, s->mean - low);
		s->high = s->mean + high;
		s->slack = together(s->slack, p->slack);
	}
	sum->rss = sum->rss < 0 || of->rss < 0 ? -1 : sum->rss + of->rss;
	sum->growth = sum->growth < 0 || of->growth < 0 ? -1 :
		      sum->growth + of->growth;
}

/* Appends a curve of all processes if there are several */
static void make_sums(struct wsmon_curves *cs)
{
	size_t of_one = cs->nr, i, j;

	for (i = 0; i < of_one; i++) {
		size_t sum = of_one;

		while (sum < cs->nr && cs->of[sum].class != cs->of[i].class)
			sum++;
		if (sum < cs->nr) {
			add(&cs->of[sum], &cs->of[i]);
			continue;
		}
		for (j = i + 1; j < of_one; j++)
			if (cs->of[j].class == cs->of[i].class)
				break;
		if (j == of_one)
			continue;
		cs->of[cs->nr] = cs->of[i];
		cs->of[cs->nr].pid = 0;
		strcpy(cs->of[cs->nr++].comm, TOGETHER);
	}
	for (i = of_one; i < cs->nr; i++)
		curve_fit(&cs->of[i]);
}

int wsmon_curves_fit(struct wsmon_curves *cs)
{
	struct wsmon_wss_rows *rows = &cs->rows;
	size_t i, end, n = 0;

	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(*rows->row), by_moment);
	remove_doubles(rows);
	for (i = 0; i < rows->nr; i = end_of(rows, i, false))
		n++;
	/* at most a sum for each class of several curves */
	cs->of = calloc(2 * n + 1, sizeof(*cs->of));
	if (!cs->of)
		return -ENOMEM;
	for (i = 0; i < rows->nr; i = end) {
		struct moments m;

		end = end_of(rows, i, false);
		m = choose(rows, i, end);
		if (m.windows >= CURVES_WINDOWS)
			make_one(cs, &m);
	}
	if (!cs->group_ns)
		make_sums(cs);
	return cs->failed ? -ENOMEM : (int)cs->nr;
}

const struct wsmon_curve *wsmon_curves_get(const struct wsmon_curves *cs, size_t i)
{
	return i < cs->nr ? &cs->of[i] : NULL;
}
