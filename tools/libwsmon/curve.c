// SPDX-License-Identifier: GPL-2.0
/*
 * curve.c - the working set as a function of its window: from records to curves, and
 * from curves to the refaults of a memory limit
 *
 * Let S(T) be the mean working set of a stationary program in window T. Its slope dS/dT is the
 * rate of accesses to memory that was not accessed for T: the miss rate of a policy that keeps
 * exactly the memory accessed within T (Denning and Schwartz, Properties of the Working-Set
 * Model, CACM 15:3, 1972). This rate falls with T, so S is concave. An LRU policy with a limit
 * of s bytes keeps the memory accessed within about T, where S(T) = s: the characteristic time
 * (Che, Tung and Wang, IEEE JSAC 20:7, 2002; Fricker, Robert and Roberts, ITC 24, 2012).
 *
 * Between its nodes the curve is a quadratic spline, which is rising and concave if the nodes are
 * (Schumaker, On Shape Preserving Quadratic Spline Interpolation, SIAM J. Numer. Anal. 20:4, 1983).
 * Its slope is continuous and falls, and the mean slope between two windows is the measured one.
 *
 * The confidence interval of a curve has two parts. The first is the error of the estimates. It
 * does not shrink with the number of moments, because sample pages stay for the longest window.
 * The second is the error of the mean over time: working sets that are a window apart count as
 * independent.
 *
 * Times are in seconds, sizes in bytes, rates in bytes per second.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "curve.h"
#include "series.h"
#include "stats.h"
#include "util.h"

#define TARGETS_MAX	65536
#define TOGETHER	"all together"

/* A window counts if it was observed for (1 + 1/MIN_PART) times its length */
#define MIN_PART	4

/**
 * struct curves_target - a target
 * @pid:	the target
 * @since_ns:	when its observation began
 * @comm:	its name
 */
struct curves_target {
	__u32 pid;
	__u64 since_ns;
	char comm[WSMON_COMM_LEN];
};

struct wsmon_curves *wsmon_curves_new(const struct wsmon_file_header *header)
{
	struct wsmon_curves *cs = malloc(sizeof(*cs));

	if (!cs)
		return NULL;
	*cs = (struct wsmon_curves) {
		.start_ns = header->mono_ns,
		.page_size = header->page_size,
		.targets = SORTED(struct curves_target, TARGETS_MAX, order_u32),
	};
	return cs;
}

void wsmon_curves_free(struct wsmon_curves *cs)
{
	if (!cs)
		return;
	wsmon_wss_free(&cs->rows);
	wsmon_wss_free(&cs->rss);
	free(cs->targets.base);
	free(cs->of);
	free(cs);
}

static struct curves_target *find_target(const struct wsmon_curves *cs, __u32 pid)
{
	const struct curves_target key = { .pid = pid };

	return sorted_find(&cs->targets, &key);
}

static void forget(struct wsmon_wss_rows *rows, __u32 pid)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i++)
		if (rows->row[i].pid != pid)
			rows->row[n++] = rows->row[i];
	rows->nr = n;
}

/* Notes a target. An exec makes it another program: drops its rows so far */
static void take_target(struct wsmon_curves *cs, const struct wsmon_rec_target *rec)
{
	const struct curves_target key = {
		.pid = rec->pid, .since_ns = rec->rec.time_ns,
	};
	bool known = find_target(cs, rec->pid);
	struct curves_target *t = sorted_get(&cs->targets, &key);

	if (!t)
		return;
	memcpy(t->comm, rec->comm, sizeof(t->comm));
	if (!known || (rec->flags & WSMON_TARGET_REASON) == WSMON_TARGET_AGAIN)
		return;
	t->since_ns = rec->rec.time_ns;
	forget(&cs->rows, rec->pid);
	forget(&cs->rss, rec->pid);
}

/* Return: when the observation of a row's target, or of the group, began */
static __u64 since(struct wsmon_curves *cs, const struct wsmon_wss_row *row)
{
	const struct curves_target *t;

	if (row->group) {
		if (!cs->group_ns)
			cs->group_ns = row->time_ns;
		return cs->group_ns;
	}
	t = find_target(cs, row->pid);
	return t ? t->since_ns : cs->start_ns;
}

static int take_size(struct wsmon_curves *cs, const struct wsmon_wss_row *row)
{
	if (!row->window_us)
		return 0;
	cs->seen++;
	if (row->window_us > cs->longest_us)
		cs->longest_us = row->window_us;
	if (row->time_ns < since(cs, row) + row->window_us * NSEC_PER_USEC)
		return 0;
	return wsmon_wss_add(&cs->rows, row) ? 0 : -ENOMEM;
}

