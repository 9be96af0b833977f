// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_wss.c - the estimator of the working set size
 *
 * Pure: no mm, no allocation, no locks.
 *
 * Each half of a region is a stratum with one sample page, drawn uniformly. The
 * estimate, the sum of half size times "was it accessed", is unbiased (Cochran,
 * Sampling Techniques, 3rd ed. 1977, 5.3). What one draw does not say, its variance, earlier
 * draws of the same half do: the variance is the sum of n^2 v, with v from wsmon_regions.c.
 * Evenly spread positions reduce it: see wsmon_adapt.c.
 *
 * They know nothing of a region that is new, or that has just changed. There, the two strata
 * are collapsed (5A.12): (n0^2 + n1^2) / 2 * (x0 - x1)^2. For halves of equal size its
 * expectation is the variance plus a term for the difference of the halves' means. Where that
 * difference is old, n^2 times the squared deviations from the means is less. The sum of what
 * is less, in each region, is what this window alone says of the variance. If a few regions
 * matter most, it is mostly too little, or far too much. But if it is nine times what the past
 * says, or twice and many regions say so, it counts instead: so what changes is uncertain at
 * once. If it is a quarter of what the past of many says, the past is over, and twice of it counts.
 *
 * Regions whose samples always agreed add next to nothing to that, but are not certain. If m
 * draws of two samples each all agreed, a share of up to 3 / (2m) may have been missed
 * at 95 % (the rule of three: Hanley and Lippman-Hand, JAMA 1983). The interval is
 * widened by the largest such doubt, upwards for regions found cold, downwards for
 * regions found hot, and both ways in proportion for what is seen in part in all draws.
 *
 * A half whose pages were all looked at has no such error. But samples serve a little longer or
 * shorter than an interval: see wsmon_regions_edge(). The confidence interval is widened by that
 * part of the window, as if each page were accessed once.
 */

#include "wsmon_estimate.h"

/* 1.96, the 97.5 % quantile of the normal distribution */
#define Z_NUM	196
#define Z_DEN	100

/*
 * A fault on a page of a file maps the pages around it, 16 at a time, and x86 marks all
 * of them accessed. So of the pages that may have been mapped in this way, between one
 * in 16 and all were accessed. They count as 17/32, give or take 15/32.
 */
#define VAGUE_MEAN	17
#define VAGUE_DOUBT	15

/*
 * Accessed pages are summed in units of 2^-8: a region of two pages may count 2.9. Numbers of
 * pages sum to less than 2^45, and weights are at most 2^8.
 */
#define PART_SHIFT	8

/**
 * struct wss_sums - sums over the regions of a class
 * @hit:	pages times share, in units of 2^-PART_SHIFT
 * @exact:	those of it that come from all pages of a half
 * @now:	variance by the samples of this window, in units of (1 << shift) pages squared
 * @past:	variance by earlier draws of halves that are independent; likewise
 * @less:	by how much evenly spread positions reduce @past
 * @cold:	maximum number of accessed pages in any region found cold
 * @hot:	maximum number of pages not accessed in any region found hot
 * @stale:	pages found accessed, but perhaps before the window: in an earlier interval and
 *		not observed since, or new memory that may be older than the window
 * @vague:	pages that were accessed, or merely mapped around a fault; as @hit
 * @unknown:	pages not observed for a whole window
 * @grew:	see struct wsmon_wss
 * @now_most:	a single region adds less than 2^@now_most to @now
 * @past_most:	likewise, to @past
 */
struct wss_sums {
	u64 hit;
	u64 exact;
	u64 now;
	u64 past;
	u64 less;
	u64 cold;
	u64 hot;
	u64 stale;
	u64 vague;
	u64 unknown;
	u64 grew;
	u8 now_most;
	u8 past_most;
};

/* Convert to units of 2^shift pages; rounded up, so that small numbers do not vanish. */
static u64 wss_scale(u64 pages, unsigned int shift)
{
	return (pages + (1ULL << shift) - 1) >> shift;
}

