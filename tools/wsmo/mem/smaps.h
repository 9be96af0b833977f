/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smaps.h - a process's mappings, and how much of each is resident: /proc/PID/smaps
 */
#ifndef WSMO_MEM_SMAPS_H
#define WSMO_MEM_SMAPS_H

#include <stdbool.h>

#include "wsmon.h"

/* What is known of a mapping, in bytes */
enum mem_bytes {
	MEM_VIRTUAL,	/* mapped */
	MEM_RESIDENT,	/* in RAM: Rss, and huge pages of hugetlbfs, which Rss leaves out */
	MEM_PSS,	/* each page divided by the number of its mappings */
	MEM_PRIVATE,	/* in RAM, and mapped once */
	MEM_SHARED,	/* in RAM, and mapped several times */
	MEM_SWAP,	/* in swap */
	MEM_SWAP_PSS,	/* as MEM_PSS */
	MEM_HUGE,	/* in RAM, and mapped by huge pages */
	MEM_COPIED,	/* in RAM: private copies of pages of the mapped file */
	MEM_NR_BYTES,
};

/**
 * struct mem_process - a process that is being read
 * @pid:	its id
 * @parent:	its parent, 0 if not known
 * @start:	when it began, in clock ticks since boot
 * @comm:	its name
 * @dir:	its directory in /proc
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
 * @path:	what is mapped, "" for anonymous memory; of .bss the file it belongs to
 * @bytes:	by enum mem_bytes
 */
struct mem_mapping {
	__u64 start;
	__u64 end;
	__u32 class;
	const char *path;
	__u64 bytes[MEM_NR_BYTES];
};

/**
 * smaps_open() - find a process
 * @root:	"" or where another /proc is
 * Return: 0; -ESRCH if it is gone, or another errno
 */
int smaps_open(struct mem_process *p, const char *root, __u32 pid);

/** smaps_file() - open one of its files; Return: fd, -1 with errno set */
int smaps_file(const struct mem_process *p, const char *name);

/**
 * smaps_read() - read its mappings
 * @each:	gets each
 * Return: how many there are, 0 for a zombie or a kernel thread; or -errno
 */
int smaps_read(const struct mem_process *p,
		 void (*each)(void *to, const struct mem_process *p, const struct mem_mapping *m),
		 void *to);

/** smaps_close() - close its directory */
void smaps_close(struct mem_process *p);

/** smaps_done() - free what was remembered about file systems */
void smaps_done(void);

#endif /* WSMO_MEM_SMAPS_H */
