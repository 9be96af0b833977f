// SPDX-License-Identifier: GPL-2.0
/*
 * buildid.c - reads the build ID of an ELF file without a library
 *
 * The build ID is a note of the owner "GNU" in a PT_NOTE segment.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buildid.h"
#include "libwsmon/wsmon_records.h"

#define HEADERS_MAX	64	/* program headers looked at */
#define NOTES_MAX	64	/* notes of a segment looked at */

static bool read_at(int fd, void *to, size_t size, __u64 at)
{
	return pread(fd, to, size, at) == (ssize_t)size;
}

/* Return: size of a part of a note with its padding, to 4 bytes or, in few segments, to 8 bytes */
static __u64 padded(__u64 size, __u64 align)
{
	return (size + align - 1) & ~(align - 1);
}

/* Finds the build ID in @left bytes of notes at @at. Notes of 32-bit files have the same format */
static __u32 find_note(int fd, __u64 at, __u64 left, __u64 align, __u8 *id)
{
	unsigned int i;
	Elf64_Nhdr nh;
	char owner[4];

	align = align == 8 ? 8 : 4;

	for (i = 0; i < NOTES_MAX && left >= sizeof(nh); i++) {
		__u64 desc, size;

		if (!read_at(fd, &nh, sizeof(nh), at))
			return 0;
		desc = padded(sizeof(nh) + (__u64)nh.n_namesz, align);
		size = padded(desc + nh.n_descsz, align);
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof(owner) &&
		    nh.n_descsz && nh.n_descsz <= WSMON_BUILD_ID &&
		    read_at(fd, owner, sizeof(owner), at + sizeof(nh)) &&
		    !memcmp(owner, ELF_NOTE_GNU, sizeof(owner)))
			return read_at(fd, id, nh.n_descsz, at + desc) ?
			       nh.n_descsz : 0;
		if (size > left)
			return 0;
		at += size;
		left -= size;
	}
	return 0;
}

#define FIND_BUILD_ID(bits)								\
static __u32 find_build_id_##bits(int fd, __u8 *id)					\
{											\
	Elf##bits##_Ehdr eh;								\
	Elf##bits##_Phdr ph;								\
	unsigned int i;									\
	__u32 len = 0;									\
											\
	if (!read_at(fd, &eh, sizeof(eh), 0) || eh.e_phentsize != sizeof(ph))		\
		return 0;								\
	for (i = 0; !len && i < eh.e_phnum && i < HEADERS_MAX; i++) {			\
		if (!read_at(fd, &ph, sizeof(ph), eh.e_phoff + (__u64)i * sizeof(ph)))	\
			return 0;							\
		if (ph.p_type == PT_NOTE)						\
			len = find_note(fd, ph.p_offset, ph.p_filesz, ph.p_align, id);	\
	}										\
	return len;									\
}

FIND_BUILD_ID(32)
FIND_BUILD_ID(64)

__u32 buildid_read(int fd, __u8 *id)
{
	unsigned char ident[EI_NIDENT];

	memset(id, 0, WSMON_BUILD_ID);
	if (!read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	if (ident[EI_CLASS] == ELFCLASS32)
		return find_build_id_32(fd, id);
	return ident[EI_CLASS] == ELFCLASS64 ? find_build_id_64(fd, id) : 0;
}

const char *buildid_text(char *buf, const __u8 *id, __u32 len)
{
	__u32 i;

	buf[0] = '\0';
	for (i = 0; i < len; i++)
		snprintf(buf + 2 * i, 3, "%02x", id[i]);
	return buf;
}
