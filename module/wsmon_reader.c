// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_reader.c - an open file that records are read from: debugfs wsmon/buffer, /dev/wsmon
 *
 * The writer's side is wsmon_buffer.c.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "wsmon_buffer.h"

/* Is there anything to read? The header alone is not, before the first record. */
static bool reader_readable(const struct wsmon_reader *rd)
{
	return wsmon_buffer_used(rd->buffer) ||
	       (rd->made && rd->sent < sizeof(rd->header));
}

/* Has this file read all records of a session that has ended? */
static bool reader_at_end(const struct wsmon_reader *rd)
{
	/* pairs with wsmon_buffers_end() */
	return READ_ONCE(rd->read) && !smp_load_acquire(&rd->buffer->session) &&
	       !reader_readable(rd);
}

/*
 * Find how many bytes are left before the beginning of a session that the reader has
 * not reached. If several began, the last one counts.
 * Return: the number; 0 if the reader reaches it now; UINT_MAX if none began.
 */
static unsigned int reader_before_split(struct wsmon_reader *rd)
{
	struct wsmon_buffer *b = rd->buffer;
	/* pairs with buffer_begin() */
	unsigned int splits = smp_load_acquire(&b->splits), left;

	if (rd->splits == splits)
		return UINT_MAX;
	left = READ_ONCE(b->split_in) - b->fifo.kfifo.out;
	if (!left)
		rd->splits = splits;
	return left;
}

static void reader_make_header(struct wsmon_reader *rd)
{
	struct wsmon_file_header *h = &rd->header;

	memcpy(h->magic, WSMON_MAGIC, sizeof(h->magic));
	h->version = WSMON_VERSION;
	h->header_size = sizeof(*h);
	h->page_size = PAGE_SIZE;
	h->clock_id = WSMON_CLOCK_MONOTONIC;
	mutex_lock(&rd->buffer->attach);
	h->attrs = rd->buffer->attrs;
	mutex_unlock(&rd->buffer->attach);
	rd->made = true;
}

static ssize_t reader_read_header(struct wsmon_reader *rd, char __user *buf, size_t count)
{
	count = min(count, sizeof(rd->header) - rd->sent);
	if (copy_to_user(buf, (u8 *)&rd->header + rd->sent, count))
		return -EFAULT;
	rd->sent += count;
	return count;
}

/* Return: bytes read, -EAGAIN if there is nothing, 0 at the end of a session */
static ssize_t reader_read_some(struct wsmon_reader *rd, char __user *buf, size_t count)
{
	struct wsmon_buffer *b = rd->buffer;
	unsigned int copied, left, avail = wsmon_buffer_used(rd->buffer);
	bool first;
	int ret;

	/* read @splits after @avail: if @avail has bytes of a session, @splits counts it */
	smp_rmb();
	left = reader_before_split(rd);
	if (!left && rd->read && !rd->at_end) {
		rd->at_end = true;
		return 0;
	}
	if (!reader_readable(rd)) {
		if (!reader_at_end(rd))
			return -EAGAIN;
		rd->at_end = true;
		return 0;
	}
	if (!rd->made)
		reader_make_header(rd);
	if (rd->sent < sizeof(rd->header))
		return reader_read_header(rd, buf, count);
	if (left)
		count = min_t(size_t, count, left);
	count = min_t(size_t, count, avail);
	/* after @avail: a session sets it before its records */
	if (rd->ns != &init_pid_ns && rd->ns != READ_ONCE(b->ns))
		return -EPERM;
	ret = kfifo_to_user(&b->fifo, buf, count, &copied);
	if (!copied)
		return ret ?: -EAGAIN;
	first = !rd->read;
	WRITE_ONCE(rd->read, rd->read + copied);
	rd->at_end = false;
	/* after the first read, other threads that share this file may be at the end */
	if (first)
		wake_up_interruptible(&b->wait);
	return copied;
}

/**
 * wsmon_reader_init - begin to read a buffer
 * @rd:	the reader, all zero
 * @b:	the buffer
 * @ns:	the pid namespace of who reads it, which outlives it
 */
