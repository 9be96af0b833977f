/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names.h - names of the ABI's numbers, for messages and tables
 *
 * Unlike the functions of libwsmon.h, these return a name for an unknown number, too.
 */
#ifndef WSMO_NAMES_H
#define WSMO_NAMES_H

#include "wsmon.h"

/* An unknown number N gets a name like "classN", valid until the next such name is made */

/** class_name() - name a class: "heap", ... */
const char *class_name(__u32 class);

/** record_name() - name a type of record: "wss", ... */
const char *record_name(__u32 type);

/** peak_group_name() - name a group: "all", "text", "rest" */
const char *peak_group_name(__u32 group);

/** end_name() - name the reason why monitoring ended; "unknown" for an unknown reason */
const char *end_name(__u32 reason);

#endif /* WSMO_NAMES_H */
