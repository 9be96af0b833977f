// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_stream.c - records, and the buffer they wait in for a reader
 *
 * The writer is whoever holds wsmon.lock: the thread, or who changes
 * attributes. The reader is the one open file of debugfs wsmon/buffer. They
 * meet in a kfifo, which needs no lock between one writer and one reader: a
 * reader that sleeps in a page fault never holds up the thread.
 *
 * A record is written whole or not at all. When there is no room it is counted
 * as lost, and a LOST record says so as soon as there is room again. A little
 * room is kept for that and for END.
 *
 * relayfs was made for such streams, but its read does not block and is not
 * ordered against a writer that switches sub-buffers, and poll() there wakes a
 * reader once a sub-buffer is full: each would have to be built around it.
 */
#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "wsmon_internal.h"

/* Half a minute of full snapshots at the default attributes */
#define BUFFER_SIZE	(2U << 20)
/* Kept free for LOST and END */
#define BUFFER_SPARE	256U

#define SNAPSHOT_MAX \
	((WSMON_RECORD_MAX - sizeof(struct wsmon_rec_snapshot)) / \
	 sizeof(struct wsmon_region_entry))

/**
 * struct stream - the buffer and its reader
 * @fifo:	the bytes
 * @mem:	its memory
 * @scratch:	where a large record is put together; under wsmon.lock
 * @wait:	the reader waits here
 * @attach:	serialises coming and going of the reader with emptying @fifo
 * @taken:	there is a reader
 * @came:	one came since the last call of wsmon_stream_attached()
 * @session:	a session is writing
 * @lost:	records lost since the last LOST record
 * @lost_bytes:	how long they were together
 * @sum:	records lost in this session
 * @sum_bytes:	how long they were together
 */
static struct stream {
	struct kfifo fifo;
	void *mem;
	void *scratch;
	wait_queue_head_t wait;
	struct mutex attach;
	bool taken;
	bool came;
	bool session;
	u64 lost;
	u64 lost_bytes;
	u64 sum;
	u64 sum_bytes;
} stream;

/**
 * struct reader - an open file of wsmon/buffer
 * @lock:	keeps threads that share the file apart
 * @header:	what the file begins with
 * @sent:	bytes of it that were read
 * @made:	@header is filled in
 * @read:	bytes of records that were read
 */
struct reader {
	struct mutex lock;
	struct wsmon_file_header header;
	size_t sent;
	bool made;
	u64 read;
};

/*
 * Writing
 */

static void put_raw(const void *rec, u32 size)
{
	kfifo_in(&stream.fifo, (const u8 *)rec, size);
}

/* Return: whether it may follow whatever was lost */
static bool tell_lost(u64 now)
{
	struct wsmon_rec_lost rec = {
		.rec = {
			.type = WSMON_REC_LOST,
			.size = sizeof(rec),
			.time_ns = now,
		},
		.records = stream.lost,
		.bytes = stream.lost_bytes,
	};

	if (!stream.lost)
		return true;
	if (kfifo_avail(&stream.fifo) < sizeof(rec))
		return false;
	put_raw(&rec, sizeof(rec));
	stream.lost = 0;
	stream.lost_bytes = 0;
	return true;
}

static void put(struct wsmon_record *rec, u32 type, u32 size, u64 now, u32 spare)
{
	rec->type = type;
	rec->size = size;
	rec->time_ns = now;

	lockdep_assert_held(&wsmon.lock);
	if (kfifo_avail(&stream.fifo) < size + spare || !tell_lost(now)) {
		stream.lost++;
		stream.lost_bytes += size;
		stream.sum++;
		stream.sum_bytes += size;
		return;
	}
	put_raw(rec, size);
	wake_up_interruptible(&stream.wait);
}

/* A record of fixed size */
#define PUT(r, type, now) \
	put(&(r)->rec, type, sizeof(*(r)), now, BUFFER_SPARE)

