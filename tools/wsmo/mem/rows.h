/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rows.h - what mappings add up to: by process, class and file
 */
#ifndef WSMO_MEM_ROWS_H
#define WSMO_MEM_ROWS_H

#include "smaps.h"

/* In struct rows.by: what has a row of its own */
#define BY_PROCESS	1
#define BY_CLASS	2
#define BY_FILE		4

/**
 * struct row - the sum over some mappings
 * @pid:	the process; 0 if rows are not by process
 * @comm:	its name
 * @class:	the class; WSMON_CLASS_ALL if rows are not by class
 * @path:	the file; NULL if rows are not by file
 * @processes:	how many have such a mapping
 * @last:	the last one
 * @sum:	enum mem_bytes, each process for itself
 * @once:	resident, each page once over all processes
 * @in_use:	accessed; each process for itself
 * @known:	@in_use is known
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
 * struct rows - rows; zeroed but for @by, there are none
 * @by:		BY_*; 0 is one row for all
 * @tree:	for tsearch()
 * @row:	@nr of them
 */
struct rows {
	unsigned int by;
	void *tree;
	struct row **row;
	size_t nr, room;
};

/** rows_get() - find the row of a mapping, or add it; exits if there is no memory */
struct row *rows_get(struct rows *rows, const struct mem_process *p, const struct mem_mapping *m);

/** rows_find() - find the row like another one; Return: NULL if there is none */
const struct row *rows_find(const struct rows *rows, const struct row *like);

/**
 * row_add() - add a mapping
 * @once:	what of it is resident and was not counted before
 */
void row_add(struct row *row, const struct mem_process *p, const struct mem_mapping *m, __u64 once);

/** row_bytes() - what a row holds of @what, each page once as far as it is known */
__u64 row_bytes(const struct row *row, enum mem_bytes what);

/** row_in_use() - what of it is in use: of several processes at most that */
__u64 row_in_use(const struct row *row);

/** rows_free() - free them */
void rows_free(struct rows *rows);

#endif /* WSMO_MEM_ROWS_H */
