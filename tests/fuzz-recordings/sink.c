// SPDX-License-Identifier: GPL-2.0
/*
 * sink.c - takes what wsmo prints, and minds what must never be in it
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "fuzz.h"

static FILE *real_stdout, *real_stderr;
static mbstate_t state;
static bool json;
static bool binary;
static char *messages;
static size_t messages_len;

void fuzz_fail(const char *fmt, ...)
{
	FILE *f = real_stderr ? real_stderr : stderr;
	va_list ap;

	fputs("fuzz: ", f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	abort();
}

/*
 * A terminal must not be steered, whatever names a file has in it. JSON, which is
 * for programs, may have what it need not escape: DEL and C1.
 */
static void check_text(const char *p, size_t n)
{
	while (n) {
		size_t len = 1;
		wchar_t wc;

		if (mbsinit(&state) && *p >= ' ' && *p < 0x7f) {
			wc = *p;
		} else {
			len = mbrtowc(&wc, p, n, &state);
			if (len == (size_t)-2)
				return;
			if (len == (size_t)-1)
				fuzz_fail("output that is no UTF-8");
			if (!len)
				fuzz_fail("a NUL in the output");
		}
		if ((wc < ' ' && wc != '\n') ||
		    (wc >= 0x7f && wc < 0xa0 && !json))
			fuzz_fail("control character %#x in the output",
				  (unsigned int)wc);
		p += len;
		n -= len;
	}
}

static ssize_t sink_write(void *cookie __attribute__((unused)), const char *p,
			  size_t n)
{
	if (!binary)
		check_text(p, n);
	return n;
}

void sink_begin(bool is_json, bool is_binary)
{
	const cookie_io_functions_t functions = { .write = sink_write };

	memset(&state, 0, sizeof(state));
	json = is_json;
	binary = is_binary;
	real_stdout = stdout;
	real_stderr = stderr;
	stdout = fopencookie(NULL, "w", functions);
	stderr = open_memstream(&messages, &messages_len);
	if (!stdout || !stderr)
		fuzz_fail("no memory for the output");
}

char *sink_end(void)
{
	fclose(stdout);
	fclose(stderr);
	stdout = real_stdout;
	stderr = real_stderr;
	if (!mbsinit(&state))
		fuzz_fail("the output ends inside a character");
	json = false;
	binary = false;
	check_text(messages, messages_len);
	return messages;
}
