/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * wsmon.h - the binary interface of wsmon
 *
 * The stream read from /dev/wsmon or debugfs wsmon/buffer, and the file written by
 * "wsmo record", are a struct wsmon_file_header followed by records. All fields are
 * little-endian and aligned; the size of each structure is a multiple of 8 bytes. A reader
 * skips header_size bytes, then moves from record to record by their sizes. It skips records
 * of unknown types, and ignores bytes after the last field it knows, in records and in the
 * header. A header or record of an older writer may end before fields that were added later:
 * a reader treats these fields as 0.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, unless the name ends in another unit: _us, _ms.
 * Addresses and sizes are bytes; end addresses are exclusive. Texts are NUL-terminated; a text
 * at the end of a record is NUL-padded. Reserved fields are 0. "pid" is a target's process id
 * (thread group id) in the pid namespace of the process that started the session, or 0 if
 * the target is not visible there.
 *
 * A list of names is a macro: LIST(X) expands to X(ID, "name") for each entry.
 */
#ifndef _UAPI_WSMON_H
#define _UAPI_WSMON_H

#include <linux/types.h>

#define WSMON_MAGIC		"WSMON\r\n\x1a"	/* 8 bytes, no terminating NUL */
#define WSMON_VERSION		2
#define WSMON_CLOCK_MONOTONIC	1
#define WSMON_COMM_LEN		16

/* Largest record, in bytes; a larger size field means a broken file. */
#define WSMON_RECORD_MAX	65536

/* The share 1.0: shares are fixed-point numbers. It is a power of two, so a half is exact. */
#define WSMON_SHARE_ONE		32768

/* The kind of mapping that a region belongs to: enum wsmon_class */
#define WSMON_CLASSES(X)								\
	X(ALL, "all")		/* in WSS records only: the whole target */		\
	X(TEXT, "text")		/* executable mappings (VM_EXEC) */			\
	X(DATA, "data")		/* private writable mappings of a file (.data, .bss) */	\
	X(HEAP, "heap")		/* the brk heap */					\
	X(STACK, "stack")	/* the main thread's stack */				\
	X(ANON, "anon")		/* other private anonymous memory */			\
	X(FILE, "file")		/* other mappings of files */				\
	X(SHMEM, "shmem")	/* tmpfs, memfd, SysV and shared anonymous memory */	\
	X(HUGETLB, "hugetlb")	/* hugetlbfs mappings */				\
	X(MIXED, "mixed")	/* mappings of different classes, coalesced because the	\
				 * target has too many mappings for max_regions		\
				 */

#define WSMON_CLASS_ENUM(id, name)	WSMON_CLASS_##id,
enum wsmon_class { WSMON_CLASSES(WSMON_CLASS_ENUM) WSMON_NR_CLASSES };

/*
 * Types of records, numbered from 1: enum wsmon_record_type. wsmo, not the module, writes the
 * types marked "wsmo": tools/libwsmon/wsmon_records.h describes them.
 */
#define WSMON_RECORDS(X)								\
	X(ATTRS, "attrs")	/* attributes in force from now on */			\
	X(TARGET, "target")	/* a target: at the start, after it executed a program,	\
				 * when a reader attaches, and when			\
				 * WSMON_TARGET_SECONDARY_MMU becomes set		\
				 */							\
	X(AREA, "area")		/* a mapping, or several coalesced. A change of the	\
				 * mappings sends the whole new set, 0 to total - 1	\
				 */							\
	X(SNAPSHOT, "snapshot")	/* the regions, each aggregation interval; several	\
				 * records if the regions do not fit into one		\
				 */							\
	X(WSS, "wss")		/* a working set size, each aggregation interval */	\
	X(PEAK, "peak")		/* an edge of a peak of the working set */		\
	X(STACK, "stack")	/* wsmo: a thread's call stack */			\
	X(MARK, "mark")		/* a moment the user marked */			\
	X(EXIT, "exit")		/* a target is gone */					\
	X(LOST, "lost")		/* records that did not fit into the buffer */		\
	X(STATS, "stats")	/* counters, the monitor's own cost */			\
	X(END, "end")		/* monitoring ended, nothing follows */			\
	X(PROC, "proc")		/* wsmo: sizes of a process: RSS, swap, ... */		\
	X(PACKED, "packed")	/* wsmo: a SNAPSHOT, compressed */			\
	X(ACT, "act")		/* wsmo: totals of a rule of "wsmo act" */		\
	X(MAPPING, "mapping")	/* wsmo: a new or changed line of /proc/PID/maps */	\
	X(GROUP, "group")	/* counts of members, each aggregation interval while	\
				 * the session has several				\
				 */							\
	X(TOTAL, "total")	/* a working set size of all members together, after	\
				 * each GROUP						\
				 */							\
	X(INDEX, "index")	/* wsmo: times of parts of the file; the last INDEX	\
				 * record ends the file					\
				 */							\
	X(WHO, "who")		/* with who_rate: a thread touched a page */		\
	X(ALLOC, "alloc")	/* wsmo: a sampled allocation, or its release */		\
	X(REFAULT, "refault")	/* wsmo: how long a refault took on this machine */

