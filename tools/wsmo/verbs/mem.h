/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mem.h - "wsmo mem": memory of processes that is mapped, resident, and in use
 *
 * mem.c has the options, sums and tables. mem_process.c reads processes and the memory in use.
 * mem_pages.c looks at each page.
 */
#ifndef WSMO_MEM_H
#define WSMO_MEM_H

#include <stdbool.h>

#include "core/table.h"
#include "libwsmon/filter.h"
#include "libwsmon/hot.h"
#include "views/plot.h"
#include "wsmon.h"

/* Kinds of bytes of a mapping */
enum mem_bytes {
	MEM_VIRTUAL,	/* mapped */
	MEM_RESIDENT,	/* in RAM: Rss, plus hugetlbfs pages, which Rss leaves out */
	MEM_PSS,	/* each page divided by the number of its mappings */
	MEM_PRIVATE,	/* in RAM, mapped once */
	MEM_SHARED,	/* in RAM, mapped several times */
	MEM_SWAP,	/* in swap */
	MEM_SWAP_PSS,	/* in swap, divided as MEM_PSS */
	MEM_HUGE,	/* in RAM, mapped by huge pages */
	MEM_COPIED,	/* in RAM: private copies of pages of the mapped file */
	MEM_NR_BYTES,
};

/**
 * struct mem_process - the process being read
 * @pid:	its process id
 * @parent:	its parent; 0: unknown
 * @start:	when it began, in clock ticks since boot
 * @comm:	its name
 * @dir:	descriptor of its directory in /proc
 */
struct mem_process {
	__u32 pid;
	__u32 parent;
	__u64 start;
	char comm[WSMON_COMM_LEN];
	int dir;
};

/**
 * struct mem_mapping - a line of /proc/PID/maps
 * @start:	first address
 * @end:	end, exclusive
 * @class:	enum wsmon_class, as in recordings
 * @path:	mapped file, for .bss the file of the .data before it; "" for anonymous memory
 * @bytes:	bytes by enum mem_bytes
 */
struct mem_mapping {
	__u64 start;
	__u64 end;
	__u32 class;
	const char *path;
	__u64 bytes[MEM_NR_BYTES];
};

/**
 * smaps_open() - open the directory of a process
 * @root:	"", or the directory of another /proc
 * Return: 0, or -errno: -ESRCH if it is gone
 */
int smaps_open(struct mem_process *p, const char *root, __u32 pid);

/** smaps_file() - open a file in the process's directory. Return: fd; -1 with errno set */
int smaps_file(const struct mem_process *p, const char *name);

/**
 * smaps_read() - read the mappings of a process
 * @each:	gets each mapping
 * Return: number of mappings, 0 for a zombie or a kernel thread, or -errno
 */
int smaps_read(const struct mem_process *p,
		 void (*each)(void *to, const struct mem_process *p, const struct mem_mapping *m),
		 void *to);

/** smaps_close() - close the process's directory */
void smaps_close(struct mem_process *p);

/** smaps_done() - forget the file systems seen */
void smaps_done(void);

/* An entry of /proc/PID/pagemap */
#define PAGEMAP_PRESENT		(1ULL << 63)
#define PAGEMAP_SWAP		(1ULL << 62)
#define PAGEMAP_FILE		(1ULL << 61)	/* file or shared anonymous memory */
#define PAGEMAP_EXCLUSIVE	(1ULL << 56)	/* mapped once */
#define PAGEMAP_FRAME		((1ULL << 55) - 1)

/**
 * struct frames - page frames seen so far; all zero is a valid start
 * @known:	the kernel shows us frame numbers
 * @bits:	bit n: frame n was seen
 * @size:	bytes mapped at @bits
 * @absent:	bytes of absent pages whose entries were read, up to a maximum
 * @pid:	the last process; 0: none yet
 * @pagemap:	pagemap of @pid, or NULL
 */
struct frames {
	bool known;
	unsigned char *bits;
	size_t size;
	__u64 absent;
	__u32 pid;
	struct patient *pagemap;
};

/** frames_begin() - find out whether the kernel shows frames; mark zero pages as seen */
void frames_begin(struct frames *f);

/**
 * frames_once() - count the resident pages of a mapping that were not seen before
 * Return: bytes; the proportional share if frames are unknown
 */
__u64 frames_once(struct frames *f, const struct mem_process *p, const struct mem_mapping *m);

/** frames_free() - free the bits */
void frames_free(struct frames *f);

/**
 * struct in_use - memory in use, from a recording or a session; all zero is empty
 * @hot:	accesses by address
 * @targets:	struct in_use_target
 * @cgroup:	path of the recorded cgroup; empty without
 * @total:	by class: sum over the intervals of the group's working set
 * @totals:	number of working sets added to @total
 * @window_us:	window of @total: the shortest window
 * @intervals:	number of aggregation intervals that ended
 * @last_ns:	time of the last record
 */
struct in_use {
	struct hot hot;
	struct sorted targets;
	char cgroup[4096];
	double total[WSMON_NR_CLASSES];
	__u64 totals[WSMON_NR_CLASSES];
	__u64 window_us;
	__u64 intervals;
	__u64 last_ns;
};

