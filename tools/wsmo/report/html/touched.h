/* SPDX-License-Identifier: GPL-2.0 */
/*
 * touched.h - who touched memory, for the page of "report html"
 */
#ifndef WSMO_HTML_TOUCHED_H
#define WSMO_HTML_TOUCHED_H

#include "report/who/model.h"

/** html_put_who() - print the members "who" and "touched" of the page's JSON, and a comma */
void html_put_who(struct who *w);

#endif /* WSMO_HTML_TOUCHED_H */