#define WSMON_REC_ENUM(id, name)	WSMON_REC_##id,
enum wsmon_record_type {
	WSMON_REC_NONE,
	WSMON_RECORDS(WSMON_REC_ENUM)
	WSMON_NR_RECORDS
};

/* The beginning of every record */
struct wsmon_record {
	__u32 type;		/* enum wsmon_record_type */
	/* bytes of the record, including this header: a multiple of 8, 16 to WSMON_RECORD_MAX */
	__u32 size;
	__u64 time_ns;		/* time of the event, or end of the aggregation interval */
};

/* struct wsmon_attrs.flags */
#define WSMON_ATTR_FLUSH_TLB	0x1	/* flush TLBs once a round */

/* struct wsmon_attrs.peak_detector: see Documentation/internals/design.rst */
#define WSMON_PEAK_DETECTORS(X)								\
	X(OFF, "off")		/* no PEAK records */					\
	X(SIGMA, "sigma")	/* peak: some standard deviations from the mean */	\
	X(FANO, "fano")		/* the method of valgrind-ws */

#define WSMON_PEAK_ENUM(id, name)	WSMON_PEAK_##id,
enum { WSMON_PEAK_DETECTORS(WSMON_PEAK_ENUM) WSMON_NR_PEAK_DETECTORS };

/* Max. number of windows */
#define WSMON_WINDOWS_MAX	8

/* Defaults of attributes; the window is as long as the aggregation interval */
#define WSMON_DEFAULT_SAMPLE_US		100000
#define WSMON_DEFAULT_AGGR_US		1000000
#define WSMON_DEFAULT_MIN_REGIONS	10
#define WSMON_DEFAULT_MAX_REGIONS	2000
#define WSMON_DEFAULT_CPU_PERMILLE	30

/* The monitoring attributes, as in debugfs wsmon/attrs */
struct wsmon_attrs {
	__u64 sample_us;	/* sampling interval */
	__u64 aggr_us;		/* aggregation interval: time between two estimates */
	__u64 update_us;	/* update interval: max. time between two readings of mappings */
	__u64 seed;		/* seed of the sample positions */
	__u32 min_regions;	/* min. regions of a target, if it has as many pages */
	__u32 max_regions;	/* max. regions of all targets together */
	__u32 flags;		/* WSMON_ATTR_* */
	__u32 nr_windows;	/* number of windows of the working set size */
	__u64 windows_us[WSMON_WINDOWS_MAX]; /* the windows, ascending; unused entries are 0 */
	/* max. CPU time of monitoring, in 1/1000 of one CPU; 1000: no limit */
	__u32 cpu_permille;
	__u32 peak_detector;	/* WSMON_PEAK_OFF, _SIGMA or _FANO */
	__u32 peak_window;	/* aggregation intervals of the moving mean */
	__u32 peak_gain;	/* gain of the threshold, in 1/1000 */
	__u32 peak_adapt;	/* weight in the mean of an estimate within a peak, in 1/1000 */
	__u32 follow;		/* 1: children of members become members; 0: they do not */
	/*
	 * max. pages a second that are made to fault at their next access, for WHO records;
	 * 0: none
	 */
	__u32 who_rate;
	/*
	 * target half-width of the confidence interval in the shortest window, in 1/1000 of the
	 * working set; 0: as narrow as max_regions and the CPU budget allow
	 */
	__u32 precision;
};

/* The beginning of a stream or file */
struct wsmon_file_header {
	__u8 magic[8];		/* WSMON_MAGIC */
	__u32 version;		/* WSMON_VERSION; a reader rejects any other */
	__u32 header_size;	/* bytes from the start of this structure to the first record */
	__u32 page_size;	/* bytes of a base page */
	__u32 clock_id;		/* WSMON_CLOCK_MONOTONIC */
	__u64 mono_ns;		/* when the stream was opened, by @clock_id */
	__u64 real_ns;		/* the same moment in nanoseconds since 1970 (CLOCK_REALTIME) */
	struct wsmon_attrs attrs; /* attributes at first; ATTRS records report changes */
};

