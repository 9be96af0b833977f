/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options.h - options, and arguments of options, that several verbs take
 */
#ifndef WSMO_OPTIONS_H
#define WSMO_OPTIONS_H

#include <argp.h>

#include "table.h"

/* --json, --csv and --raw; the input is an enum table_format */
extern const struct argp format_argp;

/** option_time() - parse a time; Return: nanoseconds, at least 1000 */
__u64 option_time(struct argp_state *state, const char *arg);

/** option_percent() - parse "5%" or "5"; Return: 0 to 1 */
double option_percent(struct argp_state *state, const char *arg);

/** option_count() - parse a number from @min to @max */
__u64 option_count(struct argp_state *state, const char *arg, __u64 min,
		   __u64 max);

#endif /* WSMO_OPTIONS_H */
