/* SPDX-License-Identifier: GPL-2.0 */
/* text.h - makes untrusted names (comm, paths) safe to print */
#ifndef WSMO_TEXT_H
#define WSMO_TEXT_H

#include <stddef.h>
#include <stdio.h>

/**
 * text_clean() - escape control characters, for terminals, CSV and pages
 * @dst: gets the text, always terminated, cut if it does not fit
 * @size: bytes at @dst
 * @src: the text
 *
 * Control characters (C0, DEL, C1, direction marks, line ends) and bytes that are not UTF-8 become
 * \OOO, octal, as in /proc/PID/maps.
 *
 * Return: @dst
 */
const char *text_clean(char *dst, size_t size, const char *src);

/**
 * text_utf8() - replace bytes that are not UTF-8 by U+FFFD, for JSON
 *
 * Parameters and result are as in text_clean().
 */
const char *text_utf8(char *dst, size_t size, const char *src);

/**
 * text_nearest() - find the word of a list that is most similar to a mistyped word
 * @list: words separated by |
 * @size: gets the length of the result
 *
 * Return: the word in @list with the fewest changed letters; NULL if none is similar
 */
const char *text_nearest(const char *word, const char *list, int *size);

/** text_put_json() - print JSON made by json-c; escape the control characters that json-c leaves */
void text_put_json(FILE *f, const char *json);

#endif /* WSMO_TEXT_H */
