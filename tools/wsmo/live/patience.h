/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patience.h - system calls that may never return
 *
 * A mapped file may be on a file system whose server does not answer (FUSE, NFS); the server may be
 * the mapping process itself. A system call about the file then waits, maybe in a state that no
 * signal ends. The kernel may wait for such a server with the process's mmap lock held; then
 * reading its maps, smaps, pagemap or mem waits, too. A thread in such a wait would keep its
 * process from exiting. So a helper process makes these system calls. It is started once, and
 * replaced when it waits.
 *
 * While a helper works, it runs or is runnable. If a helper is neither for a second, it waits for a
 * server: it is abandoned, and the process that it looked at is not asked again.
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
 * struct question - a function to be called in a helper process
 * @ask:	the function; may use its arguments only. Its @fd is a copy of @fd below, and need
 *		not be closed
 * @pid:	the process that @ask looks at; 0: none
 * @fd:		file that @ask needs; -1: none
 * @ms:		how long @ask may sleep, milliseconds; 0: PATIENCE_MS
 */
struct question {
	void (*ask)(void *data, int fd);
	__u32 pid;
	int fd;
	unsigned int ms;
};

/**
 * patience_ask() - ask a question
 * @data:	@ask gets a copy; when @ask has returned, the copy is copied back
 * @size:	size of @data, at most PATIENCE_DATA
 *
 * Return: true if @ask returned. After a few questions without an answer, always false
 */
bool patience_ask(const struct question *q, void *data, size_t size);

/** struct patient - a file of a process, open for reading; NULL reads nothing */
struct patient;

/**
 * patient_open() - open a file of a process
 * @pid:	the process; fails at once if it did not answer before
 * @dir:	the process's directory in /proc; -1: @name is a path
 *
 * Return: the file; NULL with errno set: ETIMEDOUT if the process does not answer now, or did not
 * before
 */
struct patient *patient_open(__u32 pid, int dir, const char *name);

/**
 * patient_pread() - read from any offset of a file
 * @ahead:	read at least this many bytes at once, at most 64 KiB, and keep them for
 *		PATIENT_FRESH for later reads. 0: read only @size bytes, now
 *
 * Return: as pread(); also -1 with ETIMEDOUT
 */
ssize_t patient_pread(struct patient *p, void *to, size_t size, __u64 at, size_t ahead);

void patient_close(struct patient *p);

/**
 * patient_file() - open a text file as patient_open() does, for reading from its start; fclose() it
 */
FILE *patient_file(__u32 pid, int dir, const char *name);

/** patience_cpu() - get the CPU time of helper processes, in ns */
__u64 patience_cpu(void);

#endif /* WSMO_PATIENCE_H */
