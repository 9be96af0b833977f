/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one monitoring session of the module: attributes, start, stop
 */
#ifndef WSMO_SESSION_H
#define WSMO_SESSION_H

#include "libwsmon/reader.h"

/* Max. attributes */
#define SESSION_ATTRS	16

/* Max. bytes of a value: a window has at most 11 digits and a comma */
#define SETTING_TEXT	(12 * WSMON_WINDOWS_MAX)

/**
 * struct setting - an attribute to be set for this session
 * @key:	its name in debugfs
 * @value:	the value wanted
 * @option:	the option that asks for it; NULL: the verb prefers it
 * @before:	its value before, to be restored
 * @missing:	NULL: the module must know it; or what to say if it does not, maybe nothing
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
 * @device:	it is an open file of /dev/wsmon, not in debugfs
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
	bool device;
	bool changed;
	bool started;
	bool joined;
	int fd;
	struct reader reader;
	__u64 stale;
	char header[4096];
	size_t header_size;
};

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
 * session_read_from() - prepare to read the stream from @fd
 * Return: 0, or -1 after a message
 */
int session_read_from(struct session *s, int fd);

/**
 * session_parse() - reader_parse() without the records of earlier sessions
 */
enum reader_result session_parse(struct session *s,
				 const struct wsmon_record **rec);

/**
 * session_take() - take what is in the stream now
 * @take: gets each record, NULL for the header in @s; returns false to end
 * Return: 1 to continue, 0 if @take returned false, -1 after a message
 */
int session_take(struct session *s,
		 bool (*take)(void *arg, const struct wsmon_record *rec),
		 void *arg);

/**
 * session_start() - set the attributes, write the target
 * @target: pids, a blank between them
 * Return: 0, or -1 after a message
 */
int session_start(struct session *s, const char *target);

/** session_refused() - say that the module refuses these attributes */
void session_refused(const char *text);

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
