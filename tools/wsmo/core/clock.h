/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clock.h - the clock of records
 */
#ifndef WSMO_CLOCK_H
#define WSMO_CLOCK_H

#include <time.h>

#include "units.h"

/** clock_now() - return CLOCK_MONOTONIC in nanoseconds, as the kernel's records have it */
__u64 clock_now(void);

/** clock_cpu() - return the CPU time of this thread in nanoseconds */
static inline __u64 clock_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#endif /* WSMO_CLOCK_H */