/* A share (Q15) of some pages, rounded up */
static u64 wss_share_up(u64 pages, u32 share)
{
	return (pages * share + WSMON_ONE - 1) >> WSMON_SHIFT;
}

/* Accessed pages of two halves, in units of 2^-PART_SHIFT; shares Q15 */
static u64 wss_accessed(const u64 n[2], u32 share0, u32 share1)
{
	u64 part = n[0] * (share0 % WSMON_ONE) + n[1] * (share1 % WSMON_ONE);

	/* rounded: many regions of a few pages must not all count a little less */
	return ((n[0] * (share0 / WSMON_ONE) + n[1] * (share1 / WSMON_ONE)) << PART_SHIFT) +
	       ((part + BIT(WSMON_SHIFT - PART_SHIFT - 1)) >> (WSMON_SHIFT - PART_SHIFT));
}

/*
 * What this window says counts if it is more than so many times what the past says, and if many
 * regions say so, each less than 1 / MANY of it
 */
#define SURPRISE	9U
#define SURPRISE_MANY	2U
#define MANY		32U
/* What the past of many says does not count if it is more than so many times that */
#define CALM		4U

/* Windows (bits) in which the value of a half is no draw: of all pages, or of none */
static u8 wss_given(const struct wsmon_region *r, u32 h)
{
	return r->exact[h] | r->lost[h];
}

/* Add the variance of a region; @n: sizes of its halves, scaled; @less: see struct wsmon_runs */
static void wss_add_variance(struct wss_sums *c, const struct wsmon_region *r, u32 k,
			     const u64 n[2], u32 less)
{
	const u32 *out = r->out[k], *mean = r->past.mean;
	const u64 *var = r->past.var;
	u64 diff = max(out[0], out[1]) - min(out[0], out[1]);
	u64 square = n[0] * n[0] + n[1] * n[1], now, near = 0, past = 0;
	u32 h;

	if (!(diff | (r->times ? var[0] | var[1] : 0)))
		return;
	/* what is given does not vary, and is no second draw for the other half */
	if (wss_given(r, 0) & wss_given(r, 1) & BIT(k))
		return;
	for (h = 0; h < 2; h++) {
		if (wss_given(r, h) & BIT(k))
			square = 2 * n[!h] * n[!h];
	}
	/* the squares of all sizes sum to less than 2^47, and weights are at most 2^8 */
	now = mul_u64_u64_shr(square / 2, diff * diff, 2 * WSMON_SHIFT);
	for (h = 0; h < 2 && r->times >= WSMON_TIMES_MIN; h++) {
		u64 d = max(out[h], mean[h]) - min(out[h], mean[h]);

		if (wss_given(r, h) & BIT(k))
			continue;
		near += mul_u64_u64_shr(n[h] * n[h], d * d, 2 * WSMON_SHIFT);
		past += mul_u64_u64_shr(n[h] * n[h], var[h], 2 * WSMON_SHIFT);
	}
	if (r->times < WSMON_TIMES_MIN)
		past = now;
	else
		now = min(now, near);
	c->now += now;
	c->past += past;
	if (less && wsmon_run_adds(r))
		c->less += mul_u64_u64_shr(past, less, WSMON_SHIFT);
	c->now_most = max_t(u8, c->now_most, fls64(now));
	c->past_most = max_t(u8, c->past_most, fls64(past));
}

/* The variance: what the past says, unless this window contradicts it */
static u64 wss_variance(const struct wss_sums *c)
{
	u32 surprise = c->now / MANY >> c->now_most ? SURPRISE_MANY : SURPRISE;

	if (c->now / surprise > c->past)
		return c->now;
	/* deviations from a mean that is over are large: collapsed strata count, by half or so */
	if (c->past / MANY >> c->past_most && c->past / CALM > c->now)
		return max(min(c->past, 2 * c->now), BIT_ULL(c->past_most));
	return c->past - c->less;
}

