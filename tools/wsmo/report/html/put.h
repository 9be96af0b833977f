/* SPDX-License-Identifier: GPL-2.0 */
/*
 * put.h - JSON for the page of "report html"
 */
#ifndef WSMO_HTML_PUT_H
#define WSMO_HTML_PUT_H

/** html_put_text() - print a text of unknown origin */
void html_put_text(const char *text);

/**
 * html_put_lines() - print a member, an array of JSON objects, and a comma
 * @lines: an object a line; it is changed
 */
void html_put_lines(const char *key, char *lines);

#endif /* WSMO_HTML_PUT_H */
