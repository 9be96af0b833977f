// SPDX-License-Identifier: GPL-2.0
/* outfile.c - every file that wsmo writes */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli.h"
#include "identity.h"
#include "outfile.h"
#include "units.h"

/* The file whose temporary name is removed at exit and by deadly signals; NULL: none */
static struct outfile *named;

static const int deadly[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };

__attribute__((destructor)) static void remove_named(void)
{
	if (named)
		unlinkat(named->dir, named->temp, 0);
	named = NULL;
}

static void remove_and_die(int sig)
{
	remove_named();
	raise(sig);
}

/* Sets handlers that remove the file; leaves signals alone that are handled already, or ignored */
static void set_named(struct outfile *o)
{
	struct sigaction act = {
		.sa_handler = o ? remove_and_die : SIG_DFL, .sa_flags = o ? SA_RESETHAND : 0,
	}, old;
	size_t i;

	named = o;
	for (i = 0; i < ARRAY_SIZE(deadly); i++) {
		sigaction(deadly[i], NULL, &old);
		if (old.sa_handler == SIG_DFL || old.sa_handler == remove_and_die)
			sigaction(deadly[i], &act, NULL);
	}
}

static void block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, before);
}

/* Return: the descriptor if @name is in /dev/fd or the like, else -1 */
static int descriptor(const char *name)
{
	static const char * const dirs[] = { "/dev/fd/", "/proc/self/fd/" };
	size_t i;
	__u64 fd;

	if (!strcmp(name, "-") || !strcmp(name, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(name, "/dev/stderr"))
		return STDERR_FILENO;
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!strncmp(name, dirs[i], strlen(dirs[i])) &&
		    !units_parse_count(name + strlen(dirs[i]), INT_MAX, &fd))
			return fd;
	return -1;
}

bool outfile_is_stdout(const char *name)
{
	return descriptor(name) == STDOUT_FILENO;
}

static int fail(const struct outfile *o, const char *why)
{
	msg("%s: cannot be written: %s", o->name, why);
	return -1;
}

/* The functions below return the reason why a file cannot be opened, or NULL */

/* Opens a descriptor that wsmo was started with; wsmo's own descriptors have FD_CLOEXEC */
static const char *open_descriptor(struct outfile *o, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_GETFD) & FD_CLOEXEC || (flags & O_ACCMODE) == O_RDONLY)
		return "it is not open for writing";
	o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return o->fd < 0 ? strerror(errno) : NULL;
}

/* Opens a FIFO or device, which an O_PATH descriptor refers to */
static const char *open_found(struct outfile *o, int found)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	o->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (o->fd < 0)
		return errno == ENXIO ? "nobody reads it" : strerror(errno);
	/* open() must not wait for a reader, but write() must wait for a slow reader */
	fcntl(o->fd, F_SETFL, fcntl(o->fd, F_GETFL) & ~O_NONBLOCK);
	close(o->dir);
	o->dir = -1;
	return NULL;
}

/* Choose a temporary name */
static const char *choose_name(struct outfile *o)
{
	unsigned int n;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		return strerror(errno);
	snprintf(o->temp, sizeof(o->temp), "%.*s.%08x", NAME_MAX - 9, o->base, n);
	return NULL;
}

