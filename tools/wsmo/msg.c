// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - messages, the progress line, output that fails
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wsmo.h"

static int progress_len;

void msg_progress(const char *line)
{
	int len = line ? (int)strlen(line) : 0;

	if (!len && !progress_len)
		return;
	fprintf(stderr, "\r%-*s", progress_len, line ? line : "");
	if (!len)
		fputc('\r', stderr);
	fflush(stderr);
	progress_len = len;
}

void msg(const char *fmt, ...)
{
	va_list ap;

	msg_progress(NULL);
	fputs("wsmo: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int output_error(void)
{
	static int err;

	if (ferror(stdout) && !err)
		err = errno ? errno : EIO;
	return err;
}
