/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_types.h - what a session consists of: its members, targets and figures
 */
#ifndef WSMON_TYPES_H
#define WSMON_TYPES_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>

#include "../include/wsmon_kernel.h"
#include "wsmon_pure.h"

struct cgroup;
struct wsmon_group;
struct wsmon_object;
struct wsmon_share;
struct wsmon_who;

/* log2 of the number of huge pages in shared page tables that a pass remembers */
#define WSMON_LEAVES_BITS	12

/**
 * struct wsmon_leaf - a huge entry of a page table that several targets share
 * @entry:	its address: only an identity, never dereferenced
 * @pass:	number of the session's pass that sampled it
 * @seen:	a target found it accessed in that pass, and cleared its bit
 */
struct wsmon_leaf {
	const void *entry;
	u64 pass;
	bool seen;
};

/* The number of peaks of a session that are kept for debugfs wsmon/peaks */
#define WSMON_PEAKS_KEPT	1024U

/**
 * struct wsmon_peak_group - peaks of one group of a target's memory: all, text, or the rest
 * @detector:	what is usual, and whether a peak lasts
 * @start_ns:	when the last peak began
 * @entry:	its index in the history
 * @number:	its number
 */
struct wsmon_peak_group {
	struct wsmon_detector detector;
	u64 start_ns;
	u64 entry;
	u32 number;
};

/**
 * struct wsmon_peak - a peak in the history
 * @target:	the target it belongs to
 * @rec:	its last edge: the record of its start or end
 */
struct wsmon_peak {
	const struct wsmon_target *target;
	struct wsmon_rec_peak rec;
};

/**
 * struct wsmon_scope - which processes a session is to watch
 * @pids:	their thread groups, of wsmon_task_resolve()
 * @nr:		number of @pids; 0 with no @cgroup: no session
 * @cgroup:	instead of @pids: all processes of this cgroup and those below it
 * @ns:		pid namespace of the ids in records
 */
struct wsmon_scope {
	struct pid **pids;
	u32 nr;
	struct cgroup *cgroup;
	struct pid_namespace *ns;
};

/* struct wsmon_member.events */
#define WSMON_MEMBER_EXEC	0x1	/* it executed a program */
#define WSMON_MEMBER_EXIT	0x2	/* its last thread ended */

/**
 * struct wsmon_member - a process that belongs to a session
 * @hash:	its place among those with the same hash of @pid (members_lock)
 * @node:	its place in @members of the session; in @born or @spares; or among those whose
 *		@work is late (members_lock)
 * @call:	its place among those that need a look before the next round (members_lock)
 * @events:	why it needs one (members_lock)
 * @session:	its session
 * @pid:	its thread group, referenced
 * @target:	the target, if it is also sampled on its own; or NULL
 * @share:	its memory as a part of the group; or NULL
 * @mm:		mm of the program that it executed last, or forked with; NULL if that was before
 *		all windows; only an identity, unless it is @kept (members_lock)
 * @kept:	it has a reference on mm_users of @mm (members_lock)
 * @price_ns:	what that may cost the process (members_lock)
 * @ending:	@work releases the reference (members_lock)
 * @looking:	kwsmond looks at @mm for the last time (members_lock)
 * @looked:	it has done so, or will not
 * @work:	task work in the process, when it has ended
 * @waits:	@work waits for @looked (members_lock)
 * @until:	until then, jiffies
 * @late:	another releases the reference then, jiffies; 0: nobody does (members_lock)
 * @refs:	the session, and @work
 * @rcu:	probes look for a member without a lock
 * @rss:	resident pages that it has had at most, when it has ended (members_lock)
 * @made_rss:	those of them that it does not have from its parent, at most (members_lock)
 * @forks:	changes when it forks, was forked, or executes a program
 * @fork_pages:	anonymous pages that it had then, and shares since; else 0
 * @forked_rss:	resident pages that it had from its parent; 0: it executed a program (members_lock)
 * @left_rss:	resident pages of programs that it left by exec, in this interval, at most
 *		(members_lock)
 * @born_ns:	when the program of @mm began (members_lock)
 * @exec_id:	distinguishes @mm from others at its address (members_lock)
 * @comm:	its name at that time (members_lock)
 * @shared_ns:	when another stopped sampling it, too
 * @moved:	it came into the cgroup with memory that it had used before
 */
