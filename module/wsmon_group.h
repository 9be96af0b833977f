/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_group.h - the group: the members of a session together
 *
 * wsmon_group.c implements a group's interval, wsmon_map.c the memory of members and the
 * group's space, wsmon_look.c the looks at sample pages. kwsmond calls all functions with the
 * monitor's lock held; they may sleep.
 *
 * The group has its own space, which contains each page once. The space is divided into slots of
 * WSMON_SLOT_PAGES. Each member has a slot for its private memory, and each object has a slot. An
 * object is memory that several members may map: a file, or anonymous memory that processes share
 * since a fork. Page i of a slot is page i of the member's address space, or of the object.
 * Regions tile this space as they tile a target's.
 */
#ifndef WSMON_GROUP_H
#define WSMON_GROUP_H

#include <linux/xarray.h>

#include "wsmon_sampler.h"

/* Slots are numbered from 1 to this */
#define WSMON_SLOTS_MAX		((1U << 18) - 1)

#define WSMON_GROUP_BITS	10

/* A group remembers this many intervals of members that came and went: struct wsmon_past */
#define WSMON_PAST		64U

/**
 * struct wsmon_object - memory that several members may map
 * @hash:	its place among objects with the same hash of @key
 * @node:	its place in @objects of the group
 * @key:	its identity: the address_space of a file, or the root of anon_vmas; never
 *		dereferenced
 * @number:	distinguishes a new file at the address of an old one
 * @kind:	WSMON_PART_FILE or _FAMILY
 * @class:	enum wsmon_class: mappings of different classes belong to different objects
 * @slot:	its slot
 * @parts:	parts that map it, ordered by @rank of their maps
 * @mappers:	number of @parts
 * @start:	first page that any member mapped
 * @end:	end of the last page that any member mapped, exclusive
 * @used_ns:	when a part of it was last read
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
 * struct wsmon_map - the memory of a member, with one mm
 * @node:	its place in @maps of the group
 * @hash:	its place among maps with the same hash of @mm
 * @member:	the member; NULL if it has ended, or executed another program
 * @mm:		its mm: only an identity
 * @exec_id:	distinguishes a new mm at the address of an old one
 * @slot:	its slot
 * @salt:	seed for drawing pages of its new memory
 * @rank:	its number in the ranks of its visits: see wsmon_look.c
 * @stamp:	wsmon_vaddr_stamp() when its mappings were read
 * @since_ns:	a set Accessed bit that no look has cleared was set after this time
 * @ended_ns:	when @member became NULL
 * @own:	its private memory
 * @parts:	its mappings of objects
 * @visits:	looks at sample pages in it, by address
 * @nr_visits:	number of @visits
 * @cap_visits:	number of @visits that fit
 * @read:	its mappings were read
 * @known:	the group's space has its private memory
 * @read_ns:	when its mappings were last read
 * @known_ns:	when @own and @parts were last known to be up to date
 * @rss:	resident pages when its mappings were read
 * @unseen:	pages of it that a guest may access: wsmon_mm_unseen_pages()
 * @balance:	anonymous memory that appears and disappears in this interval
 * @left_out:	the last attempt to read its mappings failed, or had to wait
 * @blind:	the program ended, and could not be looked at then
 * @ending:	the member has ended, and its last look is still to come
 * @ended:	@nr_ended of the group includes it
 * @again:	some of its samples could not be looked at
 * @slept:	it has accessed nothing in this interval
 * @drawn:	it has new visits, so @visits are not sorted
 * @reclaimed:	it had many major faults in the last interval: rounds look at it, too
 * @ran:	state of wsmon_member_slept()
 * @majors:	number of major faults, from wsmon_member_slept()
 * @minors:	number of minor faults, from wsmon_member_slept(); U64_MAX: unknown
 */
