// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - the KUnit suites as a module: they run when it is loaded
 *
 * out/bin/unit runs all but wsmon_stream and wsmon_snapshot in userland, too; here they
 * meet the kernel's own arithmetic and allocators, under KASAN and UBSAN.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of wsmon");
MODULE_LICENSE("GPL");
