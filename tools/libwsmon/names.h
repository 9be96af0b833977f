/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names.h - names of the ABI's numbers
 */
#ifndef WSMO_NAMES_H
#define WSMO_NAMES_H

#include "wsmon.h"

/**
 * class_name() - "heap", ...; "class17" for one this program does not know
 *
 * The result for an unknown one is overwritten by the next call.
 */
const char *class_name(__u32 class);

/**
 * class_by_name() - the reverse
 * Return: enum wsmon_class, or -1
 */
int class_by_name(const char *name);

/** record_name() - "wss", ...; "type99" like class_name() */
const char *record_name(__u32 type);

/** peak_group_name() - "all", "text", "rest"; "group7" like class_name() */
const char *peak_group_name(__u32 group);

/** end_name() - why monitoring ended, for people */
const char *end_name(__u32 reason);

#endif /* WSMO_NAMES_H */
