// SPDX-License-Identifier: GPL-2.0
/*
 * diff.c - "wsmo diff": how working sets differ between two recordings, and whether one
 * is certainly larger
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cli.h"
#include "core/text.h"
#include "core/units.h"
#include "libwsmon/filter.h"
#include "libwsmon/names.h"
#include "libwsmon/reader.h"
#include "libwsmon/sorted.h"
#include "libwsmon/stats.h"
#include "names/places.h"
#include "views/collect.h"
#include "views/report.h"
#include "wsmon.h"

/*
 * The mean of a series, and its variance
 *
 * Values of neighbouring moments are correlated, so the variance of the values does not tell the
 * variance of their mean. But the means of long batches of moments are nearly independent
 * (Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research, 1982:
 * 10 to 30 batches are enough). Batches take the same memory however long the series is.
 */

#define BATCHES		32

/**
 * struct moments - the division of a recording's series into batches
 * @nr:		number of moments so far
 * @length:	moments in a batch, a power of two
 */
struct moments {
	__u64 nr;
	__u64 length;
};

/**
 * struct batches - a series; if zeroed, a series whose value was 0 at all moments so far
 * @sum:	for each batch, the sum of its values
 * @sampled:	sum of the squared half-widths of the values' 95 % intervals
 */
struct batches {
	double sum[BATCHES];
	double sampled;
};

/**
 * struct estimate - a mean
 * @mean:	the mean
 * @variance:	variance of @mean: @in_time plus that of sampling; infinite with too few moments
 * @in_time:	variance of @mean by changes over time
 * @freedom:	degrees of freedom of @in_time
 */
struct estimate {
	double mean;
	double variance;
	double in_time;
	double freedom;
};

#define FREEDOM_MAX	1000

/* Join pairs of batches, to make room for a further moment */
static void batches_fold(struct batches *b)
{
	int i;

	for (i = 0; i < BATCHES; i++)
		b->sum[i] = i < BATCHES / 2 ? b->sum[2 * i] + b->sum[2 * i + 1] : 0;
}

/* Add to the value of the last moment. @half: half-width of the 95 % interval of @value */
static void batches_add(struct batches *b, const struct moments *m, double value, double half)
{
	b->sum[(m->nr - 1) / m->length] += value;
	b->sampled += half * half;
}

/*
 * Estimate the mean
 * @apart: sampling errors of values this many moments apart are independent
 */
static struct estimate batches_estimate(const struct batches *b, const struct moments *m,
					double apart)
{
	struct estimate e = { .variance = INFINITY, .in_time = INFINITY };
	/* a batch must be at least @apart long; a file may contain any @apart */
	unsigned int join = fmin(BATCHES, fmax(1, ceil(apart / m->length)));
	unsigned int nr = m->nr / m->length / join, i, j;
	double mean = 0, squares = 0;

	for (i = 0; i < BATCHES; i++)
		e.mean += b->sum[i] / m->nr;
	if (nr < 2)
		return e;
	for (i = 0; i < nr; i++) {
		double value = 0, before = mean;

		for (j = 0; j < join; j++)
			value += b->sum[i * join + j] / (join * m->length);
		mean += (value - mean) / (i + 1);
		squares += (value - before) * (value - mean);
	}
	e.freedom = nr - 1;
	e.in_time = squares / e.freedom / nr;
	e.variance = e.in_time + b->sampled * fmax(1, apart) / (Z * Z * m->nr * m->nr);
	return e;
}

/*
 * Degrees of freedom of the sum or difference of two estimates
 *
 * Welch, "The generalization of 'Student's' problem", Biometrika, 1947
 */
static unsigned int estimates_freedom(const struct estimate *a, const struct estimate *b)
{
	double sum = a->variance + b->variance;
	double parts = a->in_time * a->in_time / a->freedom + b->in_time * b->in_time / b->freedom;
	double freedom = sum * sum / parts;

	/* if nothing varied, @freedom is NaN, which is not below the maximum */
	return freedom < FREEDOM_MAX ? fmax(1, freedom) : FREEDOM_MAX;
}

/* Two recordings, and their working sets by the same rows */

/** enum diff_by - the kind of rows beside the total */
enum diff_by {
	DIFF_CLASS,
	DIFF_PROCESS,
	DIFF_MAPPING,
	DIFF_FUNCTION,
};

