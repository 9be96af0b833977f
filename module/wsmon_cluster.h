/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_cluster.h - the pages around sample pages; wsmon_pure.h includes it
 */
#ifndef WSMON_CLUSTER_H
#define WSMON_CLUSTER_H

#include <linux/types.h>

struct wsmon_attrs;
struct wsmon_interval;
struct wsmon_region;
struct wsmon_space;

/* Pages in a cluster, at most */
#define WSMON_CLUSTER		64U

/**
 * struct wsmon_cluster - the pages around a sample page
 * @first:	the first
 * @ever:	bit i: the i-th, which is not the sample page, was found accessed since it was
 *		armed
 * @seen:	likewise, in this interval
 * @owed:	bit i: reclaim does not know of an access: DEBT_OWED
 * @reported:	bit i: DEBT_REPORTED
 * @nr:		number of pages; 0: only the sample page is looked at
 * @seen_at:	by page in @ever, number of the interval in which it was last found accessed
 */
struct wsmon_cluster {
	u64 first;
	u64 ever;
	u64 seen;
	u64 owed;
	u64 reported;
	u8 nr;
	u16 seen_at[WSMON_CLUSTER];
};

/* Has a cluster pages that count, or that something is owed for? */
static inline bool wsmon_cluster_matters(const struct wsmon_cluster *c)
{
	return c->nr || c->owed || c->reported;
}

void wsmon_clusters_forget(struct wsmon_region *r);
bool wsmon_clusters_pay(const struct wsmon_region *r);
void wsmon_clusters_draw(const struct wsmon_space *sp, struct wsmon_region *r, u64 epoch);
bool wsmon_clusters_wanted(const struct wsmon_attrs *a);
void wsmon_clusters_fit(const struct wsmon_space *sp, struct wsmon_region *r);
void wsmon_clusters_age(struct wsmon_region *r, u16 epoch);
void wsmon_cluster_note(struct wsmon_cluster *c, u64 pages, u16 epoch);
u32 wsmon_cluster_share(const struct wsmon_region *r, u32 h, u32 hit,
			const struct wsmon_interval *iv, u32 k, bool all);

#endif /* WSMON_CLUSTER_H */
