// SPDX-License-Identifier: GPL-2.0
/*
 * attrs.c - the text form of attributes in a stream
 */
#include <stdio.h>
#include <string.h>

#include "attrs.h"
#include "libwsmon/util.h"

static int windows_text(char *buf, size_t size, const struct wsmon_attrs *a)
{
	int len = 0;
	__u32 i;

	for (i = 0; i < a->nr_windows && i < WSMON_WINDOWS_MAX && len < (int)size; i++)
		len += snprintf(buf + len, size - len, "%s%llu", i ? "," : "", a->windows_us[i]);
	return len;
}

int attr_text(char *buf, size_t size, const struct wsmon_attrs *a, const char *key)
{
#define DETECTOR(id, name)	[WSMON_PEAK_##id] = name,
	static const char * const detectors[] = { WSMON_PEAK_DETECTORS(DETECTOR) };
	const struct {
		const char *key;
		__u64 value;
	} numbers[] = {
		{ "sample_us", a->sample_us }, { "aggr_us", a->aggr_us },
		{ "update_us", a->update_us }, { "seed", a->seed },
		{ "min_regions", a->min_regions }, { "max_regions", a->max_regions },
		{ "flush_tlb", a->flags & WSMON_ATTR_FLUSH_TLB },
		{ "cpu_permille", a->cpu_permille }, { "peak_window", a->peak_window },
		{ "follow", a->follow }, { "who_rate", a->who_rate }, { "precision", a->precision },
	};
	__u32 milli = strcmp(key, "peak_gain") ? a->peak_adapt : a->peak_gain;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(key, numbers[i].key))
			return snprintf(buf, size, "%llu", numbers[i].value);
	if (!strcmp(key, "window_us"))
		return windows_text(buf, size, a);
	if (!strcmp(key, "peak_detector") && a->peak_detector < ARRAY_SIZE(detectors))
		return snprintf(buf, size, "%s", detectors[a->peak_detector]);
	if (!strcmp(key, "peak_gain") || !strcmp(key, "peak_adapt"))
		return snprintf(buf, size, "%g", milli / 1000.0);
	return 0;
}
