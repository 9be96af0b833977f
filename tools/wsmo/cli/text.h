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
 * text_nearest() - what a word that is none of a list was meant to be
 * @list: words, with | between them
 * @size: gets the length of the result
 *
 * Return: a word of @list that few letters make of it, NULL if there is none
 */
const char *text_nearest(const char *word, const char *list, int *size);

/** text_put_json() - print what json-c made of text_utf8(); escape what it leaves as it is */
void text_put_json(FILE *f, const char *json);

#endif /* WSMO_TEXT_H */
