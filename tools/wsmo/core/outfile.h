/* SPDX-License-Identifier: GPL-2.0 */
/*
 * outfile.h - every file that wsmo writes
 *
 * A file appears whole or not at all. Until it is complete it has no name (O_TMPFILE), or a
 * temporary one where the file system has no such files; then it replaces an older file. Symbolic
 * links are not followed.
 *
 * "-", /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N are descriptors that wsmo was
 * started with. These, FIFOs that have a reader, and character devices are written directly.
 */
#ifndef WSMO_OUTFILE_H
#define WSMO_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/**
 * struct outfile - a file to be written
 * @name:	what the user named
 * @fd:		to write to; -1 if it is not open
 * @dir:	its directory; -1 if it is written directly
 * @base:	its name in @dir
 * @temp:	its name until it is in its place; empty if it has none
 * @placed:	it has its name
 */
struct outfile {
	const char *name;
	int fd;
	int dir;
	char base[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	bool placed;
};

/** outfile_is_stdout() - does @name stand for standard output? */
bool outfile_is_stdout(const char *name);

/**
 * outfile_open() - begin a file
 * @mode: permissions of a new file, before umask
 * Return: 0, or -1 after a message
 */
int outfile_open(struct outfile *o, const char *name, mode_t mode);

/**
 * outfile_foreign() - is a file somebody else's, in a directory where everybody may put files?
 * @dir: the directory
 *
 * Somebody else is neither us, nor who called sudo, nor the directory's owner. The file may have
 * been put there for us to write to, or over.
 */
bool outfile_foreign(int dir, const struct stat *st);

/** outfile_place() - give it its name, replacing an older file; Return: 0 or -errno */
int outfile_place(struct outfile *o);

/** outfile_sync() - wait until it is on the disk, with its name; Return: 0 or -errno */
int outfile_sync(const struct outfile *o);

/** outfile_close() - close it; discard it if it was not placed. Return: 0 or -errno */
int outfile_close(struct outfile *o);

/**
 * outfile_finish() - place a complete file, and close it
 * @err: 0, or the errno of an earlier failure: discard it
 * @sync: wait until it is on the disk, before it replaces another
 * Return: 0, or -1 after a message
 */
int outfile_finish(struct outfile *o, int err, bool sync);

/**
 * outfile_begin() - redirect standard output to the file @path
 * Return: 0, or -1 after a message
 */
int outfile_begin(const char *path);

/**
 * outfile_commit() - put the file in its place, restore standard output
 * @sync: as of outfile_finish()
 * Return: 0, or -1 after a message
 */
int outfile_commit(bool sync);

/** outfile_abort() - drop the file, restore standard output */
void outfile_abort(void);

/** outfile_remove() - remove the file that outfile_commit() placed last, if it is still there */
void outfile_remove(void);

#endif /* WSMO_OUTFILE_H */