/* Not inline: with KASAN the frame of its caller would be too large. */
static noinline void wss_add_region(struct wss_sums *c, const struct wsmon_region *r, u32 k,
				    unsigned int shift, u32 less)
{
	u64 n = wsmon_region_pages(r);
	const u64 scaled[2] = { wss_scale(r->n[0], shift), wss_scale(r->n[1], shift) };
	const u32 *out = r->out[k];
	u32 diff = max(out[0], out[1]) - min(out[0], out[1]);
	u64 hit, doubt;
	u32 share, h;
	u8 special;

	if (!(r->known & BIT(k))) {
		c->unknown += n;
		return;
	}
	hit = wss_accessed(r->n, out[0], out[1]);
	c->hit += hit;
	hit >>= PART_SHIFT;
	special = r->doubtful[0] | r->doubtful[1] | r->exact[0] | r->exact[1] |
		  r->lost[0] | r->lost[1] | r->gap[0] | r->gap[1];
	for (h = 0; h < 2 && special & BIT(k); h++) {
		u64 part = wss_accessed(r->n, h ? 0 : out[0], h ? out[1] : 0);

		if (r->doubtful[h] & BIT(k))
			c->vague += part;
		if (r->exact[h] & BIT(k))
			c->exact += part;
		if ((r->lost[h] | r->gap[h]) & BIT(k))
			c->unknown += r->n[h] * max_t(u32, r->weight, 1);
		/* @out is a guess: neither of its pages counts for sure */
		if (r->lost[h] & BIT(k)) {
			c->unknown -= part >> PART_SHIFT;
			c->stale += (part >> PART_SHIFT) + 1;
		}
	}
	/* what was not accessed in a part of the window may have been in the rest */
	if (!(r->whole & BIT(k)))
		c->unknown += n - min(n, hit);
	if (r->stale)
		c->stale += hit;
	if (!r->n[1])
		return;

	wss_add_variance(c, r, k, scaled, less);
	if (diff > WSMON_DIFFER || r->exact[0] & r->exact[1] & BIT(k))
		return;
	/* its halves come from halves that differed, so they vary together */
	if (r->guess & BIT(k)) {
		u64 all = (scaled[0] + scaled[1]) * (scaled[0] + scaled[1]) / 2;

		c->now += all;
		c->past += all;
		return;
	}
	/* a page that few members use is found less often */
	doubt = n * 3 * max_t(u32, r->weight, 1) / (2 * max_t(u32, r->draws, 1));
	doubt = min(doubt, n);
	share = min_t(u32, (out[0] + out[1]) / 2, WSMON_ONE);
	/* else all that is not accessed is unknown; both rounded up */
	if (r->whole & BIT(k))
		c->cold = max(c->cold, wss_scale(doubt * (WSMON_ONE - share), WSMON_SHIFT));
	c->hot = max(c->hot, wss_scale(doubt * share, WSMON_SHIFT));
}

/*
 * Pages of a region that were made huge pages in the last interval, and seen accessed after that.
 * Of what the last look found, nobody has looked whether it is accessed.
 */
static u64 region_grew(const struct wsmon_region *r, const struct wsmon_regions *rs)
{
	u64 pages = 0;
	u32 h;

	for (h = 0; h < 2; h++) {
		if (r->made_ns[h] > rs->begin_ns &&
		    (r->s[h].seen_ns > r->made_ns[h] || r->made_ns[h] >= rs->end_ns))
			pages += r->n[h];
	}
	return pages;
}

/*
 * Add new memory of a class, of which m of n sampled pages were accessed.
 *
 * Mappings are read some time before samples are armed. So new memory appeared within a little more
 * than a window: of what grows all the time, and is touched once, that part was accessed before it.
 * What is used again was accessed within. So half of the part counts, give or take as much. As
 * memory comes in pieces, the part may be half as much again.
 */
