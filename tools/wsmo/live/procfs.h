/* SPDX-License-Identifier: GPL-2.0 */
/*
 * procfs.h - reads /proc/PID: mappings, resident memory, names
 */
#ifndef WSMO_PROCFS_H
#define WSMO_PROCFS_H

#include <stdbool.h>
#include <stdio.h>

#include "libwsmon/wsmon_records.h"

/* Max. bytes of a mapping's name: a path, " (deleted)", " +N" */
#define MAPS_NAME	(4096 + 64)

/* Bits of @prot in struct maps */
#define MAPS_READ	1
#define MAPS_WRITE	2
#define MAPS_EXEC	4
#define MAPS_SHARED	8

/**
 * struct maps - a walk through /proc/PID/maps in address order
 *
 * Areas come in address order, as the lines of maps do: one pass over the file names
 * them all. All zero is a valid start.
 */
struct maps {
	FILE *file;
	__u32 pid;
	char *line;
	size_t line_size;
	__u64 start, end;		/* the line's mapping, none if both 0 */
	__u32 prot;			/* MAPS_*, as in struct wsmon_rec_mapping */
	__u64 offset;
	__u64 inode;
	const char *name;
};

/** maps_open() - start a walk, before the process's first mapping */
void maps_open(struct maps *m, __u32 pid);

/** maps_next() - go to the next mapping; Return: whether there is one */
bool maps_next(struct maps *m);

/**
 * maps_name() - name what is mapped in an area
 * @m:		the walk
 * @area:	the area; one with index 0 restarts the walk
 * @name:	result, MAPS_NAME bytes: the name of the mapping; of several, the
 *		largest one's and " +N" for N others; empty if it has none
 */
void maps_name(struct maps *m, const struct wsmon_rec_area *area, char *name);

/**
 * maps_unescape() - copy a mapping's name, of which maps escapes nothing but newlines
 * @to: room for as many bytes
 */
void maps_unescape(char *to, const char *from);

/** maps_close() - end the walk */
void maps_close(struct maps *m);

/**
 * proc_thread() - find a thread of a process that has its memory
 *
 * That is the main thread, unless it has exited and others live on. Files of memory in
 * /proc/PID are empty then, and those of /proc/TID are not.
 * Return: the thread; @pid if there is none
 */
__u32 proc_thread(__u32 pid);

/** proc_thread_state() - read a thread's state: 'R', 'S', ...; '?' if the thread is gone */
char proc_thread_state(__u32 pid, __u32 tid);

/** proc_comm() - copy the name of a process or thread; empty if that is gone */
void proc_comm(__u32 pid, char comm[WSMON_COMM_LEN]);

/**
 * proc_pss() - read PSS; the kernel visits each page for it
 * Return: bytes, 0 if it cannot be read
 */
__u64 proc_pss(__u32 pid);

/**
 * proc_hugetlb() - read how much memory of hugetlbfs a process has alone
 * @shared: gets the bytes that others map, too
 * Return: bytes
 */
__u64 proc_hugetlb(__u32 pid, __u64 *shared);

/**
 * proc_memory() - fill in a record's rss, swap and vsize
 *
 * Unlike VmRSS, rss includes memory of hugetlbfs, and counts each page that KSM merged once.
 * Return: 0, or -1 if the process is gone
 */
int proc_memory(__u32 pid, struct wsmon_rec_proc *rec);

#endif /* WSMO_PROCFS_H */
