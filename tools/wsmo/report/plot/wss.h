/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wss.h - the working set over time as a picture
 */
#ifndef WSMO_PLOT_WSS_H
#define WSMO_PLOT_WSS_H

#include "libwsmon/numbers/series.h"
#include "report/report.h"

/**
 * wss_plot() - draw the picture that the options ask for
 * @rows: working set sizes, in any order; sorted by it
 * @rss: resident sizes
 * @names: struct wss_name
 * @events: peaks and marks
 *
 * Without --class it is of whole targets, without --tau of the shortest window.
 *
 * Return: 0, or -1 after a message
 */
int wss_plot(const struct report *rp, struct wss_rows *rows,
	     struct wss_rows *rss, const struct sorted *names,
	     const struct events *events);

#endif /* WSMO_PLOT_WSS_H */
