// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - peaks and marks in the page of "wsmo report html"
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "html.h"
#include "libwsmon/names.h"

char *html_capture(struct report *view)
{
	FILE *out = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	if (!stdout) {
		stdout = out;
		msg("out of memory");
		exit(WSMO_FAILURE);
	}
	view->view->end(view);
	fclose(stdout);
	stdout = out;
	return text;
}

static void put_peaks(const struct report *rp, const struct events *ev)
{
	const struct peak *p;
	size_t i;

	fputs("\"peaks\":[", stdout);
	for (i = 0; (p = events_peak_at(ev, i)); i++) {
		printf("%s{\"pid\":%u,\"number\":%u,\"group\":\"%s\",\"sign\":%d,\"from\":%.3f,\"to\":",
		       i ? ",\n" : "", p->pid, p->number,
		       peak_group_name(p->group), p->sign,
		       filter_time(&rp->filter, p->start_ns));
		if (p->end_ns)
			printf("%.3f}", filter_time(&rp->filter, p->end_ns));
		else
			fputs("null}", stdout);
	}
	puts("],");
}

static void put_marks(const struct report *rp, const struct events *ev)
{
	size_t i;

	fputs("\"marks\":[", stdout);
	for (i = 0; i < ev->nr_marks; i++) {
		printf("%s{\"number\":%u,\"t\":%.3f,\"text\":", i ? ",\n" : "",
		       ev->mark[i].number,
		       filter_time(&rp->filter, ev->mark[i].time_ns));
		html_put_text(ev->mark[i].text);
		putchar('}');
	}
	puts("],");
}

void html_put_events(const struct report *rp, const struct events *ev,
		     struct report *peaks)
{
	bool any = ev->peaks.nr || ev->nr_marks;
	char *text;

	/* as JSON it has nothing to say of nothing */
	if (!any)
		peaks->format = TABLE_JSON;
	text = html_capture(peaks);
	put_peaks(rp, ev);
	put_marks(rp, ev);
	fputs("\"stacks\":", stdout);
	html_put_text(text);
	puts(",");
	free(text);
}