static noinline void wss_add_fresh(struct wss_sums *c, const struct wsmon_fresh *fresh,
				   u32 class, unsigned int shift)
{
	u32 m = fresh->seen[class], n = fresh->drawn[class];
	u64 pages = fresh->pages[class], scaled = wss_scale(pages, shift), doubt;
	u32 counts = WSMON_ONE - fresh->early / 2;

	/* pages < 2^45, scaled < 2^24, m and n at most 2^10 */
	c->hit += mul_u64_u64_shr((pages * m << PART_SHIFT) / n, counts, WSMON_SHIFT);
	c->vague += mul_u64_u64_shr((pages * fresh->vague[class] << PART_SHIFT) / n, counts,
				    WSMON_SHIFT);
	doubt = div64_u64(pages * m + n - 1, n);
	c->stale += fresh->late ? doubt : wss_share_up(doubt, fresh->early);
	c->unknown += wss_share_up(doubt, WSMON_ONE - counts);
	if (n == pages)
		return;
	scaled = scaled * scaled / n * m / n * (n - m) / n;
	c->now += scaled;
	c->past += scaled;
	doubt = min(pages, pages * 3 / n);
	if (!m)
		c->cold = max(c->cold, doubt);
	else if (m == n)
		c->hot = max(c->hot, doubt);
}

static noinline void wss_finish(struct wsmon_wss *w, const struct wss_sums *c, unsigned int shift,
				u32 edge)
{
	u64 var = wss_variance(c);
	/* twice the deviation; of large units, rounded up less, unless that overflows */
	u64 twice = !shift || var >> 62 ? 2 * wsmon_sqrt_up(var) : wsmon_sqrt_up(4 * var);
	u64 half = (twice << shift) / 2 * Z_NUM / Z_DEN +
		   (mul_u64_u64_shr(c->exact, edge, WSMON_SHIFT) >> PART_SHIFT);
	u64 doubt = (c->vague / 32 * VAGUE_DOUBT) >> PART_SHIFT;
	u64 hit = c->hit - c->vague + c->vague / 32 * VAGUE_MEAN + BIT(PART_SHIFT - 1);
	u64 low = half + c->hot + c->stale + doubt;
	u64 high = half + c->cold + c->unknown + doubt;

	/* weights may by chance sum to more than there is */
	w->pages = min(w->mapped, hit >> PART_SHIFT);
	w->low = w->pages > low ? w->pages - low : 0;
	w->high = min(w->mapped, w->pages + high);
	w->grew = c->grew;
}

static u64 fresh_pages(const struct wsmon_fresh *fresh)
{
	u64 sum = 0;
	u32 c;

	for (c = 0; fresh && c < WSMON_NR_CLASSES; c++)
		sum += fresh->pages[c];
	return sum;
}

/* Add a class to a sum. Classes share no page, and their samples are independent. */
static void wss_add_class(struct wsmon_wss *w, struct wss_sums *to, const struct wsmon_wss *part,
			  const struct wss_sums *c)
{
	w->mapped += part->mapped;
	to->hit += c->hit;
	to->exact += c->exact;
	to->now += c->now;
	to->past += c->past;
	to->less += c->less;
	to->now_most = max_t(u8, to->now_most, c->now_most);
	to->past_most = max_t(u8, to->past_most, c->past_most);
	to->cold = max(to->cold, c->cold);
	to->hot = max(to->hot, c->hot);
	to->unknown += c->unknown;
	to->stale += c->stale;
	to->vague += c->vague;
	to->grew += c->grew;
}

/**
 * wsmon_wss_estimate - estimate working set sizes, with their confidence intervals
 * @rs:		the regions; @out[k] of each is what was observed in the window
 * @sp:		the space
 * @fresh:	memory that appeared within the window, or NULL
 * @k:		the window
 * @wss:	the result: WSMON_CLASS_ALL, each class, and WSMON_WSS_REST
 *
 * O(regions).
 */
void wsmon_wss_estimate(const struct wsmon_regions *rs,
			const struct wsmon_space *sp,
			const struct wsmon_fresh *fresh, u32 k,
			struct wsmon_wss wss[WSMON_NR_WSS])
{
	struct wss_sums acc[WSMON_NR_CLASSES] = { }, *all = &acc[WSMON_CLASS_ALL];
	unsigned int shift, bits, c;
	u32 i;

