// SPDX-License-Identifier: GPL-2.0
/*
 * mark_socket.c - how "wsmo mark" talks to the running "wsmo record"
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "mark_socket.h"
#include "session/debugfs.h"

socklen_t mark_address(struct sockaddr_un *addr)
{
	char path[PATH_MAX];
	struct stat st;
	int len;

	snprintf(path, sizeof(path), "%s/buffer", debugfs_dir(NULL));
	if (stat(path, &st))
		return 0;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* the first byte stays 0: no file */
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		       "wsmo-mark-%llx-%llx", (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	return offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

int mark_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		close(fd);
		return -1;
	}
	return fd;
}

ssize_t mark_receive(int fd, void *data, size_t size, struct sockaddr_un *from,
		     socklen_t *len)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { data, size };
	struct msghdr m = {
		.msg_name = from,
		.msg_namelen = *len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	struct ucred who;

	if (n < 0)
		return -1;
	*len = m.msg_namelen;
	if (!c || c->cmsg_type != SCM_CREDENTIALS)
		return 0;
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	return !who.uid || who.uid == geteuid() ? n : 0;
}

void mark_serve(int fd, void (*set)(void *arg, const struct mark_request *rq,
				    struct mark_reply *reply), void *arg)
{
	struct mark_request rq;
	struct mark_reply reply;
	struct sockaddr_un from;
	socklen_t len;
	ssize_t n;

	for (;;) {
		len = sizeof(from);
		n = mark_receive(fd, &rq, sizeof(rq), &from, &len);
		if (n < 0)
			return;
		if (n != sizeof(rq) || !memchr(rq.text, '\0', sizeof(rq.text)))
			continue;
		set(arg, &rq, &reply);
		sendto(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&from, len);
	}
}
