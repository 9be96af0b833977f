/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_group.h - the members of a session together: what the files about groups share
 *
 * wsmon_group.c has the interval, wsmon_group.c the memory of members and the group's
 * space, wsmon_look.c and wsmon_look.c the looks at sample pages. All is called by kwsmond with
 * wsmon.lock held, and may sleep.
 *
 * The group has a space of its own, in which each page is once. It is divided into slots
 * of WSMON_SLOT_PAGES: one for the private memory of each member, and one for each object,
 * which is something that several members may map: a file, or anonymous memory that
 * processes share since a fork. Page i of a slot is page i of the member's address space,
 * or of the object. Regions tile this space as they tile a target's.
 */
#ifndef WSMON_GROUP_H
#define WSMON_GROUP_H

#include <linux/xarray.h>

#include "wsmon_sampler.h"

/* Slots are numbered from 1 to this */
#define WSMON_SLOTS_MAX		((1U << 18) - 1)

#define WSMON_GROUP_BITS	10

/* Intervals of which it is known what members used that came and went within them */
#define WSMON_PAST		64U

/**
 * struct wsmon_object - what several members may map
 * @hash:	its place among those with the same hash of @key
 * @node:	its place in @objects of the group
 * @key:	its identity: the address_space of a file, or the root of anon_vmas; never
 *		dereferenced
 * @number:	distinguishes a new file at the address of an old one
 * @kind:	WSMON_PART_FILE or _FAMILY
 * @class:	enum wsmon_class: parts of different classes are different objects
 * @slot:	its slot
 * @parts:	parts of members that map it, by @rank of their shares
 * @mappers:	number of them
 * @start:	first page that a member mapped
 * @end:	end of the last
 * @used_ns:	when it was last known to be mapped
 * @known:	the group's space has it
 */
struct wsmon_object {
	struct hlist_node hash;
	struct list_head node;
	const void *key;
	u64 number;
	u8 kind;
	u8 class;
	u32 slot;
	struct rb_root parts;
	u32 mappers;
	u64 start;
	u64 end;
	u64 used_ns;
	bool known;
};

/**
 * struct wsmon_share - the memory of a member, with one mm
 * @node:	its place in @shares of the group
 * @hash:	its place among those with the same hash of @mm
 * @member:	the member; NULL if it has ended, or executed another program
 * @mm:		its mm: only an identity
 * @exec_id:	distinguishes a new mm at the address of an old one
 * @slot:	its slot
 * @salt:	mixed into what is drawn of its new memory
 * @rank:	its part in the ranks of its visits: see wsmon_look.c
 * @stamp:	wsmon_vaddr_stamp() when its mappings were read
 * @since_ns:	its Accessed bits were set after this
 * @ended_ns:	when @member became NULL
 * @own:	its private memory
 * @parts:	what it maps of objects
 * @visits:	looks at sample pages in it, by address
 * @nr_visits:	number of them
 * @cap_visits:	number of them that fit
 * @read:	its mappings were read
 * @known:	the group's space has it
 * @read_ns:	when its mappings were read
 * @known_ns:	when they were last known
 * @rss:	resident pages when its mappings were read
 * @unseen:	pages of it that a guest may access: wsmon_mm_unseen_pages()
 * @balance:	what comes and goes of its anonymous memory in this interval
 * @left_out:	its mappings could not be read the last time
 * @blind:	it could not be looked at when it ended
 * @ending:	it has ended, but was not looked at yet
 * @ended:	it counts among @nr_ended of the group
 * @again:	some of its samples could not be looked at
 * @slept:	it has accessed nothing in this interval
 * @drawn:	it has new visits, which are not in order yet
 * @reclaimed:	it had many major faults in the last interval: rounds look at it, too
 * @ran:	for wsmon_member_slept()
 * @majors:	likewise
 * @minors:	likewise
 */
struct wsmon_share {
	struct list_head node;
	struct hlist_node hash;
	struct wsmon_member *member;
	struct mm_struct *mm;
	u64 exec_id;
	u32 slot;
	u64 salt;
	u32 rank;
	u64 stamp;
	u64 read_ns;
	u64 known_ns;
	u64 since_ns;
	u64 ended_ns;
	struct wsmon_space own;
	struct wsmon_parts parts;
	struct wsmon_visit *visits;
	u32 nr_visits;
	u32 cap_visits;
	bool read;
	bool known;
	u64 rss;
	u64 unseen;
	struct wsmon_balance balance;
	bool left_out;
	bool blind;
	bool ending;
	bool ended;
	bool again;
	bool slept;
	bool drawn;
	bool reclaimed;
	u64 ran;
	u64 majors;
	u64 minors;
};

