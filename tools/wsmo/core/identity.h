/* SPDX-License-Identifier: GPL-2.0 */
/* identity.h - the user that a command runs as, and the owner of its files */
#ifndef WSMO_IDENTITY_H
#define WSMO_IDENTITY_H

#include <sys/types.h>

/**
 * struct identity - a user
 * @uid:	user id; 0 stands for the present user, even if that is not root
 * @gid:	group id; 0 as in @uid
 * @name:	name; NULL for the present user, or without a name
 * @home:	home directory; NULL as @name. Both are valid until the next getpwnam() or
 *		getpwuid()
 */
struct identity {
	uid_t uid;
	gid_t gid;
	const char *name;
	const char *home;
};

/**
 * identity_get() - find a user
 * @user: name; NULL: the user who called sudo, pkexec or doas to become root
 * Return: 0; -1 if there is no such user, or the environment variables of sudo etc. are invalid
 */
int identity_get(struct identity *id, const char *user);

/** identity_become() - switch to the user and the user's groups for good. Return: 0 or -errno */
int identity_become(const struct identity *id);

/**
 * runtime_open() - open the directory of files that runs of wsmo share
 *
 * The directory does not survive a reboot. Other users can neither read nor write it.
 * Return: fd, or -errno: -ENOENT if a user other than root has no such directory
 */
int runtime_open(void);

#endif /* WSMO_IDENTITY_H */
