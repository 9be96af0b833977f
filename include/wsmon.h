/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * wsmon.h - the binary interface of wsmon
 *
 * The stream read from debugfs wsmon/buffer, and the file written by "wsmo record", are a
 * struct wsmon_file_header followed by records. All fields are little-endian and aligned;
 * the size of a structure is a multiple of 8 bytes. A reader skips header_size bytes, then
 * goes from record to record by their size. It skips types it does not know, and ignores
 * bytes of a record or the header after the fields it knows.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Addresses and sizes are bytes.
 */
#ifndef _UAPI_WSMON_H
#define _UAPI_WSMON_H

#include <linux/types.h>

#define WSMON_MAGIC		"WSMON\r\n\x1a"	/* 8 bytes, no terminating NUL */
#define WSMON_VERSION		1
#define WSMON_CLOCK_MONOTONIC	1
#define WSMON_COMM_LEN		16

/* No record is larger than this; a larger size field means a broken file. */
#define WSMON_RECORD_MAX	65536

/* Shares are fixed point: this is 1.0, so that a half is exact. */
#define WSMON_SHARE_ONE		32768

/**
 * enum wsmon_class - what kind of mapping a region belongs to
 * @WSMON_CLASS_ALL:	in WSS records only: the whole target
 * @WSMON_CLASS_TEXT:	executable mappings (VM_EXEC)
 * @WSMON_CLASS_DATA:	private writable mappings of a file (.data, .bss)
 * @WSMON_CLASS_HEAP:	the brk heap
 * @WSMON_CLASS_STACK:	the main thread's stack
 * @WSMON_CLASS_ANON:	other private anonymous memory
 * @WSMON_CLASS_FILE:	other mappings of files
 * @WSMON_CLASS_SHMEM:	tmpfs, memfd, SysV and shared anonymous memory
 * @WSMON_CLASS_HUGETLB:	hugetlbfs mappings
 * @WSMON_CLASS_MIXED:	several mappings of different classes, coalesced
 *			because the target has too many of them for max_regions
 * @WSMON_NR_CLASSES:	number of classes
 */
enum wsmon_class {
	WSMON_CLASS_ALL,
	WSMON_CLASS_TEXT,
	WSMON_CLASS_DATA,
	WSMON_CLASS_HEAP,
	WSMON_CLASS_STACK,
	WSMON_CLASS_ANON,
	WSMON_CLASS_FILE,
	WSMON_CLASS_SHMEM,
	WSMON_CLASS_HUGETLB,
	WSMON_CLASS_MIXED,
	WSMON_NR_CLASSES
};

/**
 * enum wsmon_record_type - kinds of records
 * @WSMON_REC_ATTRS:	struct wsmon_rec_attrs: attributes in force from now on
 * @WSMON_REC_TARGET:	struct wsmon_rec_target: a target, at the start, after it
 *			executed a program, and again when a reader attaches or
 *			WSMON_TARGET_SECONDARY_MMU is set
 * @WSMON_REC_AREA:	struct wsmon_rec_area: a mapping, or several coalesced.
 *			When a target's mappings change the whole new set is
 *			sent, numbered 0 to total - 1
 * @WSMON_REC_SNAPSHOT:	struct wsmon_rec_snapshot: the regions, each aggregation
 *			interval; several records if they do not fit into one
 * @WSMON_REC_WSS:	struct wsmon_rec_wss: a working set size, each interval
 * @WSMON_REC_PEAK:	struct wsmon_rec_peak: an edge of a peak of the working set
 * @WSMON_REC_STACK:	struct wsmon_rec_stack: a thread's call stack, added by wsmo
 * @WSMON_REC_MARK:	struct wsmon_rec_mark: a moment the user marked
 * @WSMON_REC_EXIT:	struct wsmon_rec_exit: a target is gone
 * @WSMON_REC_LOST:	struct wsmon_rec_lost: records that did not fit
 * @WSMON_REC_STATS:	struct wsmon_rec_stats: counters, the monitor's own cost
 * @WSMON_REC_END:	struct wsmon_rec_end: monitoring ended, nothing follows
 * @WSMON_REC_PROC:	struct wsmon_rec_proc: RSS, swap and others, added by wsmo
 * @WSMON_REC_PACKED:	struct wsmon_rec_packed: a SNAPSHOT that wsmo compressed
 * @WSMON_REC_ACT:	struct wsmon_rec_act: what a rule did, added by wsmo
 * @WSMON_REC_MAPPING:	struct wsmon_rec_mapping: a line of /proc/PID/maps, added by
 *			wsmo; new ones when mappings changed
 */
