/* SPDX-License-Identifier: GPL-2.0 */
/*
 * asset.h - files that go into the program as they are
 */
#ifndef WSMO_ASSET_H
#define WSMO_ASSET_H

/**
 * ASSET() - define a text, the contents of a file
 * @name: of the array
 * @file: relative to the top of the tree, where the compiler is run
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
