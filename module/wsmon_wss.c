// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_wss.c - the estimator of the working set size
 *
 * Pure: no mm, no allocation, no locks.
 *
 * Each half of a region is a stratum with one sample page, drawn uniformly. The estimate adds the
 * size of each half whose sample was accessed. It is unbiased (Cochran, Sampling Techniques, 3rd
 * ed. 1977, 5.3).
 *
 * One draw does not show its variance v, but earlier draws of the same half do: wsmon_regions.c.
 * The past variance of the estimate is the sum of n^2 v over the halves, where n is the size of a
 * half. Evenly spread positions reduce it: see wsmon_split.c.
 *
 * A region that is new or has just changed has no earlier draws. There the two strata are collapsed
 * (5A.12): (n0^2 + n1^2) / 2 * (x0 - x1)^2. For halves of equal size the expectation of this is the
 * variance plus a term for the difference of the halves' means. If the halves have long differed,
 * n^2 times the squared deviations from their means is smaller. So each region adds the smaller of
 * the two to the present variance, which is known from this window alone. If few regions dominate
 * the present variance, it is mostly too small, and sometimes far too large. So the past variance
 * counts, with two exceptions:
 *  - The present variance counts if it exceeds nine times the past variance, or twice the past
 *    variance if no single region dominates. So a change widens the interval at once.
 *  - If the past variance exceeds four times the present variance, and no single region dominates
 *    the past variance, discard the history and use twice the present variance.
 *
 * Regions whose samples always agreed add almost nothing to the variance, but are not certain. If m
 * draws of two samples each all agreed, a share of up to 3 / (2m) may have been missed at 95 %
 * confidence (the rule of three: Hanley and Lippman-Hand, JAMA 1983). The largest such doubt of any
 * region widens the interval: upwards for a region found cold, downwards for a region found hot,
 * and both ways, in proportion, for a region whose draws all saw the same partial share.
 *
 * A half whose pages were all looked at has no sampling error. But its samples serve a little
 * longer or shorter than an interval: see wsmon_regions_edge(). The confidence interval is widened
 * by this part of the window, as if each page were accessed once.
 */

#include "wsmon_estimate.h"

/* 1.96, the 97.5 % quantile of the normal distribution */
#define Z_NUM	196
#define Z_DEN	100

/*
 * A fault on a page of a file maps the 16 pages around it, and x86 sets the Accessed bit of all.
 * So between one in 16 and all of the pages that may have been mapped in this way were accessed.
 * They count as 17/32, plus or minus 15/32.
 */
#define VAGUE_MEAN	17
#define VAGUE_DOUBT	15

/*
 * Accessed pages are summed in units of 2^-8 pages, as shares are fractions. Sums do not overflow:
 * targets have less than 2^45 pages, and weights are at most 2^8.
 */
#define PART_SHIFT	8

/**
 * struct wss_sums - sums over the regions of a class
 * @hit:	accessed pages: size times share, in units of 2^-PART_SHIFT
 * @exact:	part of @hit that comes from halves whose pages were all looked at
 * @now:	present variance, by the samples of this window, in units of (2^shift pages)^2
 * @past:	past variance, by earlier draws, as if halves were independent; in units of @now
 * @less:	by how much evenly spread positions reduce @past
 * @cold:	maximum doubt of a region found cold: pages that may have been accessed
 * @hot:	maximum doubt of a region found hot: pages that may not have been accessed
 * @stale:	pages that may have been accessed before the window only: in an earlier interval,
 *		but not observed since; or new memory that may be older than the window
 * @vague:	part of @hit that may merely have been mapped by a fault on a page near it
 * @unknown:	pages that were not observed for the whole window
 * @grew:	see struct wsmon_wss
 * @shrank:	part of @grew that is due to chance: see region_grew()
 * @now_most:	a single region adds less than 2^@now_most to @now
 * @past_most:	a single region adds less than 2^@past_most to @past
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
	u64 shrank;
	u8 now_most;
	u8 past_most;
};

/* Convert to units of 2^shift pages, rounded up, so that small numbers do not vanish. */
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

	/* round to nearest: rounding down would bias the sum of many regions of a few pages */
	return ((n[0] * (share0 / WSMON_ONE) + n[1] * (share1 / WSMON_ONE)) << PART_SHIFT) +
	       ((part + BIT(WSMON_SHIFT - PART_SHIFT - 1)) >> (WSMON_SHIFT - PART_SHIFT));
}

