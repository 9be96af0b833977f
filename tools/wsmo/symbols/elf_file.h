/* SPDX-License-Identifier: GPL-2.0 */
/*
 * elf_file.h - ELF files of any origin, and the memory that they may take
 *
 * A file of a few blocks may take gigabytes: by holes, by a table of sections that is one, by
 * sections that are compressed. .gnu_debugdata says nowhere how large it is then. So the memory for
 * data, with private mappings, is limited while libdw opens files, and while it reads the lines of
 * a unit: a byte stands for one, which takes a hundred.
 */
#ifndef WSMO_ELF_FILE_H
#define WSMO_ELF_FILE_H

#include <linux/types.h>

/** elf_open() - open what is an ELF file and no trap. Return: fd or -1 */
int elf_open(const char *path);

/**
 * elf_limit_memory() - from now on no more memory is taken than what files may take
 * @room: what those may that were opened before; others that are opened meanwhile add to it
 */
void elf_limit_memory(__u64 room);

/** elf_unlimit_memory() - end that. Return: the room that is left */
__u64 elf_unlimit_memory(void);

#endif /* WSMO_ELF_FILE_H */
