/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_internal.h - what the module's files share
 *
 * Files call those below them, never upwards:
 *
 *	core		init and exit, the files in debugfs
 *	debugfs		texts that people read and write
 *	session		start, stop, change; kwsmond and the schedule of its rounds
 *	interval	a round of one target, the end of its aggregation interval
 *	events		peaks, tracepoints	walk	the pass over the sample pages
 *	stream		encoding records	young	the sampler: Accessed bits, TLB
 *	buffer		records wait here
 *	state		lock, attributes, memory of a session
 *	vaddr		mappings of a target, its mmap lock
 *	member		processes of a session: fork, exec and exit as they happen
 *	task		threads of a target
 *	wsmon_pure.h	plain numbers
 */
#ifndef WSMON_INTERNAL_H
#define WSMON_INTERNAL_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/version.h>
#include <asm/cpufeature.h>

#include "wsmon_pure.h"

struct pid_namespace;
struct seq_file;

/*
 * Differences between kernel versions, 6.1 to 7.3. LINUX_VERSION_CODE is tested here only:
 * files are written for the newest kernel, and what older kernels lack is defined here.
 */

/*
 * The kernel exports this variable, but asm/tlbflush.h declares it for built-in code
 * only. The declaration is correct from 5.13 on.
 */
struct tlb_state_shared {
	bool is_lazy;
};
DECLARE_PER_CPU_SHARED_ALIGNED(struct tlb_state_shared, cpu_tlbstate_shared);

/*
 * Does a processor that switches to an mm check the mm's TLB generation? From 6.15 on
 * it does not if the mm has a global ASID, which only processors with INVLPGB have.
 */
#ifdef X86_FEATURE_INVLPGB
#define wsmon_generation_seen()	(!boot_cpu_has(X86_FEATURE_INVLPGB))
#else
#define wsmon_generation_seen()	true
#endif

/* From 6.16 on sched_process_exit has an argument: is the whole group dead? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task, bool group_dead)
#else
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task)
#endif

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

/* struct wsmon_member.events */
#define WSMON_MEMBER_EXEC	0x1	/* it executed a program */
#define WSMON_MEMBER_EXIT	0x2	/* its last thread ended */

/**
 * struct wsmon_member - a process that belongs to a session
 * @hash:	its place among those with the same hash of @pid (members_lock)
 * @node:	its place in @members of the session; in @born or @spares (members_lock)
 * @call:	its place among those that need a look before the next round (members_lock)
 * @events:	why it needs one (members_lock)
 * @pid:	its thread group, referenced
 * @target:	the target, if it is also sampled on its own; or NULL
 * @mm:		mm of the program that it executed last, or forked with, with a reference
 *		on mm_users; NULL if none is kept (members_lock)
 * @old_mm:	the same of the program before that (members_lock)
 * @born_ns:	when the program of @mm began (members_lock)
 * @comm:	its name at that time (members_lock)
 */
struct wsmon_member {
	struct hlist_node hash;
	struct list_head node;
	struct list_head call;
	u32 events;
	struct pid *pid;
	struct wsmon_target *target;
	struct mm_struct *mm;
	struct mm_struct *old_mm;
	u64 born_ns;
	char comm[WSMON_COMM_LEN];
};

/**
 * struct wsmon_target - a process that is monitored
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
 * @read_ns:	how long the last reading took
 * @stamp:	wsmon_vaddr_stamp() at that reading
 * @rss:	resident pages at that reading
 * @blind:	pages that appeared since, in mappings that could not be read again
 * @born_ns:	when it executed the program; 0: before it was monitored
 * @ran:	sum that changes when it runs: see wsmon_target_ran()
 * @interval_ns: beginning of the present aggregation interval
 * @settled_ns:	when debts to reclaim were last paid
 * @rounds:	sampling rounds in this interval
 * @idle:	those of @rounds before which it had not run
 * @active_intervals: intervals it ran in: the clock for dropping samples
 * @ran_since_read: it ran since its mappings were read
 * @drop_all:	all samples are to be dropped at the next boundary
 * @resume:	region the next pass begins with: where the last pass gave up
 * @arm_again:	the last pass that armed samples gave up
 * @check_again: the last pass that checked samples gave up: those it left may have
 *		been accessed, even if the target has not run since
 * @secondary_mmu: WSMON_TARGET_SECONDARY_MMU
 * @called:	it needs a look before the next round
 * @gone:	it exited
 */
