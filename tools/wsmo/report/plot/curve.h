/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - working-set curves, and refaults against limits, as pictures
 */
#ifndef WSMO_CURVE_PLOT_H
#define WSMO_CURVE_PLOT_H

#include "libwsmon/numbers/curve_data.h"
#include "plot.h"

/** curve_plot() - draw working sets against windows; Return: 0, or -1 after a message */
int curve_plot(const struct picture *picture, const struct wsmon_curves *cs);

/**
 * sizing_plot() - draw refaults against limits
 * @max_refaults: refaults a second of the limit to mark
 *
 * Return: 0, or -1 after a message
 */
int sizing_plot(const struct picture *picture, const struct wsmon_curves *cs,
		__u64 max_refaults);

#endif /* WSMO_CURVE_PLOT_H */