	/* scaled sizes sum to 2^23, and a little more as they are rounded up */
	bits = fls64(wsmon_space_pages(sp) + fresh_pages(fresh));
	shift = bits > 23 ? bits - 23 : 0;

	memset(wss, 0, sizeof(*wss) * WSMON_NR_WSS);
	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		c = sp->area[r->area].class;
		wss[c].mapped += wsmon_region_pages(r);
		wss_add_region(&acc[c], r, k, shift, rs->runs.less[c]);
		acc[c].grew += region_grew(r, rs);
	}
	for (c = 0; fresh && c < WSMON_NR_CLASSES; c++) {
		wss[c].mapped += fresh->pages[c];
		if (!fresh->drawn[c])
			acc[c].unknown += fresh->pages[c];
		else
			wss_add_fresh(&acc[c], fresh, c, shift);
	}
	for (c = WSMON_CLASS_ALL + 1; c < WSMON_NR_CLASSES; c++) {
		wss_finish(&wss[c], &acc[c], shift, rs->edge);
		if (c != WSMON_CLASS_TEXT)
			wss_add_class(&wss[WSMON_WSS_REST], all, &wss[c], &acc[c]);
	}
	wss_finish(&wss[WSMON_WSS_REST], all, shift, rs->edge);
	/* all is the rest, and text */
	wss[WSMON_CLASS_ALL].mapped = wss[WSMON_WSS_REST].mapped;
	wss_add_class(&wss[WSMON_CLASS_ALL], all, &wss[WSMON_CLASS_TEXT], &acc[WSMON_CLASS_TEXT]);
	wss_finish(&wss[WSMON_CLASS_ALL], all, shift, rs->edge);
}

/**
 * wsmon_wss_add_went - add memory that was used and went to the estimates of a window
 * @wss:	the estimates
 * @went:	what went, in pages of anonymous memory: nobody knows which class it was of
 *
 * It counts as mapped, as far as that is less than the upper end.
 */
void wsmon_wss_add_went(struct wsmon_wss wss[WSMON_NR_WSS], struct wsmon_went went)
{
	static const u8 classes[] = {
		WSMON_CLASS_ALL, WSMON_WSS_REST, WSMON_CLASS_ANON, WSMON_CLASS_HEAP,
	};
	u32 i;

	for (i = 0; i < sizeof(classes) && went.most; i++) {
		struct wsmon_wss *w = &wss[classes[i]];

		if (classes[i] == WSMON_CLASS_HEAP && !w->mapped)
			continue;
		w->pages += classes[i] == WSMON_CLASS_HEAP ? 0 : went.least;
		w->high += went.most;
		w->mapped = max(w->mapped, w->high);
	}
}

/**
 * wsmon_wss_add_blind - add pages of mappings that could not be read to classes
 * @wss:	the estimates of a window, whose sums have these pages
 * @blind:	how many; they may be of any class, and so count as mapped in each
 */
void wsmon_wss_add_blind(struct wsmon_wss wss[WSMON_NR_WSS], u64 blind)
{
	u32 c;

	for (c = WSMON_CLASS_ALL + 1; c < WSMON_NR_CLASSES; c++) {
		if (c == WSMON_CLASS_MIXED || !wss[c].mapped)
			continue;
		wss[c].mapped += blind;
		wss[c].high += blind;
	}
}

/*
 * Memory that appeared since the mappings were last read
 *
 * It had no samples. But it did not exist before, so a page that is found accessed at
 * the end of the interval was accessed since the mappings were last read. So sampling
 * some of its pages once shows how much of it is in the working set. The memory is
 * divided into equal shares, and one page is drawn from each (Cochran, Sampling
 * Techniques, 3rd ed. 1977, 5.3). The binomial variance that is used is not less than
 * the true one.
 */

