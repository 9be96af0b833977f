/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_process.h - processes of a session, and their memory
 */
#ifndef WSMON_PROCESS_H
#define WSMON_PROCESS_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/version.h>

#include "wsmon_session.h"

struct tracepoint;
struct wsmon_object;
struct wsmon_map;

/*
 * Differences between kernel versions, 6.1 to 7.3. Only this header tests LINUX_VERSION_CODE:
 * the other files are written for the newest kernel, and this one supplies what older ones lack.
 */

/* From 6.16 on, sched_process_exit also passes whether the whole thread group is dead. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task, bool group_dead)
#else
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task)
#endif

/* From 6.10 on, exec has a tracepoint before it leaves the old mm. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define wsmon_check_prepare_exec(probe)	check_trace_callback_type_sched_prepare_exec(probe)
#else
#define wsmon_check_prepare_exec(probe)	((void)(probe))
#endif

/* struct wsmon_member.events */
#define WSMON_MEMBER_EXEC	0x1	/* it executed a program */
#define WSMON_MEMBER_EXIT	0x2	/* its last thread ended */

/**
 * struct wsmon_member - a process that belongs to a session
 * @hash:	its place among members with the same hash of @pid (members_lock)
 * @node:	its place in @members, @born or @spares of the session, or in late_members
 *		(members_lock)
 * @call:	its place in @calls or @answers of the session, if @events is not 0 (members_lock)
 * @events:	why it needs a look before the next round: WSMON_MEMBER_* (members_lock)
 * @session:	its session
 * @pid:	its thread group, referenced
 * @target:	its target, if the process is also sampled on its own; or NULL
 * @share:	its memory as a part of the group; or NULL
 * @mm:		mm that its present program got by exec or fork; NULL if the program began before
 *		it was a member, or before all windows; only an identity, unless it is @kept
 *		(members_lock)
 * @kept:	it has a reference on mm_users of @mm (members_lock)
 * @price_ns:	CPU time that the reference may cost the process (members_lock)
 * @ending:	@work releases the reference (members_lock)
 * @looking:	kwsmond has its last look at @mm (members_lock)
 * @looked:	completed when that look has ended, or will not come
 * @work:	task work that runs in the process when it has ended
 * @waits:	@work waits for @looked (members_lock)
 * @until:	when @work stops waiting for a look that has not begun, jiffies
 * @late:	when late_work releases the reference instead of @work, jiffies; 0: it does not
 *		(members_lock)
 * @refs:	held by the session, and by @work
 * @rcu:	probes find a member without a lock
 * @rss:	peak of its resident pages, set when it has ended (members_lock)
 * @made_rss:	upper bound of the part of @rss that its parent did not have (members_lock)
 * @forks:	changes when it forks, was forked, or executes a program
 * @fork_pages:	anonymous pages that it had at its last fork, as parent or child, and may share
 *		since; 0 after exec
 * @forked_rss:	resident pages that it got from its parent; 0: it executed a program (members_lock)
 * @left_rss:	upper bound of the resident pages of programs that it left by exec in this
 *		interval (members_lock)
 * @born_ns:	when the program of @mm began (members_lock)
 * @exec_id:	distinguishes @mm from other mms at its address (members_lock)
 * @comm:	its name when the program began (members_lock)
 * @shared_ns:	when another session, or the group, last stopped sampling it
 * @moved:	it has memory that it used before the group knew of it, and the group has not read
 *		its mappings: it joined a running session, or its mmap lock was busy
 */
struct wsmon_member {
	struct hlist_node hash;
	struct list_head node;
	struct list_head call;
	u32 events;
	struct wsmon_session *session;
	struct pid *pid;
	struct wsmon_target *target;
	struct wsmon_map *map;
	struct mm_struct *mm;
	bool kept;
	bool ending;
	bool looking;
	bool waits;
	u64 price_ns;
	struct completion looked;
	struct callback_head work;
	unsigned long until;
	unsigned long late;
	refcount_t refs;
	struct rcu_head rcu;
	u64 rss;
	u64 made_rss;
	u64 forked_rss;
	u64 left_rss;
	u64 forks;
	u64 fork_pages;
	u64 born_ns;
	u64 exec_id;
	char comm[WSMON_COMM_LEN];
	u64 shared_ns;
	bool moved;
};

