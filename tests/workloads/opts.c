// SPDX-License-Identifier: GPL-2.0
/* The options of the workloads, see opts.h. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opts.h"

#define OPTS_MAX	32

void usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try %s --help\n", program_invocation_short_name);
	exit(2);
}

uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
		      bool sizes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		usage_error("--%s: not a number: %s", option, text);
	suffix = sizes && *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		int shift = 10 * (suffix - suffixes + 1);

		if (value > UINT64_MAX >> shift)
			usage_error("--%s: too large: %s", option, text);
		value <<= shift;
		end++;
	}
	if (*end)
		usage_error("--%s: not a number: %s", option, text);
	if (value < min || value > max)
		usage_error("--%s: not within %" PRIu64 "..%" PRIu64 ": %s", option, min, max,
			    text);
	return value;
}

static double parse_decimal(const char *name, const char *text, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= max))
		usage_error("--%s: not within 0..%g: %s", name, max, text);
	return value;
}

static void take(const struct opt *o, char *text)
{
	switch (o->kind) {
	case OPT_NUMBER:
	case OPT_SIZE:
		*(uint64_t *)o->value = (o->unit ? o->unit : 1) *
			parse_number(o->name, text, o->min, o->max, o->kind == OPT_SIZE);
		break;
	case OPT_DECIMAL:
		*(double *)o->value = parse_decimal(o->name, text, o->max);
		break;
	case OPT_TEXT:
		*(const char **)o->value = text;
		break;
	case OPT_SET:
	case OPT_CLEAR:
		*(bool *)o->value = o->kind == OPT_SET;
		break;
	case OPT_OTHER:
		o->parse(o->name, text, o->value);
		break;
	}
}

void parse_options(int argc, char **argv, const struct opt *table, void (*help)(void),
		   void (*allowed)(const char *name))
{
	struct option options[OPTS_MAX] = { { "help", no_argument, NULL, 0 } };
	int index, nr, option;

	for (nr = 0; table[nr].name; nr++)
		options[nr + 1] = (struct option){
			table[nr].name, table[nr].kind != OPT_SET && table[nr].kind != OPT_CLEAR,
			NULL, 0,
		};
	while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (option)
			usage_error("bad usage");
		if (!index) {
			help();
			exit(EXIT_SUCCESS);
		}
		if (allowed)
			allowed(table[index - 1].name);
		take(&table[index - 1], optarg);
	}
	if (optind < argc)
		usage_error("what is '%s'?", argv[optind]);
}
