/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bar.h - bars of characters: an estimate and its interval
 */
#ifndef WSMO_BAR_H
#define WSMO_BAR_H

#include <stddef.h>

#include "wsmon.h"

/* Least and most columns of a bar */
#define BAR_MIN		10
#define BAR_MAX		60

/* Bytes of the longest one */
#define BAR_TEXT	(4 * BAR_MAX + 1)

/** bar_width() - columns there are for one; @beside: what other columns take */
unsigned int bar_width(unsigned int beside);

/**
 * bar_text() - a bar up to @low, and lighter from there up to @high
 * @text: BAR_TEXT bytes
 * @most: what is as long as a bar can be
 * @width: of that one
 *
 * Return: @text
 */
const char *bar_text(char *text, __u64 low, __u64 high, __u64 most,
		     unsigned int width);

#endif /* WSMO_BAR_H */
