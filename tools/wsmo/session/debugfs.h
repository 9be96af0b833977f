/* SPDX-License-Identifier: GPL-2.0 */
/*
 * debugfs.h - the module's files, and clear messages when they fail
 */
#ifndef WSMO_DEBUGFS_H
#define WSMO_DEBUGFS_H

#include <argp.h>
#include <stddef.h>

#define DEBUGFS_DEFAULT	"/sys/kernel/debug/wsmon"
#define DEBUGFS_TEXT	4096	/* no text file of the module is longer */

/* The option --debugfs; it has no input */
extern const struct argp debugfs_argp;

/**
 * debugfs_dir() - where the module's files are
 * @set: sets it; NULL leaves it as it is: $WSMON_DEBUGFS or DEBUGFS_DEFAULT
 */
const char *debugfs_dir(const char *set);

/**
 * debugfs_load_module() - load the module if it is not there
 *
 * Only as root, and only if the files are where the module puts them. Whether
 * it worked shows when they are opened.
 */
void debugfs_load_module(void);

/**
 * debugfs_open() - open a file of the module
 * @name: "target", ...
 * @flags: of open()
 * Return: the fd, or -errno without a message
 */
int debugfs_open(const char *name, int flags);

/**
 * debugfs_read() - read a text file
 * @text: result, terminated
 * Return: 0, or -errno after a message
 */
int debugfs_read(const char *name, char *text, size_t size);

/**
 * debugfs_write() - write text to a file in one go
 * Return: 0, or -errno without a message
 */
int debugfs_write(const char *name, const char *text);

/**
 * debugfs_explain() - say what an error of the functions above means, and what
 * to do about it
 * @err: -errno
 */
void debugfs_explain(const char *name, int err);

#endif /* WSMO_DEBUGFS_H */