/*
 * The present variance counts if it exceeds SURPRISE times the past variance, or SURPRISE_MANY
 * times if many regions contribute to it, each less than 1 / MANY
 */
#define SURPRISE	9U
#define SURPRISE_MANY	2U
#define MANY		32U
/* The past variance of many regions is discarded if it exceeds CALM times the present variance */
#define CALM		4U

/* Windows (bits) for which the half's value is not a draw: all pages were looked at, or none */
static u8 wss_given(const struct wsmon_region *r, u32 h)
{
	return r->exact[h] | r->lost[h];
}

/* Add the variance of a region. @n: scaled sizes of its halves; @less: see struct wsmon_runs */
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
	/* a given half does not vary, and so is no second draw for the other half */
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

/* Choose the variance: the past variance, unless this window contradicts it */
static u64 wss_variance(const struct wss_sums *c)
{
	u32 surprise = c->now / MANY >> c->now_most ? SURPRISE_MANY : SURPRISE;

	if (c->now / surprise > c->past)
		return c->now;
	/*
	 * The mean of the past no longer holds, so the deviations from it are large. Use twice the
	 * present variance, which may be too small by half or so.
	 */
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
		/* @out is only a guess: make all of @part uncertain, in both directions */
		if (r->lost[h] & BIT(k)) {
			c->unknown -= part >> PART_SHIFT;
			c->stale += (part >> PART_SHIFT) + 1;
		}
	}
	/* pages not accessed in the observed part of the window may have been in the rest */
	if (!(r->whole & BIT(k)))
		c->unknown += n - min(n, hit);
	if (r->stale)
		c->stale += hit;
	if (!r->n[1])
		return;

	wss_add_variance(c, r, k, scaled, less);
	if (diff > WSMON_DIFFER || r->exact[0] & r->exact[1] & BIT(k))
		return;
	/* both halves are averages of halves that differed, so they vary together */
	if (r->guess & BIT(k)) {
		u64 all = (scaled[0] + scaled[1]) * (scaled[0] + scaled[1]) / 2;

		c->now += all;
		c->past += all;
		return;
	}
	/* in groups, a page that few members use is found less often, by the weight */
	doubt = n * 3 * max_t(u32, r->weight, 1) / (2 * max_t(u32, r->draws, 1));
	doubt = min(doubt, n);
	share = min_t(u32, (out[0] + out[1]) / 2, WSMON_ONE);
	/* else all pages not accessed are in @unknown already; both doubts are rounded up */
	if (r->whole & BIT(k))
		c->cold = max(c->cold, wss_scale(doubt * (WSMON_ONE - share), WSMON_SHIFT));
	c->hot = max(c->hot, wss_scale(doubt * share, WSMON_SHIFT));
}

/*
 * Count the pages of a region that the kernel made huge in the last interval and a look found
 * accessed afterwards:
 *   - A page was first found huge by a look. The last look counts in any case, because no later
 *     look has told whether the page was accessed.
 *   - The page of a half is huge, and that of the interval before was not. This is how growth shows
 *     that happened before the new samples were armed. A half may have both kinds of pages. Then
 *     the reverse happens as often by chance, and counts in @shrank.
 */
