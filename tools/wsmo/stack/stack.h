/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack.h - wsmo-stack: takes the call stacks of a process's threads
 *
 * It is a program of its own because record must be small and must not wait.
 *
 * A thread is stopped only while its registers and a piece of its stack are copied;
 * they are unwound while it runs. A child process does the stopping: when it ends,
 * for whatever reason, the kernel releases all threads it holds.
 */
#ifndef WSMO_STACK_H
#define WSMO_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#include "cli/stack_request.h"

/* Max. bytes of a thread's stack that are copied */
#define STACK_COPY	(256 << 10)

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

/**
 * stack_grab() - copy registers and stacks of a process's threads
 * @ts:		to be shared with child processes
 * @max:	maximum number of threads
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
