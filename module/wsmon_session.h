/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_session.h - a session: its targets, its statistics, its thread
 *
 * Each header declares what the files listed beside it share. A header includes the headers
 * above it in this table:
 *
 *	math		square roots, hashes
 *	regions		regions space split		what is tiled, and sample positions
 *	estimate	wss				the working set and its confidence interval
 *	control		pace peaks parse		CPU budget, precision, peaks, texts
 *	session		core monitor session thread	who runs, when
 *			target				rounds and interval ends of a target
 *			stream trace debugfs device api	what leaves the module
 *	process		member task cgroup mm		processes, their mappings
 *	sampler		walk accessed			page tables and Accessed bits, KSM
 *	group		group look map			processes as one, with shared pages once
 *	hintfault	hintfault			pages made to fault, for who
 *	buffer		buffer device			a reader's records
 *	x86, arm64	x86				page-table entries, TLB
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

/* log2 of the number of huge entries in shared page tables that a pass remembers */
#define WSMON_LEAVES_BITS	12

/**
 * struct wsmon_leaf - a huge entry of a page table that several targets share
 * @entry:	address of the entry: only an identity, never dereferenced
 * @pass:	number of the session's pass that sampled it
 * @seen:	in pass @pass the Accessed bit was found set, in the look for one of the targets
 */
struct wsmon_leaf {
	const void *entry;
	u64 pass;
	bool seen;
};

/* Debugfs wsmon/peaks shows this many peaks of a session, the latest ones */
#define WSMON_PEAKS_KEPT	1024U

/**
 * struct wsmon_peak_group - peaks of one group of a target's memory: all, text, or the rest
 * @detector:	state of the detector: the usual level, and whether a peak lasts
 * @start_ns:	when the last peak began
 * @entry:	index of the last peak in the history
 * @number:	number of the last peak
 */
struct wsmon_peak_group {
	struct wsmon_detector detector;
	u64 start_ns;
	u64 entry;
	u32 number;
};

/**
 * struct wsmon_peak - a peak in the history
 * @target:	the target
 * @rec:	record of the peak's end, or of its start while it lasts
 */
struct wsmon_peak {
	const struct wsmon_target *target;
	struct wsmon_rec_peak rec;
};

