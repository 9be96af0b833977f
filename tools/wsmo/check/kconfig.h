/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kconfig.h - how the running kernel was configured
 */
#ifndef WSMO_KCONFIG_H
#define WSMO_KCONFIG_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct kconfig - an option
 * @name:	"CONFIG_..."
 * @set:	result: it is y or m
 */
struct kconfig {
	const char *name;
	bool set;
};

/**
 * kconfig_read() - look options up in /boot/config-RELEASE or /proc/config.gz
 * @root:	prefix of these paths
 * Return: 0, or -1 if neither can be read
 */
int kconfig_read(const char *root, struct kconfig *options, size_t nr);

#endif /* WSMO_KCONFIG_H */
