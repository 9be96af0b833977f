/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cli.h - what every file of the command shares: exit codes, verbs, messages
 */
#ifndef WSMO_H
#define WSMO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libwsmon/util.h"
#include "wsmon.h"

/* Exit status of every verb; "record -- CMD" returns that of CMD instead. */
#define WSMO_OK		0
#define WSMO_FAILURE	1
#define WSMO_USAGE	2

/*
 * Verbs: argv[0] is the verb, the return value is the exit status. A program that
 * does not have one executes the program that does.
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

/** survive_truncation() - make mapped files that are truncated read as zeros, instead of SIGBUS */
void survive_truncation(void);

/** begin_program() - to be called first in main() */
void begin_program(void);

/**
 * end_program() - to be called last in main()
 *
 * Output that did not get out is a failure; a closed pipe is not reported.
 *
 * Return: the exit status
 */
int end_program(int status);

/**
 * msg() - one line on stderr, "wsmo: " before it, "\n" after it
 *
 * Control characters are escaped: names in it can be of any origin.
 */
void msg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** msg_put() - print the rest of such a line, and its newline */
void msg_put(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/**
 * need() - exit with a message if there was no memory
 * Return: @memory, which is not NULL
 */
void *need(void *memory);

/**
 * msg_hold() - keep messages while a screen is drawn; false prints them
 */
void msg_hold(bool hold);

/**
 * msg_progress() - draw a line that the next one, or msg(), overwrites
 * @line: the text; NULL removes the line
 */
void msg_progress(const char *line);

/**
 * output_error() - did writing to stdout fail?
 *
 * To be called soon after each write that matters: the reason is in errno.
 *
 * Return: errno of the first failure, 0 if there was none
 */
int output_error(void);

/** output_said() - a message names the file that could not be written: end_program() has no other */
void output_said(void);

/**
 * program_execute() - execute wsmo-NAME from this program's directory
 * @argv: its arguments, NULL-terminated
 *
 * Return: if it fails, an exit status, after a message
 */
int program_execute(const char *name, char **argv);

/**
 * open_regular() - open a file that others may have put there, to read it
 * @path:	its name
 * @flags:	O_NOFOLLOW, or 0
 *
 * To open a pipe would wake up who writes to it, and to open a device may do something: one of a
 * watchdog restarts the machine later. So it is looked at before.
 * Return: a descriptor, -1 if there is none, or if it is no regular file
 */
int open_regular(const char *path, int flags);

#endif /* WSMO_H */
