/* SPDX-License-Identifier: GPL-2.0 */
/* procfs.h - reads /proc/PID: mappings, resident memory, names */
#ifndef WSMO_PROCFS_H
#define WSMO_PROCFS_H

#include <stdbool.h>
#include <stdio.h>

#include "libwsmon/wsmon_records.h"

/* Maximum bytes of a mapping's name: a path, " (deleted)", " +N" */
#define MAPS_NAME	(4096 + 64)

/* Bits of @prot in struct maps */
#define MAPS_READ	1
#define MAPS_WRITE	2
#define MAPS_EXEC	4
#define MAPS_SHARED	8

/**
 * struct maps - a walk through /proc/PID/maps in address order
 *
 * Areas come in the address order of maps, so one pass over maps names them all. All zero is a
 * valid start.
 */
struct maps {
	FILE *file;
	__u32 pid;
	char *line;
	size_t line_size;
	__u64 start, end;		/* the line's mapping; none if both are 0 */
	__u32 prot;			/* MAPS_*, as in struct wsmon_rec_mapping */
	__u64 offset;
	__u64 inode;
	const char *name;
};

/** maps_open() - start a walk before the process's first mapping */
void maps_open(struct maps *m, __u32 pid);

/** maps_next() - go to the next mapping. Return: false if there is none */
bool maps_next(struct maps *m);

/**
 * maps_name() - get the name of the mappings in an area
 * @m:		the walk
 * @area:	the area; index 0 restarts the walk
 * @name:	gets the name, MAPS_NAME bytes; of several mappings the name of the largest, and
 *		" +N" for N others; empty without a name
 */
void maps_name(struct maps *m, const struct wsmon_rec_area *area, char *name);

/**
 * maps_unescape() - copy a mapping's name; undo the escapes of newlines, the only escapes
 * @to: gets the name; as large as @from
 */
void maps_unescape(char *to, const char *from);

/** maps_close() - end the walk */
void maps_close(struct maps *m);

/**
 * proc_thread() - find a thread that still has the memory of its process
 *
 * Finds the main thread, unless it has exited and other threads live on. In that case maps, smaps
 * etc. are empty in /proc/PID, but not in /proc/TID.
 * Return: the thread; @pid if there is none
 */
__u32 proc_thread(__u32 pid);

/** proc_thread_state() - read a thread's state: 'R', 'S', ...; '?' if the thread is gone */
char proc_thread_state(__u32 pid, __u32 tid);

/** proc_comm() - get the name of a process or thread; empty if it is gone */
void proc_comm(__u32 pid, char comm[WSMON_COMM_LEN]);

/**
 * proc_pss() - read PSS, for which the kernel visits each page
 * Return: bytes, 0 if it cannot be read
 */
__u64 proc_pss(__u32 pid);

/**
 * proc_hugetlb() - read how much memory of hugetlbfs only this process maps
 * @shared: gets the bytes that other processes map, too
 * Return: bytes
 */
__u64 proc_hugetlb(__u32 pid, __u64 *shared);

/**
 * proc_memory() - fill in rss, swap and vsize of a record
 *
 * Unlike VmRSS, rss includes memory of hugetlbfs. If KSM merged a page, each mapping of it counts
 * as an equal part, an estimate; VmRSS counts each in full.
 * Return: 0, or -1 if the process is gone
 */
int proc_memory(__u32 pid, struct wsmon_rec_proc *rec);

#endif /* WSMO_PROCFS_H */