/* WSMON_REC_ATTRS */
struct wsmon_rec_attrs {
	struct wsmon_record rec;
	struct wsmon_attrs attrs;
};

/* struct wsmon_rec_target.flags & WSMON_TARGET_REASON: the reason for the record */
#define WSMON_TARGET_REASON	0xff
#define WSMON_TARGET_START	0	/* monitoring of the target starts */
#define WSMON_TARGET_EXEC	1	/* the target executed a program: a new address space */
#define WSMON_TARGET_AGAIN	2	/* a reader attached, or SECONDARY_MMU became set */
/*
 * A flag beside the reason: a virtual machine (KVM) or a device accesses the target's memory
 * through page tables of its own, which sets no Accessed bits in the process's page tables.
 * Memory accessed only in this way is reported as idle. Once set, the flag stays until the
 * next EXEC.
 */
#define WSMON_TARGET_SECONDARY_MMU	0x100

/* WSMON_REC_TARGET */
struct wsmon_rec_target {
	struct wsmon_record rec;
	__u32 pid;
	__u32 flags;		/* WSMON_TARGET_* */
	char comm[WSMON_COMM_LEN]; /* name of the target's main thread */
};

/* WSMON_REC_AREA */
struct wsmon_rec_area {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;		/* enum wsmon_class */
	__u32 index;		/* number of this area, 0 to @total - 1, in address order */
	__u32 total;		/* areas in this set */
	__u64 start;
	__u64 end;
	__u64 mapped;		/* bytes mapped: less than @end - @start if the area has gaps */
	/* empty in the module's stream; wsmo appends the name from /proc/PID/maps */
	char path[];
};

/*
 * struct wsmon_region_entry.samples. A region of several pages has two halves, each with one
 * sample page. The upper half begins at the middle of the smallest cell (an aligned power of
 * two of pages) that contains the region. Bits 0 to 5 hold the position of the sample in the
 * lower half, bits 6 to 11 its position in the upper half: in 64ths of the half, rounded down.
 *
 * If neither VALID nor MISSED is set, either the region is one page, or @share has long been
 * near 0 or 1 and the samples of this interval agree with it.
 */
#define WSMON_SAMPLES_VALID		0x8000	/* positions and hits are valid */
#define WSMON_SAMPLES_MISSED		0x4000	/* not sampled: ignore all other bits */
#define WSMON_SAMPLES_UPPER_HIT		0x2000	/* the upper sample was accessed */
#define WSMON_SAMPLES_LOWER_HIT		0x1000	/* the lower sample was accessed */
#define WSMON_SAMPLES_UPPER_SHIFT	6	/* shift of the position in the upper half */
#define WSMON_SAMPLES_PLACES		64	/* positions in a half */

/* A region of a snapshot */
struct wsmon_region_entry {
	__u64 start;
	__u64 end;
	/*
	 * share of the region's pages accessed within an aggregation interval, averaged over
	 * the last intervals; WSMON_SHARE_ONE is all
	 */
	__u16 share;
	/*
	 * share of this interval's checks of samples that found an access since the previous
	 * round; WSMON_SHARE_ONE is all
	 */
	__u16 freq;
	__u16 class;		/* enum wsmon_class */
	/* WSMON_SAMPLES_*: positions of the samples, and whether they were accessed */
	__u16 samples;
	__u32 age_ms;		/* milliseconds since @share last changed much */
	__u32 area;		/* @index of the region's AREA record */
};

/* WSMON_REC_SNAPSHOT */
struct wsmon_rec_snapshot {
	struct wsmon_record rec;
	__u32 pid;
	__u32 nr;		/* entries in this record */
	__u32 first;		/* index of the first entry in the whole snapshot */
	__u32 total;		/* regions of the whole snapshot */
	__u64 interval_ns;	/* length of the aggregation interval that ended at time_ns */
	/*
	 * sampling rounds in the interval: fewer than interval_ns / sample_us if cpu_permille or
	 * a precision limits them, or if the target slept
	 */
	__u32 rounds;
	__u32 budget;		/* present max. regions of the target */
	struct wsmon_region_entry regions[]; /* in address order */
};

/* WSMON_REC_WSS */
struct wsmon_rec_wss {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;		/* enum wsmon_class */
	__u64 window_us;	/* the window */
	__u64 bytes;		/* estimate of the memory accessed within the window */
	__u64 low;		/* lower end of the 95 % confidence interval */
	__u64 high;		/* upper end */
	__u64 mapped;		/* bytes mapped of this class */
};