static int take_proc(struct wsmon_curves *cs, const struct wsmon_rec_proc *rec)
{
	return wsmon_wss_add(&cs->rss, &(struct wsmon_wss_row) {
		.time_ns = rec->rec.time_ns, .pid = rec->pid,
		.bytes = rec->rss, .high = rec->rss + rec->swap,
	}) ? 0 : -ENOMEM;
}

int wsmon_curves_record(struct wsmon_curves *cs, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;
	int err = 0;

	if (rec->type == WSMON_REC_TARGET)
		take_target(cs, (const void *)rec);
	else if (wss_row_get(rec, &row))
		err = take_size(cs, &row);
	else if (rec->type == WSMON_REC_PROC)
		err = take_proc(cs, (const void *)rec);
	cs->failed |= err != 0;
	return err;
}

/*
 * Makes the sizes rise with the window. The working set of a longer window is no smaller, but
 * its estimate may be. The maximum so far would add up noise. So adjacent sizes that fall are
 * replaced by their mean until none falls (pool adjacent violators: Barlow et al., Statistical
 * Inference under Order Restrictions, 1972).
 */
static void pool_means(struct wsmon_curve *c)
{
	struct block {
		double sum;
		size_t nr;
	} block[WSMON_WINDOWS_MAX];
	size_t nr = 0, i, b, k;

	for (i = 0; i < c->nr; i++) {
		block[nr++] = (struct block){ c->point[i].mean, 1 };
		for (; nr > 1; nr--) {
			struct block *before = &block[nr - 2], *after = &block[nr - 1];

			if (before->sum / before->nr <= after->sum / after->nr)
				break;
			before->sum += after->sum;
			before->nr += after->nr;
		}
	}
	for (i = 0, b = 0; b < nr; b++)
		for (k = 0; k < block[b].nr; k++)
			c->point[i++].size = block[b].sum / block[b].nr;
}

static double mean_slope(const struct wsmon_curve *c, size_t i)
{
	return (c->size[i + 1] - c->size[i]) / (c->node[i + 1] - c->node[i]);
}

/* Makes the curve concave. A rising slope is noise, too: joins segments until no slope rises */
static void make_concave(struct wsmon_curve *c)
{
	size_t end[WSMON_WINDOWS_MAX], nr = 0, i, b;

	for (i = 0; i < c->nr; i++) {
		end[nr++] = i + 1;
		while (nr > 1) {
			size_t mid = end[nr - 2];
			size_t from = nr > 2 ? end[nr - 3] : 0;
			double before = (c->size[mid] - c->size[from]) /
					(c->node[mid] - c->node[from]);
			double after = (c->size[i + 1] - c->size[mid]) /
					(c->node[i + 1] - c->node[mid]);

			if (before >= after)
				break;
			end[--nr - 1] = i + 1;
		}
	}
	for (b = 0, i = 0; b < nr; b++) {
		size_t from = b ? end[b - 1] : 0;
		double slope = (c->size[end[b]] - c->size[from]) /
			       (c->node[end[b]] - c->node[from]);

		for (i = from + 1; i < end[b]; i++)
			c->size[i] = c->size[from] +
				     slope * (c->node[i] - c->node[from]);
	}
}

/*
 * Estimates the slope at a node. The slope in the middle of a segment is about the segment's
 * mean slope; between two middles its logarithm is interpolated linearly, as for rates that
 * fall exponentially.
 */
static double node_slope(const struct wsmon_curve *c, size_t i)
{
	double before = mean_slope(c, i - 1), after = mean_slope(c, i);
	double share = (c->node[i] - c->node[i - 1]) / (c->node[i + 1] - c->node[i - 1]);

	if (after <= 0)
		return 0;
	return before * pow(after / before, share);
}

static void fit(struct wsmon_curve *c)
{
	double last;
	size_t i;

	pool_means(c);
	c->node[0] = c->size[0] = 0;
	for (i = 0; i < c->nr; i++) {
		c->node[i + 1] = c->point[i].window;
		c->size[i + 1] = c->point[i].size;
	}
	make_concave(c);
	for (i = 1; i < c->nr; i++)
		c->slope[i] = node_slope(c, i);
	/* in the last segment, the slope falls by one factor before and after the middle */
	last = mean_slope(c, c->nr - 1);
	c->slope[c->nr] = c->slope[c->nr - 1] > 0 ?
			  last * last / c->slope[c->nr - 1] : 0;
	c->slope[0] = 2 * mean_slope(c, 0) - c->slope[1];
}

/* Return: the segment that contains a window; the last one beyond the longest window */
static size_t segment(const struct wsmon_curve *c, double window)
{
	size_t i = 0;

	while (i + 1 < c->nr && window > c->node[i + 1])
		i++;
	return i;
}

