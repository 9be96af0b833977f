/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session.h - one monitoring session of the module: attributes, start, stop
 */
#ifndef WSMO_SESSION_H
#define WSMO_SESSION_H

#include "state.h"

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
 * session_take() - take what is in the stream now
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
 * Return: 0; -errno without a message, if the cgroup or the device is the reason; 1 after one
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