struct wsmon_target {
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
	u64 read_ns;
	u64 stamp;
	u64 rss;
	u64 blind;
	u64 born_ns;
	u64 ran;
	u64 interval_ns;
	u64 settled_ns;
	u64 active_intervals;
	u32 rounds;
	u32 idle;
	u32 resume;
	bool ran_since_read;
	bool drop_all;
	bool arm_again;
	bool check_again;
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
};

/**
 * struct wsmon_session - one run of monitoring
 * @targets:	the targets
 * @nr_targets:	number of targets
 * @nr_alive:	number of those not gone
 * @members:	the members; only kwsmond changes the list while the session runs
 * @born:	children of members that kwsmond has not seen yet (members_lock)
 * @spares:	members to be (members_lock)
 * @calls:	members that need a look before the next round (members_lock)
 * @answers:	those of them that kwsmond looks at now; only kwsmond uses the list
 * @nr_members:	number of @members and @born (members_lock)
 * @nr_spares:	number of @spares (members_lock)
 * @follow:	children of members become members (members_lock)
 * @epoch:	aggregation intervals so far: salt of the sample positions
 * @stats:	counters
 * @start_ns:	when it began: identifies it, as no two begin at the same time
 * @adapt:	scratch memory
 * @space:	scratch memory: mappings being read
 * @fresh:	scratch memory: sampled pages of new memory
 * @passes:	times the thread looked at targets: numbers the entries of @leaves
 * @leaves:	entries in page tables that targets share, by a hash of their address
 * @peaks:	ring of the last WSMON_PEAKS_KEPT peaks
 * @nr_peaks:	peaks so far
 * @nr_marks:	marks so far
 * @boundary_ns: when the present aggregation interval ends
 * @pace:	keeps it within the CPU budget
 * @late:	how late rounds began, nanoseconds
 * @hold:	how long the mmap lock was held, nanoseconds
 * @poked:	attributes changed since the last round, and with them the due time
 * @called:	kwsmond is to run before the next round; only kwsmond clears it
 * @target_called: a target needs a look before the next round (members_lock)
 * @cost_ns:	CPU time up to the present round, including that of flushes
 * @first:	the last round was the first of an interval, or of a target
 * @asleep:	number of rounds in a row in which no target had run
 * @cpu_start_ns: CPU time of the thread when it began
 * @remote_start_ns: wsmon_tlb_remote_ns() at that time
 * @ns:		pid namespace of the process that started it, referenced: pids in
 *		the stream are of this namespace
 * @thread:	kwsmond, referenced
 */
struct wsmon_session {
	struct wsmon_target *targets;
	u32 nr_targets;
	u32 nr_alive;
	struct list_head members;
	struct list_head born;
	struct list_head spares;
	struct list_head calls;
	struct list_head answers;
	u32 nr_members;
	u32 nr_spares;
	bool follow;
	u64 epoch;
	struct wsmon_stats stats;
	u64 start_ns;
	struct wsmon_adapt adapt;
	struct wsmon_space space;
	struct wsmon_fresh fresh;
	u64 passes;
	struct wsmon_leaf *leaves;
	struct wsmon_peak *peaks;
	u64 nr_peaks;
	u32 nr_marks;
	u64 boundary_ns;
	struct wsmon_pace pace;
	struct wsmon_hist late;
	struct wsmon_hist hold;
	bool poked;
	bool called;
	bool target_called;
	u64 cost_ns;
	bool first;
	u32 asleep;
	u64 cpu_start_ns;
	u64 remote_start_ns;
	struct pid_namespace *ns;
	struct task_struct *thread;
};

/**
 * struct wsmon - the monitor
 * @ctl:	serialises starting, stopping and changing; taken before @lock, held
 *		while waiting for the thread to end
 * @lock:	protects everything below; the thread holds it during a round
 * @attrs:	attributes in force
 * @session:	present or last session; NULL before the first
 * @running:	@session has not ended
 * @stop_reason: why the last session ended, enum wsmon_end or -1: none yet
 */