/**
 * struct wsmon_past - what members used that came and went within an interval
 * @end_ns:	when the interval ended; 0 for the present one
 * @unknown:	pages of those that were not looked at when they ended
 * @inherited:	likewise, pages that they had from their parents, which are there once
 * @inherited_max: those of the one that had most
 * @wss:	private memory of the others
 */
struct wsmon_past {
	u64 end_ns;
	u64 unknown;
	u64 inherited;
	u64 inherited_max;
	struct wsmon_wss wss[WSMON_NR_WSS];
};

/**
 * struct wsmon_answer - a member accessed a sample page
 * @sample:	twice the number of the region, plus the half
 * @rank:	the member's rank
 * @frame:	the page frame, where members may have different ones; else 0
 * @seen_ns:	when that was found
 * @times:	the page counts 1 / this
 */
struct wsmon_answer {
	u32 sample;
	u32 rank;
	u64 frame;
	u64 seen_ns;
	u32 times;
};

/**
 * struct wsmon_group - the members of a session together
 * @slots:	shares, and objects with tag 1, by slot
 * @next_slot:	where the search for a free slot begins
 * @shares:	of all members, and of those that ended within the longest window
 * @objects:	what they map, or mapped lately
 * @by_mm:	@shares by a hash of @mm
 * @by_key:	@objects by a hash of @key
 * @space:	the group's space
 * @next:	scratch memory: the space of the next interval
 * @before:	scratch memory: private memory of a member before it was read again
 * @nr_objects:	number of @objects
 * @nr_ended:	shares of members that ended
 * @ended_room:	visits and extents that they have room for
 * @parts:	scratch memory: parts being read
 * @visits:	scratch memory: visits being planned
 * @cap_visits:	number of them that fit
 * @answers:	scratch memory
 * @cap_answers: number of them that fit
 * @regions:	the regions
 * @wss:	last estimates by window and class
 * @half:	half the width of the interval of the shortest window, as samples have it
 * @past:	ring of intervals; the present one is @at
 * @at:		its index
 * @mapped_ns:	when it was last looked at what members map; 0: never
 * @since_ns:	when the mappings that were read at this boundary were known, the earliest of them
 * @interval_ns: beginning of the present aggregation interval
 * @arming_ns:	how long it took to arm its samples
 * @active:	intervals so far
 * @came:	members that came in this interval
 * @went:	members that ended in it
 * @missed:	those of @went that could not be looked at when they ended
 * @nr_visits:	visits in this interval
 * @reading_ns:	time of reading mappings at this boundary
 * @blind:	pages that grew where mappings could not be read
 * @went_now:	pages of members that went in this interval
 * @gone_past:	what went in the intervals of the longest window
 * @reclaimed:	a share was, in the last interval
 * @suspect:	so was the balance of one
 * @changed:	the space is out of date
 * @lacks:	the space is out of date, and lacks pages that others may map, too
 * @built:	@next is the space of the next interval
 */
struct wsmon_group {
	struct xarray slots;
	u32 next_slot;
	struct list_head shares;
	struct list_head objects;
	struct hlist_head by_mm[1 << WSMON_GROUP_BITS];
	struct hlist_head by_key[1 << WSMON_GROUP_BITS];
	struct wsmon_space space;
	struct wsmon_space next;
	struct wsmon_space before;
	u32 nr_objects;
	u32 nr_ended;
	u32 ended_room;
	struct wsmon_parts parts;
	struct wsmon_visit *visits;
	u32 cap_visits;
	struct wsmon_answer *answers;
	u32 cap_answers;
	struct wsmon_regions regions;
	struct wsmon_wss wss[WSMON_WINDOWS_MAX][WSMON_NR_WSS];
	u64 half;
	struct wsmon_past past[WSMON_PAST];
	u32 at;
	u64 mapped_ns;
	u64 since_ns;
	u64 interval_ns;
	u64 arming_ns;
	u64 active;
	u32 came;
	u32 went;
	u32 missed;
	u32 nr_visits;
	u64 reading_ns;
	u64 blind;
	struct wsmon_went went_now;
	struct wsmon_gone gone_past;
	bool reclaimed;
	bool suspect;
	bool changed;
	bool lacks;
	bool built;
};