enum wsmon_record_type {
	WSMON_REC_ATTRS = 1,
	WSMON_REC_TARGET = 2,
	WSMON_REC_AREA = 3,
	WSMON_REC_SNAPSHOT = 4,
	WSMON_REC_WSS = 5,
	WSMON_REC_PEAK = 6,
	WSMON_REC_STACK = 7,
	WSMON_REC_MARK = 8,
	WSMON_REC_EXIT = 9,
	WSMON_REC_LOST = 10,
	WSMON_REC_STATS = 11,
	WSMON_REC_END = 12,
	WSMON_REC_PROC = 13,
	WSMON_REC_PACKED = 14,
	WSMON_REC_ACT = 15,
	WSMON_REC_MAPPING = 16,
};

/**
 * struct wsmon_record - the beginning of every record
 * @type:	enum wsmon_record_type
 * @size:	bytes of the whole record, including this header; a multiple of 8,
 *		at least 16, at most WSMON_RECORD_MAX
 * @time_ns:	when it was made
 */
struct wsmon_record {
	__u32 type;
	__u32 size;
	__u64 time_ns;
};

/* In struct wsmon_attrs.flags */
#define WSMON_ATTR_FLUSH_TLB	0x1

/* In struct wsmon_attrs.peak_detector: see Documentation/internals/design.rst */
#define WSMON_PEAK_OFF		0	/* no PEAK records */
#define WSMON_PEAK_SIGMA	1	/* standard deviations from the mean */
#define WSMON_PEAK_FANO		2	/* as valgrind-ws does it */

/* Number of windows at most */
#define WSMON_WINDOWS_MAX	8

/**
 * struct wsmon_attrs - the monitoring attributes, as in debugfs wsmon/attrs
 * @sample_us:	sampling interval, microseconds
 * @aggr_us:	aggregation interval, microseconds: one snapshot and WSS each
 * @update_us:	update interval: mappings are read again, microseconds
 * @window_us:	the shortest window of the working set size, microseconds
 * @seed:	seed of the sample positions
 * @min_regions: regions of a target at least, if it has the pages
 * @max_regions: regions of all targets together at most
 * @flags:	WSMON_ATTR_*
 * @nr_windows:	number of windows; 0 in old files means 1
 * @longer_us:	the other windows, ascending, microseconds; the rest is 0. Not in
 *		old files, whose header and ATTRS records end before
 * @cpu_permille: CPU time the kernel thread may use, in 1/1000 of one CPU; 1000 is
 *		no limit. Not in old files
 * @peak_detector: WSMON_PEAK_OFF, _SIGMA or _FANO. 0 in old files, which have none
 *		of what follows
 * @peak_window: number of intervals of the moving mean
 * @peak_gain:	gain of the threshold, in 1/1000
 * @peak_adapt:	weight in the mean of estimates within a peak, in 1/1000
 * @reserved:	0
 */
struct wsmon_attrs {
	__u64 sample_us;
	__u64 aggr_us;
	__u64 update_us;
	__u64 window_us;
	__u64 seed;
	__u32 min_regions;
	__u32 max_regions;
	__u32 flags;
	__u32 nr_windows;
	__u64 longer_us[WSMON_WINDOWS_MAX - 1];
	__u32 cpu_permille;
	__u32 peak_detector;
	__u32 peak_window;
	__u32 peak_gain;
	__u32 peak_adapt;
	__u32 reserved;
};

/**
 * struct wsmon_file_header - the beginning of a stream or file
 * @magic:	WSMON_MAGIC
 * @version:	WSMON_VERSION; a reader rejects a greater one
 * @header_size: bytes from the start of this structure to the first record
 * @page_size:	bytes of a base page
 * @clock_id:	WSMON_CLOCK_MONOTONIC
 * @mono_ns:	when the stream was opened, on that clock
 * @real_ns:	the same moment in nanoseconds since 1970 (CLOCK_REALTIME)
 * @attrs:	the attributes at that moment; ATTRS records have later ones
 */
