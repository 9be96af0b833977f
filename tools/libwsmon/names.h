/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names.h - names of the ABI's numbers
 */
#ifndef WSMO_NAMES_H
#define WSMO_NAMES_H

#include "wsmon.h"

/**
 * class_name() - name a class: "heap", ...; "class17" for an unknown one
 *
 * The name of an unknown one is overwritten by the next call.
 */
const char *class_name(__u32 class);

/**
 * class_by_name() - find a class by its name
 * Return: enum wsmon_class, or -1
 */
int class_by_name(const char *name);

/** record_name() - name a kind of record: "wss", ...; "type99" as class_name() */
const char *record_name(__u32 type);

/** peak_group_name() - name a group: "all", "text", "rest"; "group7" as class_name() */
const char *peak_group_name(__u32 group);

/** end_name() - say why monitoring ended */
const char *end_name(__u32 reason);

#endif /* WSMO_NAMES_H */
