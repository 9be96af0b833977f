/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack_request.h - what "wsmo record" asks of wsmo-stack
 *
 * wsmo-stack's standard input is a SOCK_SEQPACKET socket: requests come in, STACK
 * records go out. It ends when the other side is shut down.
 */
#ifndef WSMO_STACK_REQUEST_H
#define WSMO_STACK_REQUEST_H

#include "libwsmon/wsmon_records.h"

/* Max. threads of a process that are looked at */
#define STACK_THREADS	256

/* Max. bytes of a STACK record */
#define STACK_RECORD	(sizeof(struct wsmon_rec_stack) + WSMON_STACK_FRAMES * 8)

/**
 * struct stack_request - a process whose stacks are wanted
 * @pid:	the process
 * @threads:	max. threads to look at, 1 to STACK_THREADS
 * @reason:	WSMON_STACK_*
 * @number:	of the peak or mark
 */
struct stack_request {
	__u32 pid;
	__u32 threads;
	__u32 reason;
	__u32 number;
};

#endif /* WSMO_STACK_REQUEST_H */