/**
 * struct diff_row - a part of the memory, in both recordings
 * @name:	name of the part; NULL: the total
 * @of:		its working set in each recording
 * @now:	its size at the moment being read: [0] sum over targets, [1] the group's
 * @half2:	squared half-widths of the intervals of @now
 */
struct diff_row {
	const char *name;
	struct batches of[2];
	double now[2], half2[2];
};

/**
 * struct diff_side - one of the recordings
 * @moments:	its moments
 * @window_us:	window of the working sets
 * @aggr_us:	aggregation interval
 * @apart:	sampling errors of values this many moments apart are independent
 * @what:	path of the cgroup, or name of the first process's program
 * @processes:	number of processes
 * @real_ns:	start of the recording, in nanoseconds since 1970
 * @first_ns, @last_ns: the first and the last moment
 */
struct diff_side {
	struct moments moments;
	__u64 window_us, aggr_us;
	double apart;
	char what[256];
	__u32 processes;
	__u64 real_ns, first_ns, last_ns;
};

/**
 * struct diff - both recordings
 * @by:		the kind of rows
 * @side:	the recordings
 * @at:		index of the recording being read
 * @rows:	struct diff_row *, by name
 * @total:	all memory
 * @too_many:	rows were left out
 * @time_ns:	the moment being read, 0 before the first
 * @grouped:	the moment has a total of the group
 * @names:	names of processes
 * @places:	names of mappings, and functions
 */
struct diff {
	enum diff_by by;
	struct diff_side side[2];
	int at;
	struct sorted rows;
	struct diff_row total;
	bool too_many;
	__u64 time_ns;
	bool grouped;
	struct collected names;
	struct places *places;
};

#define ROWS_MAX	16384