/** struct in_use_target - a process of the recording */
struct in_use_target {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
};

/** in_use_read() - read a recording. Return: 0, or -1 after a message */
int in_use_read(struct in_use *u, const char *file);

/** in_use_live() - watch the session that began last. Return: 0, or -1 after a message */
int in_use_live(struct in_use *u);

/**
 * in_use_same() - tell whether a process is the watched process; print a message if another process
 * reuses the pid
 */
bool in_use_same(const struct in_use *u, const struct mem_process *p);

/** in_use_find() - find a process by its pid. Return: NULL if it was not watched */
const struct hot_target *in_use_find(const struct in_use *u, __u32 pid);

/** in_use_range() - get the bytes of a range that are in use */
double in_use_range(const struct hot_target *t, __u64 start, __u64 end);

/** in_use_free() - free everything */
void in_use_free(struct in_use *u);

/* struct rows.by: each process, class or file has a row of its own */
#define BY_PROCESS	1
#define BY_CLASS	2
#define BY_FILE		4

/**
 * struct row - the sum over some mappings
 * @pid:	the process; 0 if rows are not by process
 * @comm:	its name
 * @class:	the class; WSMON_CLASS_ALL if rows are not by class
 * @path:	the file; NULL if rows are not by file
 * @processes:	number of processes with such a mapping
 * @last:	the last process with such a mapping
 * @sum:	bytes by enum mem_bytes; a page counts once for each process
 * @once:	resident bytes; a page counts once
 * @in_use:	accessed bytes; a page counts once for each process
 * @known:	@in_use is valid
 */
struct row {
	__u32 pid;
	char comm[WSMON_COMM_LEN];
	__u32 class;
	char *path;
	__u64 processes;
	__u32 last;
	__u64 sum[MEM_NR_BYTES];
	__u64 once;
	double in_use;
	bool known;
};

/**
 * struct rows - a set of rows; all zero but @by is empty
 * @by:		BY_*; 0: one row for all memory
 * @tree:	tree of tsearch() to find rows
 * @row:	@nr rows
 */
struct rows {
	unsigned int by;
	void *tree;
	struct row **row;
	size_t nr;
};

/* struct mem.by without --by: three tables for people */
#define BY_DEFAULT	0

/* Orders of rows, in the order of the words of --sort */
enum mem_sort {
	SORT_RESIDENT, SORT_VIRTUAL, SORT_PRIVATE, SORT_SHARED, SORT_SWAP, SORT_HUGE,
	SORT_IN_USE, SORT_IDLE,
};

/* The tables printed without --by, the sum of all memory, and the table of copied text */
enum { MEM_CLASSES, MEM_FILES, MEM_PROCESSES, MEM_TOTAL, MEM_TEXT, MEM_NR_TABLES };

/**
 * struct mem - the command line, and the memory read
 * @root:	directory that has another proc; "" for /proc
 * @pids:	wanted processes, ascending
 * @named:	-p named the processes
 * @cgroup:	only processes of this cgroup; or NULL
 * @input:	recording for "in use"
 * @live:	take "in use" from the running session
 * @classes:	wanted classes: bit n is class n; 0 means all
 * @filter:	only paths or names with this text; NULL means all
 * @by:		BY_*
 * @sort:	order of rows
 * @top:	maximum number of rows of a table; 0: all
 * @format:	format of tables
 * @picture:	the picture; file is NULL without
 * @pages:	dump pages; with @frames, one page a line with its frame
 * @growth_ns:	how long to watch the growth of rows; 0: do not
 * @seen:	page frames counted so far
 * @use:	memory in use
 * @now:	memory in use by the process being read; NULL: unknown
 * @table:	sums; only MEM_TOTAL and tables to be printed are filled
 * @once:	a table counts each page once
 * @read:	number of processes with memory
 * @denied:	number of processes that may not be read
 * @ended:	number of processes that ended after they were listed or recorded
 * @told:	messages about processes were printed
 * @failed:	a process named by -p could not be read
 */
struct mem {
	const char *root;
	struct pids pids;
	bool named;
	char *cgroup;
	const char *input;
	bool live;
	__u32 classes;
	const char *filter;
	unsigned int by;
	enum mem_sort sort;
	__u64 top;
	enum table_format format;
	struct picture picture;
	bool pages, frames;
	__u64 growth_ns;
	struct frames seen;
	struct in_use use;
	const struct hot_target *now;
	struct rows table[MEM_NR_TABLES];
	bool once;
	__u64 read, denied, ended;
	bool told;
	bool failed;
};

/** mem_wants() - tell whether --class and --filter want a mapping */
bool mem_wants(const struct mem *mem, const struct mem_process *p, const struct mem_mapping *m);

/**
 * mem_read() - read all wanted processes
 * @each:	called with @mem for each mapping, wanted or not
 */
void mem_read(struct mem *mem, void (*each)(void *to, const struct mem_process *p,
					    const struct mem_mapping *m));

/** mem_pages() - dump pages. Return: exit status */
int mem_pages(struct mem *mem);

#endif /* WSMO_MEM_H */
