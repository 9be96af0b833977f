// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - a line below a heatmap of characters: peaks and marks
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "view.h"

#define LINE_MAX_COLUMNS	1024

/* "^P12" at its column, if there is room; Return: whether it is on the map */
static bool put(char *line, const struct heatmap *h, __u64 time_ns, char what,
		__u32 number)
{
	double per = (double)h->columns / (h->to_ns - h->from_ns);
	char text[16];
	size_t len, at, i;

	if (time_ns < h->from_ns || time_ns > h->to_ns)
		return false;
	at = (time_ns - h->from_ns) * per;
	len = snprintf(text, sizeof(text), "^%c%u", what, number);
	if (at && at + len > strlen(line))
		at = strlen(line) > len ? strlen(line) - len : 0;
	for (i = at ? at - 1 : 0; i < at + len && i < strlen(line); i++)
		if (line[i] != ' ')
			return true;
	if (at + len <= strlen(line))
		memcpy(line + at, text, len);
	return true;
}

void heatmap_text_events(const struct heatmap *h, const struct events *events,
			 unsigned int width)
{
	char line[LINE_MAX_COLUMNS];
	size_t columns = h->columns, i;
	const struct peak *p;
	__u64 last_ns = 0;
	bool any = false;

	if (columns >= sizeof(line))
		columns = sizeof(line) - 1;
	memset(line, ' ', columns);
	line[columns] = '\0';
	for (i = 0; i < events->nr_marks; i++)
		any |= put(line, h, events->mark[i].time_ns, 'm',
			   events->mark[i].number);
	for (i = 0; (p = events_peak_at(events, i)); i++) {
		if (p->pid != h->pid || p->start_ns == last_ns)
			continue;
		last_ns = p->start_ns;
		any |= put(line, h, p->start_ns, 'p', p->number);
	}
	if (any)
		printf("%-*.*s  %s\n", (int)width, (int)width,
		       "peaks (p), marks (m)", line);
}
