// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_buffer.c - the buffer records wait in, and the file they are read from
 *
 * The writer is the task that holds wsmon.lock: kwsmond, or one that changes
 * attributes. The reader is the one open file of debugfs wsmon/buffer; its lock
 * serialises threads that share it. Between writer and reader is a kfifo, which needs
 * no lock for one of each (on 6.1 and later). So a reader that sleeps in a page fault
 * never holds up kwsmond.
 *
 * A record is written completely or not at all. If it does not fit, it is counted as
 * lost, and a LOST record reports that as soon as there is room. Some room is reserved
 * for LOST and END.
 *
 * relayfs was made for such streams, but its read does not block, and is not ordered
 * against a writer that switches sub-buffers. Its poll wakes a reader only when a
 * sub-buffer is full. All of this would have to be added around it.
 */
#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "wsmon_internal.h"

/* A minute of full snapshots at the defaults, or four of the largest possible ones */
#define BUFFER_SIZE	(4U << 20)
/* Reserved for LOST and END */
#define BUFFER_SPARE	256U
/* The largest set of TARGET and AREA records */
#define BUFFER_ALL	(BUFFER_SIZE / 4)

/**
 * struct record_buffer - the buffer and its reader
 * @fifo:	the bytes
 * @mem:	its memory
 * @wait:	the reader waits here
 * @attach:	serialises open and release of the reader with emptying @fifo
 * @has_reader:	the file is open
 * @reader_came: it was opened since the last call of wsmon_buffer_attached()
 * @owed:	bytes of records lost since then that must be written again: ATTRS, TARGET,
 *		AREA
 * @session:	a session is writing
 * @splits:	number of sessions that began while the file was open
 * @split_in:	position in @fifo where the last of them began
 * @lost:	records lost since the last LOST record
 * @lost_bytes:	their size together
 * @sum:	records lost in this session
 * @sum_bytes:	their size together
 */
static struct record_buffer {
	struct kfifo fifo;
	void *mem;
	wait_queue_head_t wait;
	struct mutex attach;	/* inside wsmon.lock */
	bool has_reader;
	bool reader_came;
	unsigned int owed;
	bool session;
	unsigned int splits;
	unsigned int split_in;
	u64 lost;
	u64 lost_bytes;
	u64 sum;
	u64 sum_bytes;
} buffer;

/**
 * struct buffer_reader - the open file wsmon/buffer
 * @lock:	serialises threads that share the file
 * @header:	beginning of the stream
 * @sent:	bytes of @header that were read
 * @made:	@header is filled in
 * @read:	bytes of records that were read
 * @splits:	number of sessions whose beginning it has reached
 * @at_end:	the last read returned the end of a session
 */
struct buffer_reader {
	struct mutex lock;	/* outside wsmon.lock */
	struct wsmon_file_header header;
	size_t sent;
	bool made;
	u64 read;
	unsigned int splits;
	bool at_end;
};

/*
 * Writing
 */

static unsigned int buffer_used(void)
{
	/*
	 * The other side may move its index meanwhile: then the answer is the one from
	 * before. kfifo orders the bytes before the index.
	 */
	return data_race(kfifo_len(&buffer.fifo));
}

static unsigned int buffer_room(void)
{
	return BUFFER_SIZE - buffer_used();
}

static void buffer_put_raw(const void *rec, u32 size)
{
	kfifo_in(&buffer.fifo, (const u8 *)rec, size);
}

/* Report what was lost. Return: may a record follow? */
static bool buffer_put_lost(u64 now)
{
	struct wsmon_rec_lost rec = {
		.rec = {
			.type = WSMON_REC_LOST,
			.size = sizeof(rec),
			.time_ns = now,
		},
		.records = buffer.lost,
		.bytes = buffer.lost_bytes,
	};

	if (!buffer.lost)
		return true;
	if (buffer_room() < sizeof(rec))
		return false;
	buffer_put_raw(&rec, sizeof(rec));
	buffer.lost = 0;
	buffer.lost_bytes = 0;
	return true;
}

/**
 * wsmon_buffer_put - write a record, or count it as lost
 * @rec:	the whole record
 *
 * Context: wsmon.lock held.
 */
