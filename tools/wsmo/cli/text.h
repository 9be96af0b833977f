/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - names of unknown origin (comm, paths) made safe to print
 */
#ifndef WSMO_TEXT_H
#define WSMO_TEXT_H

#include <stddef.h>

/**
 * text_clean() - for terminals and CSV: what could steer a terminal is escaped
 * @dst: result, always terminated; a longer text is cut
 * @size: bytes at @dst
 * @src: the text
 *
 * Control characters (C0, DEL, C1) and bytes that are no UTF-8 become \OOO, octal,
 * as in /proc/PID/maps.
 *
 * Return: @dst
 */
const char *text_clean(char *dst, size_t size, const char *src);

/**
 * text_utf8() - for JSON: bytes that are no UTF-8 become U+FFFD
 *
 * The parameters and the result are those of text_clean().
 */
const char *text_utf8(char *dst, size_t size, const char *src);

#endif /* WSMO_TEXT_H */
