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
 * @before:	its value before, to be restored
 * @missing:	NULL: the module must know it; or what to say if it does not, maybe nothing
 */
struct setting {
	const char *key;
	char value[SETTING_TEXT];
	char before[SETTING_TEXT];
	const char *missing;
};

/**
 * struct session - the session, and the stream it is read from
 * @settings:	@nr_settings attributes to set
 * @changed:	they are set and must be restored
 * @started:	a target was written
 * @fd:		the buffer, -1 if it is not open
 * @reader:	reads @fd
 * @stale:	records before this offset are an earlier session's
 * @header:	the stream's header, @header_size bytes, 0 before it came
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
 * session_open() - check that no other session is running, attach to the stream, drop
 * what an earlier session left in it
 * Return: 0, or -1 after a message
 */
int session_open(struct session *s);

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

/**
 * session_wait() - wait until the module's status begins with a word
 * @word: "running" or "idle"
 * Return: 0, or -1 after two seconds
 */
int session_wait(const char *word);

/** session_behind() - are there records in the stream that were not taken? */
bool session_behind(const struct session *s);

/** session_stop() - stop monitoring; the rest of the stream can still be read */
void session_stop(struct session *s);

/** session_close() - stop if need be, restore the attributes, detach */
void session_close(struct session *s);

#endif /* WSMO_SESSION_H */
