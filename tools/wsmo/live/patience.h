/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patience.h - questions that may never be answered
 *
 * What a process has mapped may be on a file system whose server, which may be the process itself,
 * does not answer (FUSE, NFS). Who asks then waits, in a state that may not end with a signal, and
 * no process ends before its threads do. The kernel may wait for such a server with the process's
 * mmap lock held, and then reading its maps, smaps, pagemap or mem waits, too. So another process
 * asks and reads. It is started once, and replaced when it waits.
 *
 * It uses the CPU, or wants to, while it works. One that does neither for a second waits: it is
 * left to itself, and the process that it looked at is not asked again.
 */
#ifndef WSMO_PATIENCE_H
#define WSMO_PATIENCE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define PATIENCE_DATA	32768	/* bytes */
#define PATIENCE_MS	1000
#define PATIENT_FRESH	10000000	/* ns */

/**
 * struct question - a function to be called in the other process
 * @ask:	uses nothing but its arguments; @fd: a copy of @fd, which it need not close
 * @pid:	the process that it looks at, 0 if none
 * @fd:		a file that it needs, -1 if none
 * @ms:		how long it may sleep, 0 is PATIENCE_MS
 */
struct question {
	void (*ask)(void *data, int fd);
	__u32 pid;
	int fd;
	unsigned int ms;
};

/**
 * patience_ask() - ask a question
 * @data:	@ask gets a copy of it; gets what is in the copy once the function returned
 * @size:	of it, PATIENCE_DATA at most
 *
 * Return: did it return? After few that did not, nothing is asked any more.
 */
bool patience_ask(const struct question *q, void *data, size_t size);

/** struct patient - a file of a process, open for reading; NULL reads nothing */
struct patient;

/**
 * patient_open() - open a file of a process
 * @pid:	the process; it is looked up only if it gave no answer before
 * @dir:	its directory in /proc, or -1: @name is a path
 *
 * Return: NULL with errno set, ETIMEDOUT: it does not answer, or did not before
 */
struct patient *patient_open(__u32 pid, int dir, const char *name);

/**
 * patient_pread() - read from any place of it
 * @ahead:	read so many bytes if more than @size, 64 KiB at most; readings of them within
 *		PATIENT_FRESH are taken from there. 0: @size only, now
 *
 * Return: as pread(), and -1 with ETIMEDOUT
 */
ssize_t patient_pread(struct patient *p, void *to, size_t size, __u64 at, size_t ahead);

void patient_close(struct patient *p);

/** patient_file() - as patient_open(), for text that is read from its beginning; fclose() it */
FILE *patient_file(__u32 pid, int dir, const char *name);

/** patience_cpu() - Return: ns of CPU time that other processes used for answers */
__u64 patience_cpu(void);

#endif /* WSMO_PATIENCE_H */