static inline u64 wsmon_slot_page(u32 slot)
{
	return slot * WSMON_SLOT_PAGES;
}

static inline u32 wsmon_page_slot(u64 page)
{
	return div64_u64(page, WSMON_SLOT_PAGES);
}

/*
 * Is an object in the space? Anonymous memory is, once two processes may share it. Several
 * mappings of one do not count: they stand side by side, as @parts is in the order of members.
 */
static inline bool wsmon_object_counts(const struct wsmon_object *o)
{
	if (o->kind == WSMON_PART_FILE || o->mappers < 2)
		return o->kind == WSMON_PART_FILE;
	return rb_entry(rb_first(&o->parts), struct wsmon_part, node)->share !=
	       rb_entry(rb_last(&o->parts), struct wsmon_part, node)->share;
}

/* wsmon_look.c: intervals, new memory of a target */
struct wsmon_interval wsmon_interval_describe(const struct wsmon_session *ss, u64 begin_ns,
					      u64 now);
void wsmon_visit_new(struct wsmon_session *ss, struct mm_struct *mm, struct wsmon_fresh *f,
		     u64 since);

/* wsmon_group.c: the members together; called by kwsmond with wsmon.lock held */
void wsmon_group_begin(struct wsmon_session *ss);
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m, u64 now);
void wsmon_group_interval(struct wsmon_session *ss, u64 now);
void wsmon_group_round(struct wsmon_session *ss, u64 now);
bool wsmon_group_reclaimed(const struct wsmon_session *ss);
bool wsmon_group_has_rounds(const struct wsmon_session *ss);
void wsmon_group_leave(struct wsmon_session *ss);
void wsmon_group_free(struct wsmon_session *ss);
const struct wsmon_wss *wsmon_group_total(const struct wsmon_session *ss);
u64 wsmon_group_half(const struct wsmon_session *ss);
const struct wsmon_regions *wsmon_group_regions(const struct wsmon_session *ss);
void wsmon_group_budget(struct wsmon_session *ss, u64 regions);
u64 wsmon_group_leaves(const struct wsmon_session *ss, u64 regions);

/* wsmon_share.c, wsmon_look.c */
void wsmon_share_free(struct wsmon_group *g, struct wsmon_share *s);
void wsmon_share_end(struct wsmon_group *g, struct wsmon_share *s, u64 now);
struct wsmon_share *wsmon_share_find(struct wsmon_group *g, const struct mm_struct *mm);
struct wsmon_share *wsmon_share_create(struct wsmon_group *g, struct wsmon_member *m,
				       struct mm_struct *mm, u64 exec_id, u64 since);
void wsmon_visit_miss(struct wsmon_group *g, const struct wsmon_share *s);
void wsmon_visit_round(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		       u64 now);
void wsmon_visit_learn(struct wsmon_group *g, const struct wsmon_interval *iv);


int wsmon_share_read(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		     u64 now);
void wsmon_group_forget(struct wsmon_group *g, u64 before);
int wsmon_group_build_space(struct wsmon_group *g);
struct wsmon_object *wsmon_group_object(struct wsmon_group *g, u64 page);
bool wsmon_group_has_ended(struct wsmon_group *g, u64 page);
bool wsmon_group_has_slept(struct wsmon_group *g, u64 page);

/* Is a region, at one end, private memory of a member that ended? */
static inline bool wsmon_region_has_ended(struct wsmon_group *g, const struct wsmon_region *r)
{
	return wsmon_group_has_ended(g, r->start) || wsmon_group_has_ended(g, r->end - 1);
}

/* Is a region private memory of members that have slept? */
static inline bool wsmon_region_has_slept(struct wsmon_group *g, const struct wsmon_region *r)
{
	return wsmon_group_has_slept(g, r->start) && wsmon_group_has_slept(g, r->end - 1);
}

int wsmon_visit_compare(const void *a, const void *b);
int wsmon_visit_plan(struct wsmon_group *g, struct wsmon_share *s);
void wsmon_visit_draw(struct wsmon_group *g);
void wsmon_visit_undo(struct wsmon_share *s);

void wsmon_visit_arm(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		     u64 now);
void wsmon_visit_check(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		       bool ended, u64 now);
void wsmon_visit_fresh(struct wsmon_session *ss, struct wsmon_share *s, struct mm_struct *mm,
		       struct wsmon_fresh *f, unsigned long *seen, bool alone);

#endif /* WSMON_GROUP_H */