/**
 * struct wsmon_scope - the processes that a session watches
 * @pids:	thread groups of the processes, from wsmon_task_resolve()
 * @nr:		number of @pids; if it is 0 and @cgroup is NULL, no session is started
 * @cgroup:	watch all processes of this cgroup and its descendants instead of @pids; or NULL
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
 * @mm:		address space that the regions describe: only an identity, never
 *		dereferenced, because the process may have left it
 * @exec_id:	distinguishes a new address space at the address of the old one
 * @space:	its mappings
 * @regions:	its regions
 * @twin:	an earlier target with the same mm, sampled for both targets; or NULL
 * @salt:	mixed into the seed, so that samples of targets are independent
 * @member:	its process as a member of the session; NULL once the process is gone
 * @wss:	last estimates by window and class, and of everything but text
 * @groups:	peaks by WSMON_PEAK_ALL, _TEXT and _REST
 * @nr_peaks:	number of peaks so far
 * @comm:	name of its main thread
 * @updated_ns:	when the mappings were last read; 0: never
 * @known_ns:	last time at which @space is known to have covered all of its memory
 * @mapped_ns:	when the check of the mappings began that set @known_ns
 * @read_ns:	how long the last reading of the mappings took
 * @stamp:	wsmon_vaddr_stamp() at the last reading
 * @rss:	resident pages at the last reading
 * @blind:	resident pages that appeared since the last reading, in mappings that could not
 *		be read again
 * @half:	half-width of the confidence interval of the shortest window, sampling error only
 * @twice:	file pages that the target maps a second time: see wsmon_vaddr_read()
 * @balance:	anonymous memory that appears and disappears in this interval
 * @went:	memory that disappeared in the interval that ends
 * @gone_past:	memory that disappeared in the intervals of the longest window
 * @born_ns:	when it executed the program; 0: before it was monitored
 * @ran:	sum that changes when the process runs: see wsmon_target_ran()
 * @majors:	number of its major faults so far
 * @minors:	number of its minor faults so far; U64_MAX: unknown
 * @majors_before: @majors at the beginning of the present aggregation interval
 * @interval_ns: beginning of the present aggregation interval
 * @settled_ns:	when debts to reclaim were last paid
 * @arming_ns:	how long it took to arm the samples
 * @rounds:	sampling rounds in this interval
 * @idle:	number of @rounds that found that the process had not run since the round before
 * @active_intervals: intervals in which the process ran: the clock for dropping samples
 * @ran_since_read: the process ran since its mappings were read
 * @drop_all:	drop all samples at the next boundary
 * @resume:	region the next pass begins with: where the last pass gave up
 * @arm_again:	the last pass that armed samples gave up
 * @check_again: the last pass that checked samples gave up: the samples it skipped may have
 *		been accessed, even if the target has not run since
 * @reclaimed:	the process had many major faults in the last interval: reclaim takes pages with
 *		their Accessed bits, so no round may be skipped
 * @secondary_mmu: WSMON_TARGET_SECONDARY_MMU
 * @called:	the target needs a look before the next round
 * @gone:	the process exited
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

/**
 * struct wsmon_session - one run of monitoring
 * @rcu:	probes find a session without a lock
 * @mon:	the monitor that runs it
 * @targets:	the targets
 * @nr_targets:	number of targets
 * @nr_alive:	number of targets that are not gone
 * @members:	the members; only kwsmond changes the list while the session runs
 * @born:	new members that kwsmond has not seen yet (members_lock)
 * @spares:	members without a process, for probes to take (members_lock)
 * @calls:	members that need a look before the next round (members_lock)
 * @answers:	members of @calls that kwsmond looks at now; only kwsmond uses the list
 * @nr_members:	number of @members and @born (members_lock)
 * @nr_born:	processes that became members since the session began (members_lock)
 * @nr_told:	part of @nr_born that group records have reported
 * @nr_spares:	number of @spares (members_lock)
 * @want_spares: target for @nr_spares; only kwsmond changes it
 * @resting:	kwsmond sleeps for a moment, and checks @called afterwards (members_lock)
 * @hurry:	a call must end that sleep (members_lock)
 * @hurry_at:	when @hurry was set, jiffies (members_lock)
 * @left_rss:	sum of @left_rss of members (members_lock)
 * @watched:	probes look for its members (members_lock)
 * @cgroup:	exactly the processes of this cgroup and its descendants are members; or NULL
 * @scanned_ns:	when the last search for processes of @cgroup began
 * @scan_at:	process id where the search goes on; 0: the search is complete
 * @by_cgroup:	its place among the sessions with a @cgroup (members_lock)
 * @follow:	children of members become members (members_lock)
 * @epoch:	number of aggregation intervals so far: salt of the sample positions
 * @damon:	DAMON clears Accessed bits, or did: a huge page was found idle
 * @stats:	counters; wsmon_stats_fill() fills in the other fields
 * @unfollowed:	a counter that probes change: see struct wsmon_rec_stats (members_lock)
 * @events:	event counts that wsmon_counts_read() reads once an interval; its @epoch is
 *		the session's epoch at that time plus 1
 * @start_ns:	when the session began: identifies it, because no two begin at the same time
 * @adapt:	scratch memory
 * @space:	scratch memory: mappings being read
 * @fresh:	scratch memory: sampled pages of new memory
 * @visits:	scratch memory: looks at pages of new memory
 * @files:	scratch memory: mappings of files, WSMON_FILES_MAX; only with targets
 * @nr_files:	number of @files in use
 * @scratch:	scratch memory: the snapshot
 * @group:	the members as a group: a session that follows has one from its second member
 *		on, a session of a cgroup always; or NULL
 * @who:	its hint faults, from the first time they are asked for; or NULL
 * @regroup:	attributes changed, so @group has to begin anew
 * @passes:	number of passes of the thread over targets: numbers the entries of @leaves
 * @leaves:	entries in page tables that targets share, by a hash of their address
 * @peaks:	ring of the last WSMON_PEAKS_KEPT peaks
 * @nr_peaks:	number of peaks so far
 * @nr_marks:	number of marks so far
 * @boundary_ns: when the present aggregation interval ends
 * @armed_ns:	when the last target or group began to arm samples
 * @looks:	times of rounds
 * @ends:	times at which aggregation intervals ended
 * @tlb_cpus:	scratch memory: processors to be interrupted
 * @pace:	keeps the session within the CPU budget
 * @stolen:	CPU time that a hypervisor took
 * @precision:	number of regions that the wanted precision needs
 * @late:	how late rounds began, nanoseconds
 * @hold:	how long the mmap lock was held, nanoseconds
 * @ended:	wsmon_session_end() was called
 * @poked:	attributes changed since the last round, so the next one may be due earlier
 * @called:	kwsmond must run before the next round; only kwsmond clears it
 * @target_called: a target needs a look before the next round (members_lock)
 * @may_look:	there is CPU time for looks at members that end
 * @looks_ns:	time that looks at members took since @cost_ns was updated
 * @cpu_permille: CPU budget in force: the attribute, divided among all running sessions if it is
 *		less than 1000
 * @cost_ns:	CPU time up to the present round, including TLB flushes
 * @first:	the last round was the first of an interval, or of a target
 * @asleep:	number of consecutive rounds that found that no target had run
 * @cpu_start_ns: CPU time of the thread when the session began
 * @remote_start_ns: wsmon_tlb_remote_ns() when the session began
 * @ns:		pid namespace of the process that started the session, referenced: pids in
 *		the stream are of this namespace
 * @thread:	kwsmond, referenced; NULL before it is started and after it is stopped
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
	struct wsmon_rec_stats stats;
	u64 unfollowed;
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
 * struct wsmon_monitor - runs sessions, one after the other, and serves their readers
 * @ctl:	serialises starting, stopping and changing a session; taken before @lock, held
 *		while waiting for the thread to end
 * @lock:	protects everything below; the thread holds it during a round
 * @waiters:	number of tasks that wait for @lock
 * @slot:	its number, unique, less than WSMON_MONITORS
 * @attrs:	attributes in force
 * @session:	present or last session; NULL before the first
 * @running:	@session has not ended
 * @stop_reason: why the last session ended, enum wsmon_end; -1: none has ended
 * @buffers:	record buffers, one for each reader
 * @record:	function of another module that kwsmond calls with each record; or NULL
 *		(wsmon_api.c)
 * @private:	first argument of @record
 * @node:	its place among the monitors of the device (wsmon_device.c)
 * @users:	number of open files of the device that use the monitor (wsmon_device.c)
 * @owners:	number of @users that named its processes; the others joined
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

/* A round may begin this much too early */
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

