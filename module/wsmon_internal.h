/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_internal.h - what the module's files share
 *
 * Files call those below them, never upwards:
 *
 *	core		init and exit, the files in debugfs
 *	debugfs		texts that people read and write	device	/dev/wsmon
 *	api		sessions of other modules
 *	reader		open files that records are read from
 *	session		start, stop, change		thread	kwsmond, the schedule of its rounds
 *	interval	a round of one target, the end of its aggregation interval
 *	events		peaks, tracepoints	walk	the pass over the sample pages
 *	stream		encoding records	young	the sampler: Accessed bits
 *	tlb		flushing TLBs		group/	the members together
 *	arch/		page-table entries and TLBs of an architecture
 *	buffer		records wait here
 *	state		lock, attributes, memory of a session
 *	vaddr		mappings of a target, its mmap lock
 *	who/		the second sampler: hint faults
 *	cgroup		processes of a cgroup		kept	memory of members that is kept
 *	member		processes of a session	probes	fork, exec and exit as they happen
 *	task		threads of a target
 *	pure/		plain numbers, no kernel types
 */
#ifndef WSMON_INTERNAL_H
#define WSMON_INTERNAL_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/version.h>

#include "wsmon_types.h"

#if defined(CONFIG_X86_64)
#include "wsmon_x86.h"
#elif defined(CONFIG_ARM64)
#include "wsmon_arm64.h"
#else
#error "wsmon is for x86-64 and arm64"
#endif

struct pid_namespace;
struct seq_file;
struct wsmon_who_slot;

/*
 * Differences between kernel versions, 6.1 to 7.3. LINUX_VERSION_CODE is tested here only:
 * files are written for the newest kernel, and what older kernels lack is defined here.
 */

/* From 6.16 on sched_process_exit has an argument: is the whole group dead? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task, bool group_dead)
#else
#define wsmon_exit_probe(name)	\
	static void name(void *data, struct task_struct *task)
#endif

/* From 6.10 on there is a tracepoint in exec before it leaves the old mm. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define wsmon_check_prepare_exec(probe)	check_trace_callback_type_sched_prepare_exec(probe)
#else
#define wsmon_check_prepare_exec(probe)	((void)(probe))
#endif

/* wsmon_core.c: lock, attributes, memory of a session */
extern struct wsmon_monitor wsmon;
extern const struct wsmon_attrs wsmon_default_attrs;
extern bool wsmon_ready;
struct wsmon_monitor *wsmon_monitor_create(void);
void wsmon_monitor_free(struct wsmon_monitor *mon);
int wsmon_lock(struct wsmon_monitor *mon);
void wsmon_lock_anyway(struct wsmon_monitor *mon);
void wsmon_session_share_budget(struct wsmon_session *ss);
void wsmon_session_begin_pace(struct wsmon_session *ss);
void wsmon_session_count(int by);
bool wsmon_session_several(void);
void wsmon_lock_round(struct wsmon_monitor *mon);
bool wsmon_may_trace(void);
int wsmon_may_open(bool trace);
int wsmon_regions_alloc(struct wsmon_regions *rs);
void wsmon_regions_free(struct wsmon_regions *rs);
void wsmon_session_share(struct wsmon_session *ss, const struct wsmon_attrs *attrs, u32 share);

static inline u64 wsmon_sample_ns(const struct wsmon_session *ss)
{
	return ss->mon->attrs.sample_us * NSEC_PER_USEC;
}

