/* SPDX-License-Identifier: GPL-2.0 */
/*
 * state.h - a session and its stream, on the device or in debugfs
 */
#ifndef WSMO_STATE_H
#define WSMO_STATE_H

#include "libwsmon/reader.h"

/* Max. attributes */
#define SESSION_ATTRS	16

/* Max. bytes of a value: a window has at most 11 digits and a comma */
#define SETTING_TEXT	(12 * WSMON_WINDOWS_MAX)

/**
 * struct setting - an attribute to be set for this session
 * @key:	its name
 * @value:	the value wanted
 * @before:	debugfs: its value before, to be restored
 * @missing:	NULL: the module must know it; or what to say if it does not, maybe nothing
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
	char *cgroup;
	bool device;
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
 * session_read_from() - prepare to read the stream from @fd
 * Return: 0, or -1 after a message
 */
int session_read_from(struct session *s, int fd);

/**
 * session_parse() - reader_parse() without the records of earlier sessions
 */
enum reader_result session_parse(struct session *s,
				 const struct wsmon_record **rec);

/** session_refused() - say that the module refuses these attributes */
void session_refused(const char *text);

#endif /* WSMO_STATE_H */
