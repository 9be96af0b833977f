/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h - makes names of unknown origin (comm, paths) safe to print
 */
#ifndef WSMO_TEXT_H
#define WSMO_TEXT_H

#include <stddef.h>
#include <stdio.h>

/**
 * text_clean() - escape control characters, for terminals, CSV and pages
 * @dst: result, always terminated; a text that does not fit is cut
 * @size: bytes at @dst
 * @src: the text
 *
 * Control characters (C0, DEL, C1, those for the direction of text, ends of lines) and bytes
 * that are not UTF-8 become \OOO, octal, as in /proc/PID/maps.
 *
 * Return: @dst
 */
const char *text_clean(char *dst, size_t size, const char *src);

/**
 * text_utf8() - replace bytes that are not UTF-8 by U+FFFD, for JSON
 *
 * The parameters and the result are those of text_clean().
 */
const char *text_utf8(char *dst, size_t size, const char *src);

/**
 * text_nearest() - find the word of a list that a mistyped word was meant to be
 * @list: words, with | between them
 * @size: gets the length of the result
 *
 * Return: the word of @list with the fewest letters changed, NULL if none is near
 */
const char *text_nearest(const char *word, const char *list, int *size);

/** text_put_json() - print JSON that json-c made, and escape the control characters it leaves */
void text_put_json(FILE *f, const char *json);

#endif /* WSMO_TEXT_H */