static u64 region_grew(const struct wsmon_region *r, const struct wsmon_regions *rs, u64 *shrank)
{
	u64 pages = 0;
	u32 h;

	for (h = 0; h < 2; h++) {
		if (r->made_ns[h] > rs->begin_ns) {
			if (r->s[h].seen_ns > r->made_ns[h] || r->made_ns[h] >= rs->end_ns)
				pages += r->n[h];
		} else if (r->own & BIT(h)) {
			*shrank += r->was_made & BIT(h) ? r->n[h] : 0;
		} else if (r->made & r->was_own & BIT(h) && r->s[h].seen_ns > rs->begin_ns) {
			pages += r->n[h];
		}
	}
	return pages;
}

/*
 * Add new memory of a class, of which m of n sampled pages were accessed.
 *
 * Mappings are read some time before samples are armed. So new memory appeared within a little more
 * than a window; let e be the part of this time before the window (@early). If memory grows
 * steadily and each page is touched once, the part e of its pages was accessed before the window
 * only. If the pages are used again, all were accessed within the window. So leave out half of e,
 * and let the interval cover both cases. The lower end allows for 3/2 of e, because memory grows in
 * pieces.
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
	/* twice the standard deviation; with large units, sqrt(4 * var) is rounded less */
	u64 twice = !shift || var >> 62 ? 2 * wsmon_sqrt_up(var) : wsmon_sqrt_up(4 * var);
	u64 half = (twice << shift) / 2 * Z_NUM / Z_DEN +
		   (mul_u64_u64_shr(c->exact, edge, WSMON_SHIFT) >> PART_SHIFT);
	u64 doubt = (c->vague / 32 * VAGUE_DOUBT) >> PART_SHIFT;
	u64 hit = c->hit - c->vague + c->vague / 32 * VAGUE_MEAN + BIT(PART_SHIFT - 1);
	u64 low = half + c->hot + c->stale + doubt;
	u64 high = half + c->cold + c->unknown + doubt;

	/* by chance, weights may sum to more than the mapped pages */
	w->pages = min(w->mapped, hit >> PART_SHIFT);
	w->low = w->pages > low ? w->pages - low : 0;
	w->high = min(w->mapped, w->pages + high);
	w->grew = c->grew - min(c->grew, c->shrank);
}

static u64 fresh_pages(const struct wsmon_fresh *fresh)
{
	u64 sum = 0;
	u32 c;

	for (c = 0; fresh && c < WSMON_NR_CLASSES; c++)
		sum += fresh->pages[c];
	return sum;
}

/* Add a class to a sum. Classes share no pages, and their samples are independent. */
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
	to->shrank += c->shrank;
}

/**
 * wsmon_wss_estimate - estimate working set sizes, with their confidence intervals
 * @rs:		the regions; @out[k] of each region is the share observed in the window
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

	/* scaled sizes sum to 2^23, and a little more because they are rounded up */
	bits = fls64(wsmon_space_pages(sp) + fresh_pages(fresh));
	shift = bits > 23 ? bits - 23 : 0;

	memset(wss, 0, sizeof(*wss) * WSMON_NR_WSS);
	for (i = 0; i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		c = sp->area[r->area].class;
		wss[c].mapped += wsmon_region_pages(r);
		wss_add_region(&acc[c], r, k, shift, rs->runs.less[c]);
		acc[c].grew += region_grew(r, rs, &acc[c].shrank);
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
	/* the sum of all classes is the rest plus text */
	wss[WSMON_CLASS_ALL].mapped = wss[WSMON_WSS_REST].mapped;
	wss_add_class(&wss[WSMON_CLASS_ALL], all, &wss[WSMON_CLASS_TEXT], &acc[WSMON_CLASS_TEXT]);
	wss_finish(&wss[WSMON_CLASS_ALL], all, shift, rs->edge);
}

