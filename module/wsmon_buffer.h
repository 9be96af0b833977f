/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_buffer.h - where records wait for a reader, and the reader
 */
#ifndef WSMON_BUFFER_H
#define WSMON_BUFFER_H

#include <linux/kfifo.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "wsmon_session.h"

/**
 * struct wsmon_buffer - where records wait for one reader
 * @node:	its place among the buffers of a monitor
 * @attrs:	last attributes that were written (@attach)
 * @fifo:	the bytes
 * @mem:	its memory
 * @wait:	the reader waits here
 * @attach:	serialises open and release of the reader with emptying @fifo
 * @has_reader:	the file is open
 * @reader_came: it was opened since the last call of wsmon_buffers_attached()
 * @owed:	bytes of records lost since then that must be written again: ATTRS, TARGET,
 *		AREA
 * @session:	a session is writing
 * @ns:		pid namespace of the ids in it, referenced; NULL: of several, or none
 * @splits:	number of sessions that began while the file was open
 * @split_in:	position in @fifo where the last of them began
 * @lost:	records lost since the last LOST record
 * @lost_bytes:	their size together
 * @sum:	records lost in this session
 * @sum_bytes:	their size together
 */
struct wsmon_buffer {
	struct list_head node;
	struct wsmon_attrs attrs;
	struct kfifo fifo;
	void *mem;
	wait_queue_head_t wait;
	struct mutex attach;	/* inside the monitor's lock */
	bool has_reader;
	bool reader_came;
	unsigned int owed;
	bool session;
	struct pid_namespace *ns;
	unsigned int splits;
	unsigned int split_in;
	u64 lost;
	u64 lost_bytes;
	u64 sum;
	u64 sum_bytes;
};

/**
 * struct wsmon_reader - an open file that a buffer is read from
 * @buffer:	the buffer
 * @ns:		pid namespace in which the file was opened
 * @lock:	serialises threads that share the file
 * @header:	beginning of the stream
 * @sent:	bytes of @header that were read
 * @made:	@header is filled in
 * @read:	bytes of records that were read
 * @splits:	number of sessions whose beginning it has reached
 * @at_end:	the last read returned the end of a session
 */
struct wsmon_reader {
	struct wsmon_buffer *buffer;
	struct pid_namespace *ns;
	struct mutex lock;	/* outside the monitor's lock */
	struct wsmon_file_header header;
	size_t sent;
	bool made;
	u64 read;
	unsigned int splits;
	bool at_end;
};

/* Bytes that wait in the buffer */
static inline unsigned int wsmon_buffer_used(struct wsmon_buffer *b)
{
	/*
	 * The other side may move its index meanwhile: then the answer is the one from
	 * before. kfifo orders the bytes before the index.
	 */
	return data_race(kfifo_len(&b->fifo));
}

/* wsmon_buffer.c: the side of the writer */
int wsmon_buffer_init(struct wsmon_buffer *b);
void wsmon_buffer_exit(struct wsmon_buffer *b);
void wsmon_buffer_join(struct wsmon_buffer *b, struct wsmon_monitor *mon);
void wsmon_buffer_leave(struct wsmon_buffer *b);

/* wsmon_buffer.c: the side of the reader */
void wsmon_reader_init(struct wsmon_reader *rd, struct wsmon_buffer *b,
		       struct pid_namespace *ns);
ssize_t wsmon_reader_read(struct wsmon_reader *rd, struct file *file, char __user *buf,
			  size_t count);
__poll_t wsmon_reader_poll(struct wsmon_reader *rd, struct file *file, poll_table *wait);

#endif /* WSMON_BUFFER_H */