/**
 * struct new_pages - iterator over the pages of a space that are not in another one
 * @now:	the space
 * @then:	the other space
 * @i:		extent of @now
 * @j:		extent of @then
 * @at:		next page in extent @i
 */
struct new_pages {
	const struct wsmon_space *now;
	const struct wsmon_space *then;
	u32 i;
	u32 j;
	u64 at;
};

/* Get the next range [*start, *end), all in extent c->i. Return: is there one? */
static bool new_pages_next(struct new_pages *c, u64 *start, u64 *end)
{
	for (; c->i < c->now->nr_ext; c->i++) {
		const struct wsmon_extent *e = &c->now->ext[c->i];
		const struct wsmon_extent *old;

		c->at = max(c->at, e->start);
		while (c->at < e->end) {
			while (c->j < c->then->nr_ext &&
			       c->then->ext[c->j].end <= c->at)
				c->j++;
			old = c->j < c->then->nr_ext ? &c->then->ext[c->j] : NULL;
			if (old && old->start <= c->at) {
				c->at = old->end;
				continue;
			}
			*start = c->at;
			*end = old ? min(old->start, e->end) : e->end;
			c->at = *end;
			return true;
		}
	}
	return false;
}

/**
 * wsmon_fresh_draw - draw the pages of new memory to sample
 * @f:		the result: pages, with nothing seen yet
 * @now:	the space
 * @then:	the space as it was last read
 * @random:	seed of the draw
 * @max:	max. number of pages, at most WSMON_FRESH_MAX
 *
 * O(extents of both).
 */
void wsmon_fresh_draw(struct wsmon_fresh *f, const struct wsmon_space *now,
		      const struct wsmon_space *then, u64 random, u32 max)
{
	struct new_pages c = { .now = now, .then = then };
	u64 start = 0, end = 0, total = 0, base = 0, rank, lo, hi;
	u32 i, class;

	memset(f, 0, sizeof(*f));
	while (new_pages_next(&c, &start, &end)) {
		f->pages[now->ext[c.i].class] += end - start;
		total += end - start;
	}
	if (!total)
		return;

	f->nr = min_t(u64, total, max);
	c = (struct new_pages){ .now = now, .then = then };
	new_pages_next(&c, &start, &end);
	for (i = 0; i < f->nr; i++) {
		/* total < 2^45 */
		lo = total * i / f->nr;
		hi = total * (i + 1) / f->nr;
		rank = lo + mul_u64_u64_shr(wsmon_hash64(random + i), hi - lo, 64);
		while (rank - base >= end - start) {
			base += end - start;
			new_pages_next(&c, &start, &end);
		}
		class = now->ext[c.i].class;
		f->vpn[i] = start + rank - base;
		f->class[i] = class;
		f->drawn[class]++;
	}
}

/*
 * Memory that was used and given back within a window
 *
 * Pure: no mm, no allocation, no locks.
 *
 * Samples see what is there when they are looked at. What a program maps, uses and unmaps between
 * two looks has none, and what had some is dropped with its mapping. The kernel's counts tell of
 * these. In an interval
 *
 *	went = pages when it began + pages that faults made - pages when it ended
 *
 * pages of anonymous memory went. Those that were there when the interval began had samples; the
 * others are new, and were used, as a fault made them. Faults are too many: a fault also copies a
 * page after a fork, or finds its page mapped. So this is a bound. And it counts only if there was
 * less memory at one look than at an earlier one, now or in the last intervals: most programs give
 * nothing back, and their faults say nothing. After a fork, each page that is written faults once: as
 * many faults as pages were accessed are taken off for each fork, and later on for the last one, until
 * there were as many as it had anonymous pages.
 *
 * The most pages that were there at one time, less those that were there at the beginning, or are at
 * the end, came and went at least. The kernel knows its own peak, if it rose.
 *
 * Of what had samples, those that were found accessed are in the estimate of the regions. Of the
 * others nobody knows: memory is often read just before it is given back.
 *
 * Anonymous memory only. Reclaim takes pages of files at any time, and those in swap are counted.
 * A page that is given back and comes back at the same address is the same page: the estimate
 * counts it once where it had samples. The upper end may count it each time.
 */

