/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one monitoring session of the module: attributes, start, stop
 */
#ifndef WSMO_SESSION_H
#define WSMO_SESSION_H

#include "libwsmon/reader.h"

/* The module has fewer */
#define SESSION_ATTRS	16

/* A window has at most 11 digits, and a comma */
#define SETTING_TEXT	(12 * WSMON_WINDOWS_MAX)

/**
 * struct setting - an attribute to be set for this session
 * @key:	its name in debugfs
 * @value:	the value wanted
 * @before:	what it was, to be restored
 */
struct setting {
	const char *key;
	char value[SETTING_TEXT];
	char before[SETTING_TEXT];
};

/**
 * struct session - the session, and the stream it is read from
 * @settings:	what to set, @nr_settings of them
 * @changed:	they are set, and to be restored
 * @started:	a target was written
 * @fd:		the buffer, -1 if it is not open
 * @reader:	reads @fd
 * @stale:	records before this offset are an earlier session's
 * @header:	the stream's header as it came, @header_size bytes, 0 if it did
 *		not come yet
 */
struct session {
	struct setting settings[SESSION_ATTRS];
	size_t nr_settings;
	bool changed;
	bool started;
	int fd;
	struct reader reader;
	__u64 stale;
	char header[4096];
	size_t header_size;
};

/**
 * session_open() - see that no other is running, attach to the stream, throw
 * away what an earlier session left in it
 * Return: 0, or -1 after a message
 */
int session_open(struct session *s);

/**
 * session_parse() - like reader_parse(), less the records of earlier sessions
 */
enum reader_result session_parse(struct session *s,
				 const struct wsmon_record **rec);

/**
 * session_take() - take what is in the stream now
 * @take: gets each record; NULL is the header, new in @s; false ends it
 * Return: 1 to go on when there is more, 0 if @take said to end, -1 after a message
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

/**
 * session_wait() - wait until the module's status begins with a word
 * @word: "running" or "idle"
 * Return: 0, or -1 after two seconds
 */
int session_wait(const char *word);

/** session_behind() - is there more in the stream than what was taken? */
bool session_behind(const struct session *s);

/** session_stop() - stop monitoring; what is in the stream can still be read */
void session_stop(struct session *s);

/** session_close() - stop if need be, restore the attributes, detach */
void session_close(struct session *s);

#endif /* WSMO_SESSION_H */