void wsmon_buffer_put(const struct wsmon_record *rec)
{
	u32 spare = rec->type == WSMON_REC_END ? sizeof(struct wsmon_rec_lost) :
						 BUFFER_SPARE;

	lockdep_assert_held(&wsmon.lock);
	if (buffer_room() < rec->size + spare ||
	    !buffer_put_lost(rec->time_ns)) {
		buffer.lost++;
		buffer.lost_bytes += rec->size;
		buffer.sum++;
		buffer.sum_bytes += rec->size;
		/* repeat these later: without them, other records mean little */
		if (rec->type == WSMON_REC_ATTRS ||
		    rec->type == WSMON_REC_TARGET ||
		    rec->type == WSMON_REC_AREA)
			buffer.owed = min(buffer.owed + rec->size, BUFFER_ALL);
		return;
	}
	buffer_put_raw(rec, rec->size);
	wake_up_interruptible(&buffer.wait);
}

/**
 * wsmon_buffer_lost - return how many records did not fit in this session
 * @records:	their number
 * @bytes:	their size together
 *
 * Context: wsmon.lock held.
 */
void wsmon_buffer_lost(u64 *records, u64 *bytes)
{
	*records = buffer.sum;
	*bytes = buffer.sum_bytes;
}

/**
 * wsmon_buffer_begin - prepare for the records of a new session
 *
 * Drops what nobody has read of an earlier session, unless the file is open.
 * Context: wsmon.lock held.
 */
void wsmon_buffer_begin(void)
{
	mutex_lock(&buffer.attach);
	if (buffer.has_reader) {
		WRITE_ONCE(buffer.split_in, buffer.fifo.kfifo.in);
		/* pairs with buffer_before_split() */
		smp_store_release(&buffer.splits, buffer.splits + 1);
	} else {
		kfifo_reset(&buffer.fifo);
		/* an open file keeps them: its reader still needs the LOST record */
		buffer.lost = 0;
		buffer.lost_bytes = 0;
	}
	buffer.sum = 0;
	buffer.sum_bytes = 0;
	/* a reader that is already here gets everything anyway */
	WRITE_ONCE(buffer.reader_came, false);
	buffer.owed = 0;
	mutex_unlock(&buffer.attach);
	WRITE_ONCE(buffer.session, true);
	wake_up_interruptible(&buffer.wait);
}

/**
 * wsmon_buffer_end - note that a session has written its last record
 *
 * Context: wsmon.lock held.
 */
void wsmon_buffer_end(void)
{
	/* pairs with buffer_at_end(): a reader that sees the end sees all records */
	smp_store_release(&buffer.session, false);
	wake_up_interruptible(&buffer.wait);
}

/**
 * wsmon_buffer_attached - tell whether to report attributes, targets and mappings again
 *
 * They are reported again if a reader came since the last call, or if some of these
 * records were lost and there is room for them now: without a reader they would be lost
 * again in each interval.
 * Context: wsmon.lock held.
 */
bool wsmon_buffer_attached(void)
{
	bool room = buffer_room() >= buffer.owed + 2 * BUFFER_SPARE;

	if (!xchg(&buffer.reader_came, false) && !(buffer.owed && room))
		return false;
	buffer.owed = 0;
	return true;
}

/*
 * Reading
 */

static int buffer_open(struct inode *inode, struct file *file)
{
	struct buffer_reader *rd;
	int ret;

	ret = wsmon_may_open();
	if (ret)
		return ret;
	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	mutex_init(&rd->lock);
	rd->header.mono_ns = ktime_get_ns();
	rd->header.real_ns = ktime_get_real_ns();
	mutex_lock(&buffer.attach);
	ret = -EBUSY;
	if (!buffer.has_reader) {
		buffer.has_reader = true;
		WRITE_ONCE(buffer.reader_came, true);
		rd->splits = buffer.splits;
		file->private_data = rd;
		ret = stream_open(inode, file);
	}
	mutex_unlock(&buffer.attach);
	if (ret)
		kfree(rd);
	return ret;
}

static int buffer_release(struct inode *inode, struct file *file)
{
	struct buffer_reader *rd = file->private_data;

	mutex_lock(&buffer.attach);
	/* it may have read half a record; the next reader must begin with a whole one */
	if (rd->read)
		kfifo_reset_out(&buffer.fifo);
	buffer.has_reader = false;
	mutex_unlock(&buffer.attach);
	kfree(rd);
	return 0;
}

/* Is there anything to read? The header alone is not, before the first record. */
static bool buffer_readable(const struct buffer_reader *rd)
{
	return buffer_used() ||
	       (rd->made && rd->sent < sizeof(rd->header));
}

/* Has this file read all records of a session that has ended? */
static bool buffer_at_end(const struct buffer_reader *rd)
{
	/* pairs with wsmon_buffer_end() */
	return READ_ONCE(rd->read) && !smp_load_acquire(&buffer.session) && !buffer_readable(rd);
}

