/* SPDX-License-Identifier: GPL-2.0 */
/*
 * threads.h - where the stacks of a process's threads are
 */
#ifndef WSMO_THREADS_H
#define WSMO_THREADS_H

#include <stddef.h>

#include "wsmon.h"

/** struct thread - a thread and its stack pointer */
struct thread {
	__u64 sp;
	__u32 tid;
};

/**
 * threads_read() - the threads that wait in the kernel just now
 * @t:		gets them, lowest stack pointer first
 * @max:	room in @t
 *
 * A thread that runs does not tell where its stack is: the next call may find
 * it waiting. A process of one thread has the kernel's [stack] and none here.
 *
 * Return: how many
 */
size_t threads_read(__u32 pid, struct thread *t, size_t max);

/** threads_in() - Return: the thread with its stack pointer there, 0 if none has */
__u32 threads_in(const struct thread *t, size_t nr, __u64 start, __u64 end);

#endif /* WSMO_THREADS_H */
