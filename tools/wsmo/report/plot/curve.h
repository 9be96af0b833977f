/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - working-set curves, and refaults against limits, as pictures
 */
#ifndef WSMO_CURVE_PLOT_H
#define WSMO_CURVE_PLOT_H

#include "libwsmon/curve.h"
#include "libwsmon/sizing.h"
#include "plot.h"

/** curve_plot() - draw working sets against windows; Return: 0, or -1 after a message */
int curve_plot(const struct picture *picture, const struct wsmon_curves *cs);

/**
 * sizing_plot() - draw refaults against limits
 * @choice: which limit to mark
 * @s: what refaults cost
 *
 * Return: 0, or -1 after a message
 */
int sizing_plot(const struct picture *picture, const struct wsmon_curves *cs,
		const struct sizing_choice *choice, const struct slowdown *s);

#endif /* WSMO_CURVE_PLOT_H */
