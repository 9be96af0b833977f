/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - all files that wsmo writes
 *
 * A file appears whole or not at all. Until it is complete it has no name (O_TMPFILE), or a
 * temporary name if the file system lacks O_TMPFILE. The complete file replaces an older file.
 * Symbolic links are not followed.
 *
 * "-", /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N name inherited descriptors. wsmo
 * writes directly to inherited descriptors, FIFOs that have a reader, and character devices.
 */
#ifndef WSMO_OUTFILE_H
#define WSMO_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/**
 * struct outfile - a file to be written
 * @name:	name given by the user
 * @fd:		descriptor to write to; -1: not open
 * @dir:	directory of the file; -1: written directly
 * @base:	final name in @dir
 * @temp:	temporary name in @dir; empty without
 * @placed:	the file has its final name
 */
struct outfile {
	const char *name;
	int fd;
	int dir;
	char base[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	bool placed;
};

/** outfile_is_stdout() - tell whether @name stands for standard output */
bool outfile_is_stdout(const char *name);

/**
 * outfile_open() - begin a file
 * @mode: permissions of a new file, before umask
 * Return: 0, or -1 after a message
 */
int outfile_open(struct outfile *o, const char *name, mode_t mode);

/**
 * outfile_foreign() - tell whether another user owns a file in a world-writable directory
 * @dir: descriptor of the directory
 *
 * The other user is neither the user of this process, nor the user who called sudo, nor the owner
 * of the directory. Such a user may have made the file as a trap: so that wsmo writes to it or
 * replaces it.
 */
bool outfile_foreign(int dir, const struct stat *st);

/** outfile_place() - give the file its name, replacing an older file. Return: 0 or -errno */
int outfile_place(struct outfile *o);

/** outfile_sync() - wait until the file and its name are on disk. Return: 0 or -errno */
int outfile_sync(const struct outfile *o);

/** outfile_close() - close the file; discard it unless it was placed. Return: 0 or -errno */
int outfile_close(struct outfile *o);

/**
 * outfile_finish() - place a complete file, and close it
 * @err: 0; or the errno of an earlier failure, to discard the file
 * @sync: wait until the file is on disk before it replaces an older file
 * Return: 0, or -1 after a message
 */
int outfile_finish(struct outfile *o, int err, bool sync);

/**
 * outfile_begin() - redirect standard output to the file @path
 * Return: 0, or -1 after a message
 */
int outfile_begin(const char *path);

/**
 * outfile_commit() - place the file, and restore standard output
 * @sync: as in outfile_finish()
 * Return: 0, or -1 after a message
 */
int outfile_commit(bool sync);

/** outfile_abort() - discard the file, and restore standard output */
void outfile_abort(void);

/** outfile_remove() - remove the file that outfile_commit() placed last, unless it was replaced */
void outfile_remove(void);

#endif /* WSMO_OUTFILE_H */
