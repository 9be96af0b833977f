/* SPDX-License-Identifier: GPL-2.0 */
/*
 * assets.h - the files that "report html" puts into its page, as texts
 */
#ifndef WSMO_HTML_ASSETS_H
#define WSMO_HTML_ASSETS_H

extern const char html_body[];
extern const char html_style[];
extern const char html_heatmap_script[];
extern const char html_script[];
extern const char html_uplot_style[];
extern const char html_uplot_script[];
extern const char html_uplot_licence[];

#endif /* WSMO_HTML_ASSETS_H */
