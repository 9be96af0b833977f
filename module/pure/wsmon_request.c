// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_request.c - texts written to /dev/wsmon
 *
 * Pure: no mm, no allocation, no locks; the caller owns the text.
 */
#include "wsmon_pure.h"

static bool request_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Take "pid=1,2" out of the text. @p is after the "=". */
static int request_take_pids(struct wsmon_request *req, u32 *pids, u32 max, char *p, char *end)
{
	char *q;
	int nr;

	/* an empty one between commas is none of the module's numbers */
	if (req->nr_pids || p == end || *p == ',' || end[-1] == ',')
		return -EINVAL;
	for (q = p; q < end; q++) {
		if (*q != ',')
			continue;
		if (q[-1] == ' ')
			return -EINVAL;
		*q = ' ';
	}
	nr = wsmon_pids_parse(pids, max, p, end - p);
	if (nr < 0)
		return nr;
	req->nr_pids = nr;
	return 0;
}

/**
 * wsmon_request_parse - parse what was written to /dev/wsmon
 * @req:	the result; its mark is in @text
 * @pids:	the ids of "pid="
 * @max:	maximum number of ids
 * @text:	words "key=value", "pid=N,N", "join", "stop"; a line "mark=TEXT". What is not an
 *		attribute is replaced by blanks, so wsmon_attrs_parse() can parse the rest
 * @len:	its length in bytes; in the end without the mark, which is the last line
 *
 * Return: 0; -EINVAL for an empty text, two of "pid=" and "join", "stop" with others, or a
 * mark that is not the last line; or what wsmon_pids_parse() returns.
 */
int wsmon_request_parse(struct wsmon_request *req, u32 *pids, u32 max, char *text, size_t *len)
{
	char *p = text, *end = text + *len, *word;
	bool line = true;
	int err;

	memset(req, 0, sizeof(*req));
	while (p < end) {
		if (request_is_space(*p)) {
			line |= *p++ == '\n';
			continue;
		}
		if (line && end - p >= 5 && !memcmp(p, "mark=", 5)) {
			req->mark = p + 5;
			req->mark_len = end - req->mark;
			if (req->mark_len && end[-1] == '\n')
				req->mark_len--;
			*len = p - text;
			return memchr(req->mark, '\n', req->mark_len) ? -EINVAL : 0;
		}
		line = false;
		for (word = p; p < end && !request_is_space(*p); p++)
			;
		if (p - word >= 4 && !memcmp(word, "pid=", 4)) {
			err = request_take_pids(req, pids, max, word + 4, p);
			if (err)
				return err;
			memset(word, ' ', p - word);
		} else if (p - word == 4 && !memcmp(word, "join", 4)) {
			req->join = true;
			memset(word, ' ', 4);
		} else if (p - word == 4 && !memcmp(word, "stop", 4)) {
			req->stop = true;
			memset(word, ' ', 4);
		} else {
			req->has_attrs = true;
		}
	}
	if ((req->nr_pids && req->join) || (req->stop && (req->has_attrs || req->nr_pids || req->join)))
		return -EINVAL;
	return req->has_attrs || req->nr_pids || req->join || req->stop ? 0 : -EINVAL;
}
