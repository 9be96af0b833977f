// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_buffer.c - the buffers records wait in: the side of the writer
 *
 * Each reader of a monitor has a buffer of its own, so one that is too slow loses only its
 * own records. The writer is the task that holds the monitor's lock: kwsmond, or one that
 * changes attributes. The reader is an open file (wsmon_reader.c). Between writer and
 * reader is a kfifo, which needs no lock for one of each (on 6.1 and later). So a reader
 * that sleeps in a page fault never holds up kwsmond.
 *
 * A record is written completely or not at all. If it does not fit, it is counted as
 * lost, and a LOST record reports that as soon as there is room. Some room is reserved
 * for LOST and END.
 *
 * relayfs was made for such streams, but its read does not block, and is not ordered
 * against a writer that switches sub-buffers. Its poll wakes a reader only when a
 * sub-buffer is full. All of this would have to be added around it.
 */
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/vmalloc.h>

#include "wsmon_buffer.h"

/* A minute of full snapshots at the defaults, or four of the largest possible ones */
#define BUFFER_SIZE	(4U << 20)
/* Reserved for LOST and END */
#define BUFFER_SPARE	256U
/* The largest set of TARGET and AREA records */
#define BUFFER_ALL	(BUFFER_SIZE / 4)

static unsigned int buffer_room(struct wsmon_buffer *b)
{
	return BUFFER_SIZE - wsmon_buffer_used(b);
}

static void buffer_put_raw(struct wsmon_buffer *b, const void *rec, u32 size)
{
	kfifo_in(&b->fifo, (const u8 *)rec, size);
}

/* Report what was lost. Return: may a record follow? */
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
		/* repeat these later: without them, other records mean little */
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
 * @rec:	the whole record; STATS gets the losses of each buffer
 *
 * The function of another module gets those of kwsmond only: whoever starts or stops the
 * session may hold locks of that module.
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

/* The ids of the records that come are of @ns. Those that wait to be read may be of another one. */
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
		/* an open file keeps them: its reader still needs the LOST record */
		b->lost = 0;
		b->lost_bytes = 0;
	}
	buffer_set_ns(b, ns);
	b->sum = 0;
	b->sum_bytes = 0;
	/* a reader that is already here gets everything anyway */
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
 * Drops what nobody has read of an earlier session, unless the file is open.
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
	/* pairs with reader_at_end(): a reader that sees the end sees all records */
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
 * @owed:	an interval ends
 *
 * They are reported again if a reader came since the last call. At the end of an interval
 * they are, too, if some of these records were lost and there is room for them now: without
 * a reader they would be lost again in each interval.
 * Context: the monitor's lock held.
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
 * wsmon_buffer_join - give a buffer the records of a monitor from now on
 * @b:		the buffer
 * @mon:	the monitor
 *
 * Context: the monitor's lock held, or nobody else knows the monitor yet.
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
 * wsmon_buffer_leave - give a buffer no records any more; if the session goes on, an END
 * @b:	the buffer
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

/** wsmon_buffer_exit - free the memory of a buffer, which has no reader any more */
void wsmon_buffer_exit(struct wsmon_buffer *b)
{
	if (b->ns)
		put_pid_ns(b->ns);
	vfree(b->mem);
}
