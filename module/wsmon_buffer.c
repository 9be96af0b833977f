// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_buffer.c - buffers of records, and the open files that read them
 *
 * Each reader of a monitor has a buffer of its own, so a slow reader loses only its own
 * records. The writer is the task that holds the monitor's lock: kwsmond, or a task that
 * starts, changes, marks or leaves a session. The reader is an open file. Writer and reader
 * share a kfifo, which needs no lock for one writer and one reader (on 6.1 and later). So a
 * reader that sleeps in a page fault never delays kwsmond.
 *
 * A record is written completely or not at all. A record that does not fit is counted as
 * lost; a LOST record reports the losses as soon as there is room. Some room is reserved for
 * LOST and END records.
 *
 * relayfs was made for such streams, but its read does not block, and is not ordered against
 * a writer that switches sub-buffers; its poll wakes a reader only when a sub-buffer is full.
 * A wrapper would have to add all of this.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "wsmon_buffer.h"

/* Bytes of a buffer: a minute of full snapshots at the defaults, or four of the largest */
#define BUFFER_SIZE	(4U << 20)
/* Bytes reserved for LOST and END records */
#define BUFFER_SPARE	256U
/* Upper bound of the bytes of all TARGET and AREA records of a session */
#define BUFFER_ALL	(BUFFER_SIZE / 4)

static unsigned int buffer_room(struct wsmon_buffer *b)
{
	return BUFFER_SIZE - wsmon_buffer_used(b);
}

static void buffer_put_raw(struct wsmon_buffer *b, const void *rec, u32 size)
{
	kfifo_in(&b->fifo, (const u8 *)rec, size);
}

/* Report losses, if any, by a LOST record. Return: false if the buffer has no room for it. */
static bool buffer_put_lost(struct wsmon_buffer *b, u64 now)
{
	struct wsmon_rec_lost rec = {
		.rec = {
			.type = WSMON_REC_LOST,
			.size = sizeof(rec),
			.time_ns = now,
		},
		.records = b->lost,
		.bytes = b->lost_bytes,
	};

	if (!b->lost)
		return true;
	if (buffer_room(b) < sizeof(rec))
		return false;
	buffer_put_raw(b, &rec, sizeof(rec));
	b->lost = 0;
	b->lost_bytes = 0;
	return true;
}

/* Write a record, or count it as lost. */
static void buffer_put(struct wsmon_buffer *b, const struct wsmon_record *rec)
{
	u32 spare = rec->type == WSMON_REC_END ? sizeof(struct wsmon_rec_lost) :
						 BUFFER_SPARE;

	if (buffer_room(b) < rec->size + spare ||
	    !buffer_put_lost(b, rec->time_ns)) {
		b->lost++;
		b->lost_bytes += rec->size;
		b->sum++;
		b->sum_bytes += rec->size;
		/* other records mean little without these: wsmon_buffers_attached() repeats them */
		if (rec->type == WSMON_REC_ATTRS ||
		    rec->type == WSMON_REC_TARGET ||
		    rec->type == WSMON_REC_AREA)
			b->owed = min(b->owed + rec->size, BUFFER_ALL);
		return;
	}
	buffer_put_raw(b, rec, rec->size);
	wake_up_interruptible(&b->wait);
}

static void buffer_set_attrs(struct wsmon_buffer *b, const struct wsmon_attrs *attrs)
{
	mutex_lock(&b->attach);
	b->attrs = *attrs;
	mutex_unlock(&b->attach);
}

/**
 * wsmon_buffers_put - write a record to all buffers of a monitor
 * @mon:	the monitor
 * @rec:	the whole record; in a STATS record, sets the losses of each buffer
 *
 * Passes the record to the callback of another module only in kwsmond: any other task, which
 * starts or stops the session, may hold locks that the callback takes.
 * Context: the monitor's lock held.
 */
void wsmon_buffers_put(struct wsmon_monitor *mon, struct wsmon_record *rec)
{
	struct wsmon_rec_stats *stats = (void *)rec;
	struct wsmon_buffer *b;

	lockdep_assert_held(&mon->lock);
	list_for_each_entry(b, &mon->buffers, node) {
		if (rec->type == WSMON_REC_STATS) {
			stats->lost_records = b->sum;
			stats->lost_bytes = b->sum_bytes;
		} else if (rec->type == WSMON_REC_ATTRS) {
			buffer_set_attrs(b, &((struct wsmon_rec_attrs *)rec)->attrs);
		}
		buffer_put(b, rec);
	}
	if (mon->record && mon->session->thread == current) {
		mon->record(mon->private, rec);
		cond_resched();
	}
}