struct wsmon_file_header {
	__u8 magic[8];
	__u32 version;
	__u32 header_size;
	__u32 page_size;
	__u32 clock_id;
	__u64 mono_ns;
	__u64 real_ns;
	struct wsmon_attrs attrs;
};

/** struct wsmon_rec_attrs - WSMON_REC_ATTRS */
struct wsmon_rec_attrs {
	struct wsmon_record rec;
	struct wsmon_attrs attrs;
};

/* In struct wsmon_rec_target.flags & WSMON_TARGET_REASON: the reason for the record */
#define WSMON_TARGET_REASON	0xff
#define WSMON_TARGET_START	0	/* monitoring of it starts */
#define WSMON_TARGET_EXEC	1	/* it executed a program: a new address space */
#define WSMON_TARGET_AGAIN	2	/* repeated: a reader attached, or the flag
					 * below has been set
					 */
/*
 * In struct wsmon_rec_target.flags, beside the reason: a virtual machine (KVM) or a
 * device accesses the target's memory through page tables of its own, and leaves no trace
 * in the process's page tables. Memory that only it accesses is reported as idle. Once set
 * the flag stays until the next EXEC.
 */
#define WSMON_TARGET_SECONDARY_MMU	0x100

/**
 * struct wsmon_rec_target - WSMON_REC_TARGET
 * @pid:	process id (thread group id) in the pid namespace that started the
 *		session, as in all records; 0 if it is not visible there
 * @flags:	WSMON_TARGET_*
 * @comm:	name of its main thread, NUL-terminated
 */
struct wsmon_rec_target {
	struct wsmon_record rec;
	__u32 pid;
	__u32 flags;
	char comm[WSMON_COMM_LEN];
};

/**
 * struct wsmon_rec_area - WSMON_REC_AREA
 * @pid:	the target
 * @class:	enum wsmon_class
 * @index:	number of this area, 0 to @total - 1, in address order
 * @total:	areas in this set
 * @start:	first address
 * @end:	end, exclusive
 * @mapped:	bytes mapped in it: less than @end - @start if it has gaps
 * @path:	NUL-terminated, NUL-padded; empty in the kernel's stream: wsmo
 *		appends the mapping's name from /proc/PID/maps
 */
struct wsmon_rec_area {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;
	__u32 index;
	__u32 total;
	__u64 start;
	__u64 end;
	__u64 mapped;
	char path[];
};

/*
 * In struct wsmon_region_entry.samples. A region of several pages has two halves with a
 * sample page each. The upper half begins at the page, after the first one, whose number
 * is a multiple of the highest power of two. The position of a sample is in 64ths of its
 * half, rounded down. Neither TOLD nor MISSED is set if all samples have been alike for
 * long, including those of this interval, and for a region of one page.
 */
#define WSMON_SAMPLES_TOLD		0x8000
#define WSMON_SAMPLES_MISSED		0x4000	/* not sampled: no other bit means anything */
#define WSMON_SAMPLES_UPPER_HIT		0x2000	/* found accessed */
#define WSMON_SAMPLES_LOWER_HIT		0x1000
#define WSMON_SAMPLES_UPPER_SHIFT	6	/* position in the upper half */
#define WSMON_SAMPLES_PLACES		64

/**
 * struct wsmon_region_entry - a region of a snapshot
 * @start:	first address
 * @end:	end, exclusive
 * @share:	share of its pages accessed within an aggregation interval (Q15:
 *		WSMON_SHARE_ONE is all), averaged over the last ones
 * @freq:	share of the interval's sampling rounds that found its samples
 *		accessed (Q15)
 * @class:	enum wsmon_class
 * @samples:	position of the samples, and whether they were accessed in this interval:
 *		WSMON_SAMPLES_*. 0 in old files
 * @age_ms:	milliseconds since @share last changed much
 * @area:	index of the area it belongs to
 */
struct wsmon_region_entry {
	__u64 start;
	__u64 end;
	__u16 share;
	__u16 freq;
	__u16 class;
	__u16 samples;
	__u32 age_ms;
	__u32 area;
};

/**
 * struct wsmon_rec_snapshot - WSMON_REC_SNAPSHOT
 * @pid:	the target
 * @nr:		entries in this record
 * @first:	number of the first of them in the whole snapshot
 * @total:	regions of the whole snapshot
 * @interval_ns: length of the aggregation interval that ended at time_ns
 * @rounds:	sampling rounds in it: fewer than interval_ns / sample_us to keep
 *		within cpu_permille, or because the target slept
 * @budget:	regions the target may have at most for now; 0 in old files
 * @regions:	in address order
 */