/* A round may come this much too early */
static inline u64 wsmon_slack_ns(const struct wsmon_session *ss)
{
	return wsmon_sample_ns(ss) / 2;
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

/* wsmon_core.c: starting, stopping, attributes, kwsmond */
int wsmon_set_attrs(struct wsmon_monitor *mon, const char *text, size_t len);
int wsmon_set_targets(struct wsmon_monitor *mon, const struct wsmon_scope *scope);
int wsmon_set_ids(struct wsmon_monitor *mon, const u32 *ids, u32 nr, struct pid_namespace *ns);
int wsmon_set_mark(struct wsmon_monitor *mon, const char *text, size_t len);

/* wsmon_device.c: /dev/wsmon */
int wsmon_device_init(void);
void wsmon_device_exit(void);

/* wsmon_thread.c: kwsmond */
void wsmon_session_begin(struct wsmon_session *ss);
void wsmon_session_end(struct wsmon_session *ss, u32 reason);
int wsmon_session_thread(void *data);

/* wsmon_interval.c: a target's rounds */
struct wsmon_interval wsmon_interval_describe(const struct wsmon_session *ss, u64 begin_ns,
					      u64 now);
bool wsmon_target_round(struct wsmon_session *ss, struct wsmon_target *t, u64 now, bool boundary);
void wsmon_target_leave(struct wsmon_session *ss, struct wsmon_target *t);

/* wsmon_events.c: peaks and tracepoints, with wsmon.lock held */
void wsmon_events_interval(struct wsmon_session *ss, struct wsmon_target *t, u64 now);
void wsmon_events_restart(struct wsmon_session *ss, struct wsmon_target *t);
void wsmon_events_restart_all(struct wsmon_session *ss);
void wsmon_events_show(struct seq_file *m, const struct wsmon_peak *p, struct pid_namespace *ns);

/* wsmon_task.c: a target's threads */
struct pid *wsmon_task_resolve(struct pid *any);
struct pid **wsmon_pids_find(const u32 *ids, u32 nr, struct pid_namespace *ns);
void wsmon_pids_put(struct pid **pids, u32 nr);
struct mm_struct *wsmon_target_mm(struct wsmon_target *t, bool *changed);
/* So many major faults in an interval do not matter: from swap, each reads up to 8 pages, mostly */
#define WSMON_MAJORS_FEW	64

struct mm_struct *wsmon_member_mm(const struct wsmon_member *m, u64 *exec_id);
bool wsmon_pid_alive(struct pid *pid);
bool wsmon_member_slept(const struct wsmon_member *m, const struct mm_struct *mm, u64 *ran,
			u64 *majors, u64 *minors);
bool wsmon_member_mm_shared(const struct wsmon_member *m, const struct mm_struct *mm);
bool wsmon_member_belongs(const struct wsmon_member *m);
bool wsmon_target_alive(const struct wsmon_target *t);
bool wsmon_target_ran(struct wsmon_target *t, struct mm_struct *mm);
bool wsmon_target_reclaimed(struct wsmon_target *t);
void wsmon_member_cpus(const struct wsmon_member *m, struct mm_struct *mm, struct cpumask *cpus);

/* wsmon_member.c: fork, exec and exit as they happen */
int wsmon_probes_init(void);
void wsmon_probes_exit(void);

/* wsmon_member.c: the processes of a cgroup, and descendants that run already */
struct cgroup *wsmon_cgroup_get(const char *path, size_t len);
void wsmon_cgroup_put(struct cgroup *cgroup);
void wsmon_cgroup_begin(struct wsmon_session *ss, struct cgroup *cgroup);
void wsmon_cgroup_end(struct wsmon_session *ss);
bool wsmon_cgroup_exists(const struct wsmon_session *ss);
bool wsmon_cgroup_has(const struct wsmon_session *ss, struct task_struct *task);
int wsmon_members_scan(struct wsmon_session *ss);

/* wsmon_member.c: the members */
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
bool wsmon_members_have(const struct wsmon_session *ss, struct task_struct *task);
void wsmon_members_age(struct wsmon_session *ss, u64 before);

/* wsmon_mm.c: the memory of members that is kept */
u64 wsmon_member_born(const struct wsmon_member *m, const struct mm_struct *mm);
void wsmon_member_forget(struct wsmon_member *m, const struct mm_struct *which);
struct mm_struct *wsmon_member_look(struct wsmon_member *m);
void wsmon_kept_exit(void);

/* wsmon_look.c: new memory of a target */
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

/* who/wsmon_hintfault.c: the second sampler */
bool wsmon_who_possible(void);
int wsmon_who_begin(struct wsmon_session *ss);
void wsmon_who_end(struct wsmon_session *ss);
void wsmon_who_free(struct wsmon_session *ss);
void wsmon_who_round(struct wsmon_session *ss, u64 now);
void wsmon_who_leave(struct wsmon_session *ss);

/* A pass tries a busy mmap lock this many times at most, WSMON_LOCK_WAIT_US apart */
#define WSMON_LOCK_TRIES	40
#define WSMON_LOCK_WAIT_US	100

/* wsmon_mm.c: a target's mmap lock and mappings */
bool wsmon_mm_lock(struct mm_struct *mm, unsigned int *tries);
bool wsmon_mm_busy(const struct mm_struct *mm);
bool wsmon_mm_has_secondary(struct mm_struct *mm);
u64 wsmon_mm_anon(struct mm_struct *mm);
void wsmon_counts_read(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, u64 minors, const struct wsmon_wss *wss,
		       struct wsmon_counts *c);
u64 wsmon_mm_unseen_pages(struct mm_struct *mm);
bool wsmon_vma_usable(struct vm_area_struct *vma);
bool wsmon_vma_may_share_tables(const struct vm_area_struct *vma);
int wsmon_vaddr_read(struct wsmon_session *ss, struct wsmon_target *t, struct mm_struct *mm);
int wsmon_parts_grow(struct wsmon_parts *parts);
int wsmon_parts_take(struct wsmon_parts *parts, struct vm_area_struct *vma,
		     unsigned long addr, u32 class);
int wsmon_vaddr_read_parts(struct wsmon_session *ss, struct wsmon_parts *parts,
			   struct mm_struct *mm);
void wsmon_vaddr_adopt(struct wsmon_session *ss, struct wsmon_target *t, u64 now, u64 origin);
u64 wsmon_vaddr_stamp(const struct mm_struct *mm);
void wsmon_space_free(struct wsmon_space *sp);
void wsmon_space_clear(struct wsmon_space *sp);

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

/**
 * enum wsmon_place - in what entry a page was at a look, as far as its bit depends on it
 * @WSMON_PLACE_UNKNOWN: nobody could look
 * @WSMON_PLACE_NONE:	no page table has it: if it is found in a huge entry, a fault has made that
 * @WSMON_PLACE_OWN:	it has a place in a page table, mapped or not
 * @WSMON_PLACE_MADE:	it is in an entry such as the kernel makes of others, with the bit set: a
 *			huge one, or one of a page that KSM has merged
 */
enum wsmon_place {
	WSMON_PLACE_UNKNOWN,
	WSMON_PLACE_NONE,
	WSMON_PLACE_OWN,
	WSMON_PLACE_MADE,
};

/* wsmon_walk.c: the pass over the sample pages */
void wsmon_walk_pass(struct wsmon_session *ss, struct wsmon_target *t,
		     struct mm_struct *mm, enum wsmon_sample_op op, u64 now);
void wsmon_walk_visits(struct wsmon_session *ss, const struct wsmon_member *m,
		       struct mm_struct *mm, struct wsmon_visit *v, u32 nr, bool settle);

/* wsmon_accessed.c: the sampler */
int wsmon_young_init(void);
void wsmon_young_exit(void);

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

#endif /* WSMON_INTERNAL_H */
