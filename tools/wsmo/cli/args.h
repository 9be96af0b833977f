/* SPDX-License-Identifier: GPL-2.0 */
/*
 * args.h - command lines: what all verbs have, and what several take
 */
#ifndef WSMO_ARGS_H
#define WSMO_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "libwsmon/filter.h"
#include "table.h"
#include "wsmon.h"

/*
 * Alone on a verb's command line: its options, one a line, for completion.sh,
 * which makes the shell's completion of them; as the verbs, without a verb.
 */
#define LIST_OPTIONS	"--list-options"

/**
 * usage_error() - tell what is wrong with the command line and exit(2)
 * @state: argp's, for the line that names --help
 */
void usage_error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/**
 * verb_parse() - argp_parse() for a verb
 * @name: "wsmo record": the name in its usage and help
 *
 * Usage errors are prefixed "wsmo: " and end the process with WSMO_USAGE.
 */
void verb_parse(const struct argp *argp, const char *name, int argc,
		char **argv, void *input);

/* --help, --usage and --version; verb_common is for verbs with no other child */
extern const struct argp verb_common_argp;
extern const struct argp_child verb_common[];

/** set_format() - take one of --json, --csv and --raw, refuse a second one */
void set_format(struct argp_state *state, enum table_format *format,
		enum table_format wanted);

/** parse_pids() - append "PID,..." to @pids; @list is changed */
void parse_pids(struct argp_state *state, char *list, struct pids *pids);

/** parse_classes() - set the bits of "CLASS,..." in @classes; @list is changed */
void parse_classes(struct argp_state *state, char *list, __u32 *classes);

#endif /* WSMO_ARGS_H */
