// SPDX-License-Identifier: GPL-2.0
/*
 * help.c - the help of "wsmo top"'s screen
 */
#include <curses.h>

#include "cli/cli.h"
#include "top.h"

void top_help_draw(void)
{
	static const char * const lines[] = {
		"wsmo top: the memory processes really use",
		"",
		"q        quit, and end the monitoring that wsmo top started",
		"p space  pause, or go on",
		"s        sort by the next of wss, share, hot, rss, idle, pid, name",
		"r        reverse the order",
		"f /      show what has a text in its name, process id or class",
		"c        show or hide the classes of memory of each",
		"w        show the next window, if there are several",
		"arrows, PgUp, PgDn, Home, End  scroll",
		"",
		"WSS      working set: memory accessed within the window",
		"LOW HIGH its 95 % interval",
		"RSS IDLE resident memory; what of it is not in the working set",
		"SHARE    working set as a share of what is mapped",
		"HOT      regions with half or more of their pages accessed",
		"REGIONS  number of regions",
		"*        has a secondary MMU: memory only its guest accesses reads as idle",
		"WHO      with --who: what touches most of its memory, and how much of that",
		"TREND    working set over time, the newest at the right",
		"K M G are powers of 1024.",
		"",
		"Any key goes back.",
	};
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(lines) && i < LINES; i++)
		mvaddnstr(i, 0, lines[i], COLS);
}
