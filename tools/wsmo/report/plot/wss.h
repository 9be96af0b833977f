/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wss.h - the working set over time as a picture
 */
#ifndef WSMO_PLOT_WSS_H
#define WSMO_PLOT_WSS_H

#include "libwsmon/events.h"
#include "libwsmon/filter.h"
#include "libwsmon/series.h"
#include "plot.h"

/**
 * wss_plot() - draw working sets over time
 * @filter: if it names no class, whole targets; if no window, the shortest one
 * @rows: working set sizes in any order; sorted by it
 * @rss: resident sizes
 * @names: struct wss_name
 * @group: name of the group
 * @events: peaks and marks
 *
 * Return: 0, or -1 after a message
 */
int wss_plot(const struct picture *picture, const struct filter *filter,
	     struct wsmon_wss_rows *rows, struct wsmon_wss_rows *rss,
	     const struct sorted *names, const char *group, const struct events *events);

#endif /* WSMO_PLOT_WSS_H */
