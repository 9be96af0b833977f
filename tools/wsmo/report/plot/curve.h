/* SPDX-License-Identifier: GPL-2.0 */
/*
 * curve.h - working-set curves, and what follows for limits, as pictures
 */
#ifndef WSMO_CURVE_PLOT_H
#define WSMO_CURVE_PLOT_H

#include "libwsmon/numbers/curves.h"
#include "report/report.h"

/** curve_plot() - working sets against windows; Return: 0, or -1 after a message */
int curve_plot(const struct report *rp, const struct curves *cs);

/** sizing_plot() - refaults against limits; Return: the same */
int sizing_plot(const struct report *rp, const struct curves *cs);

#endif /* WSMO_CURVE_PLOT_H */
