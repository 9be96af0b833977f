/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_session.h - what a session consists of: its targets and figures, who runs when
 *
 * Headers by owner, each with what the files below it share; a header includes those above it:
 *
 * 	regions		what is tiled			estimate	what samples show
 * 	control		peaks, budget, precision, texts
 * 	session		core thread interval events debugfs stream buffer device api
 * 	process		member task mm			sampler		walk accessed
 * 	group		group look			hintfault	the second sampler
 * 	buffer		buffer device			x86, arm64	page-table entries
 */
#ifndef WSMON_SESSION_H
#define WSMON_SESSION_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/time64.h>

#include "../include/wsmon_kernel.h"
#include "wsmon_control.h"

struct cgroup;
struct pid_namespace;
struct seq_file;
struct wsmon_file_part;
struct wsmon_group;
struct wsmon_member;
struct wsmon_visit;
struct wsmon_who;
struct wsmon_who_slot;

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

/* wsmon_monitor.c: lock, attributes, budget */
extern struct wsmon_monitor wsmon;
extern const struct wsmon_attrs wsmon_default_attrs;
extern bool wsmon_ready;
int wsmon_lock(struct wsmon_monitor *mon);
void wsmon_lock_anyway(struct wsmon_monitor *mon);
void wsmon_session_share_budget(struct wsmon_session *ss);
void wsmon_session_begin_pace(struct wsmon_session *ss);
void wsmon_session_count(int by);
bool wsmon_session_several(void);
void wsmon_lock_round(struct wsmon_monitor *mon);
bool wsmon_may_trace(void);
int wsmon_may_open(bool trace);

static inline u64 wsmon_sample_ns(const struct wsmon_session *ss)
{
	return ss->mon->attrs.sample_us * NSEC_PER_USEC;
}

/* Divide max_regions equally among the targets. */
static inline u32 wsmon_target_budget(const struct wsmon_attrs *attrs, u32 nr_targets)
{
	return attrs->max_regions / max(nr_targets, 1U);
}

/* A round may come this much too early */
static inline u64 wsmon_slack_ns(const struct wsmon_session *ss)
{
	return wsmon_sample_ns(ss) / 2;
}

static inline u64 wsmon_window_ns(const struct wsmon_session *ss, u32 k)
{
	return ss->mon->attrs.windows_us[k] * NSEC_PER_USEC;
}

static inline u64 wsmon_aggr_ns(const struct wsmon_session *ss)
{
	return ss->mon->attrs.aggr_us * NSEC_PER_USEC;
}

/* The target whose regions and estimates describe a target: itself or its twin */
static inline const struct wsmon_target *wsmon_target_data(const struct wsmon_target *t)
{
	/* the twin may have executed another program; the next round notices */
	return t->twin && t->twin->mm == t->mm ? t->twin : t;
}

/* wsmon_session.c: starting, stopping, attributes */
void wsmon_monitor_init(struct wsmon_monitor *mon, u32 slot);
struct wsmon_monitor *wsmon_monitor_create(void);
void wsmon_monitor_free(struct wsmon_monitor *mon);
void wsmon_session_free(struct wsmon_session *ss);
int wsmon_set_attrs(struct wsmon_monitor *mon, const char *text, size_t len);
int wsmon_set_targets(struct wsmon_monitor *mon, const struct wsmon_scope *scope);
int wsmon_set_ids(struct wsmon_monitor *mon, const u32 *ids, u32 nr, struct pid_namespace *ns);
int wsmon_set_mark(struct wsmon_monitor *mon, const char *text, size_t len);

/* wsmon_device.c: /dev/wsmon */
int wsmon_device_init(void);
void wsmon_device_exit(void);

/* wsmon_thread.c: kwsmond */
void wsmon_session_share(struct wsmon_session *ss, const struct wsmon_attrs *attrs, u32 share);
void wsmon_session_begin(struct wsmon_session *ss);
void wsmon_session_end(struct wsmon_session *ss, u32 reason);
int wsmon_session_thread(void *data);

/* wsmon_interval.c: a target's rounds */
bool wsmon_target_round(struct wsmon_session *ss, struct wsmon_target *t, u64 now, bool boundary);
void wsmon_target_leave(struct wsmon_session *ss, struct wsmon_target *t);

/* wsmon_events.c: peaks and tracepoints, with wsmon.lock held */
void wsmon_events_interval(struct wsmon_session *ss, struct wsmon_target *t, u64 now);
void wsmon_events_restart(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_events_restart_all(struct wsmon_session *ss);
void wsmon_events_show(struct seq_file *m, const struct wsmon_peak *p, struct pid_namespace *ns);

/* wsmon_stream.c: encoding records, with wsmon.lock held */
void wsmon_stream_end(const struct wsmon_session *ss, u32 reason);
void wsmon_stream_attrs(const struct wsmon_session *ss);
void wsmon_stream_target(const struct wsmon_target *t, u32 flags);
void wsmon_stream_areas(const struct wsmon_target *t);
void wsmon_stream_snapshot(const struct wsmon_target *t, u64 now);
void wsmon_stream_wss(const struct wsmon_target *t, u32 first, u64 now);
void wsmon_stream_peak(const struct wsmon_target *t, struct wsmon_rec_peak *rec, u64 now);
void wsmon_stream_mark(const struct wsmon_session *ss, u32 number, const char *text, size_t len);
void wsmon_stream_who(const struct wsmon_target *t, const struct wsmon_who_slot *s);
void wsmon_stream_exited(const struct wsmon_target *t);
void wsmon_stream_group(const struct wsmon_session *ss, u64 now);
void wsmon_stream_stats(const struct wsmon_session *ss);
void wsmon_stats_fill(struct wsmon_rec_stats *rec, const struct wsmon_session *ss);

/* wsmon_buffer.c: where records wait for readers; wsmon_buffer.h has more */
void wsmon_buffers_begin(struct wsmon_session *ss);
void wsmon_buffers_put(struct wsmon_monitor *mon, struct wsmon_record *rec);
void wsmon_buffers_end(struct wsmon_monitor *mon);
bool wsmon_buffers_attached(struct wsmon_monitor *mon, bool owed);

/* The files in debugfs: wsmon_buffer.c has the first, wsmon_debugfs.c the others */
int wsmon_debugfs_buffer_init(void);
void wsmon_debugfs_buffer_exit(void);
void wsmon_debugfs_buffer_lost(struct wsmon_rec_stats *rec);
extern const struct file_operations wsmon_buffer_fops;
extern const struct file_operations wsmon_attrs_fops, wsmon_target_fops, wsmon_mark_fops;
extern const struct file_operations wsmon_wss_fops, wsmon_regions_fops, wsmon_peaks_fops;
extern const struct file_operations wsmon_status_fops, wsmon_stats_fops;

#endif /* WSMON_SESSION_H */
