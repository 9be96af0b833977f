/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stuck.h - lets a signal end the program while a write waits for a reader
 *
 * A program that reads signals from a signalfd takes none while its write to a full pipe waits.
 */
#ifndef WSMO_STUCK_H
#define WSMO_STUCK_H

struct child;

/**
 * stuck_watch() - watch for a write that waits and keeps the program from reading its signals
 *
 * If a signal has been pending for two seconds, and standard output, standard error or @output has
 * no room, the signal ends the program.
 * @signal_fd:	signalfd of the blocked signals
 * @output:	another file being written, or NULL
 * @child:	gets SIGTERM and SIGHUP first, if it runs; may be NULL
 */
void stuck_watch(int signal_fd, const int *output, const struct child *child);

#endif /* WSMO_STUCK_H */
