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

#endif /* WSMO_PROGRAM_H */
