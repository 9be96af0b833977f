// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - names of the ABI's numbers
 */
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "util.h"

#define NAME(id, name)	name,
static const char * const classes[] = { WSMON_CLASSES(NAME) };
static const char * const records[] = { NULL, WSMON_RECORDS(NAME) };
static const char * const groups[] = { WSMON_PEAK_GROUP_LIST(NAME) };
static const char * const reasons[] = { WSMON_END_REASONS(NAME) };

const char *class_name(__u32 class)
{
	static char unknown[24];

	if (class < ARRAY_SIZE(classes))
		return classes[class];
	snprintf(unknown, sizeof(unknown), "class%u", class);
	return unknown;
}

int class_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(classes[i], name))
			return i;
	return -1;
}

const char *record_name(__u32 type)
{
	static char unknown[24];

	if (type < ARRAY_SIZE(records) && records[type])
		return records[type];
	snprintf(unknown, sizeof(unknown), "type%u", type);
	return unknown;
}

const char *peak_group_name(__u32 group)
{
	static char unknown[24];

	if (group < ARRAY_SIZE(groups))
		return groups[group];
	snprintf(unknown, sizeof(unknown), "group%u", group);
	return unknown;
}

const char *end_name(__u32 reason)
{
	return reason < ARRAY_SIZE(reasons) ? reasons[reason] : "unknown";
}
