/* SPDX-License-Identifier: GPL-2.0 */
/*
 * args.h - command lines: options that all or several verbs share
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
 * The only argument of a verb: print its options, one a line, for completion.sh.
 * The only argument of wsmo: print the verbs.
 */
#define LIST_OPTIONS	"--list-options"

/**
 * usage_error() - print what is wrong with the command line and exit(2)
 * @state: argp's
 */
void usage_error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/**
 * verb_parse() - argp_parse() for a verb
 * @name: its name in usage and help, "wsmo record"
 *
 * A usage error prints a message that begins with "wsmo: " and exits with
 * WSMO_USAGE.
 */
void verb_parse(const struct argp *argp, const char *name, int argc,
		char **argv, void *input);

/* --help and --version; verb_common is for verbs without other children */
extern const struct argp verb_common_argp;
extern const struct argp_child verb_common[];

/** set_format() - set the format; a second, different one is a usage error */
void set_format(struct argp_state *state, enum table_format *format,
		enum table_format wanted);

/** parse_pids() - append "PID,..." to @pids; @list is changed */
void parse_pids(struct argp_state *state, char *list, struct pids *pids);

/** parse_classes() - set the bits of "CLASS,..." in @classes; @list is changed */
void parse_classes(struct argp_state *state, char *list, __u32 *classes);

#endif /* WSMO_ARGS_H */