/*
 * Return: the window in a segment where the slope is the segment's mean. The slope falls
 * linearly from the first node to this knot, and from there to the second node, so that both
 * parabolas together rise by the difference of the nodes' sizes. If the slope at one node is
 * the mean, it is so in the whole segment.
 */
static double knot(const struct wsmon_curve *c, size_t i)
{
	double mean = mean_slope(c, i);
	double before = c->slope[i] - mean, after = mean - c->slope[i + 1];
	double share = before + after > 0 ? after / (before + after) : 0.5;

	return c->node[i] + share * (c->node[i + 1] - c->node[i]);
}

double curve_rate(const struct wsmon_curve *c, double window)
{
	size_t i = segment(c, window);
	double at = knot(c, i), mean = mean_slope(c, i);

	if (window > c->node[c->nr])
		return c->slope[c->nr];
	if (window < at)
		return c->slope[i] + (mean - c->slope[i]) *
		       (window - c->node[i]) / (at - c->node[i]);
	if (at >= c->node[i + 1])
		return mean;
	return mean + (c->slope[i + 1] - mean) * (window - at) /
	       (c->node[i + 1] - at);
}

double curve_size(const struct wsmon_curve *c, double window)
{
	size_t i = segment(c, window);
	double rate = curve_rate(c, window);

	if (window >= c->node[c->nr])
		return c->size[c->nr];
	if (window < knot(c, i))
		return c->size[i] + (c->slope[i] + rate) / 2 * (window - c->node[i]);
	return c->size[i + 1] -
	       (c->slope[i + 1] + rate) / 2 * (c->node[i + 1] - window);
}

static double window_of(const struct wsmon_curve *c, double size)
{
	double low = 0, high = c->node[c->nr];
	unsigned int i;

	if (size > c->size[c->nr])
		return INFINITY;
	/* bisect more often than a double has bits */
	for (i = 0; i < 64; i++) {
		double mid = (low + high) / 2;

		if (curve_size(c, mid) <= size)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* Return: the point where a segment begins; for the first segment (0, 0), which is exact */
static struct wsmon_curve_point before(const struct wsmon_curve *c, size_t i)
{
	return i ? c->point[i - 1] : (struct wsmon_curve_point){ };
}

/* Interpolates, between the points, the distances of the interval's ends from the curve */
void curve_ends(const struct wsmon_curve *c, double window, double *low, double *high)
{
	size_t i = segment(c, window);
	const struct wsmon_curve_point from = before(c, i), to = c->point[i];
	double share = fmin(1, (window - from.window) / (to.window - from.window));
	double size = curve_size(c, window);

	*low = fmax(0, size - (1 - share) * (from.mean - from.low) -
		       share * (to.mean - to.low));
	*high = size + (1 - share) * (from.high - from.mean) +
		share * (to.high - to.mean);
}

/*
 * Return: half-width of the 95 % confidence interval of the rate at a window. It is derived from
 * the interval of the rise over the segment.
 */
static double slack(const struct wsmon_curve *c, double window, double rate)
{
	size_t i = segment(c, window);
	double mean = mean_slope(c, i);
	double half = c->point[i].slack / (c->node[i + 1] - c->node[i]);

	return mean > 0 && rate > mean ? half * rate / mean : half;
}

static double fastest(const struct wsmon_curve *c, double size)
{
	double window = window_of(c, fmax(0, size));
	double rate = curve_rate(c, window);

	return rate + slack(c, window, rate);
}

static double slowest(const struct wsmon_curve *c, double size)
{
	double window = window_of(c, size), rate;

	if (isinf(window))
		return 0;
	rate = curve_rate(c, window);
	return fmax(0, rate - slack(c, window, rate));
}

/*
 * Converts a rate to refaults per second. The first use of memory faults with any limit, and is
 * no refault: subtracts the growth of RSS and swap.
 */
static double refaults(const struct wsmon_curve *c, double rate)
{
	return fmax(0, rate / c->page_size - fmax(0, c->growth) / c->page_size);
}

struct wsmon_limit wsmon_limit(const struct wsmon_curve *c, double bytes)
{
	const struct wsmon_curve_point *p = c->point, *last = &p[c->nr - 1];
	struct wsmon_limit at = { .bytes = bytes, .window = window_of(c, bytes) };
	double all = p->size / p->window / c->page_size;
	double low = 0, high;

	at.refaults = refaults(c, curve_rate(c, at.window));
	if (isinf(at.window)) {
		double mean = mean_slope(c, c->nr - 1);

		/* the slope falls: beyond the last segment it is at most the segment's mean */
		at.bound = WSMON_AT_MOST;
		high = bytes < last->high ? fastest(c, bytes - (last->high - last->mean)) :
		       mean + slack(c, last->window, mean);
	} else {
		curve_ends(c, at.window, &low, &high);
		low = slowest(c, bytes + (bytes - low));
		high = fastest(c, bytes - (high - bytes));
		if (at.window < p->window) {
			at.bound = WSMON_AT_LEAST;
			low = slowest(c, c->size[1] + p->mean - p->low);
			high = INFINITY;
		}
	}
	at.low = refaults(c, low);
	at.high = refaults(c, high);
	at.missed = all > 0 ? fmin(1, at.refaults / all) : 0;
	return at;
}

/* Order: target (the group last), class, time, window. So rows of a moment are adjacent */
static int by_moment(const void *x, const void *y)
{
	const struct wsmon_wss_row *a = x, *b = y;

	return COMPARE(a->group, b->group) ?: COMPARE(a->pid, b->pid) ?:
	       COMPARE(a->class, b->class) ?: COMPARE(a->time_ns, b->time_ns) ?:
	       COMPARE(a->window_us, b->window_us);
}

/* A broken file may have a row twice, but the nodes of a curve must differ */
static void remove_doubles(struct wsmon_wss_rows *rows)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr; i++)
		if (!n || by_moment(&rows->row[n - 1], &rows->row[i]))
			rows->row[n++] = rows->row[i];
	rows->nr = n;
}

