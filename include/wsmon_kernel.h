/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_kernel.h - sessions of other kernel modules
 *
 * A module creates a session, adds processes to it, and starts it. What is observed comes as
 * the records of wsmon.h, one after the other, to a function of the module: the regions
 * (SNAPSHOT), working set sizes (WSS), peaks (PEAK), a process that is gone (EXIT), and at
 * the end of each aggregation interval STATS. Documentation/reference/kernel-api.rst has
 * more, samples/wsmon_sample.c is an example.
 */
#ifndef _WSMON_KERNEL_H
#define _WSMON_KERNEL_H

#include "wsmon.h"

struct pid;
struct wsmon_client;

/**
 * typedef wsmon_record_fn - take a record
 * @private:	as in wsmon_session_create()
 * @rec:	the record, valid until the function returns: to be cast to struct wsmon_rec_*
 *		by its type. Records of unknown types are to be ignored. Pids are those of
 *		the initial pid namespace.
 *
 * No two calls for one session run at the same time, and none after wsmon_session_stop() or
 * wsmon_session_destroy() returned.
 * Context: kwsmond, the session's thread. May sleep, but sampling waits meanwhile. Functions
 * of this header that act on a session fail: -EDEADLK. A lock that it takes must not be held
 * by who calls these functions.
 */
typedef void (*wsmon_record_fn)(void *private, const struct wsmon_record *rec);

struct wsmon_client *wsmon_session_create(const char *attrs, wsmon_record_fn record,
					  void *private);
int wsmon_session_add(struct wsmon_client *c, struct pid *pid);
int wsmon_session_start(struct wsmon_client *c);
int wsmon_session_stop(struct wsmon_client *c);
void wsmon_session_destroy(struct wsmon_client *c);

#endif /* _WSMON_KERNEL_H */
