/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program.h - whether libwsmo-alloc.so can be loaded into a program
 */
#ifndef WSMO_ALLOC_PROGRAM_H
#define WSMO_ALLOC_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * program_can_preload() - see whether the dynamic linker will load it
 * @cmd:	as execvp() takes it
 * @uid:	the user who will run it
 *
 * Return: false after a message. True is no promise: a script's interpreter is not looked at
 */
bool program_can_preload(const char *cmd, uid_t uid);

#endif /* WSMO_ALLOC_PROGRAM_H */
