/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_kernel.h - sessions of other kernel modules
 *
 * A module creates a session, adds processes to it, and starts it. The session passes the
 * records of wsmon.h, one at a time, to a callback of the module: regions (SNAPSHOT), working
 * set sizes (WSS), peaks (PEAK), the exit of a process (EXIT), and STATS at the end of each
 * aggregation interval. Documentation/reference/kernel-api.rst describes the rules;
 * samples/wsmon_sample.c is an example.
 */
#ifndef _WSMON_KERNEL_H
#define _WSMON_KERNEL_H

#include "wsmon.h"

struct pid;
struct wsmon_client;

/**
 * typedef wsmon_record_fn - callback that takes a record
 * @private:	the pointer passed to wsmon_session_create()
 * @rec:	the record, valid until the callback returns. Cast it by its type to struct
 *		wsmon_rec_*; ignore unknown types. Pids are in the initial pid namespace.
 *
 * Calls for one session never overlap. After wsmon_session_stop() or wsmon_session_destroy()
 * returned, there are no more calls.
 *
 * Context: kwsmond, the session's thread. The callback may sleep, but sampling waits for it.
 * In the callback, wsmon_session_add(), _start() and _stop() of any session return -EDEADLK, and
 * wsmon_session_destroy() warns and does nothing. These functions wait for a running callback:
 * their callers must not hold a lock that the callback takes.
 */
typedef void (*wsmon_record_fn)(void *private, const struct wsmon_record *rec);

struct wsmon_client *wsmon_session_create(const char *attrs, wsmon_record_fn record,
					  void *private);
int wsmon_session_add(struct wsmon_client *c, struct pid *pid);
int wsmon_session_start(struct wsmon_client *c);
int wsmon_session_stop(struct wsmon_client *c);
void wsmon_session_destroy(struct wsmon_client *c);

#endif /* _WSMON_KERNEL_H */