/**
 * wsmon_wss_add_went - add memory that was used and freed to the estimates of a window
 * @wss:	the estimates
 * @went:	freed pages of anonymous memory of unknown class
 *
 * Raises @mapped to the upper end if it is lower.
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
 * wsmon_wss_add_blind - add to each class the pages of mappings that could not be read
 * @wss:	the estimates of a window; the sums include these pages already
 * @blind:	number of pages: they may be of any class, so each counts them as mapped
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
 * New memory had no samples. But it did not exist before, so a page that is found accessed at the
 * end of the interval was accessed since the mappings were last read. So sampling some of its pages
 * once shows how much of it is in the working set. The memory is divided into equal parts, and one
 * page is drawn from each part (Cochran, Sampling Techniques, 3rd ed. 1977, 5.3). The estimator
 * uses the binomial variance, which is an upper bound of the true variance.
 */

/**
 * struct new_pages - iterator over the pages of a space that are not in an earlier space
 * @now:	the space
 * @then:	the earlier space
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

/* Get the next range [*start, *end) of new pages, in extent c->i. Return: false at the end. */
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
 * wsmon_fresh_draw - draw the sample pages of new memory
 * @f:		the result; no page is marked as seen yet
 * @now:	the space
 * @then:	the space as it was last read
 * @random:	seed of the draw
 * @max:	maximum number of sample pages, at most WSMON_FRESH_MAX
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
 * Memory that was used and freed within a window
 *
 * Samples see only memory that is mapped when they are looked at. Memory that a program maps, uses
 * and unmaps between two looks has no samples, and samples are dropped with their mapping. The
 * kernel's counts reveal such memory. In an interval
 *
 *	freed = pages when it began + pages that faults allocated - pages when it ended
 *
 * pages of anonymous memory were freed. Pages that existed when the interval began had samples; the
 * others are new and were used, because a fault allocated them. The number of faults overestimates
 * the allocated pages: a fault also copies a page after a fork, or finds its page mapped. So this
 * is an upper bound. It counts only if anonymous memory shrank from one look to the next, now or in
 * the last intervals: most programs free nothing, and their faults do not matter. After a fork,
 * each page faults once when it is written. So for each fork the number of accessed pages is
 * subtracted from the faults; in later intervals this goes on for the last fork, until as many
 * faults were subtracted as the process had anonymous pages at the fork.
 *
 * The peak of the number of pages, minus the number at the beginning or at the end, whichever is
 * larger, is a lower bound of the pages that were allocated and freed. The kernel's own peak is
 * used if it rose.
 *
 * The freed pages that had samples are in the estimate of the regions if they were found accessed.
 * If not, they may have been accessed all the same: memory is often read just before it is freed.
 *
 * Only anonymous memory is considered, including swap, because reclaim frees pages of files at any
 * time. A page that is freed and allocated again at the same address is the same page: the estimate
 * counts it once if it had samples. The upper end may count it each time.
 */

/* @churn fades by 1 / FADE an interval; so does @copies, but only in intervals without a fork */
#define FADE		8U
/* Freed memory counts from this @churn on: CHURN_MIN plus 1 / CHURN_PART of the anonymous pages */
#define CHURN_MIN	32U
#define CHURN_PART	256U
/* Maximum number of forks that count in an interval */
#define FORKS_MAX	4096U
/* Samples may show 1 / SAMPLED_DOUBT less than the freed pages that they stand for */
#define SAMPLED_DOUBT	8U
/* Halves with up to this many pages enter the doubt of freed memory in full: a TiB */
#define DOUBT_PAGES	BIT_ULL(28)

