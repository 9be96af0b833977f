/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stuck.h - ends the program by a signal that it cannot take, as it waits for a reader
 *
 * Who reads signals from a file takes none while a write to a full pipe waits.
 */
#ifndef WSMO_STUCK_H
#define WSMO_STUCK_H

struct child;

/**
 * stuck_watch() - let signals end the program that wait for two seconds, while standard output,
 * standard error or @output has no room
 * @signal_fd:	gets signals, which are blocked
 * @output:	another file that is written, or NULL
 * @child:	gets SIGTERM and SIGHUP before that, if it runs; or NULL
 */
void stuck_watch(int signal_fd, const int *output, const struct child *child);

#endif /* WSMO_STUCK_H */
