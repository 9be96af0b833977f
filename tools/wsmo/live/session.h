/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - a monitoring session of the module: attributes, start, stream, stop
 *
 * It is an open file of /dev/wsmon or, where that is missing or the user names a directory, the
 * one session that debugfs has.
 */
#ifndef WSMO_SESSION_H
#define WSMO_SESSION_H

#include "core/options.h"
#include "libwsmon/reader.h"

#define DEBUGFS_DEFAULT	"/sys/kernel/debug/wsmon"
#define DEBUGFS_TEXT	4096	/* max. length of a text file of the module */

/* The option --debugfs; it sets nothing of the caller */
extern const struct option_desc debugfs_options[];

#define DEVICE	"/dev/wsmon"

/* Max. attributes */
#define SESSION_ATTRS	16

/* Max. bytes of a value: a window has at most 11 digits and a comma */
#define SETTING_TEXT	(12 * WSMON_WINDOWS_MAX)

/**
 * struct setting - an attribute to be set for this session
 * @key:	its name
 * @value:	the value wanted
 * @before:	debugfs: its value before, to be restored
 * @missing:	what to say if the module does not know it, maybe ""; NULL: it must know it
 * @option:	the option that asks for it; NULL: the verb prefers it
 */
struct setting {
	const char *key;
	char value[SETTING_TEXT];
	char before[SETTING_TEXT];
	const char *missing;
	const char *option;
};

/**
 * struct session - the session, and the stream it is read from
 * @settings:	@nr_settings attributes to set
 * @cgroup:	watch the processes of this cgroup, a path below its mount point; or NULL
 * @interface:	the device or debugfs
 * @changed:	debugfs: they are set and must be restored
 * @started:	it runs
 * @joined:	others started it
 * @fd:		its stream, -1 if it is not open
 * @reader:	reads @fd
 * @stale:	records before this offset are an earlier session's
 * @header:	the stream's header, @header_size bytes, 0 before it came
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
 * debugfs_dir() - return the directory of the module's files
 * @set: another directory, or NULL; the default is $WSMON_DEBUGFS, or DEBUGFS_DEFAULT
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
 * debugfs_read() - read a text file
 * @text: result, terminated
 * Return: 0, or -errno after a message
 */
int debugfs_read(const char *name, char *text, size_t size);

/**
 * device_open() - open the device
 * Return: the fd, or -errno without a message. -ENOENT: use debugfs; there is no device, or
 * the user named another directory
 */
int device_open(void);

/**
 * device_explain() - print the meaning of an error of the device, and what to do
 * @name: the file in debugfs that is used if there is no device
 */
void device_explain(const char *name, int err);

/**
 * session_open() - load the module if need be, prepare to start
 * Return: 0, or -1 after a message
 */
int session_open(struct session *s);

/**
 * session_join() - take part in the session that began last
 * Return: 0, 1 if nothing is being monitored, or -1 after a message; session_close() in any case
 */
int session_join(struct session *s);

/**
 * session_take() - take the records that are in the stream now
 * @take: gets each record, NULL for the header in @s; returns false to end
 * Return: 1 to continue, 0 if @take returned false, -1 after a message
 */
int session_take(struct session *s,
		 bool (*take)(void *arg, const struct wsmon_record *rec),
		 void *arg);

/**
 * session_start() - set the attributes, write the target
 * @target: pids, a blank between them; or the cgroup of the session
 * Return: 0, 1 if there is no such process, or -1 after a message
 */
int session_start(struct session *s, const char *target);

/**
 * session_watch() - open the device, and start with the cgroup of the session
 * Return: 0; -errno of the cgroup or the device, without a message; 1 after a message
 */
int session_watch(struct session *s);

/**
 * session_wait() - wait until it runs
 * Return: 0, or -1 after two seconds and a message
 */
int session_wait(const struct session *s);

/**
 * session_mark() - mark this moment
 * @s:		the session; NULL is all that run
 * @text:	the name, at most WSMON_MARK_TEXT - 1 bytes
 * Return: 0, or -errno without a message; -ESRCH if none runs
 */
int session_mark(const struct session *s, const char *text);

/** session_behind() - are there records in the stream that were not taken? */
bool session_behind(const struct session *s);

/** session_stop() - stop monitoring; the rest of the stream can still be read */
void session_stop(struct session *s);

/** session_close() - stop unless others started it, detach */
void session_close(struct session *s);

#endif /* WSMO_SESSION_H */
