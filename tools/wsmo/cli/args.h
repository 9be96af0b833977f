/* SPDX-License-Identifier: GPL-2.0 */
/*
 * args.h - command lines: what all verbs share
 */
#ifndef WSMO_ARGS_H
#define WSMO_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

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

/** usage_option() - name the option that usage_error() is about; NULL is none */
void usage_option(const char *name);

/**
 * verb_parse() - argp_parse() for a verb
 * @name: its name in usage and help, "wsmo record"
 *
 * A usage error prints a message that begins with "wsmo: " and exits with
 * WSMO_USAGE.
 */
void verb_parse(const struct argp *argp, const char *name, int argc,
		char **argv, void *input);

/* --help and --version */
extern const struct argp_child verb_common[];

#endif /* WSMO_ARGS_H */