/**
 * wsmon_stream_begin - a session begins to write
 *
 * What nobody read of an earlier one is thrown away, unless a reader is there.
 */
void wsmon_stream_begin(void)
{
	mutex_lock(&stream.attach);
	if (!stream.taken)
		kfifo_reset(&stream.fifo);
	stream.lost = 0;
	stream.lost_bytes = 0;
	stream.sum = 0;
	stream.sum_bytes = 0;
	mutex_unlock(&stream.attach);
	smp_store_release(&stream.session, true);
	wake_up_interruptible(&stream.wait);
}

/**
 * wsmon_stream_end - a session ends: the last record
 * @reason:	WSMON_END_*
 */
void wsmon_stream_end(u32 reason)
{
	struct wsmon_rec_end rec = { .reason = reason };

	put(&rec.rec, WSMON_REC_END, sizeof(rec), ktime_get_ns(),
	    sizeof(struct wsmon_rec_lost));
	smp_store_release(&stream.session, false);
	wake_up_interruptible(&stream.wait);
}

/**
 * wsmon_stream_attached - has a reader come since the last call?
 */
bool wsmon_stream_attached(void)
{
	return xchg(&stream.came, false);
}

/** wsmon_stream_attrs - the attributes in force */
void wsmon_stream_attrs(void)
{
	struct wsmon_rec_attrs rec = { .attrs = wsmon.attrs };

	PUT(&rec, WSMON_REC_ATTRS, ktime_get_ns());
}

/**
 * wsmon_stream_target - a target
 * @t:		the target
 * @flags:	WSMON_TARGET_*
 */
void wsmon_stream_target(const struct wsmon_target *t, u32 flags)
{
	struct wsmon_rec_target rec = {
		.pid = pid_nr(t->pid),
		.flags = flags,
	};

	memcpy(rec.comm, t->comm, sizeof(rec.comm));
	PUT(&rec, WSMON_REC_TARGET, ktime_get_ns());
}

/**
 * wsmon_stream_areas - the mappings of a target
 * @t:	the target
 */
void wsmon_stream_areas(const struct wsmon_target *t)
{
	const struct wsmon_space *sp = &t->space;
	u64 now = ktime_get_ns();
	u32 i;

	for (i = 0; i < sp->nr_area; i++) {
		const struct wsmon_area *a = &sp->area[i];
		u64 end = wsmon_area_end(sp, a);
		struct wsmon_rec_area rec = {
			.pid = pid_nr(t->pid),
			.class = a->class,
			.index = i,
			.total = sp->nr_area,
			.start = wsmon_area_start(sp, a) << PAGE_SHIFT,
			.end = end << PAGE_SHIFT,
			.mapped = wsmon_area_rank(sp, a, end) << PAGE_SHIFT,
		};

		PUT(&rec, WSMON_REC_AREA, now);
	}
}

static void fill_entry(struct wsmon_region_entry *e,
		       const struct wsmon_target *t,
		       const struct wsmon_region *r, u64 now)
{
	memset(e, 0, sizeof(*e));
	e->start = r->start << PAGE_SHIFT;
	e->end = r->end << PAGE_SHIFT;
	e->share = wsmon_region_share(r);
	e->freq = r->checks ? (u64)r->hits * WSMON_ONE / r->checks : 0;
	e->class = t->space.area[r->area].class;
	e->age_ms = min_t(u64, div_u64(now - r->since_ns, NSEC_PER_MSEC),
			  U32_MAX);
	e->area = r->area;
}

/**
 * wsmon_stream_snapshot - the regions at the end of an interval
 * @t:		the target
 * @now:	end of the interval
 */
