// SPDX-License-Identifier: GPL-2.0
/*
 * state.c - a session and its stream, on the device or in debugfs
 */
#include <string.h>

#include "cli/cli.h"
#include "state.h"

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

void session_refused(const char *text)
{
	msg("the module refuses '%.*s': a value out of range, or at odds with another",
	    (int)strcspn(text, "\n"), text);
}