/* Pages of a slot: see wsmon_group.h */
#define WSMON_SLOT_PAGES	BIT_ULL(40)

/**
 * enum wsmon_part_kind - who may map a page of a member
 * @WSMON_PART_OWN:	only the member: private anonymous memory
 * @WSMON_PART_FILE:	every process that maps the file: a page of the file
 * @WSMON_PART_FAMILY:	since a fork its parent and children, too: private anonymous memory
 */
enum wsmon_part_kind {
	WSMON_PART_OWN,
	WSMON_PART_FILE,
	WSMON_PART_FAMILY,
};

/**
 * struct wsmon_part - a mapping of an object, which other members may map, too
 * @key:	identity of the object, never dereferenced: see struct wsmon_object
 * @number:	distinguishes a new file at the address of an old one
 * @object:	the object, once the group knows it; or NULL
 * @node:	its place among the parts of @object
 * @map:	the map of the member that has it
 * @vpn:	first page, as a page number of the member
 * @index:	first page, as a page number of the object
 * @pages:	number of pages
 * @class:	enum wsmon_class
 * @kind:	WSMON_PART_FILE or _FAMILY
 */
struct wsmon_part {
	const void *key;
	u64 number;
	struct wsmon_object *object;
	struct rb_node node;
	struct wsmon_map *map;
	u64 vpn;
	u64 index;
	u64 pages;
	u8 class;
	u8 kind;
};

/* Parts in address order, @nr of @cap */
struct wsmon_parts {
	struct wsmon_part *p;
	u32 nr;
	u32 cap;
};

/* The search for file pages that a target maps twice covers this many of its file mappings */
#define WSMON_FILES_MAX		4096U

/**
 * struct wsmon_file_part - a mapping of a file
 * @key:	the file's address_space: only an identity
 * @index:	first page of the file
 * @end:	end, exclusive
 */
struct wsmon_file_part {
	const void *key;
	u64 index;
	u64 end;
};

/* wsmon_task.c: a target's threads */
struct pid *wsmon_task_resolve(struct pid *any);
struct pid **wsmon_pids_find(const u32 *ids, u32 nr, struct pid_namespace *ns);
void wsmon_pids_put(struct pid **pids, u32 nr);
struct mm_struct *wsmon_target_mm(struct wsmon_target *t, bool *changed);
/*
 * Up to this many major faults in an interval do not count as reclaim. A fault on swap usually
 * reads up to 8 pages.
 */
#define WSMON_MAJORS_FEW	64

struct mm_struct *wsmon_member_mm(const struct wsmon_member *m, u64 *exec_id);
u64 wsmon_member_minors(const struct wsmon_member *m, const struct mm_struct *mm);
bool wsmon_member_slept(const struct wsmon_member *m, const struct mm_struct *mm, u64 *ran,
			u64 *majors, u64 *minors);
bool wsmon_member_mm_shared(const struct wsmon_member *m, const struct mm_struct *mm);
bool wsmon_target_ran(struct wsmon_target *t, struct mm_struct *mm);
bool wsmon_target_reclaimed(struct wsmon_target *t);
void wsmon_member_cpus(const struct wsmon_member *m, struct mm_struct *mm, struct cpumask *cpus);

/**
 * struct wsmon_probe - a function that runs at a tracepoint of the kernel
 * @name:	name of the tracepoint
 * @function:	the function
 * @tp:		the tracepoint; NULL if it was not found
 * @attached:	@function is attached to @tp
 */
struct wsmon_probe {
	const char *name;
	void *function;
	struct tracepoint *tp;
	bool attached;
};

/* wsmon_member.c: probes; fork, exec and exit as they happen */
bool wsmon_probes_find(struct wsmon_probe *p, u32 nr);
int wsmon_probes_attach(struct wsmon_probe *p, u32 nr);
void wsmon_probes_detach(struct wsmon_probe *p, u32 nr);
int wsmon_probes_init(void);
void wsmon_probes_exit(void);

/* wsmon_cgroup.c: the processes of a cgroup, and descendants that run already */
struct cgroup *wsmon_cgroup_get(const char *path, size_t len);
void wsmon_cgroup_put(struct cgroup *cgroup);
void wsmon_cgroup_begin(struct wsmon_session *ss, struct cgroup *cgroup);
void wsmon_cgroup_end(struct wsmon_session *ss);
bool wsmon_cgroup_exists(const struct wsmon_session *ss);
int wsmon_members_scan(struct wsmon_session *ss);