/* Return the target whose regions and estimates describe @t: @t itself or its twin. */
static inline const struct wsmon_target *wsmon_target_data(const struct wsmon_target *t)
{
	/* if the twin has executed another program, the next round notices that */
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
void wsmon_session_limit_crowd(struct wsmon_session *ss);
void wsmon_session_begin(struct wsmon_session *ss);
void wsmon_session_end(struct wsmon_session *ss, u32 reason);
int wsmon_session_thread(void *data);

/* wsmon_target.c: a target's rounds */
bool wsmon_target_round(struct wsmon_session *ss, struct wsmon_target *t, u64 now, bool boundary);
void wsmon_target_leave(struct wsmon_session *ss, struct wsmon_target *t);

/* wsmon_trace.c: peaks and tracepoints, with the monitor's lock held */
void wsmon_events_interval(struct wsmon_session *ss, struct wsmon_target *t, u64 now);
void wsmon_events_restart(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_events_restart_all(struct wsmon_session *ss);
void wsmon_events_show(struct seq_file *m, const struct wsmon_peak *p, struct pid_namespace *ns);

/* wsmon_stream.c: encoding records, with the monitor's lock held */
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

/* wsmon_buffer.c: records wait here for readers; wsmon_buffer.h has more */
void wsmon_buffers_begin(struct wsmon_session *ss);
void wsmon_buffers_put(struct wsmon_monitor *mon, struct wsmon_record *rec);
void wsmon_buffers_end(struct wsmon_monitor *mon);
bool wsmon_buffers_attached(struct wsmon_monitor *mon, bool owed);

/* The files in debugfs */
int wsmon_debugfs_init(void);
void wsmon_debugfs_exit(void);
int wsmon_debugfs_buffer_init(void);
void wsmon_debugfs_buffer_exit(void);
void wsmon_debugfs_buffer_lost(struct wsmon_rec_stats *rec);
extern const struct file_operations wsmon_buffer_fops;

#endif /* WSMON_SESSION_H */
