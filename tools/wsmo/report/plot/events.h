/* SPDX-License-Identifier: GPL-2.0 */
/*
 * events.h - peaks and marks in a picture
 */
#ifndef WSMO_PLOT_EVENTS_H
#define WSMO_PLOT_EVENTS_H

#include "libwsmon/events.h"
#include "plot.h"

/**
 * plot_events() - peaks as bands, marks as lines, each with its number
 * @zero_ns: when the recording began
 * @per_time: nanoseconds of a unit of the time axis
 */
void plot_events(struct plot *p, const struct events *ev, __u64 zero_ns,
		 double per_time);

/**
 * plot_events_over() - the same over a picture that fills all: lines and numbers
 * @pid: whose peaks
 */
void plot_events_over(struct plot *p, const struct events *ev, __u32 pid,
		      __u64 zero_ns, double per_time);

#endif /* WSMO_PLOT_EVENTS_H */
