/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - differences between kernel versions, 6.1 to 6.12
 *
 * The only place that looks at LINUX_VERSION_CODE. The code reads as for the
 * newest kernel; what older ones lack is defined here.
 */
#ifndef WSMON_COMPAT_H
#define WSMON_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#endif /* WSMON_COMPAT_H */
