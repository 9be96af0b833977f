/* SPDX-License-Identifier: GPL-2.0 */
/*
 * html.h - what the parts of "wsmo report html" share
 */
#ifndef WSMO_REPORT_HTML_H
#define WSMO_REPORT_HTML_H

#include "libwsmon/numbers/events.h"
#include "report/report.h"

/** html_put_safely() - JSON inside of a page: nothing in it may look like a tag */
void html_put_safely(const char *json);

/** html_put_text() - a text of unknown origin as JSON, safely */
void html_put_text(const char *text);

/**
 * html_capture() - what a view of its own prints at its end
 * Return: malloc()ed
 */
char *html_capture(struct report *view);

/**
 * html_put_events() - peaks and marks, and what "wsmo report peaks" prints of them
 * @peaks: that view, all records taken
 */
void html_put_events(const struct report *rp, const struct events *ev,
		     struct report *peaks);

#endif /* WSMO_REPORT_HTML_H */
