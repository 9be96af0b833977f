/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bar.h - bars of characters: an estimate and its interval
 */
#ifndef WSMO_BAR_H
#define WSMO_BAR_H

#include <stddef.h>

#include "wsmon.h"

/* Min. and max. columns of a bar */
#define BAR_MIN		10
#define BAR_MAX		60

/* Max. bytes of a bar */
#define BAR_TEXT	(4 * BAR_MAX + 1)

/** bar_width() - return the columns left for a bar; @beside: width of the others */
unsigned int bar_width(unsigned int beside);

/**
 * bar_text() - draw a bar up to @low, lighter from there to @high
 * @text: BAR_TEXT bytes
 * @max: the value of a full bar
 * @width: columns of a full bar
 *
 * Return: @text
 */
const char *bar_text(char *text, __u64 low, __u64 high, __u64 max,
		     unsigned int width);

#endif /* WSMO_BAR_H */
