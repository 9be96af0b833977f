// SPDX-License-Identifier: GPL-2.0
/* identity.c - the user who runs a command, and to whom wsmo's files belong */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "identity.h"
#include "units.h"

/* Parses an id. Refuses -1, which is no id: to chown() it means "no change" */
static int parse_id(const char *text, __u64 *id)
{
	return text ? units_parse_count(text, UINT_MAX - 1, id) : -EINVAL;
}

static int take(struct identity *id, const struct passwd *pw)
{
	if (!pw)
		return -1;
	*id = (struct identity) { pw->pw_uid, pw->pw_gid, pw->pw_name, pw->pw_dir };
	return 0;
}

static int of_sudo(struct identity *id, const char *uid)
{
	__u64 u, g;

	if (parse_id(uid, &u) || parse_id(getenv("SUDO_GID"), &g))
		return -1;
	/* the entry of the user may be gone: then @id has no name */
	take(id, getpwuid(u));
	id->uid = u;
	id->gid = g;
	return 0;
}

static int of_pkexec(struct identity *id, const char *uid)
{
	__u64 u;

	return parse_id(uid, &u) ? -1 : take(id, getpwuid(u));
}

static int of_doas(struct identity *id, const char *name)
{
	return take(id, getpwnam(name));
}

int identity_get(struct identity *id, const char *user)
{
	static const struct {
		const char *variable;
		int (*get)(struct identity *id, const char *value);
	} from[] = {
		{ "SUDO_UID", of_sudo }, { "PKEXEC_UID", of_pkexec }, { "DOAS_USER", of_doas },
	};
	size_t i;

	*id = (struct identity) { 0 };
	if (user)
		return take(id, getpwnam(user));
	/* sudo, pkexec and doas may be nested: take the first caller that is not root */
	for (i = 0; !geteuid() && i < ARRAY_SIZE(from); i++) {
		const char *value = getenv(from[i].variable);

		if (value && from[i].get(id, value))
			return -1;
		if (id->uid)
			return 0;
		*id = (struct identity) { 0 };
	}
	return 0;
}

int identity_become(const struct identity *id)
{
	if (!id->uid && !id->name)
		return 0;
	if (id->name ? initgroups(id->name, id->gid) : setgroups(0, NULL))
		return -errno;
	if (setgid(id->gid) || setuid(id->uid))
		return -errno;
	if (id->name && (setenv("HOME", id->home, 1) || setenv("USER", id->name, 1) ||
			 setenv("LOGNAME", id->name, 1)))
		return -errno;
	return 0;
}

int runtime_open(void)
{
	const char *top = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!top || snprintf(path, sizeof(path), "%s/wsmo", top) >= (int)sizeof(path))
		return -ENOENT;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077)))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EPERM;
}