static int compare_names(const void *x, const void *y)
{
	const struct diff_row * const *a = x, * const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

/* Return: the row with a name, which may be new; NULL if there is no room */
static struct diff_row *find_row(struct diff *d, const char *name)
{
	struct diff_row key = { .name = name }, *row = &key;
	struct diff_row **p = sorted_find(&d->rows, &row);

	if (p)
		return *p;
	if (d->rows.nr == ROWS_MAX) {
		d->too_many = true;
		return NULL;
	}
	row = need(calloc(1, sizeof(*row)));
	row->name = need(strdup(name));
	return *(struct diff_row **)need(sorted_get(&d->rows, &row));
}

static void end_row(struct diff *d, struct diff_row *row)
{
	batches_add(&row->of[d->at], &d->side[d->at].moments, row->now[d->grouped],
		    sqrt(row->half2[d->grouped]));
	memset(row->now, 0, sizeof(row->now));
	memset(row->half2, 0, sizeof(row->half2));
}

static void fold(struct diff *d)
{
	struct diff_row **row = d->rows.base;
	size_t i;

	for (i = 0; i < d->rows.nr; i++)
		batches_fold(&row[i]->of[d->at]);
	batches_fold(&d->total.of[d->at]);
}

static void end_moment(struct diff *d)
{
	struct moments *m = &d->side[d->at].moments;
	struct diff_row **row = d->rows.base;
	size_t i;

	if (!d->time_ns)
		return;
	if (m->nr++ == BATCHES * m->length) {
		m->length *= 2;
		fold(d);
	}
	for (i = 0; i < d->rows.nr; i++)
		end_row(d, row[i]);
	end_row(d, &d->total);
	d->grouped = false;
}

static void add(struct diff_row *row, bool group, double value, double half)
{
	if (row) {
		row->now[group] += value;
		row->half2[group] += half * half;
	}
}

static void moment(struct diff *d, __u64 time_ns)
{
	if (time_ns != d->time_ns)
		end_moment(d);
	if (!d->side[d->at].first_ns)
		d->side[d->at].first_ns = time_ns;
	d->side[d->at].last_ns = time_ns;
	d->time_ns = time_ns;
}

static void add_size(struct diff *d, const struct wsmon_wss_row *w)
{
	double half = w->high > w->low ? (w->high - w->low) / 2.0 : 0;

	moment(d, w->time_ns);
	d->grouped |= w->group;
	if (w->class == WSMON_CLASS_ALL)
		add(&d->total, w->group, w->bytes, half);
	else if (d->by == DIFF_CLASS)
		add(find_row(d, class_name(w->class)), w->group, w->bytes, half);
	/* the group's record has no figures of processes: use the targets' figures in both sums */
	if (w->class == WSMON_CLASS_ALL && d->by == DIFF_PROCESS && !w->group) {
		struct diff_row *row = find_row(d, collect_comm(&d->names, w->pid));

		add(row, false, w->bytes, half);
		add(row, true, w->bytes, half);
	}
}

static const char *mapping_name(const struct place *p, __u32 class, char *text, size_t size)
{
	if (p->tid && class != WSMON_CLASS_STACK)
		return "[stacks of threads]";
	if (*p->path)
		return p->path;
	snprintf(text, size, "[%s]", class_name(class));
	return text;
}

static void add_region(struct diff *d, __u32 pid, const struct wsmon_region_entry *e)
{
	double share = (double)e->share / WSMON_SHARE_ONE, rest = e->end - e->start;
	struct cover cover[PLACES_SYMBOLS];
	const struct place *p;
	char text[32];
	size_t nr = 0, more, i;

	if (!e->share)
		return;
	p = places_get(d->places, places_at(d->places, pid, e));
	add(&d->total, false, share * rest, 0);
	if (d->by == DIFF_FUNCTION)
		nr = places_cover(d->places, p, e->start, e->end, cover, &more);
	for (i = 0; i < nr; i++) {
		rest -= cover[i].bytes;
		add(find_row(d, cover[i].symbol.name), false, share * cover[i].bytes, 0);
	}
	if (rest > 0)
		add(find_row(d, mapping_name(p, e->class, text, sizeof(text))), false, share * rest, 0);
}

static void add_snapshot(struct diff *d, const struct wsmon_rec_snapshot *s)
{
	__u32 i;

	moment(d, s->rec.time_ns);
	for (i = 0; i < s->nr; i++)
		add_region(d, s->pid, &s->regions[i]);
}

/* Begin to read recording @at, 0 or 1. @window_us: the window; 0: the shortest */
static void diff_begin(struct diff *d, int at, struct wsmon_reader *reader, __u64 window_us)
{
	const struct wsmon_attrs *attrs = &reader->header.attrs;
	struct diff_side *side = &d->side[at];
	bool by_region = d->by >= DIFF_MAPPING;

	d->at = at;
	d->time_ns = 0;
	collect_init(&d->names);
	if (by_region)
		d->places = need(places_new(reader));
	side->aggr_us = attrs->aggr_us;
	side->window_us = by_region ? attrs->aggr_us : window_us ?: attrs->windows_us[0];
	side->apart = side->aggr_us ? (double)side->window_us / side->aggr_us : 1;
	side->moments.length = 1;
}

/* Notes the cgroup, or the first process's last program: a command may begin as a shell */
static void note_what(struct diff_side *side, const struct wsmon_record *rec)
{
	const struct wsmon_rec_target *target = (const void *)rec;
	const char *cgroup = reader_cgroup(rec);

	if (*cgroup)
		text_clean(side->what, sizeof(side->what), cgroup);
	if (rec->type != WSMON_REC_TARGET)
		return;
	if ((target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_START)
		side->processes++;
	if (!*side->what || ((target->flags & WSMON_TARGET_REASON) == WSMON_TARGET_EXEC &&
			     side->processes < 2))
		text_clean(side->what, sizeof(side->what), target->comm);
}

static void diff_record(struct diff *d, const struct filter *filter, const struct wsmon_record *rec)
{
	struct wsmon_wss_row row;

	collect_name(&d->names, rec);
	note_what(&d->side[d->at], rec);
	if (d->places && rec->type != WSMON_REC_SNAPSHOT)
		places_record(d->places, rec);
	if (!filter_wants(filter, rec))
		return;
	if (d->places && rec->type == WSMON_REC_SNAPSHOT)
		add_snapshot(d, (const void *)rec);
	else if (!d->places && wss_row_get(rec, &row) && row.window_us == d->side[d->at].window_us)
		add_size(d, &row);
}

/* End a recording, after its last record */
static void diff_end(struct diff *d)
{
	end_moment(d);
	places_free(d->places);
	d->places = NULL;
	collect_free(&d->names);
}

/* Free everything */
static void diff_free(struct diff *d)
{
	struct diff_row **row = d->rows.base;
	size_t i;

	for (i = 0; i < d->rows.nr; i++) {
		free((char *)(uintptr_t)row[i]->name);
		free(row[i]);
	}
	free(row);
}

#define P	0.05	/* probability that a 95 % interval is wrong */

struct diff_cells {
	const char *by, *name;
	__u64 window_us, a, b;
	double change, low, high, ratio;
	const char *above;
};

#define ROW struct diff_cells

TABLE(diff_table, "diff",
	COL(by, TEXT, 7, "BY", NOT_HUMAN,
	    "kind of row: ``total``, ``class``, ``process``, ``mapping`` or ``function``"),
	COL(name, TEXT, 8, "NAME", 0, "its name"),
	COL(window_us, US, 6, "WINDOW", 0, "the window"),
	COL(a, SIZE, 10, "A", 0, "mean working set of the first recording"),
	COL(b, SIZE, 10, "B", 0, "mean working set of the second recording"),
	COL(change, CHANGE, 10, "CHANGE", 0, "``b`` minus ``a``"),
	COL(low, CHANGE, 10, "LOW", OR_NULL,
	    "lower end of the 95 % interval of ``change``; null if a recording is too short for "
	    "an interval"),
	COL(high, CHANGE, 10, "HIGH", OR_NULL, "upper end"),
	COL(ratio, RATIO, 7, "OF A", OR_NULL,
	    "``change`` as a share of ``a``, may exceed 1 or be negative; null if ``a`` is 0"),
	COL(above, TEXT, 5, "ABOVE", OR_NULL, "with ``--fail-above``: ``yes`` or ``no``"));

/**
 * struct job - the command line, and the results
 * @file:	the recordings
 * @fail_above:	maximum growth of a row, as a part of A's total; negative without --fail-above
 * @top:	number of rows beside the total
 * @rp:		reads the recordings
 * @diff:	their working sets
 */
struct job {
	const char *file[2];
	double fail_above;
	__u32 top;
	struct report rp;
	struct diff diff;
};

/* A row, to be printed */
struct line {
	const struct diff_row *row;
	struct estimate of[2];
	double change;
	bool above;
};

static void begin(struct report *rp)
{
	struct job *job = rp->data;
	int at = job->rp.file == job->file[1];

	diff_begin(&job->diff, at, &rp->reader,
		   rp->filter.nr_windows ? rp->filter.windows[0] : 0);
	job->diff.side[at].real_ns = rp->reader.header.real_ns;
}

static void record(struct report *rp, const struct wsmon_record *rec)
{
	diff_record(&((struct job *)rp->data)->diff, &rp->filter, rec);
}

static void end(struct report *rp)
{
	diff_end(&((struct job *)rp->data)->diff);
}

static struct report_view view = {
	.name = "diff", .begin = begin, .record = record, .end = end,
};

/* Return: 0, or -1 after a message */
static int read_all(struct job *job)
{
	int i;

	view.no_snapshots = job->diff.by < DIFF_MAPPING;
	view.of_processes = job->diff.by != DIFF_CLASS;
	for (i = 0; i < 2; i++) {
		job->rp.file = job->file[i];
		job->rp.windows_seen = 0;
		job->rp.of_cgroup = false;
		job->rp.data = job;
		if (report_run(&job->rp, NULL))
			return -1;
		if (job->diff.side[i].moments.nr)
			continue;
		msg("%s: has no %s to compare", job->file[i],
		    job->diff.by < DIFF_MAPPING ? "working sets" : "snapshots");
		return -1;
	}
	return 0;
}

static int check_alike(const struct job *job)
{
	const struct diff_side *a = &job->diff.side[0], *b = &job->diff.side[1];
	char x[UNITS_LEN], y[UNITS_LEN];

	if (a->window_us == b->window_us)
		return 0;
	msg("the windows are %s and %s: %s", units_time(x, a->window_us * NSEC_PER_USEC),
	    units_time(y, b->window_us * NSEC_PER_USEC), job->diff.by < DIFF_MAPPING ?
	    "name a window of both with --window" : "record both with the same --aggr");
	return -1;
}

static void estimate_row(const struct job *job, const struct diff_row *row, struct line *line)
{
	const struct diff *d = &job->diff;
	int i;

	line->row = row;
	for (i = 0; i < 2; i++)
		line->of[i] = batches_estimate(&row->of[i], &d->side[i].moments, d->side[i].apart);
	line->change = line->of[1].mean - line->of[0].mean;
}

/* Half-width of the interval of a row's change, which is wrong with probability @p */
static double half_width(const struct line *l, double p)
{
	double variance = l->of[0].variance + l->of[1].variance;

	if (isinf(variance))
		return INFINITY;
	return student(p, estimates_freedom(&l->of[0], &l->of[1])) * sqrt(variance);
}

/*
 * Is it certain that a row grew by more than --fail-above of the total? Each of several @rows is
 * tested with P / @rows, so that all tests together are wrong as seldom as one interval
 * (Bonferroni). The errors of a row and of the total may be correlated, so standard errors are
 * added, not variances.
 */
static bool is_above(const struct job *job, const struct line *l, const struct line *total,
		     size_t rows)
{
	struct line grown = *l;
	double limit = job->fail_above * total->of[0].mean;

	grown.of[0].variance = pow(sqrt(l->of[0].variance) +
				   job->fail_above * sqrt(total->of[0].variance), 2);
	/* estimates_freedom() needs @in_time, too: add it in the same way */
	grown.of[0].in_time = pow(sqrt(l->of[0].in_time) +
				  job->fail_above * sqrt(total->of[0].in_time), 2);
	return job->fail_above >= 0 && l->change - half_width(&grown, P / rows) > limit;
}

static int by_change(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	double c = fabs(b->change) - fabs(a->change);

	/* rows above the limit come first */
	if (a->above != b->above)
		return b->above - a->above;
	return c ? (c > 0) - (c < 0) : a->row < b->row ? -1 : 1;
}

static __u64 rounded(double v)
{
	return v < 0x1p64 ? (__u64)(v + 0.5) : ~0ULL;
}

static void print(const struct job *job, struct table *table, const struct line *l)
{
	static const char * const by[] = { "class", "process", "mapping", "function" };
	double half = half_width(l, P), a = l->of[0].mean;

	table_row(table, &(struct diff_cells) {
		.by = l->row->name ? by[job->diff.by] : "total",
		.name = l->row->name ?: "total",
		.window_us = job->diff.side[0].window_us,
		.a = rounded(a), .b = rounded(l->of[1].mean),
		.change = l->change, .low = l->change - half, .high = l->change + half,
		.ratio = l->change / a,
		.above = job->fail_above < 0 ? NULL : l->above ? "yes" : "no",
	});
}

/* Prints the first line: the result in words */
static void print_verdict(const struct line *total)
{
	double half = half_width(total, P), by = total->change, a = total->of[0].mean;
	char size[UNITS_LEN], low[UNITS_LEN], high[UNITS_LEN], part[32] = "";

	if (a > 0)
		snprintf(part, sizeof(part), " (%.0f %%)", 100 * fabs(by) / a);
	if (isinf(half))
		printf("Too short to tell whether B uses more than A.\n");
	else if (!by && !half)
		printf("B uses as much as A.\n");
	else if (fabs(by) <= half)
		printf("No difference is certain: B uses %s%s %s than A, +/- %s.\n",
		       units_size(size, fabs(by)), part, by < 0 ? "less" : "more", units_size(high, half));
	else if (!strcmp(units_size(low, fabs(by) - half), units_size(high, fabs(by) + half)))
		printf("B surely uses %s%s %s than A.\n", high, part, by < 0 ? "less" : "more");
	else
		printf("B surely uses %s%s %s than A, %s to %s.\n", units_size(size, fabs(by)), part,
		       by < 0 ? "less" : "more", low, high);
}

static void print_side(const struct job *job, int i)
{
	const struct diff_side *side = &job->diff.side[i];
	time_t start = side->real_ns / NSEC_PER_SEC;
	char file[512], time[UNITS_LEN], when[40] = "";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	printf("%c: %s, %s%s, of %s, %s\n", 'A' + i, text_clean(file, sizeof(file), job->file[i]),
	       *side->what ? side->what : "?", side->processes > 1 ? " and others" : "", when,
	       units_time(time, side->last_ns - side->first_ns + side->aggr_us * NSEC_PER_USEC));
}

static void print_head(const struct job *job, const struct line *total)
{
	const struct diff_side *side = job->diff.side;

	if (job->rp.out.format == TABLE_HUMAN) {
		print_verdict(total);
		print_side(job, 0);
		print_side(job, 1);
		putchar('\n');
	}
	if (strcmp(side[0].what, side[1].what))
		msg("A is a recording of %s, B of %s: not the same program", *side[0].what ? side[0].what : "?",
		    *side[1].what ? side[1].what : "?");
}

/* Return: exit status */
static int print_all(const struct job *job)
{
	struct diff_row **row = job->diff.rows.base;
	size_t nr = job->diff.rows.nr, above, i;
	struct line *line = need(calloc(nr + 1, sizeof(*line)));
	struct table *table;

	estimate_row(job, &job->diff.total, &line[0]);
	print_head(job, &line[0]);
	table = table_new(&diff_table, job->rp.out.format);
	table_show(table, offsetof(ROW, above), NOT_HUMAN, job->fail_above >= 0);
	above = line[0].above = is_above(job, &line[0], &line[0], nr + 1);
	for (i = 1; i <= nr; i++) {
		estimate_row(job, row[i - 1], &line[i]);
		line[i].above = is_above(job, &line[i], &line[0], nr + 1);
		above += line[i].above;
	}
	qsort(line + 1, nr, sizeof(*line), by_change);
	for (i = 0; i <= nr && i <= job->top; i++)
		print(job, table, &line[i]);
	table_end(table);
	if (isinf(line[0].of[0].variance + line[0].of[1].variance))
		msg("too short for intervals: record for longer than twice the window");
	if (job->diff.too_many)
		msg("too many rows: some were left out");
	if (above)
		msg("%zu row%s grew by more than %g %% of the total of %s", above, above == 1 ? "" : "s",
		    100 * job->fail_above, job->file[0]);
	free(line);
	return above ? WSMO_FAILURE : WSMO_OK;
}

static void set_file(struct argp_state *state, const char *name, void *to)
{
	struct job *job = to;

	if (job->file[1])
		usage_error(state, "'%s' is one recording too many", name);
	job->file[job->file[0] ? 1 : 0] = name;
}

static void check(struct argp_state *state, void *to)
{
	const struct job *job = to;

	if (!job->file[1])
		usage_error(state, "name two recordings");
	if (job->rp.filter.nr_windows > 1)
		usage_error(state, "one window at a time");
	if (job->rp.filter.nr_windows && job->diff.by >= DIFF_MAPPING)
		usage_error(state, "--window is for classes and processes; the window of mappings and functions is the aggregation interval");
}

static const struct option_desc options[] = {
	{ "by", 0, "class|process|mapping|function", "Kind of the rows below the total (class)",
	  OPT_CHOICE, OPT_AT(struct job, diff.by) },
	{ "fail-above", 0, "PERCENT", "Exit with status 1 if a row surely grew by more than this part of A's total",
	  OPT_PERCENT, OPT_AT(struct job, fail_above) },
	{ "top", 0, "N", "Rows below the total (20), those that changed most", OPT_COUNT,
	  OPT_AT(struct job, top), 1, 1000000 },
	{ 0 }
};

int cmd_diff(int argc, char **argv)
{
	static struct job job = { .fail_above = -1, .top = 20 };
	int status = WSMO_USAGE;

	report_init(&job.rp, &view);
	options_parse(&(struct command_line) {
		.name = "wsmo diff",
		.args = "A B",
		.doc = "Compare the mean working sets of two recordings, with 95 % intervals."
		       "\vExit status: 0; 1 if a row is above --fail-above; 2 on an error.",
		.groups = {
			OPT_GROUP(options, &job), OPT_GROUP(time_options, &job.rp),
			OPT_GROUP(window_options, &job.rp), OPT_GROUP(format_options, &job.rp.out.format),
		},
		.to = &job, .arg = set_file, .check = check,
	}, argc, argv);
	job.diff.rows = SORTED(struct diff_row *, ROWS_MAX, compare_names);
	if (!read_all(&job) && !check_alike(&job))
		status = print_all(&job);
	diff_free(&job.diff);
	return status;
}
