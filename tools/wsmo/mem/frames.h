/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frames.h - counts each page once, by its page frame, whoever maps it
 *
 * A bit for each frame of the machine: 32 KiB for a GiB of RAM, of which only what is
 * used takes memory.
 */
#ifndef WSMO_MEM_FRAMES_H
#define WSMO_MEM_FRAMES_H

#include "smaps.h"

/* An entry of /proc/PID/pagemap */
#define PAGEMAP_PRESENT		(1ULL << 63)
#define PAGEMAP_SWAP		(1ULL << 62)
#define PAGEMAP_FILE		(1ULL << 61)	/* or shared anonymous memory */
#define PAGEMAP_EXCLUSIVE	(1ULL << 56)	/* mapped once */
#define PAGEMAP_FRAME		((1ULL << 55) - 1)

/**
 * struct frames - the frames seen so far; all zero is a valid start
 * @known:	the kernel reveals frames to us
 * @bits:	a bit a frame
 * @size:	bytes mapped for them
 * @pid:	the last process, 0 if there was none
 * @fd:		its pagemap, or -1
 */
struct frames {
	bool known;
	unsigned char *bits;
	size_t size;
	__u32 pid;
	int fd;
};

/** frames_begin() - find out whether frames are known; zero pages count as seen */
void frames_begin(struct frames *f);

/**
 * frames_once() - count the resident pages of a mapping that were not seen before
 * Return: bytes. Where frames cannot be read, the proportional share stands for them.
 */
__u64 frames_once(struct frames *f, const struct mem_process *p, const struct mem_mapping *m);

/**
 * pagemap_walk() - read the entries of a range of addresses
 * @fd:	pagemap
 * @each:	gets some of them; returns false to end
 * Return: 0, or -1 if some could not be read
 */
int pagemap_walk(int fd, __u64 start, __u64 end,
		 bool (*each)(void *to, __u64 addr, const __u64 *entry, size_t nr), void *to);

/** frames_free() - free the bits */
void frames_free(struct frames *f);

#endif /* WSMO_MEM_FRAMES_H */
