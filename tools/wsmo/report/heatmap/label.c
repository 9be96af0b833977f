// SPDX-License-Identifier: GPL-2.0
/*
 * label.c - what is written at the axes of a heatmap
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "view.h"

const char *heatmap_name(char *buf, const struct heatmap *h,
			 const struct section *b)
{
	const char *name = h->ranges.range[b->label].name;
	const char *slash = strrchr(name, '/');
	char more[24] = "";

	if (b->last > b->first)
		snprintf(more, sizeof(more), " +%zu", b->last - b->first);
	snprintf(buf, HEATMAP_NAME, "%.200s%s",
		 slash && slash[1] ? slash + 1 : name, more);
	return buf;
}

__u64 heatmap_mapped(const struct heatmap *h)
{
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < h->ranges.nr; i++)
		sum += h->ranges.range[i].end - h->ranges.range[i].start;
	return sum;
}

__u64 heatmap_tick(__u64 time_ns, unsigned int max)
{
	static const unsigned int minutes[] = {
		1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440
	};
	__u64 want = time_ns / (max ? max : 1), step;
	size_t i;

	for (step = 1; step < 20 * NSEC_PER_SEC; step *= 10)
		for (i = 1; i <= 5; i += i == 1 ? 1 : 3)
			if (step * i >= want)
				return step * i;
	for (i = 0; i < ARRAY_SIZE(minutes); i++)
		if (60 * NSEC_PER_SEC * minutes[i] >= want)
			return 60 * NSEC_PER_SEC * minutes[i];
	step = 86400 * NSEC_PER_SEC;
	return (want + step - 1) / step * step;
}
