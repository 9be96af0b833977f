// SPDX-License-Identifier: GPL-2.0
/*
 * assets.c - the files that "report html" puts into its page
 *
 * The assembler takes them in as they are; their paths are relative to the top of
 * the tree, where the compiler is run.
 */
#include "assets.h"

#define ASSET(name, file)				\
	__asm__(".section .rodata\n"			\
		".global " #name "\n"			\
		#name ":\n"				\
		".incbin \"" file "\"\n"		\
		".byte 0\n"				\
		".previous\n")

ASSET(html_body, "tools/wsmo/report/html/page.html");
ASSET(html_style, "tools/wsmo/report/html/page.css");
ASSET(html_heatmap_script, "tools/wsmo/report/html/heatmap.js");
ASSET(html_script, "tools/wsmo/report/html/page.js");
ASSET(html_uplot_style, "third_party/uplot/uPlot.min.css");
ASSET(html_uplot_script, "third_party/uplot/uPlot.iife.min.js");
ASSET(html_uplot_licence, "third_party/uplot/LICENSE");