struct wsmon_rec_snapshot {
	struct wsmon_record rec;
	__u32 pid;
	__u32 nr;
	__u32 first;
	__u32 total;
	__u64 interval_ns;
	__u32 rounds;
	__u32 budget;
	struct wsmon_region_entry regions[];
};

/**
 * struct wsmon_rec_wss - WSMON_REC_WSS
 * @pid:	the target
 * @class:	enum wsmon_class; WSMON_CLASS_ALL is the whole target
 * @tau_us:	the window, microseconds
 * @bytes:	estimate of the memory accessed within the window
 * @low:	lower end of its 95 % confidence interval
 * @high:	upper end
 * @mapped:	bytes mapped of this class
 */
struct wsmon_rec_wss {
	struct wsmon_record rec;
	__u32 pid;
	__u32 class;
	__u64 tau_us;
	__u64 bytes;
	__u64 low;
	__u64 high;
	__u64 mapped;
};

/* In struct wsmon_rec_peak.group: which working set size */
#define WSMON_PEAK_ALL		0	/* of the whole target */
#define WSMON_PEAK_TEXT		1	/* of its text */
#define WSMON_PEAK_REST		2	/* of everything but text */
#define WSMON_PEAK_GROUPS	3

/* In struct wsmon_rec_peak.edge */
#define WSMON_PEAK_START	0
#define WSMON_PEAK_END		1

/**
 * struct wsmon_rec_peak - WSMON_REC_PEAK: an edge of a peak
 *
 * A peak is a period in which the working set size of the shortest window is further from
 * its moving mean than usual; see Documentation/internals/design.rst.
 *
 * @pid:	the target
 * @group:	WSMON_PEAK_ALL, _TEXT or _REST
 * @edge:	WSMON_PEAK_START or _END
 * @sign:	1: the working set is larger than usual, -1: it is smaller
 * @number:	number of this peak among the target's peaks of all groups, from 1;
 *		the same at both edges
 * @reserved:	0
 * @start_ns:	end of the first aggregation interval of the peak
 * @end_ns:	end of the first interval after the peak; 0 at the start
 * @tau_us:	the window
 * @bytes:	the estimate at this edge
 * @low:	lower end of its 95 % interval
 * @high:	upper end
 * @height:	the estimate in the peak so far that is furthest from @baseline
 * @baseline:	the moving mean before the peak
 * @threshold:	distance from the mean beyond which it was a peak
 */
struct wsmon_rec_peak {
	struct wsmon_record rec;
	__u32 pid;
	__u32 group;
	__u32 edge;
	__s32 sign;
	__u32 number;
	__u32 reserved;
	__u64 start_ns;
	__u64 end_ns;
	__u64 tau_us;
	__u64 bytes;
	__u64 low;
	__u64 high;
	__u64 height;
	__u64 baseline;
	__u64 threshold;
};

/* In struct wsmon_rec_stack.reason: the reason for the stack */
#define WSMON_STACK_PEAK	0	/* peak @number began */
#define WSMON_STACK_MARK	1	/* mark @number was set */

/* Frames of a stack at most */
#define WSMON_STACK_FRAMES	256

/* In struct wsmon_rec_stack.flags */
#define WSMON_STACK_CUT		0x1	/* there were more frames, or the rest
					 * could not be unwound
					 */

/**
 * struct wsmon_rec_stack - WSMON_REC_STACK: a thread's call stack
 *
 * The target's MAPPING records say what is at the addresses.
 *
 * @pid:	the target
 * @tid:	the thread, in the same pid namespace
 * @reason:	WSMON_STACK_*
 * @number:	number of the peak or mark
 * @stopped_ns:	how long the thread was stopped
 * @flags:	WSMON_STACK_CUT
 * @error:	errno if it could not be taken; there are no frames then
 * @nr:		frames
 * @threads:	threads of the target at that moment; there may be records for
 *		fewer of them
 * @comm:	name of the thread, NUL-terminated
 * @pc:		innermost first: of the first frame (and of signal frames) the
 *		next instruction, of the others the return address less one
 */