/*
 * WSMON_REC_GROUP: counts of the aggregation interval that ended at time_ns. Members are the
 * targets and, with attribute follow, all their descendants; or all processes of a cgroup. In
 * files, wsmo appends the path of the cgroup after the fields.
 */
struct wsmon_rec_group {
	struct wsmon_record rec;
	__u64 interval_ns;	/* length of the interval */
	__u32 members;		/* members at the end of the interval */
	__u32 came;		/* processes that became members in the interval */
	__u32 went;		/* members that ended or left, including processes of @came */
	__u32 missed;		/* programs that ended before their last accesses were read */
	__u32 regions;		/* regions of the group */
	__u32 visits;		/* pages looked at: each sample in one or more members */
};

/*
 * WSMON_REC_TOTAL: a working set size of all members together. A page that several members
 * accessed counts once. In files and shared memory, the file and the offset identify a page;
 * in anonymous memory, the page frame does.
 */
struct wsmon_rec_total {
	struct wsmon_record rec;
	__u32 class;		/* enum wsmon_class */
	__u32 reserved;
	__u64 window_us;	/* the window */
	__u64 bytes;		/* estimate of the memory accessed within the window */
	__u64 low;		/* lower end of the 95 % confidence interval */
	__u64 high;		/* upper end */
	__u64 mapped;		/* bytes mapped of this class; a shared page counts once */
};

/* struct wsmon_rec_peak.group: the memory whose working set has the peak */
#define WSMON_PEAK_GROUP_LIST(X)							\
	X(ALL, "all")		/* the whole target */					\
	X(TEXT, "text")		/* class text */					\
	X(REST, "rest")		/* all classes but text */

enum { WSMON_PEAK_GROUP_LIST(WSMON_PEAK_ENUM) WSMON_PEAK_GROUPS };

/* struct wsmon_rec_peak.edge */
#define WSMON_PEAK_START	0
#define WSMON_PEAK_END		1

/*
 * WSMON_REC_PEAK: the start or end of a peak. A peak is a period in which the working set size
 * is further from its moving mean than usual; see Documentation/internals/design.rst.
 */
struct wsmon_rec_peak {
	struct wsmon_record rec;
	__u32 pid;
	__u32 group;		/* WSMON_PEAK_ALL, _TEXT or _REST */
	__u32 edge;		/* WSMON_PEAK_START or _END */
	__s32 sign;		/* 1: the working set is larger than usual; -1: smaller */
	/* number of the peak, from 1 for each target, over all groups; the same at both edges */
	__u32 number;
	__u32 reserved;
	__u64 start_ns;		/* end of the first aggregation interval of the peak */
	__u64 end_ns;		/* end of the first interval after the peak; 0 at the start */
	__u64 window_us;	/* the shortest window: the window of @bytes */
	__u64 bytes;		/* the estimate at this edge */
	__u64 low;		/* lower end of the 95 % confidence interval of @bytes */
	__u64 high;		/* upper end */
	__u64 height;		/* the peak's estimate so far that is furthest from @baseline */
	__u64 baseline;		/* the moving mean before the peak */
	__u64 threshold;	/* min. distance from @baseline that makes a peak */
};

/* Max. bytes of a mark's text, including the NUL */
#define WSMON_MARK_TEXT		256

/* WSMON_REC_MARK: a moment the user marked */
struct wsmon_rec_mark {
	struct wsmon_record rec;
	__u32 number;		/* number of the mark in the session, from 1 */
	__u32 reserved;
	char text[];		/* the mark's name, as the user wrote it, NUL-padded */
};

/* WSMON_REC_EXIT */
struct wsmon_rec_exit {
	struct wsmon_record rec;
	__u32 pid;		/* the target that is gone */
	__u32 reserved;
};

/* WSMON_REC_LOST: records lost just before this record, because the buffer was full */
struct wsmon_rec_lost {
	struct wsmon_record rec;
	__u64 records;		/* number of lost records */
	__u64 bytes;		/* total size of the lost records */
};

