/* SPDX-License-Identifier: GPL-2.0 */
/*
 * buildid.h - reads the build ID of an ELF file without a library
 *
 * wsmo record must be small: libelf would add a tenth to its memory.
 */
#ifndef WSMO_BUILDID_H
#define WSMO_BUILDID_H

#include "libwsmon/wsmon_records.h"

/**
 * buildid_read() - read the build ID from the notes of an ELF file
 * @fd:		the file
 * @id:		gets WSMON_BUILD_ID bytes: the ID, then zeroes
 *
 * Trusts no size in the file, and reads a few KiB at most.
 *
 * Return: length of the ID; 0 if the file has none or is no ELF file
 */
__u32 buildid_read(int fd, __u8 *id);

#define BUILDID_TEXT	(2 * WSMON_BUILD_ID + 1)

/** buildid_text() - print a build ID in hexadecimal to BUILDID_TEXT bytes. Return: @buf */
const char *buildid_text(char *buf, const __u8 *id, __u32 len);

#endif /* WSMO_BUILDID_H */
