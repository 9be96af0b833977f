/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program.h - the programs beside wsmo, which are no part of it to keep it small
 */
#ifndef WSMO_PROGRAM_H
#define WSMO_PROGRAM_H

/**
 * program_execute() - become wsmo-NAME, which is beside this program
 * @argv: its arguments, NULL behind the last one
 *
 * Return: if it fails, an exit status, after a message
 */
int program_execute(const char *name, char **argv);

#endif /* WSMO_PROGRAM_H */