/* Creates a file without a name; with a temporary name if the file system has no such files */
static const char *open_new(struct outfile *o, mode_t mode)
{
	const char *why;
	sigset_t before;

	o->fd = openat(o->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (o->fd >= 0)
		return NULL;
	if (errno != EOPNOTSUPP)
		return strerror(errno);
	why = choose_name(o);
	if (why)
		return why;
	block_signals(&before);
	o->fd = openat(o->dir, o->temp, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode);
	why = o->fd < 0 ? strerror(errno) : NULL;
	if (!why)
		set_named(o);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return why;
}

/*
 * Gives a new file the ACL of the file that it replaces, to which an O_PATH descriptor refers; or
 * no ACL, also none from the directory. Return: the permissions for fchmod(), of those in @keep
 */
static mode_t keep_acl(const struct outfile *o, int found, mode_t keep)
{
	static const char acl[] = "system.posix_acl_access";
	char path[32], entries[8192];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	n = getxattr(path, acl, entries, sizeof(entries));
	/* of a file with an ACL, the group's permissions are the mask of the ACL */
	if (n > 0 && keep & S_IRWXG && !fsetxattr(o->fd, acl, entries, n, 0))
		return keep;
	if (n > 0 || (n < 0 && errno != ENODATA && errno != EOPNOTSUPP))
		keep &= S_IRWXU;
	fremovexattr(o->fd, acl);
	return keep;
}

/* Creates a file to replace @old, open as @found, with at most the permissions of @old */
static const char *open_another(struct outfile *o, mode_t mode, const struct stat *old, int found)
{
	mode_t keep = mode & old->st_mode;
	const char *why = open_new(o, keep & S_IRWXU);
	struct identity id;
	struct stat new;

	if (!why && fstat(o->fd, &new))
		why = strerror(errno);
	if (!why) {
		if (new.st_gid != old->st_gid && fchown(o->fd, -1, old->st_gid))
			keep = (keep & S_IRWXU) | (keep & keep >> 3 & S_IRWXO);
		keep = keep_acl(o, found, keep);
		/* in some file systems all files have the same mode: change it only if needed */
		if ((new.st_mode ^ keep) & mode && fchmod(o->fd, keep))
			why = strerror(errno);
	}
	/* if @old belongs to the user who called sudo, so does the new file */
	if (!why && old->st_uid && !identity_get(&id, NULL) && old->st_uid == id.uid &&
	    fchown(o->fd, old->st_uid, old->st_gid))
		why = strerror(errno);
	return why;
}

/* Does a file belong neither to this user nor to the user who called sudo? */
static bool is_others(const struct stat *st)
{
	struct identity id;

	return st->st_uid != geteuid() && (identity_get(&id, NULL) || st->st_uid != id.uid);
}

bool outfile_foreign(int dir, const struct stat *st)
{
	struct stat d;

	if (fstat(dir, &d))
		return true;
	if (!(d.st_mode & S_ISVTX) || !(d.st_mode & (S_IWGRP | S_IWOTH)))
		return false;
	return st->st_uid != d.st_uid && is_others(st);
}

/* The directory of the file that was opened last, and the name of that file */
static int kept = -1;
static char *kept_name;

/*
 * Opens the directory of a file. If a file of this name was opened before, as in rotation and in
 * "export --live", it is the same directory: meanwhile, somebody may have put a link to another
 * directory in its place.
 */
static int open_directory(const char *name, const char *dir)
{
	if (kept < 0 || strcmp(kept_name, name)) {
		if (kept >= 0)
			close(kept);
		free(kept_name);
		kept_name = need(strdup(name));
		kept = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return kept < 0 ? -1 : fcntl(kept, F_DUPFD_CLOEXEC, 0);
}

static const char *open_named(struct outfile *o, mode_t mode)
{
	const char *slash = strrchr(o->name, '/');
	const char *base = slash ? slash + 1 : o->name;
	char *dir = need(slash ? strndup(o->name, base - o->name) : strdup("."));
	const char *why;
	struct stat st;
	int found;

	o->dir = open_directory(o->name, dir);
	free(dir);
	if (o->dir < 0 || !*o->name)
		return strerror(o->dir < 0 ? errno : ENOENT);
	if (strlen(base) > NAME_MAX)
		return strerror(ENAMETOOLONG);
	strcpy(o->base, *base ? base : ".");
	found = openat(o->dir, o->base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0)
		return errno == ENOENT ? open_new(o, mode) : strerror(errno);
	if (fstat(found, &st))
		why = strerror(errno);
	else if (S_ISLNK(st.st_mode))
		why = "a symbolic link; name the file that it leads to";
	else if (S_ISDIR(st.st_mode))
		why = "a directory; name a file";
	else if (outfile_foreign(o->dir, &st))
		why = "another user owns it, in a directory that others can write to";
	else if (S_ISREG(st.st_mode))
		why = open_another(o, mode, &st, found);
	else if (S_ISFIFO(st.st_mode) && is_others(&st))
		why = "another user's pipe: that user would read the output; to allow it: -o - >PIPE";
	else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		why = open_found(o, found);
	else
		why = "neither a file nor a pipe nor a terminal";
	close(found);
	return why;
}

int outfile_open(struct outfile *o, const char *name, mode_t mode)
{
	int fd = descriptor(name);
	const char *why;
	struct stat st;

	*o = (struct outfile) { .name = name, .fd = -1, .dir = -1 };
	why = fd < 0 ? open_named(o, mode) : open_descriptor(o, fd);
	if (!why && !fstat(o->fd, &st) && (S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode)))
		why = "neither a file nor a pipe nor a terminal";
	if (!why)
		return 0;
	outfile_close(o);
	return fail(o, why);
}

/* Give a name that is not in use to a file without a name. Return: 0 or -errno */
static int link_to(const struct outfile *o, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, path, o->dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Has another user created a file of this name while this file was written? */
static bool is_taken(const struct outfile *o)
{
	struct stat st;

	return !fstatat(o->dir, o->base, &st, AT_SYMLINK_NOFOLLOW) && outfile_foreign(o->dir, &st);
}

int outfile_place(struct outfile *o)
{
	sigset_t before;
	int err = 0;

	if (o->dir < 0 || o->placed)
		return 0;
	block_signals(&before);
	if (named != o)
		err = link_to(o, o->base);
	/* only a file with a name can replace another */
	if (named == o || err == -EEXIST) {
		while (err == -EEXIST)
			err = choose_name(o) ? -errno : link_to(o, o->temp);
		if (!err && is_taken(o))
			err = -EEXIST;
		else if (!err && renameat(o->dir, o->temp, o->dir, o->base))
			err = -errno;
		if (err)
			unlinkat(o->dir, o->temp, 0);
	}
	if (named == o)
		set_named(NULL);
	o->placed = !err;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

static int sync_fd(int fd)
{
	/* EINVAL, EROFS: the file system cannot sync, and has nothing to sync */
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int outfile_sync(const struct outfile *o)
{
	int err, dir;

	if (o->dir < 0)
		return 0;
	err = sync_fd(o->fd);
	dir = openat(o->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err;
	if (!err)
		err = sync_fd(dir);
	close(dir);
	return err;
}

int outfile_close(struct outfile *o)
{
	int err = 0;

	if (named == o) {
		remove_named();
		set_named(NULL);
	}
	/* NFS and quotas report a full disk at close() */
	if (o->fd >= 0 && close(o->fd))
		err = -errno;
	if (o->dir >= 0)
		close(o->dir);
	o->fd = o->dir = -1;
	return err;
}

int outfile_finish(struct outfile *o, int err, bool sync)
{
	int closed;

	if (!err && sync)
		err = -outfile_sync(o);
	if (!err)
		err = -outfile_place(o);
	if (!err && sync)
		err = -outfile_sync(o);
	closed = -outfile_close(o);
	if (!err)
		err = closed;
	return err ? fail(o, strerror(err)) : 0;
}

static struct outfile output;	/* the file to which standard output is redirected */
static int before = -1;		/* copy of standard output from before */
static struct stat last;	/* the file that got its name last, in @kept */
static bool has_last;

/* Is a file a recording? "wsmo record -o" names one, so a mistaken -o here must not replace it */
static bool is_recording(const char *file)
{
	char magic[sizeof(WSMON_MAGIC) - 1];
	int fd = open_regular(file, O_NOFOLLOW);
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		  !memcmp(magic, WSMON_MAGIC, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

int outfile_begin(const char *path)
{
	if (is_recording(path)) {
		msg("%s: a recording, which is not overwritten; name another file with -o", path);
		return -1;
	}
	if (outfile_open(&output, path, 0666))
		return -1;
	fflush(stdout);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (before >= 0 && dup2(output.fd, STDOUT_FILENO) >= 0)
		return 0;
	outfile_finish(&output, errno, false);
	outfile_abort();
	return -1;
}

static void restore(void)
{
	fflush(stdout);
	if (before < 0)
		return;
	dup2(before, STDOUT_FILENO);
	close(before);
	before = -1;
}

void outfile_abort(void)
{
	int err;

	fflush(stdout);
	err = output_error();
	restore();
	outfile_close(&output);
	if (err) {
		fail(&output, strerror(err));
		output_said();
	}
}

int outfile_commit(bool sync)
{
	struct stat now = { 0 };
	int err = 0;

	if (fflush(stdout) || output_error())
		err = output_error();
	fstat(output.fd, &now);
	restore();
	err = outfile_finish(&output, err, sync);
	if (err)
		output_said();
	/* if the new file got no name, the older file is still there */
	if (output.placed) {
		last = now;
		has_last = true;
	}
	return err;
}

void outfile_remove(void)
{
	struct stat st;

	if (has_last && !fstatat(kept, output.base, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == last.st_dev && st.st_ino == last.st_ino)
		unlinkat(kept, output.base, 0);
	has_last = false;
}
