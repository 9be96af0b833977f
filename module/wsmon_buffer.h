/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wsmon_buffer.h - buffers of records, and the open files that read them
 */
#ifndef WSMON_BUFFER_H
#define WSMON_BUFFER_H

#include <linux/kfifo.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "wsmon_session.h"

/**
 * struct wsmon_buffer - records that wait for one reader
 * @node:	entry in @buffers of the monitor
 * @attrs:	attributes in force; protected by @attach
 * @fifo:	the bytes of the records
 * @mem:	memory of @fifo
 * @wait:	wait queue of the reader
 * @attach:	serialises open and release of the reader with emptying @fifo
 * @has_reader:	a file reads the buffer
 * @reader_came: a reader came since the last call of wsmon_buffers_attached()
 * @owed:	bytes of ATTRS, TARGET and AREA records lost since that call, which must be
 *		written again
 * @session:	a session writes to the buffer
 * @ns:		pid namespace of the ids in the buffer, referenced; NULL: several, or none
 * @splits:	number of sessions that began while the file was open
 * @split_in:	position in @fifo where the last of these sessions began
 * @lost:	records lost since the last LOST record
 * @lost_bytes:	total size of @lost
 * @sum:	records lost in this session
 * @sum_bytes:	total size of @sum
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
 * struct wsmon_reader - an open file that reads a buffer
 * @buffer:	the buffer
 * @ns:		pid namespace in which the file was opened
 * @lock:	serialises threads that share the file
 * @header:	header of the stream
 * @sent:	bytes of @header read so far
 * @made:	@header is filled in
 * @read:	bytes of records read so far
 * @splits:	value of @splits of the buffer at the last session begin that was reached
 * @at_end:	the last read returned 0: the end of a session
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

/* Number of bytes that wait in the buffer */
static inline unsigned int wsmon_buffer_used(struct wsmon_buffer *b)
{
	/*
	 * Reader or writer may move its index meanwhile: the result is then the number from
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
