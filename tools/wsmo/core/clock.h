/* SPDX-License-Identifier: GPL-2.0 */
/* clock.h - the clock of records */
#ifndef WSMO_CLOCK_H
#define WSMO_CLOCK_H

#include <time.h>

#include "units.h"

/** clock_now() - get the kernel's CLOCK_MONOTONIC in nanoseconds, the clock of records */
__u64 clock_now(void);

/** clock_cpu() - get the CPU time of this thread in nanoseconds */
static inline __u64 clock_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#endif /* WSMO_CLOCK_H */
