/* SPDX-License-Identifier: GPL-2.0 */
/*
 * debugfs.h - the module's files in debugfs
 */
#ifndef WSMO_DEBUGFS_H
#define WSMO_DEBUGFS_H

#include <argp.h>
#include <stddef.h>

#include "cli/options.h"

#define DEBUGFS_DEFAULT	"/sys/kernel/debug/wsmon"
#define DEBUGFS_TEXT	4096	/* max. length of a text file of the module */

/* The option --debugfs; it sets nothing of the caller */
extern const struct option_desc debugfs_options[];

/**
 * debugfs_dir() - return the directory of the module's files
 * @set: sets it; NULL does not: by default it is $WSMON_DEBUGFS, or DEBUGFS_DEFAULT
 */
const char *debugfs_dir(const char *set);

/**
 * debugfs_load_module() - load the module if it is not loaded
 *
 * Only as root, and only with the default directory. A failure shows when the files
 * are opened.
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
 * debugfs_write() - write text to a file with one write()
 * Return: 0, or -errno without a message
 */
int debugfs_write(const char *name, const char *text);

/**
 * debugfs_explain() - print what an error of these functions means, and what to do
 * @err: -errno
 */
void debugfs_explain(const char *name, int err);

#endif /* WSMO_DEBUGFS_H */
