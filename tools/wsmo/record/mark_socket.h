/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mark_socket.h - how "wsmo mark" talks to the running "wsmo record"
 *
 * It sends a datagram to a socket in the abstract namespace, named after the module's
 * buffer, which has one reader. Both sides accept messages of root and of their own
 * user only.
 */
#ifndef WSMO_MARKS_H
#define WSMO_MARKS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "wsmon.h"

/* Max. bytes of a mark's text, with its NUL */
#define MARK_TEXT	256

/* In struct mark_request.flags */
#define MARK_NO_STACKS	0x1

/** struct mark_request - the mark to set */
struct mark_request {
	__u32 flags;
	char text[MARK_TEXT];
};

/**
 * struct mark_reply - the mark that was set
 * @number:	of the mark
 * @at_ns:	since the recording began
 */
struct mark_reply {
	__u64 number;
	__u64 at_ns;
};

/**
 * mark_address() - get the address the recording listens on
 * @addr:	result
 * Return: its length, 0 if there is no module
 */
socklen_t mark_address(struct sockaddr_un *addr);

/** mark_socket() - open a datagram socket that receives credentials; Return: fd or -1 */
int mark_socket(void);

/**
 * mark_receive() - receive a message
 * @from:	the sender, @len bytes
 * Return: its size, 0 if the sender is not permitted, -1 if there is none
 */
ssize_t mark_receive(int fd, void *data, size_t size, struct sockaddr_un *from,
		     socklen_t *len);

/**
 * mark_serve() - set the marks asked for, and reply
 * @set:	sets one and fills the reply
 * @arg:	its first argument
 */
void mark_serve(int fd, void (*set)(void *arg, const struct mark_request *rq,
				    struct mark_reply *reply), void *arg);

#endif /* WSMO_MARKS_H */
