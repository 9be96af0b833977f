/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mem.h - "wsmo mem": what processes have mapped, what of it is resident, what in use
 */
#ifndef WSMO_MEM_H
#define WSMO_MEM_H

#include "cli/table.h"
#include "frames.h"
#include "inuse.h"
#include "libwsmon/filter.h"
#include "report/plot.h"
#include "rows.h"

/* --by without --by: three tables, for people */
#define BY_DEFAULT	0

/* Order of rows, as the words of --sort */
enum mem_sort {
	SORT_RESIDENT, SORT_VIRTUAL, SORT_PRIVATE, SORT_SHARED, SORT_SWAP, SORT_HUGE,
	SORT_IN_USE, SORT_IDLE,
};

/* The tables without --by, and the sum of everything */
enum { MEM_CLASSES, MEM_FILES, MEM_PROCESSES, MEM_TOTAL, MEM_TEXT, MEM_NR_TABLES };

/**
 * struct mem - the command line, and what was read
 * @root:	another directory than /, for its proc
 * @pids:	processes wanted; after mem_select() all of them, ascending
 * @named:	they were named by -p
 * @cgroup:	only processes of it
 * @input:	a recording for "in use"
 * @live:	or the session that runs
 * @classes:	bit n: class n is wanted; 0 means all
 * @filter:	a part of the path or name; NULL means all
 * @by:		BY_*
 * @sort:	order of rows
 * @top:	rows of a table; 0 is all
 * @format:	format of tables
 * @picture:	its file is NULL for none
 * @pages:	dump pages; @frames: each by itself, with its frame
 * @growth_ns:	watch for this long how rows grow
 * @seen:	the frames
 * @use:	what is in use
 * @now:	what is known of the process being read
 * @table:	sums; those without MEM_TOTAL that are not printed stay empty
 * @once:	some table needs each page once
 * @read:	processes that have memory
 * @denied:	processes that may not be read
 * @ended:	processes that ended after they were listed, or recorded
 * @told:	messages about processes were printed
 * @failed:	some process that was named could not be read
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

/** mem_wants() - is a mapping wanted, as --class and --filter say? */
bool mem_wants(const struct mem *mem, const struct mem_process *p, const struct mem_mapping *m);

/**
 * mem_read() - read all processes that are wanted
 * @each:	gets each mapping, wanted or not; its first argument is @mem
 */
void mem_read(struct mem *mem, void (*each)(void *to, const struct mem_process *p,
					    const struct mem_mapping *m));

/** mem_print() - print the tables */
void mem_print(struct mem *mem);

/** mem_sort() - sort rows as --sort says */
void mem_sort(const struct mem *mem, struct rows *rows);

/** mem_path() - what to call a row's file; "[anon]" if it is none */
const char *mem_path(const char *path);

/** mem_draw() - draw rows; Return: 0, or -1 after a message */
int mem_draw(const struct mem *mem, struct rows *rows);

/** mem_pages() - dump pages; Return: exit status */
int mem_pages(struct mem *mem);

/** mem_growth() - watch growth; Return: exit status */
int mem_growth(struct mem *mem);

#endif /* WSMO_MEM_H */
