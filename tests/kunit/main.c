// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - the KUnit suites as a module: they run when it is loaded
 *
 * What tests/unit checks at length in userland, a few tables check here as the
 * kernel builds it: its own arithmetic and allocators, under KASAN and UBSAN.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of wsmon");
MODULE_LICENSE("GPL");
