/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack.h - wsmo-stack: takes the call stacks of a process's threads
 *
 * It is a program of its own, as record is to be small and never to wait. Its
 * standard input is a SOCK_SEQPACKET socket: requests come in, STACK records go
 * out. It ends when the other side is shut down.
 *
 * A thread is stopped for no longer than its registers and a piece of its stack
 * take to copy; they are unwound when it runs on. A process of its own does the
 * stopping: when that ends, for whatever reason, the kernel lets go of all it
 * holds.
 */
#ifndef WSMO_STACK_H
#define WSMO_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#include "wsmon.h"

/* Most threads of a process that can be looked at */
#define STACK_THREADS	256

/* Bytes of a thread's stack that are copied at most */
#define STACK_COPY	(256 << 10)

/* Bytes of the largest record */
#define STACK_RECORD	(sizeof(struct wsmon_rec_stack) + WSMON_STACK_FRAMES * 8)

/**
 * struct stack_request - whose stacks are wanted, and what for
 * @pid:	the process
 * @threads:	most threads to look at, 1 to STACK_THREADS
 * @reason:	WSMON_STACK_*
 * @number:	of the peak or mark
 */
struct stack_request {
	__u32 pid;
	__u32 threads;
	__u32 reason;
	__u32 number;
};

/**
 * struct stack_thread - what was copied of a thread
 * @tid:	the thread
 * @error:	errno if it could not be, 0 if it was
 * @comm:	its name
 * @time_ns:	when (CLOCK_MONOTONIC)
 * @stopped_ns:	how long it was stopped at most
 * @regs:	its registers
 * @sp:		its stack pointer: where @stack is from
 * @bytes:	bytes of @stack that were copied
 * @stack:	the innermost part of its stack
 */
struct stack_thread {
	__u32 tid;
	__u32 error;
	char comm[WSMON_COMM_LEN];
	__u64 time_ns;
	__u64 stopped_ns;
	struct user_regs_struct regs;
	__u64 sp;
	size_t bytes;
	unsigned char stack[STACK_COPY];
};

/**
 * struct stack_threads - what was copied of a process
 * @nr:		threads looked at
 * @total:	threads it has
 * @thread:	those that were running first
 */
struct stack_threads {
	__u32 nr;
	__u32 total;
	struct stack_thread thread[STACK_THREADS];
};

/** stack_now() - CLOCK_MONOTONIC, nanoseconds */
__u64 stack_now(void);

/**
 * stack_grab() - copy registers and stacks of a process's threads
 * @ts:		to be shared with child processes
 * @max:	most threads
 *
 * Context: SIGCHLD is blocked. Takes some seconds at most, whatever state the
 * threads are in.
 */
void stack_grab(struct stack_threads *ts, pid_t pid, __u32 max);

/**
 * stack_unwind() - find the calls in what was copied
 * @done:	gets a thread's record
 */
void stack_unwind(const struct stack_threads *ts,
		  const struct stack_request *rq,
		  void (*done)(const struct wsmon_rec_stack *rec));

#endif /* WSMO_STACK_H */
