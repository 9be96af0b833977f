/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sizing.h - working-set curves and limits, for the page of "report html"
 */
#ifndef WSMO_HTML_SIZING_H
#define WSMO_HTML_SIZING_H

#include "libwsmon/curve.h"
#include "libwsmon/sizing.h"

/** html_put_sizing() - print the member "sizing" of the page's JSON, and a comma; fits the curves */
void html_put_sizing(struct wsmon_curves *cs, const struct slowdown *s);

#endif /* WSMO_HTML_SIZING_H */