/*
 * Set the pid namespace of the ids in records that follow. If other records wait to be read,
 * their ids may be of another namespace: the buffer then has ids of several.
 */
static void buffer_set_ns(struct wsmon_buffer *b, struct pid_namespace *ns)
{
	struct pid_namespace *old = b->ns;

	if (ns == old)
		return;
	if (wsmon_buffer_used(b))
		ns = NULL;
	WRITE_ONCE(b->ns, ns ? get_pid_ns(ns) : NULL);
	if (old)
		put_pid_ns(old);
}

static void buffer_begin(struct wsmon_buffer *b, struct pid_namespace *ns)
{
	mutex_lock(&b->attach);
	if (b->has_reader) {
		WRITE_ONCE(b->split_in, b->fifo.kfifo.in);
		/* pairs with reader_before_split() */
		smp_store_release(&b->splits, b->splits + 1);
	} else {
		kfifo_reset(&b->fifo);
		/* with a file open, its reader still needs the LOST record */
		b->lost = 0;
		b->lost_bytes = 0;
	}
	buffer_set_ns(b, ns);
	b->sum = 0;
	b->sum_bytes = 0;
	/* a reader that came before the session gets all of its records without a repeat */
	WRITE_ONCE(b->reader_came, false);
	b->owed = 0;
	mutex_unlock(&b->attach);
	WRITE_ONCE(b->session, true);
	wake_up_interruptible(&b->wait);
}

/**
 * wsmon_buffers_begin - prepare for the records of a new session
 * @ss:	the session
 *
 * Drops unread records of earlier sessions from buffers that no file reads.
 * Context: the monitor's lock held.
 */
void wsmon_buffers_begin(struct wsmon_session *ss)
{
	struct wsmon_buffer *b;

	list_for_each_entry(b, &ss->mon->buffers, node)
		buffer_begin(b, ss->ns);
}

static void buffer_end(struct wsmon_buffer *b)
{
	/* pairs with reader_at_end(): a reader that sees the end has seen all records */
	smp_store_release(&b->session, false);
	wake_up_interruptible(&b->wait);
}

/**
 * wsmon_buffers_end - note that a session has written its last record
 * @mon:	the monitor
 *
 * Context: the monitor's lock held.
 */
void wsmon_buffers_end(struct wsmon_monitor *mon)
{
	struct wsmon_buffer *b;

	list_for_each_entry(b, &mon->buffers, node)
		buffer_end(b);
}

/**
 * wsmon_buffers_attached - tell whether to report attributes, targets and mappings again
 * @mon:	the monitor
 * @owed:	an interval ends: repeat lost records, too
 *
 * Context: the monitor's lock held.
 * Return: true if a reader came since the last call; with @owed also if a buffer lost some of
 * these records and has room for them now. Without room, as long as nobody reads, each interval
 * would lose them again.
 */
bool wsmon_buffers_attached(struct wsmon_monitor *mon, bool owed)
{
	struct wsmon_buffer *b;
	bool attached = false;

	list_for_each_entry(b, &mon->buffers, node) {
		bool room = buffer_room(b) >= b->owed + 2 * BUFFER_SPARE;

		if (!xchg(&b->reader_came, false) && !(owed && b->owed && room))
			continue;
		b->owed = 0;
		attached = true;
	}
	return attached;
}

/**
 * wsmon_buffer_join - let a buffer take the records of a monitor from now on
 * @b:		the buffer
 * @mon:	the monitor
 *
 * Context: the monitor's lock held, or no other task knows the monitor yet.
 */
void wsmon_buffer_join(struct wsmon_buffer *b, struct wsmon_monitor *mon)
{
	buffer_set_attrs(b, &mon->attrs);
	list_add_tail(&b->node, &mon->buffers);
	WRITE_ONCE(b->reader_came, true);
	if (!mon->running)
		return;
	buffer_set_ns(b, mon->session->ns);
	WRITE_ONCE(b->session, true);
}

/**
 * wsmon_buffer_leave - remove a buffer from its monitor
 * @b:	the buffer; gets an END record if the session goes on
 *
 * Context: as wsmon_buffer_join().
 */
void wsmon_buffer_leave(struct wsmon_buffer *b)
{
	struct wsmon_rec_end rec = {
		.rec = {
			.type = WSMON_REC_END,
			.size = sizeof(rec),
			.time_ns = ktime_get_ns(),
		},
		.reason = WSMON_END_STOPPED,
	};

	list_del(&b->node);
	if (!b->session)
		return;
	buffer_put(b, &rec.rec);
	buffer_end(b);
}