struct wsmon {
	struct mutex ctl;	/* outside of lock */
	struct mutex lock;	/* see above */
	struct wsmon_attrs attrs;
	struct wsmon_session *session;
	bool running;
	int stop_reason;
};

/* wsmon_state.c: lock, attributes, memory of a session */
extern struct wsmon wsmon;
extern bool wsmon_ready;
int wsmon_lock(void);
void wsmon_lock_round(void);
int wsmon_may_open(void);
struct wsmon_session *wsmon_session_create(const u32 *pids, unsigned int nr,
					   struct pid_namespace *ns,
					   const struct wsmon_attrs *attrs);
void wsmon_session_free(struct wsmon_session *ss);
struct wsmon_regions *wsmon_session_make_room(const struct wsmon_session *ss,
					      const struct wsmon_attrs *attrs);
void wsmon_session_free_room(const struct wsmon_session *ss, struct wsmon_regions *room);
void wsmon_session_resize(struct wsmon_session *ss, const struct wsmon_attrs *attrs,
			  struct wsmon_regions *room);
void wsmon_session_share(struct wsmon_session *ss, const struct wsmon_attrs *attrs, u32 share);
void wsmon_session_forget(struct wsmon_session *ss, u32 first);

static inline u64 wsmon_sample_ns(void)
{
	return wsmon.attrs.sample_us * NSEC_PER_USEC;
}

/* A round may come this much too early */
static inline u64 wsmon_slack_ns(void)
{
	return wsmon_sample_ns() / 2;
}

static inline u64 wsmon_aggr_ns(void)
{
	return wsmon.attrs.aggr_us * NSEC_PER_USEC;
}

/* The target whose regions and estimates describe a target: itself or its twin */
static inline const struct wsmon_target *wsmon_target_data(const struct wsmon_target *t)
{
	/* the twin may have executed another program; the next round notices */
	return t->twin && t->twin->mm == t->mm ? t->twin : t;
}

/* wsmon_session.c: starting, stopping, attributes, kwsmond */
int wsmon_set_attrs(const char *text, size_t len);
int wsmon_set_targets(const u32 *pids, unsigned int nr, struct pid_namespace *ns);
int wsmon_set_mark(const char *text, size_t len);

/* wsmon_interval.c: a target's rounds */
bool wsmon_target_round(struct wsmon_session *ss, struct wsmon_target *t, u64 now, bool boundary);
void wsmon_target_leave(struct wsmon_session *ss, struct wsmon_target *t);