/* Return: index after the rows of one target and class and, with @moment, of one moment */
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
 * struct chosen - the rows of a target and class that count
 * @windows:	number of windows, which are the same at each moment
 * @row:	the @nr times @windows rows, by time, then by window
 * @nr:		number of moments
 */
struct chosen {
	size_t windows;
	struct wsmon_wss_row *row;
	size_t nr;
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Counts the windows that were observed for long enough, which are the shortest ones. Rows
 * begin when their window is complete, and longer windows complete later. So the first moment
 * with n rows shows since when the n-th window is complete; the last moment has all windows.
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
static struct chosen choose(const struct wsmon_wss_rows *rows, size_t first,
			     size_t end)
{
	struct chosen m = {
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

static const struct wsmon_wss_row *at(const struct chosen *m, size_t i, size_t k)
{
	return &m->row[i * m->windows + k];
}

/* Return: difference from the working set of the next shorter window; of the shortest, from 0 */
static double rise(const struct chosen *m, size_t i, size_t k)
{
	double before = k ? at(m, i, k - 1)->bytes : 0;

	return at(m, i, k)->bytes - before;
}

static double seconds(const struct chosen *m)
{
	return (at(m, m->nr - 1, 0)->time_ns - at(m, 0, 0)->time_ns) /
	       (double)NSEC_PER_SEC;
}

/* Return: variance of the mean over time: of the k-th working set or, with @of_rise, its rise */
static double variance(const struct chosen *m, size_t k, bool of_rise)
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

static void make_point(const struct chosen *m, size_t k, struct wsmon_curve_point *p)
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
 * Return: the bytes that one sample page represents, derived from confidence intervals. A count
 * of n sample pages has variance n, so an estimate in pieces has variance piece * size.
 */
static double piece(const struct chosen *m)
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

static void make_range(const struct chosen *m, size_t k, __u64 *size,
		       struct wsmon_curve_point *p)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		size[i] = at(m, i, k)->bytes;
	qsort(size, m->nr, sizeof(*size), order_u64);
	p->p5 = size[nearest_rank(m->nr, 5)];
	p->p50 = size[nearest_rank(m->nr, 50)];
	p->p95 = size[nearest_rank(m->nr, 95)];
}

/* Computes the mean of RSS and the growth of RSS and swap over the moments that count */
static void make_memory(const struct wsmon_curves *cs, const struct chosen *m,
			struct wsmon_curve *of)
{
	__u64 from = at(m, 0, 0)->time_ns, to = at(m, m->nr - 1, 0)->time_ns;
	const struct wsmon_wss_row *first = NULL, *last = NULL;
	size_t i, n = 0;
	double sum = 0;

	of->rss = of->growth = -1;
	for (i = 0; i < cs->rss.nr; i++) {
		const struct wsmon_wss_row *row = &cs->rss.row[i];

		/* the recorder reads RSS up to a second after the moment of the sizes */
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

static void make_one(struct wsmon_curves *cs, struct chosen *m)
{
	struct wsmon_curve *of = &cs->of[cs->nr++];
	const struct curves_target *t = m->row->group ? NULL : find_target(cs, m->row->pid);
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
	fit(of);
}

/* Adds the errors of two processes, which are independent: their squares add up */
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

/* Appends, for each class with several curves, their sum */
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
		fit(&cs->of[i]);
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
	/* @n curves and their sums: at most one sum for each class that has several curves */
	cs->of = calloc(2 * n + 1, sizeof(*cs->of));
	if (!cs->of)
		return -ENOMEM;
	for (i = 0; i < rows->nr; i = end) {
		struct chosen m;

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
