/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - files that are there whole or not at all
 *
 * What is printed to standard output goes to a temporary file beside the one
 * wanted, which it replaces in the end. A signal that ends the program removes it.
 */
#ifndef WSMO_OUTFILE_H
#define WSMO_OUTFILE_H

/**
 * outfile_begin() - from now on standard output is the file @path
 * Return: 0, or -1 after a message
 */
int outfile_begin(const char *path);

/**
 * outfile_commit() - put it in its place; standard output is what it was
 * Return: 0, or -1 after a message
 */
int outfile_commit(void);

/** outfile_abort() - forget it; standard output is what it was */
void outfile_abort(void);

#endif /* WSMO_OUTFILE_H */
