// SPDX-License-Identifier: GPL-2.0
/* names.c - names of the ABI's numbers */
#include <stdio.h>
#include <string.h>

#include "libwsmon.h"
#include "names.h"
#include "util.h"

#define NAME(id, name)	name,
static const char * const classes[] = { WSMON_CLASSES(NAME) };
static const char * const records[] = { NULL, WSMON_RECORDS(NAME) };
static const char * const groups[] = { WSMON_PEAK_GROUP_LIST(NAME) };
static const char * const reasons[] = { WSMON_END_REASONS(NAME) };

const char *wsmon_class_name(__u32 class)
{
	return class < ARRAY_SIZE(classes) ? classes[class] : NULL;
}

const char *wsmon_record_name(__u32 type)
{
	return type < ARRAY_SIZE(records) ? records[type] : NULL;
}

int wsmon_class_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(classes[i], name))
			return i;
	return -1;
}

/* Return: @name or, if it is NULL, the kind and the number */
static const char *named(const char *name, const char *kind, __u32 id)
{
	static char unknown[24];

	if (name)
		return name;
	snprintf(unknown, sizeof(unknown), "%s%u", kind, id);
	return unknown;
}

const char *class_name(__u32 class)
{
	return named(wsmon_class_name(class), "class", class);
}

const char *record_name(__u32 type)
{
	return named(wsmon_record_name(type), "type", type);
}

const char *peak_group_name(__u32 group)
{
	return named(group < ARRAY_SIZE(groups) ? groups[group] : NULL, "group", group);
}

const char *end_name(__u32 reason)
{
	return reason < ARRAY_SIZE(reasons) ? reasons[reason] : "unknown";
}