/*
 * Find how many bytes are left before the beginning of a session that the reader has
 * not reached. If several began, the last one counts.
 * Return: the number; 0 if the reader reaches it now; UINT_MAX if none began.
 */
static unsigned int buffer_before_split(struct buffer_reader *rd)
{
	/* pairs with wsmon_buffer_begin() */
	unsigned int splits = smp_load_acquire(&buffer.splits), left;

	if (rd->splits == splits)
		return UINT_MAX;
	left = READ_ONCE(buffer.split_in) - buffer.fifo.kfifo.out;
	if (!left)
		rd->splits = splits;
	return left;
}

static int buffer_make_header(struct buffer_reader *rd)
{
	struct wsmon_file_header *h = &rd->header;

	if (wsmon_lock())
		return -ERESTARTSYS;
	memcpy(h->magic, WSMON_MAGIC, sizeof(h->magic));
	h->version = WSMON_VERSION;
	h->header_size = sizeof(*h);
	h->page_size = PAGE_SIZE;
	h->clock_id = WSMON_CLOCK_MONOTONIC;
	h->attrs = wsmon.attrs;
	mutex_unlock(&wsmon.lock);
	rd->made = true;
	return 0;
}

static ssize_t buffer_read_header(struct buffer_reader *rd, char __user *buf, size_t count)
{
	count = min(count, sizeof(rd->header) - rd->sent);
	if (copy_to_user(buf, (u8 *)&rd->header + rd->sent, count))
		return -EFAULT;
	rd->sent += count;
	return count;
}

/* Return: bytes read, -EAGAIN if there is nothing, 0 at the end of a session */
static ssize_t buffer_read_some(struct buffer_reader *rd, char __user *buf, size_t count)
{
	unsigned int copied, left, avail = buffer_used();
	bool first;
	int ret;

	/* read @splits after @avail: if @avail has bytes of a session, @splits counts it */
	smp_rmb();
	left = buffer_before_split(rd);
	if (!left && rd->read && !rd->at_end) {
		rd->at_end = true;
		return 0;
	}
	if (!buffer_readable(rd)) {
		if (!buffer_at_end(rd))
			return -EAGAIN;
		rd->at_end = true;
		return 0;
	}
	if (!rd->made) {
		ret = buffer_make_header(rd);
		if (ret)
			return ret;
	}
	if (rd->sent < sizeof(rd->header))
		return buffer_read_header(rd, buf, count);
	if (left)
		count = min_t(size_t, count, left);
	count = min_t(size_t, count, avail);
	ret = kfifo_to_user(&buffer.fifo, buf, count, &copied);
	if (!copied)
		return ret ?: -EAGAIN;
	first = !rd->read;
	WRITE_ONCE(rd->read, rd->read + copied);
	rd->at_end = false;
	/* after the first read, other threads that share this file may be at the end */
	if (first)
		wake_up_interruptible(&buffer.wait);
	return copied;
}

static ssize_t buffer_read(struct file *file, char __user *buf, size_t count,
			   loff_t *ppos)
{
	struct buffer_reader *rd = file->private_data;
	ssize_t ret;

	if (!count)
		return 0;
	for (;;) {
		if (mutex_lock_interruptible(&rd->lock))
			return -ERESTARTSYS;
		ret = buffer_read_some(rd, buf, min_t(size_t, count, INT_MAX));
		mutex_unlock(&rd->lock);
		if (ret != -EAGAIN)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(buffer.wait,
					       buffer_readable(rd) || buffer_at_end(rd));
		if (ret)
			return ret;
	}
}

static __poll_t buffer_poll(struct file *file, poll_table *wait)
{
	struct buffer_reader *rd = file->private_data;

	poll_wait(file, &buffer.wait, wait);
	return buffer_readable(rd) || buffer_at_end(rd) ? EPOLLIN | EPOLLRDNORM : 0;
}

const struct file_operations wsmon_buffer_fops = {
	.owner = THIS_MODULE,
	.open = buffer_open,
	.release = buffer_release,
	.read = buffer_read,
	.poll = buffer_poll,
};

/**
 * wsmon_buffer_init - allocate the buffer
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_buffer_init(void)
{
	init_waitqueue_head(&buffer.wait);
	mutex_init(&buffer.attach);
	buffer.mem = vmalloc(BUFFER_SIZE);
	if (!buffer.mem)
		return -ENOMEM;
	return kfifo_init(&buffer.fifo, buffer.mem, BUFFER_SIZE);
}

/** wsmon_buffer_exit - free the buffer, which has no reader any more */
void wsmon_buffer_exit(void)
{
	vfree(buffer.mem);
}