/* wsmon_events.c: peaks and tracepoints, with wsmon.lock held */
void wsmon_events_interval(struct wsmon_session *ss, struct wsmon_target *t, u64 now);
void wsmon_events_restart(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_events_restart_all(struct wsmon_session *ss);
void wsmon_events_show(struct seq_file *m, const struct wsmon_peak *p, struct pid_namespace *ns);

/* wsmon_task.c: a target's threads */
struct pid *wsmon_task_resolve(u32 nr, struct pid_namespace *ns);
struct mm_struct *wsmon_target_mm(struct wsmon_target *t, bool *changed);
bool wsmon_pid_alive(struct pid *pid);
bool wsmon_target_alive(const struct wsmon_target *t);
bool wsmon_target_ran(struct wsmon_target *t, struct mm_struct *mm);
void wsmon_target_cpus(const struct wsmon_target *t, struct mm_struct *mm, struct cpumask *cpus);

/* wsmon_member.c: members; fork, exec and exit */
int wsmon_probes_init(void);
void wsmon_probes_exit(void);
void wsmon_members_init(struct wsmon_session *ss);
int wsmon_members_add(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_members_remove(struct wsmon_session *ss, struct wsmon_member *m);
void wsmon_members_follow(struct wsmon_session *ss, bool follow);
void wsmon_members_watch(struct wsmon_session *ss);
void wsmon_members_unwatch(struct wsmon_session *ss);
bool wsmon_members_update(struct wsmon_session *ss);
struct wsmon_member *wsmon_members_next(struct wsmon_session *ss, u32 *events);
void wsmon_members_age(struct wsmon_session *ss, u64 before);
u64 wsmon_member_born(const struct wsmon_member *m, const struct mm_struct *mm);
struct mm_struct *wsmon_member_take(struct wsmon_member *m, const struct mm_struct *which);
void wsmon_member_put(struct wsmon_member *m, const struct mm_struct *which);
struct mm_struct *wsmon_member_take_old(struct wsmon_member *m);

static inline void wsmon_group_exec(struct wsmon_session *ss, struct wsmon_member *m)
{
}

static inline void wsmon_group_exit(struct wsmon_session *ss, struct wsmon_member *m)
{
}

/* A pass tries a busy mmap lock this many times at most, WSMON_LOCK_WAIT_US apart */
#define WSMON_LOCK_TRIES	40
#define WSMON_LOCK_WAIT_US	100

/* wsmon_vaddr.c: a target's mmap lock and mappings */
bool wsmon_mm_lock(struct mm_struct *mm, unsigned int *tries);
void wsmon_mm_unlock(struct mm_struct *mm);
bool wsmon_mm_busy(const struct mm_struct *mm);
bool wsmon_vma_usable(struct vm_area_struct *vma);
bool wsmon_vma_may_share_tables(const struct vm_area_struct *vma);
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t, struct mm_struct *mm);
void wsmon_vaddr_adopt(struct wsmon_session *ss, struct wsmon_target *t, u64 now, u64 origin);
u64 wsmon_vaddr_stamp(const struct mm_struct *mm);
void wsmon_space_free(struct wsmon_space *sp);

/**
 * enum wsmon_sample_op - what is done to a sample page
 * @WSMON_SAMPLE_ARM:	forget accesses before now
 * @WSMON_SAMPLE_CHECK:	was it accessed since the last time? clear its bit
 * @WSMON_SAMPLE_DROP:	was it accessed since the last time? do not clear its bit
 * @WSMON_SAMPLE_LOOK:	was it accessed? change nothing
 * @WSMON_SAMPLE_SETTLE: pay a debt to reclaim, if there is one; clear nothing
 */
enum wsmon_sample_op {
	WSMON_SAMPLE_ARM,
	WSMON_SAMPLE_CHECK,
	WSMON_SAMPLE_DROP,
	WSMON_SAMPLE_LOOK,
	WSMON_SAMPLE_SETTLE,
};

/* wsmon_walk.c: the pass over the sample pages */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now);
void wsmon_walk_fresh(struct wsmon_session *ss, struct mm_struct *mm, struct wsmon_fresh *f);

/* wsmon_young.c: the sampler */
void wsmon_tlb_drain(void);
u64 wsmon_tlb_remote_ns(void);

/* wsmon_stream.c: encoding records, with wsmon.lock held */
int wsmon_stream_init(void);
void wsmon_stream_exit(void);
void wsmon_stream_end(u32 reason);
void wsmon_stream_attrs(void);
void wsmon_stream_target(const struct wsmon_target *t, u32 flags);
void wsmon_stream_areas(const struct wsmon_target *t);
void wsmon_stream_snapshot(const struct wsmon_target *t, u64 now);
void wsmon_stream_wss(const struct wsmon_target *t, u32 first, u64 now);
void wsmon_stream_peak(const struct wsmon_target *t, struct wsmon_rec_peak *rec, u64 now);
void wsmon_stream_mark(u32 number, const char *text, size_t len);
void wsmon_stream_exited(const struct wsmon_target *t);
void wsmon_stream_stats(const struct wsmon_session *ss);
void wsmon_stats_fill(struct wsmon_rec_stats *rec, const struct wsmon_session *ss);

/* wsmon_buffer.c: where records wait for the reader */
int wsmon_buffer_init(void);
void wsmon_buffer_exit(void);
void wsmon_buffer_begin(void);
void wsmon_buffer_put(const struct wsmon_record *rec);
void wsmon_buffer_lost(u64 *records, u64 *bytes);
void wsmon_buffer_end(void);
bool wsmon_buffer_attached(void);

/* The files in debugfs: wsmon_buffer.c has the first, wsmon_debugfs.c the others */
extern const struct file_operations wsmon_buffer_fops;
extern const struct file_operations wsmon_attrs_fops, wsmon_target_fops, wsmon_mark_fops;
extern const struct file_operations wsmon_wss_fops, wsmon_regions_fops, wsmon_peaks_fops;
extern const struct file_operations wsmon_status_fops, wsmon_stats_fops;

#endif /* WSMON_INTERNAL_H */
