// SPDX-License-Identifier: GPL-2.0
/*
 * state.c - a session and its stream, on the device or in debugfs
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/units.h"
#include "state.h"

/* The module's defaults */
#define SAMPLE_US	100000
#define AGGR_US		1000000
#define MIN_REGIONS	10
#define MAX_REGIONS	2000

enum reader_result session_parse(struct session *s,
				 const struct wsmon_record **rec)
{
	for (;;) {
		enum reader_result res = reader_parse(&s->reader, rec);

		if (res == READER_HEADER) {
			/* the parser refuses one that is larger than this */
			s->header_size = s->reader.header.header_size;
			memcpy(s->header, *rec, s->header_size);
		}
		if (res != READER_RECORD ||
		    s->reader.at >= s->stale)
			return res;
	}
}

int session_read_from(struct session *s, int fd)
{
	s->fd = fd;
	if (!reader_init(&s->reader, fd))
		return 0;
	msg("out of memory");
	return -1;
}

/* The value of a key in "key=value ..."; Return: was it given? */
static bool value_of(const char *text, const char *key, __u64 *value)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), "=%llu", value) == 1;
}

void session_refused(const char *text)
{
	static const struct {
		const char *key, *option;
	} times[] = {
		{ "aggr_us", "aggr" }, { "update_us", "update" }, { "window_us", "window" },
	};
	__u64 sample = SAMPLE_US, us, min = MIN_REGIONS, max = MAX_REGIONS;
	bool given = value_of(text, "sample_us", &sample), few;
	char time[UNITS_LEN], least[UNITS_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (!value_of(text, times[i].key, &us) || us >= sample)
			continue;
		msg("--%s %s is shorter than --sample %s%s", times[i].option,
		    units_time(time, us * NSEC_PER_USEC), units_time(least, sample * NSEC_PER_USEC),
		    given ? "" : " (the default): give both");
		return;
	}
	few = value_of(text, "max_regions", &max);
	given = value_of(text, "min_regions", &min);
	if (max < min) {
		msg("--max-regions %llu%s is less than --min-regions %llu%s", max, few ? "" : " (the default)",
		    min, given ? "" : " (the default)");
		return;
	}
	if (value_of(text, "sample_us", &sample) && sample > AGGR_US) {
		msg("--sample %s is longer than --aggr, --update or --window, by default %s: give these, too",
		    units_time(time, sample * NSEC_PER_USEC), units_time(least, AGGR_US * NSEC_PER_USEC));
		return;
	}
	msg("the module refuses an option: a value out of range, or at odds with another (%.*s)",
	    (int)strcspn(text, "\n"), text);
}
