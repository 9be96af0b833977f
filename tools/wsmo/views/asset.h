/* SPDX-License-Identifier: GPL-2.0 */
/* asset.h - embeds files into the program */
#ifndef WSMO_ASSET_H
#define WSMO_ASSET_H

/**
 * ASSET() - define an array with the contents of a file
 * @name: name of the array
 * @file: path from the top of the tree, where the compiler runs
 */
#define ASSET(name, file)				\
	extern const char name[];			\
	__asm__(".section .rodata\n"			\
		".global " #name "\n"			\
		#name ":\n"				\
		".incbin \"" file "\"\n"		\
		".byte 0\n"				\
		".previous\n")

#endif /* WSMO_ASSET_H */
