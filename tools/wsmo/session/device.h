/* SPDX-License-Identifier: GPL-2.0 */
/*
 * device.h - /dev/wsmon, an open file of which is a session
 */
#ifndef WSMO_DEVICE_H
#define WSMO_DEVICE_H

#define DEVICE	"/dev/wsmon"

/**
 * device_open() - open the device
 * Return: the fd, or -errno without a message. -ENOENT: use debugfs; there is no device, or
 * the user named another directory
 */
int device_open(void);

/** device_write() - write a text to it; Return: 0, or -errno without a message */
int device_write(int fd, const char *text);

/**
 * device_explain() - print what an error of the device means, and what to do
 * @name: the file in debugfs that is used if there is no device
 */
void device_explain(const char *name, int err);

#endif /* WSMO_DEVICE_H */
