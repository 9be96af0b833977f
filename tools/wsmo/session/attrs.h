/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attrs.h - the text form of attributes in a stream
 */
#ifndef WSMO_ATTRS_H
#define WSMO_ATTRS_H

#include <stddef.h>

#include "wsmon.h"

/**
 * attr_text() - write an attribute's value as the module does
 * @key: its name
 * Return: the length, as snprintf(); 0 for an unknown key
 */
int attr_text(char *buf, size_t size, const struct wsmon_attrs *a, const char *key);

#endif /* WSMO_ATTRS_H */
