/* SPDX-License-Identifier: GPL-2.0 */
/*
 * buildid.h - the build ID of an ELF file, read without a library
 *
 * For record, which is to be small: libelf alone would be a tenth of its memory.
 */
#ifndef WSMO_BUILDID_H
#define WSMO_BUILDID_H

#include "wsmon.h"

/**
 * buildid_read() - from the notes of an ELF file of any kind
 * @fd:		the file
 * @id:		WSMON_BUILD_ID bytes; what is behind the ID is 0
 *
 * Nothing in the file is trusted, and no more than some KiB of it are read.
 *
 * Return: its length, 0 if the file has none or is no ELF file
 */
__u32 buildid_read(int fd, __u8 *id);

#define BUILDID_TEXT	(2 * WSMON_BUILD_ID + 1)

/** buildid_text() - in hexadecimal; @buf has BUILDID_TEXT bytes; Return: @buf */
const char *buildid_text(char *buf, const __u8 *id, __u32 len);

#endif /* WSMO_BUILDID_H */
