// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - messages, the progress line, output that fails
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "text.h"

static int progress_len;

/* How much of a line can be overwritten: what goes on in the next line cannot */
static size_t stderr_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? INT_MAX : size.ws_col - 1;
}

void msg_progress(const char *line)
{
	int len = line ? (int)strnlen(line, stderr_columns()) : 0;

	if (!len && !progress_len)
		return;
	fprintf(stderr, "\r%-*.*s", progress_len, len, line ? line : "");
	if (!len)
		fputc('\r', stderr);
	fflush(stderr);
	progress_len = len;
}

static FILE *held;
static char *held_text;
static size_t held_size;

void msg_hold(bool hold)
{
	if (hold && !held) {
		held = open_memstream(&held_text, &held_size);
	} else if (!hold && held) {
		fclose(held);
		held = NULL;
		fwrite(held_text, 1, held_size, stderr);
		free(held_text);
	}
}

void msg_put(FILE *f, const char *fmt, va_list ap)
{
	char *text, *clean;
	int len = vasprintf(&text, fmt, ap);

	clean = len < 0 ? NULL : malloc(4 * len + 1);
	fprintf(f, "%s\n", clean ? text_clean(clean, 4 * len + 1, text) : "out of memory");
	if (len >= 0)
		free(text);
	free(clean);
}

void msg(const char *fmt, ...)
{
	FILE *f = held ? held : stderr;
	va_list ap;

	msg_progress(NULL);
	fputs("wsmo: ", f);
	va_start(ap, fmt);
	msg_put(f, fmt, ap);
	va_end(ap);
}

void *need(void *memory)
{
	if (memory)
		return memory;
	msg("out of memory");
	exit(WSMO_FAILURE);
}

int output_error(void)
{
	static int err;

	if (ferror(stdout) && !err)
		err = errno ? errno : EIO;
	return err;
}
