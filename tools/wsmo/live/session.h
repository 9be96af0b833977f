/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - a monitoring session of the module: attributes, start, stream, stop
 *
 * A session is an open file of /dev/wsmon. Without this device, or if the user names a directory,
 * it is the only session of debugfs.
 */
#ifndef WSMO_SESSION_H
#define WSMO_SESSION_H

#include "core/options.h"
#include "libwsmon/reader.h"

#define DEBUGFS_DEFAULT	"/sys/kernel/debug/wsmon"
#define DEBUGFS_TEXT	4096	/* maximum bytes of a text file of the module */

/* The option --debugfs; it sets no member of the caller's structure */
extern const struct option_desc debugfs_options[];

#define DEVICE	"/dev/wsmon"

/* Maximum number of attributes */
#define SESSION_ATTRS	16

/* Maximum bytes of a value: a window has at most 11 digits and a comma */
#define SETTING_TEXT	(12 * WSMON_WINDOWS_MAX)

/**
 * struct setting - an attribute to set for the session
 * @key:	name of the attribute
 * @value:	the wanted value
 * @before:	debugfs: earlier value, to be restored
 * @missing:	message if the module does not know the attribute, "" for none; NULL: then fail
 * @option:	the option that requested it; NULL: only a preference of the verb
 */
struct setting {
	const char *key;
	char value[SETTING_TEXT];
	char before[SETTING_TEXT];
	const char *missing;
	const char *option;
};

/**
 * struct session - the session and its stream
 * @settings:	@nr_settings attributes to set
 * @cgroup:	watch the processes of this cgroup, a path from the mount point on; or NULL
 * @interface:	the device or debugfs
 * @changed:	debugfs: attributes are set and must be restored
 * @started:	the session runs
 * @joined:	another process started the session
 * @fd:		stream of the session; -1: not open
 * @reader:	reads @fd
 * @stale:	records before this offset of the stream belong to an earlier session
 * @header:	header of the stream, @header_size bytes; the size is 0 before it came
 */
struct session {
	struct setting settings[SESSION_ATTRS];
	size_t nr_settings;
	char *cgroup;
	const struct interface *interface;
	bool changed;
	bool started;
	bool joined;
	int fd;
	struct wsmon_reader reader;
	__u64 stale;
	char header[4096];
	size_t header_size;
};

/**
 * debugfs_dir() - get the directory of the module's files
 * @set: directory to use from now on, or NULL; the default is $WSMON_DEBUGFS or DEBUGFS_DEFAULT
 */
const char *debugfs_dir(const char *set);

/**
 * debugfs_load_module() - load the module if it is not loaded
 *
 * Does so only as root, and only for the default directory. After a failure, opening the files
 * fails.
 */
void debugfs_load_module(void);

/**
 * debugfs_read() - read a text file of the module
 * @text: gets the text, terminated
 * Return: 0, or -errno after a message
 */
int debugfs_read(const char *name, char *text, size_t size);

/**
 * device_open() - open the device
 * Return: the fd, or -errno without a message: -ENOENT means to use debugfs, as there is no device
 * or the user named a directory
 */
int device_open(void);

/**
 * device_explain() - print the meaning of an error of the device, and a remedy
 * @name: the file in debugfs that replaces the device
 */
void device_explain(const char *name, int err);

/**
 * session_open() - load the module if necessary, and prepare to start
 * Return: 0, or -1 after a message
 */
int session_open(struct session *s);

/**
 * session_join() - read the stream of the session that began last
 * Return: 0; 1 if no session runs; -1 after a message. Call session_close() in any case
 */
int session_join(struct session *s);

/**
 * session_take() - take all records in the stream
 * @take: called with each record, and with NULL for the header, which is in @s; returns false to
 *	stop
 * Return: 1 to continue, 0 if @take returned false, -1 after a message
 */
int session_take(struct session *s,
		 bool (*take)(void *arg, const struct wsmon_record *rec),
		 void *arg);

/**
 * session_start() - set the attributes, and write the target, which starts the session
 * @target: pids separated by blanks, or the cgroup of the session
 * Return: 0; 1 if there is no such process; -1 after a message
 */
int session_start(struct session *s, const char *target);

/**
 * session_watch() - open the device, and start monitoring the cgroup of the session
 * Return: 0; -errno of the cgroup or the device, without a message; 1 after a message
 */
int session_watch(struct session *s);

/**
 * session_wait() - wait until the session runs
 * Return: 0; -1 after two seconds and a message
 */
int session_wait(const struct session *s);

/**
 * session_mark() - set a mark at this moment
 * @s:		the session; NULL: all running sessions
 * @text:	name of the mark, at most WSMON_MARK_TEXT - 1 bytes
 * Return: 0, or -errno without a message: -ESRCH if no session runs
 */
int session_mark(const struct session *s, const char *text);

/** session_behind() - tell whether the stream has records that were not taken */
bool session_behind(const struct session *s);

/** session_stop() - stop monitoring; the rest of the stream can still be read */
void session_stop(struct session *s);

/** session_close() - stop the session unless it was joined, and close its stream */
void session_close(struct session *s);

#endif /* WSMO_SESSION_H */