/* wsmon_member.c: the members */
bool wsmon_pid_alive(struct pid *pid);
bool wsmon_cgroup_has(const struct wsmon_session *ss, struct task_struct *task);
void wsmon_members_init(struct wsmon_session *ss);
int wsmon_members_add(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_members_remove(struct wsmon_session *ss, struct wsmon_member *m);
void wsmon_members_follow(struct wsmon_session *ss, bool follow);
void wsmon_members_watch(struct wsmon_session *ss);
void wsmon_members_unwatch(struct wsmon_session *ss);
bool wsmon_members_update(struct wsmon_session *ss);
void wsmon_members_rest(struct wsmon_session *ss, bool rest);
struct wsmon_member *wsmon_members_next(struct wsmon_session *ss, u32 *events);
u64 wsmon_members_left(struct wsmon_session *ss, struct wsmon_member *m);
u32 wsmon_members_keeping(const struct wsmon_member *m, const struct mm_struct *mm);
bool wsmon_member_shared(const struct wsmon_member *m);
int wsmon_members_take(struct wsmon_session *ss, struct pid *pid);
bool wsmon_members_have(const struct wsmon_session *ss, struct task_struct *task);
void wsmon_members_age(struct wsmon_session *ss, u64 before);

/* wsmon_member.c: the mms of members that are kept */
u64 wsmon_member_born(const struct wsmon_member *m, const struct mm_struct *mm);
void wsmon_member_forget(struct wsmon_member *m, const struct mm_struct *which);
struct mm_struct *wsmon_member_look(struct wsmon_member *m);
void wsmon_kept_exit(void);

/* A pass tries a busy mmap lock up to this many times, WSMON_LOCK_WAIT_US apart */
#define WSMON_LOCK_TRIES	40
#define WSMON_LOCK_WAIT_US	100

/* wsmon_mm.c: a target's mmap lock and mappings */
bool wsmon_mm_lock(struct mm_struct *mm, unsigned int *tries);
u64 wsmon_mm_unlock(struct wsmon_session *ss, struct mm_struct *mm, u64 since);
bool wsmon_mm_busy(const struct mm_struct *mm);
bool wsmon_mm_has_secondary(struct mm_struct *mm);
u64 wsmon_mm_anon(struct mm_struct *mm);
u64 wsmon_counts_late(struct wsmon_balance *b, struct mm_struct *mm);
void wsmon_counts_read(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, u64 minors, const struct wsmon_wss *wss,
		       struct wsmon_counts *c);
u64 wsmon_mm_unseen_pages(struct mm_struct *mm);
bool wsmon_vma_usable(struct vm_area_struct *vma);
bool wsmon_vma_may_share_tables(const struct vm_area_struct *vma);
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t, struct mm_struct *mm);
u32 wsmon_regions_cap(u32 budget);
int wsmon_regions_alloc(struct wsmon_regions *rs, u32 budget);
void wsmon_regions_free(struct wsmon_regions *rs);
int wsmon_vaddr_read_parts(struct wsmon_session *ss, struct wsmon_parts *parts,
			   struct mm_struct *mm);
bool wsmon_array_resize(void **array, u32 nr, u32 cap, size_t size);
u64 wsmon_vaddr_stamp(const struct mm_struct *mm);
void wsmon_space_free(struct wsmon_space *sp);
void wsmon_space_clear(struct wsmon_space *sp);

/* wsmon_member.c only */
/*
 * "members_lock" in comments: protects the fields of struct wsmon_session and struct wsmon_member
 * that are marked so. Only locks of the scheduler and of workqueues are taken while it is held.
 */
extern raw_spinlock_t wsmon_members_lock;

/*
 * Return the next member after @m whose thread group is @tgid; the first one if @m is NULL; NULL
 * if there is none. Context: members_lock held.
 */
struct wsmon_member *wsmon_member_after(const struct wsmon_member *m, const struct pid *tgid);

/* Visit the members @m of thread group @tgid, one for each session. Context: members_lock held. */
#define for_each_member_of(m, tgid)					\
	for ((m) = wsmon_member_after(NULL, tgid); (m);			\
	     (m) = wsmon_member_after(m, tgid))

#endif /* WSMON_PROCESS_H */
