/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack_request.h - requests from "wsmo record" to wsmo-stack
 *
 * wsmo-stack's standard input is a SOCK_SEQPACKET socket: requests come in, STACK records go out.
 * wsmo-stack ends when the other side shuts the socket down.
 */
#ifndef WSMO_STACK_REQUEST_H
#define WSMO_STACK_REQUEST_H

#include "libwsmon/wsmon_records.h"

/* Maximum number of threads of a process */
#define STACK_THREADS	256

/* Maximum bytes of a STACK record */
#define STACK_RECORD	(sizeof(struct wsmon_rec_stack) + WSMON_STACK_FRAMES * 8)

/**
 * struct stack_request - a request for stacks of a process
 * @pid:	the process
 * @threads:	maximum number of threads, 1 to STACK_THREADS
 * @reason:	WSMON_STACK_*
 * @number:	number of the peak or mark
 */
struct stack_request {
	__u32 pid;
	__u32 threads;
	__u32 reason;
	__u32 number;
};

#endif /* WSMO_STACK_REQUEST_H */
