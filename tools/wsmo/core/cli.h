/* SPDX-License-Identifier: GPL-2.0 */
/* cli.h - shared by all files of the command: exit codes, verbs, messages */
#ifndef WSMO_H
#define WSMO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libwsmon/util.h"
#include "wsmon.h"

/* Exit status of every verb; "record -- CMD" returns CMD's status instead. */
#define WSMO_OK		0
#define WSMO_FAILURE	1
#define WSMO_USAGE	2

/*
 * Verbs: argv[0] is the verb, the return value is the exit status. If a verb is not linked into
 * this program, main() executes the program that has the verb.
 */
int cmd_record(int argc, char **argv) __attribute__((weak));
int cmd_mark(int argc, char **argv) __attribute__((weak));
int cmd_act(int argc, char **argv) __attribute__((weak));
int cmd_report(int argc, char **argv) __attribute__((weak));
int cmd_export(int argc, char **argv) __attribute__((weak));
int cmd_top(int argc, char **argv) __attribute__((weak));
int cmd_sizing(int argc, char **argv) __attribute__((weak));
int cmd_diff(int argc, char **argv) __attribute__((weak));
int cmd_mem(int argc, char **argv) __attribute__((weak));
int cmd_check(int argc, char **argv) __attribute__((weak));

/** survive_truncation() - if a mapped file is truncated, read zeros there instead of SIGBUS */
void survive_truncation(void);

/** begin_program() - call it first in main() */
void begin_program(void);

/**
 * end_program() - call it last in main()
 *
 * It is a failure if output could not be written: without a message if the output is a closed pipe.
 *
 * Return: the exit status
 */
int end_program(int status);

/**
 * msg() - print a line on stderr: "wsmo: ", the text, "\n"
 *
 * Control characters are escaped, as names in the text cannot be trusted.
 */
void msg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** msg_put() - print the escaped text and the newline of a message */
void msg_put(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/**
 * need() - exit with a message if @memory is NULL because memory ran out
 * Return: @memory, never NULL
 */
void *need(void *memory);

/** msg_hold() - with true, hold messages while a screen is drawn; with false, print them */
void msg_hold(bool hold);

/**
 * msg_progress() - draw a line; the next msg_progress() or msg() overwrites it
 * @line: the text; NULL removes the line
 */
void msg_progress(const char *line);

/**
 * output_error() - tell whether writing to stdout failed
 *
 * Call it soon after each important write, because it takes the reason from errno.
 *
 * Return: errno of the first failure; 0: none
 */
int output_error(void);

/**
 * output_said() - note that a failed write was reported, so that end_program() does not report it
 */
void output_said(void);

/**
 * program_execute() - execute wsmo-NAME from this program's directory
 * @argv: its arguments, NULL-terminated
 *
 * Return: only if it fails: an exit status, after a message
 */
int program_execute(const char *name, char **argv);

/**
 * open_regular() - open for reading a file that other users may have created
 * @path:	name of the file
 * @flags:	O_NOFOLLOW, or 0
 *
 * Checks the type before opening: opening a pipe would wake its writer, and opening a device may
 * have effects, e.g. start a watchdog that reboots the machine.
 * Return: a descriptor; -1 if there is no such file or it is not a regular file
 */
int open_regular(const char *path, int flags);

#endif /* WSMO_H */
