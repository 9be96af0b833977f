/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program.h - the programs beside wsmo, separate to keep wsmo small
 */
#ifndef WSMO_PROGRAM_H
#define WSMO_PROGRAM_H

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

#endif /* WSMO_PROGRAM_H */
