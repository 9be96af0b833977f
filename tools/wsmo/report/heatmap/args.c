// SPDX-License-Identifier: GPL-2.0
/*
 * args.c - the options of "wsmo report heatmap"
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "report/report.h"

enum { OPT_ADDRESS = 300, OPT_COLOR };

static const struct argp_option options[] = {
	{ "address", OPT_ADDRESS, "A,B", 0, "Only from address A to B (0x for hexadecimal); either may be empty", 0 },
	{ "color", OPT_COLOR, "auto|never|16|256", 0, "Colours; auto is what the terminal has", 0 },
	{ 0 }
};

static void parse_address(struct argp_state *state, const char *text, __u64 *addr)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *digits = hex ? text + 2 : text;

	if (!*text)
		return;
	errno = 0;
	*addr = strtoull(digits, NULL, hex ? 16 : 10);
	if (errno || !*digits ||
	    digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
		usage_error(state, "'%s' is not an address", text);
}

static void parse_addresses(struct argp_state *state, char *arg,
			    struct heatmap_options *opt)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage_error(state, "--address wants two addresses, A,B, one of which may be empty");
	*comma = '\0';
	parse_address(state, arg, &opt->from);
	parse_address(state, comma + 1, &opt->to);
	if (opt->from >= opt->to)
		usage_error(state, "--address wants the lower address first");
}

static void parse_color(struct argp_state *state, const char *arg,
			struct heatmap_options *opt)
{
	static const char * const names[] = {
		[TERM_AUTO] = "auto", [TERM_NONE] = "never",
		[TERM_16] = "16", [TERM_256] = "256",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], arg)) {
			opt->color = i;
			return;
		}
	}
	usage_error(state, "--color is one of auto, never, 16, 256");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct report *rp = state->input;

	switch (key) {
	case OPT_ADDRESS:
		report_option(state, rp, &report_heatmap, "--address");
		parse_addresses(state, arg, &rp->heatmap);
		return 0;
	case OPT_COLOR:
		report_option(state, rp, &report_heatmap, "--color");
		parse_color(state, arg, &rp->heatmap);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp heatmap_argp = { .options = options, .parser = parse_opt };
