/* SPDX-License-Identifier: GPL-2.0 */
/* files.h - reads small files, such as those of /proc, /sys and cgroups */
#ifndef WSMO_FILES_H
#define WSMO_FILES_H

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>

/**
 * read_text() - read a file
 * @dir:	descriptor of the directory of @name, or AT_FDCWD
 * @text:	gets up to @size - 1 bytes, terminated; "" if the file cannot be read
 * Return: number of bytes, or -errno
 */
int read_text(int dir, const char *name, char *text, size_t size);

/** read_line() - read a file's first line, without the newline. Return: as read_text() */
int read_line(int dir, const char *name, char *text, size_t size);

/**
 * struct key_number - the key of a line "KEY NUMBER" or "KEY: NUMBER kB", and the variable for the
 * number; kB become bytes
 */
struct key_number {
	const char *key;
	__u64 *to;
};

/**
 * read_numbers() - read numbers by their keys, and close the file
 * @f:		the file; NULL counts as empty
 * @keys:	@nr keys; numbers of missing keys stay unchanged
 * Return: number of lines found
 */
size_t read_numbers(FILE *f, const struct key_number *keys, size_t nr);

/** meminfo() - get the bytes in a line of /proc/meminfo, such as "MemTotal"; 0: unknown */
__u64 meminfo(const char *key);

#endif /* WSMO_FILES_H */