/* @churn fades by 1 / FADE an interval, and so do @copies */
#define FADE		8U
/* What went counts from this on: so many pages, and 1 / CHURN_PART of all */
#define CHURN_MIN	32U
#define CHURN_PART	256U
/* More forks in an interval do not matter */
#define FORKS_MAX	4096U
/* Samples may show 1 / SAMPLED_DOUBT less than what went of what they stand for */
#define SAMPLED_DOUBT	8U

static u64 above(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/**
 * wsmon_balance_look - take note of how many anonymous pages there are
 * @b:		the balance
 * @anon:	their number
 */
void wsmon_balance_look(struct wsmon_balance *b, u64 anon)
{
	if (!b->begun)
		return;
	b->fell += above(b->last, anon);
	b->peak = max(b->peak, anon);
	b->last = anon;
}

/* The most pages that faults can have made since the interval began */
static u64 balance_made(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	const struct wsmon_counts *begin = &b->begin;
	u64 faults, copies, nr = now->forks - begin->forks;

	if (nr)
		b->copies = min_t(u64, nr, FORKS_MAX) * now->fork_pages;
	if (now->faults == U64_MAX || begin->faults == U64_MAX)
		return 0;
	/* while a thread ends, its faults may be counted nowhere */
	faults = above(now->faults, begin->faults);
	copies = min(b->copies, clamp_t(u64, nr, 1, FORKS_MAX) * now->used);
	copies = min(copies, faults);
	b->copies = min(b->copies - copies, now->fork_pages);
	if (!nr)
		b->copies -= b->copies / FADE;
	faults -= copies;
	faults -= min(faults, above(now->hints, begin->hints));
	return faults + above(now->huge_pages, 1) * min(faults, above(now->huge, begin->huge));
}

/* Begin an interval. */
static void balance_begin(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	if (!b->begun && now->forks)
		b->copies = now->fork_pages;
	b->begin = *now;
	b->last = now->anon;
	b->peak = now->anon;
	b->fell = 0;
	b->begun = true;
}

/**
 * wsmon_balance_end - end an interval, and begin the next one
 * @b:		the balance
 * @now:	the counts of the process
 *
 * Return: what went in it. Nothing, if there is no sign that memory is given back.
 */
struct wsmon_went wsmon_balance_end(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	struct wsmon_went went = { };
	u64 made, fell, matters = CHURN_MIN + now->anon / CHURN_PART;

	if (!b->begun) {
		balance_begin(b, now);
		return went;
	}
	wsmon_balance_look(b, now->anon);
	made = balance_made(b, now);
	if (now->peak > b->begin.peak)
		b->peak = max(b->peak, above(now->peak, max(b->begin.files, now->files)));
	fell = max(b->fell, b->peak - now->anon);
	/* what was there at the peak, neither before nor after */
	went.least = b->peak - max(b->begin.anon, now->anon);
	went.most = max(fell, above(b->begin.anon + made, now->anon));
	b->churn += fell - b->churn / FADE;
	b->suspect = went.most >= matters;
	if (b->churn < matters)
		went = (struct wsmon_went){ };
	balance_begin(b, now);
	return went;
}

/* Is memory of a class counted as anonymous? */
static bool class_is_anon(u32 class)
{
	return class == WSMON_CLASS_HEAP || class == WSMON_CLASS_STACK || class == WSMON_CLASS_ANON;
}

/* Take off what samples stand for: they knew it. What they did not see accessed may have been. */
static struct wsmon_went gone_unsampled(struct wsmon_went went, u64 since,
					const struct wsmon_regions *rs,
					const struct wsmon_space *sp)
{
	u64 there = 0, unseen = 0;
	u32 i, h;

	for (i = 0; went.most && i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (!r->went || !class_is_anon(sp->area[r->area].class))
			continue;
		for (h = 0; h < 2; h++) {
			if (!(r->went & BIT(h)))
				continue;
			there += r->n[h];
			if (r->s[h].seen_ns <= since)
				unseen += r->n[h];
		}
	}
	went.least = above(went.least, there + there / SAMPLED_DOUBT);
	went.most = max(went.least, min(went.most, above(went.most, there) + unseen));
	return went;
}

/**
 * wsmon_gone_add - add what went in an interval
 * @g:		what went before
 * @iv:		the interval, which ends
 * @went:	what went of all processes
 * @rs:		the regions, after their last looks: @went tells whose pages went
 * @sp:		their space
 */
void wsmon_gone_add(struct wsmon_gone *g, const struct wsmon_interval *iv,
		    struct wsmon_went went, const struct wsmon_regions *rs,
		    const struct wsmon_space *sp)
{
	u64 phases = wsmon_interval_phases(iv);
	u32 together = div64_u64(phases + WSMON_GONE - 2, WSMON_GONE - 1);

	if (g->nr >= together || !g->nr) {
		g->at = (g->at + 1) % WSMON_GONE;
		memset(&g->past[g->at], 0, sizeof(g->past[g->at]));
		g->nr = 0;
	}
	g->nr++;
	went = gone_unsampled(went, iv->begin_ns, rs, sp);
	g->past[g->at].end_ns = iv->now;
	g->past[g->at].went.least += went.least;
	g->past[g->at].went.most += went.most;
}

/* Does a space have a page? @j: an extent before it, which goes on with it */
static bool space_has(const struct wsmon_space *sp, u32 *j, u64 vpn)
{
	while (*j < sp->nr_ext && sp->ext[*j].end <= vpn)
		++*j;
	return *j < sp->nr_ext && sp->ext[*j].start <= vpn;
}

/* Add pages to the first interval that ended after a time. */
static void gone_add_seen(struct wsmon_gone *g, u64 seen_ns, u64 pages)
{
	u32 i, at;

	for (i = 1; i <= WSMON_GONE; i++) {
		at = (g->at + i) % WSMON_GONE;
		if (g->past[at].end_ns < seen_ns)
			continue;
		g->past[at].went.least += pages;
		g->past[at].went.most += pages;
		return;
	}
}

/**
 * wsmon_gone_drop - add what regions are about to lose that longer windows hold
 * @g:		what went before
 * @iv:		the interval, which ends
 * @rs:		the regions
 * @now:	the space that they are to follow
 *
 * A sample stands for its half: so does one that was accessed, and is not mapped any more.
 */
void wsmon_gone_drop(struct wsmon_gone *g, const struct wsmon_interval *iv,
		     const struct wsmon_regions *rs, const struct wsmon_space *now)
{
	u32 i, h, j = 0, k = iv->nr_windows - 1;

	if (wsmon_interval_phases(iv) == 1)
		return;
	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		for (h = 0; h < 2; h++) {
			if (!r->n[h] || !wsmon_seen_within(iv, r->s[h].seen_ns, k) ||
			    space_has(now, &j, r->s[h].vpn))
				continue;
			gone_add_seen(g, r->s[h].seen_ns,
				      r->n[h] * min_t(u32, r->out[k][h], WSMON_ONE) >> WSMON_SHIFT);
		}
	}
}

/**
 * wsmon_gone_within - sum what went within a window
 * @g:	what went, up to the interval that ends
 * @iv:	the interval
 * @k:	the window
 */
struct wsmon_went wsmon_gone_within(const struct wsmon_gone *g, const struct wsmon_interval *iv,
				    u32 k)
{
	struct wsmon_went sum = { };
	u32 i;

	for (i = 0; i < WSMON_GONE; i++) {
		if (!wsmon_seen_within(iv, g->past[i].end_ns, k))
			continue;
		sum.least += g->past[i].went.least;
		sum.most += g->past[i].went.most;
	}
	return sum;
}