/* WSMON_REC_STATS: counters since monitoring started, and the present state */
struct wsmon_rec_stats {
	struct wsmon_record rec;
	__u64 rounds;		/* sampling rounds */
	__u64 late_rounds;	/* rounds left out because an earlier round ended late */
	/* passes over a target's memory given up, and samples skipped, because a lock was busy */
	__u64 missed;
	__u64 checks;		/* sample pages checked */
	__u64 arms;		/* sample pages armed, at new positions */
	__u64 flushes;		/* TLB flushes */
	__u64 walk_ns;		/* time in page-table walks, including waits for the mmap lock */
	__u64 flush_ns;		/* time in TLB flushes */
	__u64 adapt_ns;		/* time in estimating, merging, splitting and reading mappings */
	__u64 emit_ns;		/* time in writing records */
	__u64 cpu_ns;		/* all CPU time of the kernel thread */
	__u64 max_hold_ns;	/* longest time a mmap lock was held */
	__u64 lost_records;	/* records that did not fit into the buffer */
	__u64 lost_bytes;	/* total size of the lost records */
	__u32 regions;		/* present number of regions */
	__u32 samples;		/* present number of sample pages */
	__u32 targets;		/* targets alive */
	/* present max. regions: max_regions, or fewer to keep within cpu_permille */
	__u32 budget;
	/* present sampling interval: sample_us, or longer to keep within cpu_permille */
	__u64 sample_ns;
	/* time other CPUs spent in TLB flushes; counts against the CPU budget like @cpu_ns */
	__u64 remote_ns;
	/* rounds that skipped a target, because it had not run since the previous round */
	__u64 idle_rounds;
	__u64 late_p50_ns;	/* delay of the rounds: upper bound of the median */
	__u64 late_p99_ns;	/* delay of the rounds: upper bound of the 99th percentile */
	__u64 late_max_ns;	/* delay of the rounds: maximum */
	/* time a mmap lock was held: upper bound of the 99th percentile */
	__u64 hold_p99_ns;
	/* processes monitored: see WSMON_REC_GROUP */
	__u64 members;
	__u64 unfollowed;	/* children that could not become members for lack of room */
	/* With who_rate: pages that were made to fault at their next access */
	__u64 who_armed;
	__u64 who_absent;	/* pages that would fault anyway: not mapped, or swapped out */
	__u64 who_seen;		/* pages of @who_armed and @who_absent that were touched */
	__u64 who_restored;	/* pages of @who_armed that were restored untouched */
	/*
	 * pages left alone: locked, hugetlbfs, device or userfaultfd memory, or because a lock
	 * was busy
	 */
	__u64 who_skipped;
	__u64 who_huge;		/* pages left alone because they are part of a huge page */
};

/* struct wsmon_rec_end.reason */
#define WSMON_END_REASONS(X)								\
	X(STOPPED, "stopped")			/* on request, or the module was unloaded */ \
	X(TARGETS_GONE, "targets gone")		/* every target is gone */		\
	X(ROTATED, "rotated")			/* wsmo: the next file continues the recording */

#define WSMON_END_ENUM(id, name)	WSMON_END_##id,
enum { WSMON_END_REASONS(WSMON_END_ENUM) WSMON_NR_END_REASONS };

/* WSMON_REC_END */
struct wsmon_rec_end {
	struct wsmon_record rec;
	__u32 reason;		/* WSMON_END_* */
	__u32 reserved;
};

/* Max. of attribute who_rate */
#define WSMON_WHO_RATE_MAX	10000

/* struct wsmon_rec_who.flags */
#define WSMON_WHO_WRITE		0x1	/* the access was a write; without it, a read */
#define WSMON_WHO_EXEC		0x2	/* the access was an instruction fetch */
#define WSMON_WHO_KERNEL	0x4	/* the kernel accessed, in a system call made at @ip */
/*
 * The page had no page-table entry. If it is anonymous, it was never touched, or was given back.
 * If it is of a file or of shared memory, it was not yet mapped, or no longer mapped.
 */
#define WSMON_WHO_NEW		0x8

/*
 * WSMON_REC_WHO: the first access to a sampled page after a random moment. The record is written
 * at most an aggregation interval after the access.
 */
struct wsmon_rec_who {
	struct wsmon_record rec;	/* @time_ns: time of the access */
	__u32 pid;
	__u32 tid;		/* the accessing thread, in the pid namespace of @pid */
	__u64 address;		/* the address accessed */
	__u64 ip;		/* address of the user-space instruction */
	__u64 bytes;		/* memory of the target that this page represents */
	__u64 waited_ns;	/* time from the random moment to the access */
	__u32 flags;		/* WSMON_WHO_* */
	__u32 cpu;		/* the CPU that ran the thread */
	/* NUMA node of the page before the access; -1 if unknown, as with WSMON_WHO_NEW */
	__s32 node;
	__s32 cpu_node;		/* NUMA node of @cpu */
	char comm[WSMON_COMM_LEN]; /* name of the thread */
};

#endif /* _UAPI_WSMON_H */
