/* SPDX-License-Identifier: GPL-2.0 */
/*
 * identity.h - whom a command runs as, and whom its files belong to
 */
#ifndef WSMO_IDENTITY_H
#define WSMO_IDENTITY_H

#include <sys/types.h>

/**
 * struct identity - a user
 * @uid:	0 stands for the present user, whatever the user's id
 * @gid:	likewise
 * @name:	NULL if it is the present user, or has no name
 * @home:	likewise; both are valid until the next getpwnam() or getpwuid()
 */
struct identity {
	uid_t uid;
	gid_t gid;
	const char *name;
	const char *home;
};

/**
 * identity_get() - find a user
 * @user: the name; NULL is who called sudo, pkexec or doas to become root
 * Return: 0, or -1 if there is no such user, or the variables of sudo etc. make no sense
 */
int identity_get(struct identity *id, const char *user);

/** identity_become() - become the user for good, with the user's groups; Return: 0 or -errno */
int identity_become(const struct identity *id);

/**
 * runtime_open() - open the directory of files that runs of wsmo share
 *
 * It is lost at a reboot, and nobody else may read it or write to it.
 * Return: fd, or -errno: -ENOENT if a user other than root has none
 */
int runtime_open(void);

#endif /* WSMO_IDENTITY_H */