/**
 * wsmon_buffer_init - allocate the memory of a buffer
 * @b:	the buffer, all zero
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_buffer_init(struct wsmon_buffer *b)
{
	init_waitqueue_head(&b->wait);
	mutex_init(&b->attach);
	b->mem = vmalloc(BUFFER_SIZE);
	if (!b->mem)
		return -ENOMEM;
	return kfifo_init(&b->fifo, b->mem, BUFFER_SIZE);
}

/** wsmon_buffer_exit - free the memory of a buffer. Context: no file reads it. */
void wsmon_buffer_exit(struct wsmon_buffer *b)
{
	if (b->ns)
		put_pid_ns(b->ns);
	vfree(b->mem);
}

/*
 * Readers: open files of debugfs wsmon/buffer and /dev/wsmon
 */

/* Return: true if there are bytes to read. A header counts only after the first record came. */
static bool reader_readable(const struct wsmon_reader *rd)
{
	return wsmon_buffer_used(rd->buffer) ||
	       (rd->made && rd->sent < sizeof(rd->header));
}

/* Return: true if the file has read records, none are left, and no session writes more. */
static bool reader_at_end(const struct wsmon_reader *rd)
{
	/* pairs with buffer_end() */
	return READ_ONCE(rd->read) && !smp_load_acquire(&rd->buffer->session) &&
	       !reader_readable(rd);
}

/*
 * Count the bytes before the start of a session that the reader has not reached; of several
 * sessions, the last one.
 * Return: the number; 0 if the reader reaches the start now; UINT_MAX if there is no such session.
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

/* Return: bytes read; 0 at the end of a session; -EAGAIN if there are none; -EPERM, -EFAULT. */
static ssize_t reader_read_some(struct wsmon_reader *rd, char __user *buf, size_t count)
{
	struct wsmon_buffer *b = rd->buffer;
	unsigned int copied, left, avail = wsmon_buffer_used(rd->buffer);
	bool first;
	int ret;

	/* read @splits after @avail, so that it counts each session that has bytes in @avail */
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
	/* read b->ns after @avail: a session sets it before it writes records */
	if (rd->ns != &init_pid_ns && rd->ns != READ_ONCE(b->ns))
		return -EPERM;
	ret = kfifo_to_user(&b->fifo, buf, count, &copied);
	if (!copied)
		return ret ?: -EAGAIN;
	first = !rd->read;
	WRITE_ONCE(rd->read, rd->read + copied);
	rd->at_end = false;
	/* the first read may satisfy reader_at_end() of other threads that share this file */
	if (first)
		wake_up_interruptible(&b->wait);
	return copied;
}

/**
 * wsmon_reader_init - begin to read a buffer
 * @rd:	the reader, all zero
 * @b:	the buffer
 * @ns:	pid namespace of the task that opened the file; must outlive the reader
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
 * wsmon_reader_read - read from a buffer; wait for records
 * @rd:		the reader
 * @file:	the reader's file; with O_NONBLOCK, does not wait
 * @buf:	destination
 * @count:	size of @buf
 *
 * Context: may sleep, no locks held.
 * Return: bytes read; 0 at the end of a session; -EAGAIN without records and with O_NONBLOCK;
 * -EPERM if the file's pid namespace is not the initial one, and the ids in the buffer are of
 * another namespace; -EFAULT; -ERESTARTSYS.
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

/** wsmon_reader_poll - tell whether a read would return without waiting */
__poll_t wsmon_reader_poll(struct wsmon_reader *rd, struct file *file, poll_table *wait)
{
	poll_wait(file, &rd->buffer->wait, wait);
	return reader_readable(rd) || reader_at_end(rd) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * debugfs wsmon/buffer: at most one open file at a time
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
	/* the file may have read part of a record; the next reader must begin with a whole one */
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

/** wsmon_debugfs_buffer_lost - fill in the losses of the buffer. Context: wsmon.lock held. */
void wsmon_debugfs_buffer_lost(struct wsmon_rec_stats *rec)
{
	rec->lost_records = debugfs_buffer.sum;
	rec->lost_bytes = debugfs_buffer.sum_bytes;
}

/** wsmon_debugfs_buffer_init - allocate the buffer of debugfs. Return: 0 or -ENOMEM. */
int __init wsmon_debugfs_buffer_init(void)
{
	int err = wsmon_buffer_init(&debugfs_buffer);

	if (!err)
		wsmon_buffer_join(&debugfs_buffer, &wsmon);
	return err;
}

/** wsmon_debugfs_buffer_exit - free the buffer of debugfs. Context: no file reads it. */
void wsmon_debugfs_buffer_exit(void)
{
	wsmon_buffer_exit(&debugfs_buffer);
}
