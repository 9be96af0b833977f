/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mark_socket.h - what "wsmo mark" says to the "wsmo record" that runs
 *
 * A datagram to a socket in the abstract namespace, whose name tells which
 * monitor: there can be but one recording of each, as its buffer has one reader.
 * Both sides look at whom they hear from: root, or who they are themselves.
 */
#ifndef WSMO_MARKS_H
#define WSMO_MARKS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "wsmon.h"

/* Bytes of a mark's text, the end included */
#define MARK_TEXT	256

/* In struct mark_request.flags */
#define MARK_NO_STACKS	0x1

/** struct mark_request - what is asked for */
struct mark_request {
	__u32 flags;
	char text[MARK_TEXT];
};

/**
 * struct mark_reply - what became of it
 * @number:	of the mark
 * @at_ns:	since the recording began
 */
struct mark_reply {
	__u64 number;
	__u64 at_ns;
};

/**
 * mark_address() - where the recording listens
 * @addr:	result
 * Return: its length, 0 if there is no module
 */
socklen_t mark_address(struct sockaddr_un *addr);

/** mark_socket() - Return: a datagram socket that gets credentials, or -1 */
int mark_socket(void);

/**
 * mark_receive() - a message of somebody who may say so
 * @from:	who sent it, @len bytes
 * Return: bytes of it, 0 if it is to be ignored, -1 if there is none
 */
ssize_t mark_receive(int fd, void *data, size_t size, struct sockaddr_un *from,
		     socklen_t *len);

/**
 * mark_serve() - set the marks that were asked for, and say so
 * @set:	sets one and fills the reply
 * @arg:	what it gets
 */
void mark_serve(int fd, void (*set)(void *arg, const struct mark_request *rq,
				    struct mark_reply *reply), void *arg);

#endif /* WSMO_MARKS_H */
