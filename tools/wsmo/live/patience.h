/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patience.h - questions that may never be answered
 *
 * What a process has mapped may be on a file system whose server, which may be the process itself,
 * does not answer (FUSE, NFS). Who asks then waits, in a state that may not end with a signal, and
 * no process ends before its threads do. So another process asks.
 */
#ifndef WSMO_PATIENCE_H
#define WSMO_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>

#define PATIENCE_DATA	128	/* bytes */

/**
 * patience_ask() - call a function in a process, which is left to itself if that takes a second
 * @ask:	the function; it gets a copy of @data, and uses nothing else
 * @data:	gets what is in the copy once the function returned
 * @size:	of it, PATIENCE_DATA at most
 *
 * Return: did it return? After few that did not nothing is asked any more.
 */
bool patience_ask(void (*ask)(void *data), void *data, size_t size);

/** patience_end() - there are no more questions for now: end the process */
void patience_end(void);

#endif /* WSMO_PATIENCE_H */