static u64 above(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/** wsmon_balance_look - note the present number of anonymous pages */
void wsmon_balance_look(struct wsmon_balance *b, u64 anon)
{
	if (!b->begun)
		return;
	b->fell += above(b->last, anon);
	b->peak = max(b->peak, anon);
	b->last = anon;
}

/* Upper bound of the pages that faults allocated since the interval began */
static u64 balance_made(struct wsmon_balance *b, const struct wsmon_counts *now)
{
	const struct wsmon_counts *begin = &b->begin;
	u64 faults, copies, nr = now->forks - begin->forks;

	if (nr)
		b->copies = min_t(u64, nr, FORKS_MAX) * now->fork_pages;
	if (now->faults == U64_MAX || begin->faults == U64_MAX)
		return 0;
	/* may go down: while a thread exits, its faults may be counted nowhere */
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
 * wsmon_balance_end - end an interval, and begin the next interval
 * @b:		the balance
 * @now:	the counts of the process
 *
 * Return: the pages freed in the interval; 0 if the process shows no sign of freeing memory.
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
	/* pages that existed at the peak, but neither before nor after it */
	went.least = b->peak - max(b->begin.anon, now->anon);
	went.most = max(fell, above(b->begin.anon + made, now->anon));
	b->churn += fell - (b->churn + FADE - 1) / FADE;
	b->suspect = went.most >= matters;
	b->frees = b->churn >= matters;
	if (!b->frees)
		went = (struct wsmon_went){ };
	balance_begin(b, now);
	return went;
}

/*
 * The variance of the pages that a half stands for, where freed memory begins or ends: the half has
 * @n pages, the first b of which were freed, and b is uniform. Its sample is freed with probability
 * p = b / n, so n pages count instead of b with variance n^2 p (1 - p): in the mean n^2 / 6.
 */
static u64 gone_variance(u64 n)
{
	n = min(n, DOUBT_PAGES);
	return n * n / 6;
}

/*
 * Subtract the freed pages that samples stand for, because the regions' estimate has them. But keep
 * pages in @most if their sample was not found accessed since @since: they may have been accessed
 * all the same. Also keep what the samples may have counted too much, with 95 % confidence. Add
 * @late: samples of these pages may be among the subtracted ones.
 */
static struct wsmon_went gone_unsampled(struct wsmon_went went, u64 since,
					const struct wsmon_regions *rs,
					const struct wsmon_space *sp)
{
	u64 there = 0, unseen = 0, var = 0, before = 0;
	u32 i, h, area = U32_MAX;
	bool in = false;

	for (i = 0; went.most && i < rs->nr; i++) {
		const struct wsmon_region *r = &rs->r[i];

		wsmon_loop_resched(i);
		if (!wsmon_class_is_anon(sp->area[r->area].class))
			continue;
		for (h = 0; h < 2 && r->n[h]; h++) {
			bool gone = r->went & BIT(h);

			if (area == r->area && gone != in)
				var = min(var + gone_variance(max(before, r->n[h])), BIT_ULL(62));
			area = r->area;
			before = r->n[h];
			in = gone;
			if (!gone)
				continue;
			there += r->n[h];
			if (r->s[h].seen_ns <= since)
				unseen += r->n[h];
		}
	}
	went.least = above(went.least, there + there / SAMPLED_DOUBT);
	unseen = min(there, unseen + 2 * wsmon_sqrt_up(var));
	went.most = max(went.least, min(went.most, above(went.most, there) + unseen)) + went.late;
	return went;
}

/**
 * wsmon_gone_add - add the pages freed in an interval
 * @g:		the pages freed so far
 * @iv:		the interval that ends
 * @went:	pages freed by all processes
 * @rs:		the regions, after the last looks, which set their @went
 * @sp:		the space of the regions
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

/* Does a space contain a page? @j: index of an extent to search from; advanced to the page */
static bool space_has(const struct wsmon_space *sp, u32 *j, u64 vpn)
{
	while (*j < sp->nr_ext && sp->ext[*j].end <= vpn)
		++*j;
	return *j < sp->nr_ext && sp->ext[*j].start <= vpn;
}

/* Add pages to the oldest entry that ended at @seen_ns or later. */
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
 * wsmon_gone_drop - add accessed pages that regions are about to lose, for the longer windows
 * @g:		the pages freed so far
 * @iv:		the interval that ends
 * @rs:		the regions
 * @now:	the new space, which the regions will be fitted to
 *
 * A sample that was accessed in the longest window and is unmapped now stands for its half.
 * Nothing to do if the longest window fits into an interval.
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
 * wsmon_gone_within - sum the pages freed within a window
 * @g:	the pages freed so far, including the interval that ends
 * @iv:	the interval that ends
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