struct wsmon_member {
	struct hlist_node hash;
	struct list_head node;
	struct list_head call;
	u32 events;
	struct wsmon_session *session;
	struct pid *pid;
	struct wsmon_target *target;
	struct wsmon_share *share;
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

/**
 * struct wsmon_target - a process that is monitored
 * @session:	its session
 * @pid:	its thread group, referenced
 * @mm:		address space the regions describe: only an identity, never
 *		dereferenced, because the process may have left it
 * @exec_id:	distinguishes a new address space at the address of the old one
 * @space:	its mappings
 * @regions:	its regions
 * @twin:	an earlier target with the same mm, which is sampled for both; or NULL
 * @salt:	mixed into the seed, so that samples of targets are independent
 * @member:	the process, and the program it executed while monitored, whose mm is kept
 *		until it has lived longer than every window; NULL if it is gone
 * @wss:	last estimates by window and class, and of everything but text
 * @groups:	peaks by WSMON_PEAK_ALL, _TEXT and _REST
 * @nr_peaks:	peaks so far
 * @comm:	name of its main thread
 * @updated_ns:	when the mappings were last read; 0: never
 * @known_ns:	last time at which @space covered all of its memory
 * @mapped_ns:	when the look at the mappings that told so began
 * @read_ns:	how long the last reading took
 * @stamp:	wsmon_vaddr_stamp() at that reading
 * @rss:	resident pages at that reading
 * @blind:	pages that appeared since, in mappings that could not be read again
 * @half:	half the width of the interval of the shortest window, as samples have it
 * @twice:	pages of files that have another page of the target before: see wsmon_vaddr_read()
 * @balance:	what comes and goes of its anonymous memory in this interval
 * @went:	what went in the one that ends
 * @gone_past:	what went in the intervals of the longest window
 * @born_ns:	when it executed the program; 0: before it was monitored
 * @ran:	sum that changes when it runs: see wsmon_target_ran()
 * @majors:	its major faults so far
 * @minors:	its minor faults so far; U64_MAX: not known
 * @majors_before: those before the present aggregation interval
 * @interval_ns: beginning of the present aggregation interval
 * @settled_ns:	when debts to reclaim were last paid
 * @arming_ns:	how long it took to arm the samples
 * @rounds:	sampling rounds in this interval
 * @idle:	those of @rounds before which it had not run
 * @active_intervals: intervals it ran in: the clock for dropping samples
 * @ran_since_read: it ran since its mappings were read
 * @drop_all:	all samples are to be dropped at the next boundary
 * @resume:	region the next pass begins with: where the last pass gave up
 * @arm_again:	the last pass that armed samples gave up
 * @check_again: the last pass that checked samples gave up: those it left may have
 *		been accessed, even if the target has not run since
 * @reclaimed:	it had many major faults in the last interval: pages may come and go, with their
 *		Accessed bits, so rounds must not be left out
 * @secondary_mmu: WSMON_TARGET_SECONDARY_MMU
 * @called:	it needs a look before the next round
 * @gone:	it exited
 */
struct wsmon_target {
	struct wsmon_session *session;
	struct pid *pid;
	struct mm_struct *mm;
	u64 exec_id;
	struct wsmon_space space;
	struct wsmon_regions regions;
	struct wsmon_target *twin;
	u64 salt;
	struct wsmon_member *member;
	struct wsmon_wss wss[WSMON_WINDOWS_MAX][WSMON_NR_WSS];
	struct wsmon_peak_group groups[WSMON_PEAK_GROUPS];
	u32 nr_peaks;
	char comm[WSMON_COMM_LEN];
	u64 updated_ns;
	u64 known_ns;
	u64 mapped_ns;
	u64 read_ns;
	u64 stamp;
	u64 rss;
	u64 blind;
	u64 half;
	u64 twice;
	struct wsmon_balance balance;
	struct wsmon_went went;
	struct wsmon_gone gone_past;
	u64 born_ns;
	u64 ran;
	u64 majors;
	u64 minors;
	u64 majors_before;
	u64 interval_ns;
	u64 settled_ns;
	u64 arming_ns;
	u64 active_intervals;
	u32 rounds;
	u32 idle;
	u32 resume;
	bool ran_since_read;
	bool drop_all;
	bool arm_again;
	bool check_again;
	bool reclaimed;
	bool secondary_mmu;
	bool called;
	bool gone;
};

/* Counters since monitoring started: struct wsmon_rec_stats explains them */
struct wsmon_stats {
	u64 rounds;
	u64 late_rounds;
	u64 missed;
	u64 checks;
	u64 arms;
	u64 flushes;
	u64 walk_ns;
	u64 flush_ns;
	u64 adapt_ns;
	u64 emit_ns;
	u64 cpu_ns;
	u64 max_hold_ns;
	u64 idle_rounds;
	u64 unfollowed;
	u64 who_armed;
	u64 who_absent;
	u64 who_seen;
	u64 who_restored;
	u64 who_skipped;
	u64 who_huge;
};

/* Pages of a slot: see wsmon_group.h */
#define WSMON_SLOT_PAGES	BIT_ULL(40)

/**
 * enum wsmon_part_kind - who may map a page of a member
 * @WSMON_PART_OWN:	it alone: private anonymous memory
 * @WSMON_PART_FILE:	whoever maps the file: a page of the file
 * @WSMON_PART_FAMILY:	its parent and children, since a fork: private anonymous memory
 */
enum wsmon_part_kind {
	WSMON_PART_OWN,
	WSMON_PART_FILE,
	WSMON_PART_FAMILY,
};

/**
 * struct wsmon_part - a mapping of what other members may map, too
 * @key:	what it maps: only an identity, never dereferenced
 * @number:	distinguishes a new file at the address of an old one
 * @object:	the same, once it is known to the group
 * @node:	its place among the parts of @object
 * @share:	its share
 * @vpn:	first page in the member
 * @index:	first page in the object
 * @pages:	number of pages
 * @class:	enum wsmon_class
 * @kind:	WSMON_PART_FILE or _FAMILY
 */
struct wsmon_part {
	const void *key;
	u64 number;
	struct wsmon_object *object;
	struct rb_node node;
	struct wsmon_share *share;
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

/**
 * struct wsmon_session - one run of monitoring
 * @rcu:	probes look for a session without a lock
 * @mon:	the monitor that runs it
 * @targets:	the targets
 * @nr_targets:	number of targets
 * @nr_alive:	number of those not gone
 * @members:	the members; only kwsmond changes the list while the session runs
 * @born:	children of members that kwsmond has not seen yet (members_lock)
 * @spares:	members to be (members_lock)
 * @calls:	members that need a look before the next round (members_lock)
 * @answers:	those of them that kwsmond looks at now; only kwsmond uses the list
 * @nr_members:	number of @members and @born (members_lock)
 * @nr_born:	number of processes that became members since the beginning (members_lock)
 * @nr_told:	of these, number that records of a group tell of
 * @nr_spares:	number of @spares (members_lock)
 * @want_spares: how many there are to be; only kwsmond changes it
 * @resting:	kwsmond sleeps for a moment, and finds @called then (members_lock)
 * @hurry:	a call cannot wait for the end of that (members_lock)
 * @hurry_at:	since when that is so, jiffies (members_lock)
 * @left_rss:	the sum of @left_rss of members (members_lock)
 * @watched:	probes look for its members (members_lock)
 * @cgroup:	processes of this cgroup, and below, are members, and no others; or NULL
 * @scanned_ns:	when the processes of @cgroup were last looked for
 * @scan_at:	process id where the search goes on; 0: it is over
 * @by_cgroup:	its place among the sessions with a @cgroup (members_lock)
 * @follow:	children of members become members (members_lock)
 * @epoch:	aggregation intervals so far: salt of the sample positions
 * @damon:	DAMON takes Accessed bits, or did: a huge page was found idle
 * @stats:	counters
 * @events:	wsmon_counts_read() counts these once an interval: that of @epoch, less 1
 * @start_ns:	when it began: identifies it, as no two begin at the same time
 * @adapt:	scratch memory
 * @space:	scratch memory: mappings being read
 * @fresh:	scratch memory: sampled pages of new memory
 * @visits:	scratch memory: looks at pages of new memory
 * @files:	scratch memory: mappings of files, WSMON_FILES_MAX; only with targets
 * @nr_files:	number of them
 * @scratch:	scratch memory: the snapshot
 * @group:	the members together, once there are two; or NULL
 * @who:	its hint faults, from the first time they are asked for; or NULL
 * @regroup:	@group has to begin anew, because attributes changed
 * @passes:	times the thread looked at targets: numbers the entries of @leaves
 * @leaves:	entries in page tables that targets share, by a hash of their address
 * @peaks:	ring of the last WSMON_PEAKS_KEPT peaks
 * @nr_peaks:	peaks so far
 * @nr_marks:	marks so far
 * @boundary_ns: when the present aggregation interval ends
 * @armed_ns:	when the last target or group began to arm samples
 * @looks:	when rounds were
 * @ends:	when aggregation intervals ended
 * @tlb_cpus:	scratch memory: processors to be interrupted
 * @pace:	keeps it within the CPU budget
 * @stolen:	CPU time that a hypervisor took
 * @precision:	regions that the wanted precision needs
 * @late:	how late rounds began, nanoseconds
 * @hold:	how long the mmap lock was held, nanoseconds
 * @ended:	wsmon_session_end() was called
 * @poked:	attributes changed since the last round, and with them the due time
 * @called:	kwsmond is to run before the next round; only kwsmond clears it
 * @target_called: a target needs a look before the next round (members_lock)
 * @may_look:	there is CPU time for looks at members that end
 * @looks_ns:	time that looks at members took since @cost_ns
 * @cpu_permille: CPU budget in force: that of the attributes, shared by all sessions
 * @cost_ns:	CPU time up to the present round, including that of flushes
 * @first:	the last round was the first of an interval, or of a target
 * @asleep:	number of rounds in a row in which no target had run
 * @cpu_start_ns: CPU time of the thread when it began
 * @remote_start_ns: wsmon_tlb_remote_ns() at that time
 * @ns:		pid namespace of the process that started it, referenced: pids in
 *		the stream are of this namespace
 * @thread:	kwsmond, referenced; NULL before it runs, and after
 */
struct wsmon_session {
	struct rcu_head rcu;
	struct wsmon_monitor *mon;
	struct wsmon_target *targets;
	u32 nr_targets;
	u32 nr_alive;
	struct list_head members;
	struct list_head born;
	struct list_head spares;
	struct list_head calls;
	struct list_head answers;
	u32 nr_members;
	u64 nr_born;
	u64 nr_told;
	u32 nr_spares;
	u32 want_spares;
	bool resting;
	bool hurry;
	unsigned long hurry_at;
	u64 left_rss;
	bool watched;
	struct cgroup *cgroup;
	u64 scanned_ns;
	u32 scan_at;
	struct list_head by_cgroup;
	bool follow;
	u64 epoch;
	bool damon;
	struct wsmon_stats stats;
	struct {
		u64 epoch;
		u64 huge;
		u64 hints;
	} events;
	u64 start_ns;
	struct wsmon_adapt adapt;
	struct wsmon_space space;
	struct wsmon_fresh fresh;
	struct wsmon_visit *visits;
	struct wsmon_file_part *files;
	u32 nr_files;
	struct wsmon_rec_snapshot *scratch;
	struct wsmon_group *group;
	struct wsmon_who *who;
	bool regroup;
	u64 passes;
	struct wsmon_leaf *leaves;
	struct wsmon_peak *peaks;
	u64 nr_peaks;
	u32 nr_marks;
	u64 boundary_ns;
	u64 armed_ns;
	struct wsmon_looks looks;
	struct wsmon_looks ends;
	struct cpumask tlb_cpus;
	struct wsmon_pace pace;
	struct wsmon_stolen stolen;
	struct wsmon_precision precision;
	struct wsmon_hist late;
	struct wsmon_hist hold;
	bool ended;
	bool poked;
	bool called;
	bool target_called;
	bool may_look;
	u64 looks_ns;
	u32 cpu_permille;
	u64 cost_ns;
	bool first;
	u32 asleep;
	u64 cpu_start_ns;
	u64 remote_start_ns;
	struct pid_namespace *ns;
	struct task_struct *thread;
};

/* Max. number of monitors */
#define WSMON_MONITORS	64U

/**
 * struct wsmon_monitor - what runs sessions, one after the other, and serves their readers
 * @ctl:	serialises starting, stopping and changing; taken before @lock, held
 *		while waiting for the thread to end
 * @lock:	protects everything below; the thread holds it during a round
 * @waiters:	tasks that wait in wsmon_lock()
 * @slot:	its number, less than WSMON_MONITORS; no other has the same
 * @attrs:	attributes in force
 * @session:	present or last session; NULL before the first
 * @running:	@session has not ended
 * @stop_reason: why the last session ended, enum wsmon_end or -1: none yet
 * @buffers:	where records go, a buffer for each reader
 * @record:	where they go in kwsmond: a function of another module; or NULL (wsmon_api.c)
 * @private:	its first argument
 * @node:	its place among the monitors of the device (wsmon_device.c)
 * @users:	open files of the device that use it (wsmon_device.c)
 * @owners:	those of them that named its processes; others joined
 */
struct wsmon_monitor {
	struct mutex ctl;	/* outside of lock */
	struct mutex lock;	/* see above */
	atomic_t waiters;
	u32 slot;
	struct wsmon_attrs attrs;
	struct wsmon_session *session;
	bool running;
	int stop_reason;
	struct list_head buffers;
	wsmon_record_fn record;
	void *private;
	struct list_head node;
	u32 users;
	u32 owners;
};

/* Mappings of files that a target is searched for what it maps twice, at most */
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

/**
 * struct wsmon_visit - a look at a sample page in one process
 * @spot:	the page in the group's space; of new memory: index in struct wsmon_fresh
 * @vpn:	the page in the process
 * @looked_ns:	accesses since the last look, at this time, count
 * @seen_ns:	when an access was last found that counts; 0: never
 * @made_ns:	when it was found that the kernel had made the entry anew; 0: never
 * @pfn:	the page frame at the last look
 * @frame:	the page frame at @seen_ns, where members may have different ones; else 0
 * @rank:	rank of the process for this sample: see wsmon_reach.c
 * @kind:	enum wsmon_part_kind
 * @op:		what to do
 * @debt:	what reclaim does not know: see wsmon_accessed.c
 * @place:	enum wsmon_place
 * @own:	it had a place in a page table before
 * @skip:	not in this pass
 * @done:	the page was looked at
 * @mapped:	it is mapped
 * @none:	it is not, and not in swap either
 * @seen:	it was accessed
 * @around:	perhaps a fault on a page near it mapped it
 * @text:	it is text
 * @absent:	it was not mapped at the last look
 * @vague:	@seen_ns is perhaps a fault on a page near it
 * @anon:	it is an anonymous page
 * @exclusive:	that no other process maps
 * @times:	how often it is mapped, if each time is an equal part of it; else 1
 */
struct wsmon_visit {
	u64 spot;
	u64 vpn;
	u64 looked_ns;
	u64 seen_ns;
	u64 made_ns;
	u64 pfn;
	u64 frame;
	u32 rank;
	u8 kind;
	u8 op;
	u8 debt;
	u8 place;
	bool own;
	bool skip;
	bool done;
	bool mapped;
	bool none;
	bool seen;
	bool around;
	bool text;
	bool absent;
	bool vague;
	bool anon;
	bool exclusive;
	u32 times;
};

#endif /* WSMON_TYPES_H */