struct wsmon_rec_stack {
	struct wsmon_record rec;
	__u32 pid;
	__u32 tid;
	__u32 reason;
	__u32 number;
	__u64 stopped_ns;
	__u32 flags;
	__u32 error;
	__u32 nr;
	__u32 threads;
	char comm[WSMON_COMM_LEN];
	__u64 pc[];
};

/* Bytes of a mark's text at most, including the NUL */
#define WSMON_MARK_TEXT		256

/**
 * struct wsmon_rec_mark - WSMON_REC_MARK: a moment the user marked
 * @number:	number of this mark in its session, from 1
 * @reserved:	0
 * @text:	the user's name for it: UTF-8, NUL-terminated, NUL-padded
 */
struct wsmon_rec_mark {
	struct wsmon_record rec;
	__u32 number;
	__u32 reserved;
	char text[];
};

/* Bytes of a build ID at most */
#define WSMON_BUILD_ID		32

/**
 * struct wsmon_rec_mapping - WSMON_REC_MAPPING: a line of /proc/PID/maps
 *
 * A new one replaces older ones in its range. A TARGET record other than
 * WSMON_TARGET_AGAIN voids all of the target.
 *
 * @pid:	the target
 * @prot:	PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4; 8 if it is shared
 * @start:	first address
 * @end:	end, exclusive
 * @offset:	in the file
 * @inode:	of the file, 0 if it has none
 * @build_id:	of the ELF file
 * @build_id_len: how much of that is valid; 0 if it has none, or is none
 * @tid:	the thread whose stack it is, 0 if it is none
 * @path:	NUL-terminated, NUL-padded: as in /proc/PID/maps, without octal
 *		escapes
 */
struct wsmon_rec_mapping {
	struct wsmon_record rec;
	__u32 pid;
	__u32 prot;
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 inode;
	__u8 build_id[WSMON_BUILD_ID];
	__u32 build_id_len;
	__u32 tid;
	char path[];
};

/**
 * struct wsmon_rec_exit - WSMON_REC_EXIT
 * @pid:	the target that is gone
 * @reserved:	0
 */
struct wsmon_rec_exit {
	struct wsmon_record rec;
	__u32 pid;
	__u32 reserved;
};

/**
 * struct wsmon_rec_lost - WSMON_REC_LOST: records lost just before this one
 * @records:	their number
 * @bytes:	their size together
 */
struct wsmon_rec_lost {
	struct wsmon_record rec;
	__u64 records;
	__u64 bytes;
};

/**
 * struct wsmon_rec_stats - WSMON_REC_STATS: since monitoring started
 * @rounds:	sampling rounds
 * @late_rounds: rounds left out because an earlier one ended late
 * @missed:	passes over a target that ended early because its mmap lock was busy
 * @checks:	sample pages checked
 * @arms:	sample pages armed, at new positions
 * @flushes:	TLB flushes
 * @walk_ns:	time in page-table walks, waiting for the lock included
 * @flush_ns:	time in flushing
 * @adapt_ns:	time in estimating, merging, splitting and reading mappings
 * @emit_ns:	time in writing records
 * @cpu_ns:	CPU time of the kernel thread, all of it
 * @max_hold_ns: longest time the mmap lock was held
 * @lost_records: records that did not fit into the buffer
 * @lost_bytes:	their size together
 * @regions:	regions now
 * @samples:	sample pages now
 * @targets:	targets alive
 * @budget:	regions there may be at most for now: max_regions, or less to keep
 *		within cpu_permille. What follows is not in old files
 * @sample_ns:	sampling interval for now, as @budget
 * @remote_ns:	time other CPUs spent in flushing; part of the CPU budget, as @cpu_ns is
 * @idle_rounds: rounds of a target left out because it had not run since the last
 * @late_p50_ns: upper bound of the delay of half of the rounds
 * @late_p99_ns: upper bound of the delay of 99 % of the rounds
 * @late_max_ns: longest delay of a round
 * @hold_p99_ns: upper bound of the time the mmap lock was held, in 99 % of cases
 */