void wsmon_stream_snapshot(const struct wsmon_target *t, u64 now)
{
	struct wsmon_rec_snapshot *rec = stream.scratch;
	u32 first = 0, i;

	do {
		u32 nr = min_t(u32, t->regions.nr - first, SNAPSHOT_MAX);

		memset(rec, 0, sizeof(*rec));
		rec->pid = pid_nr(t->pid);
		rec->nr = nr;
		rec->first = first;
		rec->total = t->regions.nr;
		rec->interval_ns = now - t->interval_ns;
		rec->rounds = t->rounds;
		for (i = 0; i < nr; i++)
			fill_entry(&rec->regions[i], t,
				   &t->regions.r[first + i], now);
		put(&rec->rec, WSMON_REC_SNAPSHOT,
		    struct_size(rec, regions, nr), now, BUFFER_SPARE);
		first += nr;
	} while (first < t->regions.nr);
}

/**
 * wsmon_stream_wss - the working set sizes at the end of an interval
 * @t:		the target
 * @now:	end of the interval
 */
void wsmon_stream_wss(const struct wsmon_target *t, u64 now)
{
	u32 c;

	for (c = 0; c < WSMON_NR_CLASSES; c++) {
		const struct wsmon_wss *w = &t->wss[c];
		struct wsmon_rec_wss rec = {
			.pid = pid_nr(t->pid),
			.class = c,
			.tau_us = wsmon.attrs.window_us,
			.bytes = w->pages << PAGE_SHIFT,
			.low = w->low << PAGE_SHIFT,
			.high = w->high << PAGE_SHIFT,
			.mapped = w->mapped << PAGE_SHIFT,
		};

		if (c == WSMON_CLASS_ALL || w->mapped)
			PUT(&rec, WSMON_REC_WSS, now);
	}
}

/**
 * wsmon_stream_exited - a target is gone
 * @t:	the target
 */
void wsmon_stream_exited(const struct wsmon_target *t)
{
	struct wsmon_rec_exit rec = { .pid = pid_nr(t->pid) };

	PUT(&rec, WSMON_REC_EXIT, ktime_get_ns());
}

/**
 * wsmon_stats_fill - the counters of a session, for a record or a file
 * @rec:	everything but the record header is filled in
 * @ss:		the session
 *
 * Context: wsmon.lock held.
 */
void wsmon_stats_fill(struct wsmon_rec_stats *rec,
		      const struct wsmon_session *ss)
{
	const struct wsmon_stats *s = &ss->stats;
	u32 i, j;

	memset(rec, 0, sizeof(*rec));
	rec->rounds = s->rounds;
	rec->late_rounds = s->late_rounds;
	rec->missed = s->missed;
	rec->checks = s->checks;
	rec->arms = s->arms;
	rec->flushes = s->flushes;
	rec->walk_ns = s->walk_ns;
	rec->flush_ns = s->flush_ns;
	rec->adapt_ns = s->adapt_ns;
	rec->emit_ns = s->emit_ns;
	rec->cpu_ns = s->cpu_ns;
	rec->max_hold_ns = s->max_hold_ns;
	rec->lost_records = stream.sum;
	rec->lost_bytes = stream.sum_bytes;
	rec->targets = ss->nr_alive;
	for (i = 0; i < ss->nr_targets; i++) {
		const struct wsmon_regions *rs = &ss->targets[i].regions;

		rec->regions += rs->nr;
		for (j = 0; j < rs->nr; j++)
			rec->samples += rs->r[j].n[1] ? 2 : 1;
	}
}

/**
 * wsmon_stream_stats - the monitor's own cost
 * @ss:	the session
 */
void wsmon_stream_stats(const struct wsmon_session *ss)
{
	struct wsmon_rec_stats rec;

	wsmon_stats_fill(&rec, ss);
	PUT(&rec, WSMON_REC_STATS, ktime_get_ns());
}

/*
 * Reading
 */