struct wsmon_map {
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
 * struct wsmon_past - memory that programs used which came and went within an interval
 * @end_ns:	when the interval ended; 0 for the present one
 * @unknown:	pages of programs that were not looked at when they ended
 * @inherited:	pages that these programs had from their parents, on top of @unknown: a page may
 *		be counted several times, but exists once
 * @inherited_max: the most inherited pages of any one program
 * @wss:	estimates of the private memory of programs that were looked at
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
 * @sample:	twice the index of the region, plus the index of the half
 * @rank:	the member's rank for this sample
 * @frame:	the page frame, where members may have different frames; else 0
 * @seen_ns:	when the access was found
 * @times:	the page counts 1 / @times
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
 * @slots:	maps, and objects with tag 1, by slot
 * @next_slot:	where the search for a free slot begins
 * @maps:	maps of all members, and of members that ended within the longest window
 * @objects:	objects that members map, or mapped lately
 * @by_mm:	@maps by a hash of @mm
 * @by_key:	@objects by a hash of @key
 * @space:	the group's space
 * @next:	scratch memory: the space of the next interval
 * @before:	scratch memory: private memory of a member before it was read again
 * @nr_objects:	number of @objects
 * @nr_ended:	number of @maps whose members ended
 * @ended_room:	number of visits and extents that these maps have room for
 * @parts:	scratch memory: parts being read
 * @visits:	scratch memory: visits being planned
 * @cap_visits:	number of @visits that fit
 * @answers:	scratch memory: accesses that visits found
 * @cap_answers: number of @answers that fit
 * @regions:	the regions
 * @wss:	last estimates by window and class
 * @half:	half-width of the confidence interval of the shortest window, sampling error only
 * @past:	ring of intervals
 * @at:		index of the present interval in @past
 * @mapped_ns:	when the mappings of members were last checked; 0: never
 * @since_ns:	memory that is new at this boundary appeared after this time
 * @interval_ns: beginning of the present aggregation interval
 * @arming_ns:	how long it took to arm its samples
 * @active:	number of intervals so far
 * @came:	number of members that came in this interval
 * @went:	number of members that ended, or left the cgroup, in this interval
 * @missed:	number of programs in this interval that could not be looked at when they ended,
 *		or had no map
 * @nr_visits:	number of visits in this interval
 * @reading_ns:	time spent on reading mappings at this boundary
 * @blind:	growth of resident memory, in pages, where mappings could not be read
 * @went_now:	memory of members that disappeared in this interval
 * @gone_past:	memory that disappeared in the intervals of the longest window
 * @reclaimed:	a map was @reclaimed in the last interval
 * @suspect:	the balance of a map was @suspect in the last interval
 * @changed:	the space is out of date
 * @lacks:	the space is out of date, and lacks pages that several members may map
 * @refused:	the space had no room for some memory
 * @built:	@next is the space of the next interval
 */
struct wsmon_group {
	struct xarray slots;
	u32 next_slot;
	struct list_head maps;
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
	bool refused;
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
 * Return whether an object belongs in the space. A file does. Anonymous memory does if two
 * members map it; two mappings of the same member are not enough. @parts is sorted by member, so
 * the first and the last part tell whether there are two.
 */
static inline bool wsmon_object_counts(const struct wsmon_object *o)
{
	if (o->kind == WSMON_PART_FILE || o->mappers < 2)
		return o->kind == WSMON_PART_FILE;
	return rb_entry(rb_first(&o->parts), struct wsmon_part, node)->map !=
	       rb_entry(rb_last(&o->parts), struct wsmon_part, node)->map;
}

/* wsmon_look.c: intervals, new memory of a target */
struct wsmon_interval wsmon_interval_describe(const struct wsmon_session *ss, u64 begin_ns,
					      u64 now);
void wsmon_visit_new(struct wsmon_session *ss, struct mm_struct *mm, struct wsmon_fresh *f,
		     u64 since);

/* wsmon_group.c: the members together; called by kwsmond with the monitor's lock held */
void wsmon_group_begin(struct wsmon_session *ss);
void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m, u64 now);
void wsmon_group_interval(struct wsmon_session *ss, u64 now);
void wsmon_group_round(struct wsmon_session *ss, u64 now);
bool wsmon_group_has_rounds(const struct wsmon_session *ss);
void wsmon_group_leave(struct wsmon_session *ss);
void wsmon_group_free(struct wsmon_session *ss);
void wsmon_group_budget(struct wsmon_session *ss, u64 regions);
u64 wsmon_group_leaves(const struct wsmon_session *ss, u64 regions);

/* wsmon_map.c, wsmon_look.c */
void wsmon_map_free(struct wsmon_group *g, struct wsmon_map *s);
void wsmon_map_end(struct wsmon_group *g, struct wsmon_map *s, u64 now);
struct wsmon_map *wsmon_map_find(struct wsmon_group *g, const struct mm_struct *mm);
struct wsmon_map *wsmon_map_create(struct wsmon_group *g, struct wsmon_member *m,
				   struct mm_struct *mm, u64 exec_id, u64 since);
void wsmon_visit_miss(struct wsmon_group *g, const struct wsmon_map *s);
void wsmon_visit_round(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       u64 now);
void wsmon_visit_learn(struct wsmon_group *g, const struct wsmon_interval *iv);

int wsmon_map_read(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		   u64 now);
void wsmon_group_forget(struct wsmon_group *g, u64 before);
int wsmon_group_build_space(struct wsmon_group *g);
struct wsmon_object *wsmon_group_object(struct wsmon_group *g, u64 page);
struct wsmon_map *wsmon_group_owner(struct wsmon_group *g, u64 page);
int wsmon_visit_compare(const void *a, const void *b);
int wsmon_visit_plan(struct wsmon_group *g, struct wsmon_map *s);
void wsmon_visit_draw(struct wsmon_group *g);
void wsmon_visit_undo(struct wsmon_map *s);

void wsmon_visit_arm(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		     u64 now);
void wsmon_visit_check(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       bool ended, u64 now);
void wsmon_visit_fresh(struct wsmon_session *ss, struct wsmon_map *s, struct mm_struct *mm,
		       struct wsmon_fresh *f, unsigned long *seen, bool alone);

#endif /* WSMON_GROUP_H */