struct wsmon_rec_stats {
	struct wsmon_record rec;
	__u64 rounds;
	__u64 late_rounds;
	__u64 missed;
	__u64 checks;
	__u64 arms;
	__u64 flushes;
	__u64 walk_ns;
	__u64 flush_ns;
	__u64 adapt_ns;
	__u64 emit_ns;
	__u64 cpu_ns;
	__u64 max_hold_ns;
	__u64 lost_records;
	__u64 lost_bytes;
	__u32 regions;
	__u32 samples;
	__u32 targets;
	__u32 budget;
	__u64 sample_ns;
	__u64 remote_ns;
	__u64 idle_rounds;
	__u64 late_p50_ns;
	__u64 late_p99_ns;
	__u64 late_max_ns;
	__u64 hold_p99_ns;
};

/* In struct wsmon_rec_end.reason */
#define WSMON_END_STOPPED	0	/* on request, or the module was unloaded */
#define WSMON_END_TARGETS_GONE	1	/* every target is gone */

/**
 * struct wsmon_rec_end - WSMON_REC_END
 * @reason:	WSMON_END_*
 * @reserved:	0
 */
struct wsmon_rec_end {
	struct wsmon_record rec;
	__u32 reason;
	__u32 reserved;
};

/**
 * struct wsmon_rec_proc - WSMON_REC_PROC: from /proc/PID, about once a second
 * @pid:	the target
 * @reserved:	0
 * @rss:	resident bytes (VmRSS)
 * @swap:	bytes swapped out (VmSwap)
 * @vsize:	mapped bytes (VmSize)
 * @pss:	proportional share (Pss of smaps_rollup): each page is divided by the
 *		number of processes that map it. Read less often, as it costs more;
 *		0 if not read. Not in old files
 */
struct wsmon_rec_proc {
	struct wsmon_record rec;
	__u32 pid;
	__u32 reserved;
	__u64 rss;
	__u64 swap;
	__u64 vsize;
	__u64 pss;
};

/* In struct wsmon_rec_act.flags */
#define WSMON_ACT_DRY_RUN	0x1	/* nothing was done */
#define WSMON_ACT_PAUSED	0x2	/* reclaim was pausing at that moment */

/* Number of different errors that are counted */
#define WSMON_ACT_ERRORS	6

/**
 * struct wsmon_rec_act - WSMON_REC_ACT: what a rule of "wsmo act" did since it began
 *
 * About once a second, one for each rule.
 *
 * @rule:	number of the rule, 0 to @nr_rules - 1
 * @nr_rules:	rules of the scheme
 * @action:	0 stat, 1 pageout, 2 cold, 3 willneed, 4 hugepage, 5 nohugepage
 * @flags:	WSMON_ACT_*
 * @tried:	ranges of memory it was applied to
 * @applied:	those of @tried where it had an effect
 * @tried_bytes: memory it could have an effect on
 * @applied_bytes: memory it had an effect on
 * @refaulted_bytes: memory of @applied_bytes that was paged out and came back
 * @skipped_bytes: memory left alone: of other classes, locked, or without swap
 * @gone_bytes:	memory unmapped before the action
 * @shadowed_bytes: memory that fits the rule, but which an earlier rule takes
 * @cpu_ns:	CPU time it took
 * @error:	errno values of failed actions; 0 after the last one. If all are used,
 *		the last one stands for all further ones
 * @failed:	number of failures with each
 * @text:	the rule, NUL-terminated, NUL-padded
 */
struct wsmon_rec_act {
	struct wsmon_record rec;
	__u32 rule;
	__u32 nr_rules;
	__u32 action;
	__u32 flags;
	__u64 tried;
	__u64 applied;
	__u64 tried_bytes;
	__u64 applied_bytes;
	__u64 refaulted_bytes;
	__u64 skipped_bytes;
	__u64 gone_bytes;
	__u64 shadowed_bytes;
	__u64 cpu_ns;
	__u32 error[WSMON_ACT_ERRORS];
	__u32 failed[WSMON_ACT_ERRORS];
	char text[];
};

/**
 * struct wsmon_rec_packed - WSMON_REC_PACKED: one SNAPSHOT record, packed
 * @pid:	the target
 * @bytes:	bytes of @data; zeroes follow to a multiple of 8
 * @data:	a zstd frame. It contains the SNAPSHOT record, at most
 *		WSMON_RECORD_MAX bytes, with the bytes of its regions transposed;
 *		see Documentation/reference/abi.rst
 */
struct wsmon_rec_packed {
	struct wsmon_record rec;
	__u32 pid;
	__u32 bytes;
	__u8 data[];
};

#endif /* _UAPI_WSMON_H */