static int buffer_open(struct inode *inode, struct file *file)
{
	struct reader *rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	int ret = -EBUSY;

	if (!rd)
		return -ENOMEM;
	mutex_init(&rd->lock);
	rd->header.mono_ns = ktime_get_ns();
	rd->header.real_ns = ktime_get_real_ns();
	mutex_lock(&stream.attach);
	if (!stream.taken) {
		stream.taken = true;
		stream.came = true;
		file->private_data = rd;
		ret = stream_open(inode, file);
	}
	mutex_unlock(&stream.attach);
	if (ret)
		kfree(rd);
	return ret;
}

static int buffer_release(struct inode *inode, struct file *file)
{
	mutex_lock(&stream.attach);
	stream.taken = false;
	mutex_unlock(&stream.attach);
	kfree(file->private_data);
	return 0;
}

/* Is there something to read? Records only count once the header may be made. */
static bool readable(const struct reader *rd)
{
	return !kfifo_is_empty(&stream.fifo) ||
	       (rd->made && rd->sent < sizeof(rd->header));
}

/* Has what this file began to read ended? The writer's last word comes first. */
static bool at_end(const struct reader *rd)
{
	return rd->read && !smp_load_acquire(&stream.session) && !readable(rd);
}

static int make_header(struct reader *rd)
{
	struct wsmon_file_header *h = &rd->header;

	if (mutex_lock_interruptible(&wsmon.lock))
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

static ssize_t read_header(struct reader *rd, char __user *buf, size_t count)
{
	count = min(count, sizeof(rd->header) - rd->sent);
	if (copy_to_user(buf, (u8 *)&rd->header + rd->sent, count))
		return -EFAULT;
	rd->sent += count;
	return count;
}

/* Return: bytes read; 0 if another thread took what there was */
static ssize_t read_some(struct reader *rd, char __user *buf, size_t count)
{
	unsigned int copied;
	int ret;

	if (!readable(rd))
		return 0;
	if (!rd->made) {
		ret = make_header(rd);
		if (ret)
			return ret;
	}
	if (rd->sent < sizeof(rd->header))
		return read_header(rd, buf, count);
	ret = kfifo_to_user(&stream.fifo, buf, count, &copied);
	if (ret)
		return ret;
	rd->read += copied;
	return copied;
}

static ssize_t buffer_read(struct file *file, char __user *buf, size_t count,
			   loff_t *ppos)
{
	struct reader *rd = file->private_data;
	ssize_t ret;

	if (!count)
		return 0;
	for (;;) {
		if (mutex_lock_interruptible(&rd->lock))
			return -ERESTARTSYS;
		ret = read_some(rd, buf, min_t(size_t, count, INT_MAX));
		mutex_unlock(&rd->lock);
		if (ret)
			return ret;
		if (at_end(rd))
			return 0;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(stream.wait,
					       readable(rd) || at_end(rd));
		if (ret)
			return ret;
	}
}

static __poll_t buffer_poll(struct file *file, poll_table *wait)
{
	struct reader *rd = file->private_data;

	poll_wait(file, &stream.wait, wait);
	return readable(rd) || at_end(rd) ? EPOLLIN | EPOLLRDNORM : 0;
}

const struct file_operations wsmon_buffer_fops = {
	.owner = THIS_MODULE,
	.open = buffer_open,
	.release = buffer_release,
	.read = buffer_read,
	.poll = buffer_poll,
};

/**
 * wsmon_stream_init - allocate the buffer
 *
 * Return: 0 or -ENOMEM.
 */
int wsmon_stream_init(void)
{
	init_waitqueue_head(&stream.wait);
	mutex_init(&stream.attach);
	stream.mem = vmalloc(BUFFER_SIZE);
	stream.scratch = kvmalloc(WSMON_RECORD_MAX, GFP_KERNEL);
	if (!stream.mem || !stream.scratch) {
		wsmon_stream_exit();
		return -ENOMEM;
	}
	return kfifo_init(&stream.fifo, stream.mem, BUFFER_SIZE);
}

/** wsmon_stream_exit - free the buffer; no reader is left */
void wsmon_stream_exit(void)
{
	vfree(stream.mem);
	kvfree(stream.scratch);
}