void wsmon_reader_init(struct wsmon_reader *rd, struct wsmon_buffer *b,
		       struct pid_namespace *ns)
{
	rd->buffer = b;
	rd->ns = ns;
	mutex_init(&rd->lock);
	rd->header.mono_ns = ktime_get_ns();
	rd->header.real_ns = ktime_get_real_ns();
	b->has_reader = true;
	WRITE_ONCE(b->reader_came, true);
	rd->splits = b->splits;
}

/**
 * wsmon_reader_read - read from a buffer; waits for records
 * @rd:		the reader
 * @file:	its file
 * @buf:	where to
 * @count:	size of @buf
 *
 * Context: may sleep, no locks held.
 * Return: bytes read; 0 at the end of a session; -EAGAIN, -EFAULT, -ERESTARTSYS.
 */
ssize_t wsmon_reader_read(struct wsmon_reader *rd, struct file *file, char __user *buf,
			  size_t count)
{
	ssize_t ret;

	if (!count)
		return 0;
	for (;;) {
		if (mutex_lock_interruptible(&rd->lock))
			return -ERESTARTSYS;
		ret = reader_read_some(rd, buf, min_t(size_t, count, INT_MAX));
		mutex_unlock(&rd->lock);
		if (ret != -EAGAIN)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(rd->buffer->wait,
					       reader_readable(rd) || reader_at_end(rd));
		if (ret)
			return ret;
	}
}

/** wsmon_reader_poll - tell whether there is something to read */
__poll_t wsmon_reader_poll(struct wsmon_reader *rd, struct file *file, poll_table *wait)
{
	poll_wait(file, &rd->buffer->wait, wait);
	return reader_readable(rd) || reader_at_end(rd) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * debugfs wsmon/buffer, which one file at a time may read
 */
static struct wsmon_buffer debugfs_buffer;

static int buffer_open(struct inode *inode, struct file *file)
{
	struct wsmon_buffer *b = &debugfs_buffer;
	struct wsmon_reader *rd;
	int ret;

	ret = wsmon_may_open(true);
	if (ret)
		return ret;
	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	mutex_lock(&b->attach);
	ret = -EBUSY;
	if (!b->has_reader) {
		wsmon_reader_init(rd, b, get_pid_ns(task_active_pid_ns(current)));
		file->private_data = rd;
		ret = stream_open(inode, file);
	}
	mutex_unlock(&b->attach);
	if (ret)
		kfree(rd);
	return ret;
}

static int buffer_release(struct inode *inode, struct file *file)
{
	struct wsmon_reader *rd = file->private_data;
	struct wsmon_buffer *b = rd->buffer;

	mutex_lock(&b->attach);
	/* it may have read half a record; the next reader must begin with a whole one */
	if (rd->read)
		kfifo_reset_out(&b->fifo);
	b->has_reader = false;
	mutex_unlock(&b->attach);
	put_pid_ns(rd->ns);
	kfree(rd);
	return 0;
}

static ssize_t buffer_read(struct file *file, char __user *buf, size_t count, loff_t *ppos)
{
	return wsmon_reader_read(file->private_data, file, buf, count);
}

static __poll_t buffer_poll(struct file *file, poll_table *wait)
{
	return wsmon_reader_poll(file->private_data, file, wait);
}

const struct file_operations wsmon_buffer_fops = {
	.owner = THIS_MODULE,
	.open = buffer_open,
	.release = buffer_release,
	.read = buffer_read,
	.poll = buffer_poll,
};

/** wsmon_debugfs_buffer_lost - fill in what the buffer lost. Context: wsmon.lock held. */
void wsmon_debugfs_buffer_lost(struct wsmon_rec_stats *rec)
{
	rec->lost_records = debugfs_buffer.sum;
	rec->lost_bytes = debugfs_buffer.sum_bytes;
}

/**
 * wsmon_debugfs_buffer_init - allocate the buffer of debugfs
 *
 * Return: 0 or -ENOMEM.
 */
int __init wsmon_debugfs_buffer_init(void)
{
	int err = wsmon_buffer_init(&debugfs_buffer);

	if (!err)
		wsmon_buffer_join(&debugfs_buffer, &wsmon);
	return err;
}

/** wsmon_debugfs_buffer_exit - free the buffer of debugfs, which has no reader any more */
void wsmon_debugfs_buffer_exit(void)
{
	wsmon_buffer_exit(&debugfs_buffer);
}
