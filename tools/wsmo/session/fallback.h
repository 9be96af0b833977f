/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fallback.h - a session in debugfs: there is only one, with attributes that stay
 *
 * These are the parts of the functions of session.h.
 */
#ifndef WSMO_FALLBACK_H
#define WSMO_FALLBACK_H

#include "state.h"

/** fallback_open() - check that no other is running, attach, drop what an earlier one left */
int fallback_open(struct session *s);

/** fallback_join() - attach to the one that runs */
int fallback_join(struct session *s);

/**
 * fallback_start() - set the attributes, write the target
 * Return: 0, an error of writing the target, or 1 after a message
 */
int fallback_start(struct session *s, const char *target);

/** fallback_wait() - wait until it runs; Return: 0, or -1 after two seconds and a message */
int fallback_wait(void);

/** fallback_stop() - stop monitoring */
void fallback_stop(void);

/** fallback_restore() - restore the attributes if they were set */
void fallback_restore(const struct session *s);

#endif /* WSMO_FALLBACK_H */
