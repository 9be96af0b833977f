// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - names of the ABI's numbers
 */
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "util.h"

static const char * const classes[WSMON_NR_CLASSES] = {
	[WSMON_CLASS_ALL]	= "all",
	[WSMON_CLASS_TEXT]	= "text",
	[WSMON_CLASS_DATA]	= "data",
	[WSMON_CLASS_HEAP]	= "heap",
	[WSMON_CLASS_STACK]	= "stack",
	[WSMON_CLASS_ANON]	= "anon",
	[WSMON_CLASS_FILE]	= "file",
	[WSMON_CLASS_SHMEM]	= "shmem",
	[WSMON_CLASS_HUGETLB]	= "hugetlb",
	[WSMON_CLASS_MIXED]	= "mixed",
};

static const char * const records[] = {
	[WSMON_REC_ATTRS]	= "attrs",
	[WSMON_REC_TARGET]	= "target",
	[WSMON_REC_AREA]	= "area",
	[WSMON_REC_SNAPSHOT]	= "snapshot",
	[WSMON_REC_WSS]		= "wss",
	[WSMON_REC_PEAK]	= "peak",
	[WSMON_REC_STACK]	= "stack",
	[WSMON_REC_MARK]	= "mark",
	[WSMON_REC_EXIT]	= "exit",
	[WSMON_REC_LOST]	= "lost",
	[WSMON_REC_STATS]	= "stats",
	[WSMON_REC_END]		= "end",
	[WSMON_REC_PROC]	= "proc",
	[WSMON_REC_ACT]		= "act",
	[WSMON_REC_PACKED]	= "packed",
	[WSMON_REC_MAPPING]	= "mapping",
};

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
	static const char * const groups[WSMON_PEAK_GROUPS] = {
		[WSMON_PEAK_ALL]  = "all",
		[WSMON_PEAK_TEXT] = "text",
		[WSMON_PEAK_REST] = "rest",
	};
	static char unknown[24];

	if (group < ARRAY_SIZE(groups))
		return groups[group];
	snprintf(unknown, sizeof(unknown), "group%u", group);
	return unknown;
}

const char *end_name(__u32 reason)
{
	switch (reason) {
	case WSMON_END_STOPPED:
		return "stopped";
	case WSMON_END_TARGETS_GONE:
		return "targets gone";
	default:
		return "unknown";
	}
}
