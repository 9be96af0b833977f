/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - files that appear whole or not at all
 *
 * Standard output goes to a temporary file beside the one wanted, and replaces that in
 * the end. A signal that ends the program removes the temporary file.
 */
#ifndef WSMO_OUTFILE_H
#define WSMO_OUTFILE_H

/**
 * outfile_begin() - redirect standard output to the file @path
 * Return: 0, or -1 after a message
 */
int outfile_begin(const char *path);

/**
 * outfile_commit() - rename the file to its place, restore standard output
 * Return: 0, or -1 after a message
 */
int outfile_commit(void);

/** outfile_abort() - remove the temporary file, restore standard output */
void outfile_abort(void);

/**
 * outfile_temp() - create a temporary file beside @file
 * @name: PATH_MAX bytes, gets its name, empty if it fails
 * Return: its fd, or -errno
 */
int outfile_temp(char *name, const char *file);

#endif /* WSMO_OUTFILE_H */
