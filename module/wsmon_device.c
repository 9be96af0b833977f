// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_device.c - /dev/wsmon: a session for each open file
 *
 * An open file names its processes and attributes by write(), and reads its stream. The
 * session ends when the file is closed, however its owner dies.
 * Documentation/reference/abi.rst describes the texts.
 *
 * Files that name the same processes share a monitor, so these are sampled once. Each file
 * has a buffer of its own. The attributes are those of the first file; one that asks for
 * others gets -EBUSY.
 *
 * Locks: device_file.lock, monitors_lock, then those of a monitor.
 */
#include <linux/bitmap.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "wsmon_buffer.h"

/* Max. number of open files; each has a buffer */
#define FILES_MAX	(WSMON_MONITORS - 1)

/**
 * struct device_file - an open file
 * @lock:	serialises writes
 * @attrs:	attributes, before there is a monitor
 * @asked:	some were written
 * @mon:	the monitor; NULL before processes were named, and after a stop
 * @stopped:	it was told to stop
 * @buffer:	its records
 * @reader:	reads @buffer
 */
struct device_file {
	struct mutex lock;	/* outside of all others */
	struct wsmon_attrs attrs;
	bool asked;
	struct wsmon_monitor *mon;
	bool stopped;
	struct wsmon_buffer buffer;
	struct wsmon_reader reader;
};

/* Protects the list of monitors, their slots and users, and the number of files */
static DEFINE_MUTEX(monitors_lock);
static LIST_HEAD(monitors);
static DECLARE_BITMAP(slots, WSMON_MONITORS) = { 1 };	/* debugfs has the first */
static unsigned int nr_files;

static int device_open(struct inode *inode, struct file *file)
{
	struct device_file *f;
	int err;

	err = wsmon_may_open();
	if (err)
		return err;
	f = kvzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	mutex_lock(&monitors_lock);
	err = nr_files < FILES_MAX ? 0 : -EMFILE;
	nr_files += !err;
	mutex_unlock(&monitors_lock);
	if (err)
		goto err_free;
	err = wsmon_buffer_init(&f->buffer);
	if (err)
		goto err_uncount;
	mutex_init(&f->lock);
	f->attrs = wsmon_default_attrs;
	wsmon_reader_init(&f->reader, &f->buffer);
	file->private_data = f;
	return stream_open(inode, file);

err_uncount:
	mutex_lock(&monitors_lock);
	nr_files--;
	mutex_unlock(&monitors_lock);
err_free:
	kvfree(f);
	return err;
}

/*
 * End a file's part in a session, and the session if nobody else uses it. What the buffer
 * has can still be read. Context: monitors_lock held.
 */
static void device_stop(struct device_file *f)
{
	struct wsmon_monitor *mon = f->mon;

	f->mon = NULL;
	f->stopped = true;
	mon->users--;
	if (!mon->users) {
		list_del(&mon->node);
		wsmon_set_targets(mon, NULL, 0, NULL);
	}
	mutex_lock(&mon->lock);
	wsmon_buffer_leave(&f->buffer);
	mutex_unlock(&mon->lock);
	if (mon->users)
		return;
	wsmon_session_free(mon->session);
	clear_bit(mon->slot, slots);
	kfree(mon);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct device_file *f = file->private_data;

	mutex_lock(&monitors_lock);
	if (f->mon)
		device_stop(f);
	nr_files--;
	mutex_unlock(&monitors_lock);
	wsmon_buffer_exit(&f->buffer);
	kvfree(f);
	return 0;
}

/* Does a monitor watch these processes and no others? */
static bool monitor_has(const struct wsmon_monitor *mon, struct pid **pids, u32 nr)
{
	/* it had its only session before it was in the list */
	const struct wsmon_session *ss = mon->session;
	u32 i, j;

	if (ss->nr_targets != nr)
		return false;
	/* targets are different processes, so all of @pids are found, too */
	for (i = 0; i < nr; i++) {
		for (j = 0; j < nr && pids[j] != ss->targets[i].pid; j++)
			;
		if (j == nr)
			return false;
	}
	return true;
}

/* Return: 0, -EBUSY if attributes differ; -ESRCH if its session has ended. */
static int monitor_join(struct wsmon_monitor *mon, struct device_file *f)
{
	int err;

	mutex_lock(&mon->lock);
	if (!mon->running)
		err = -ESRCH;
	else if (f->asked && memcmp(&mon->attrs, &f->attrs, sizeof(f->attrs)))
		err = -EBUSY;
	else
		err = 0;
	if (!err) {
		wsmon_buffer_join(&f->buffer, mon);
		mon->users++;
		f->mon = mon;
	}
	mutex_unlock(&mon->lock);
	return err;
}

/*
 * Join a monitor that watches these processes, or, without @pids, the last one that began.
 * Return: 0, -ESRCH if there is none, -EBUSY.
 */
static int device_join(struct device_file *f, struct pid **pids, u32 nr)
{
	struct wsmon_monitor *mon;
	int err = -ESRCH;

	list_for_each_entry_reverse(mon, &monitors, node) {
		if (!pids || monitor_has(mon, pids, nr)) {
			err = monitor_join(mon, f);
			if (err != -ESRCH)
				break;
		}
	}
	return err;
}

/* Begin with a monitor of one's own. */
static int device_begin(struct device_file *f, const u32 *numbers, u32 nr)
{
	struct wsmon_monitor *mon = kzalloc(sizeof(*mon), GFP_KERNEL);
	int err;

	if (!mon)
		return -ENOMEM;
	/* there are fewer files than slots, but one may still be closing */
	wsmon_monitor_init(mon, find_first_zero_bit(slots, WSMON_MONITORS));
	if (mon->slot == WSMON_MONITORS) {
		kfree(mon);
		return -EMFILE;
	}
	mon->attrs = f->attrs;
	wsmon_buffer_join(&f->buffer, mon);
	err = wsmon_set_targets(mon, numbers, nr, task_active_pid_ns(current));
	if (err) {
		wsmon_buffer_leave(&f->buffer);
		kfree(mon);
		return err;
	}
	set_bit(mon->slot, slots);
	mon->users = 1;
	list_add_tail(&mon->node, &monitors);
	f->mon = mon;
	return 0;
}

/* Watch some processes. Context: monitors_lock held. */
static int device_watch(struct device_file *f, const u32 *numbers, u32 nr)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct pid **pids;
	int err = 0;
	u32 i;

	pids = kcalloc(nr, sizeof(struct pid *), GFP_KERNEL);
	if (!pids)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++) {
		pids[i] = wsmon_task_resolve(numbers[i], ns);
		if (IS_ERR(pids[i])) {
			err = PTR_ERR(pids[i]);
			pids[i] = NULL;
		}
	}
	if (!err)
		err = device_join(f, pids, nr);
	for (i = 0; i < nr; i++)
		put_pid(pids[i]);
	kfree(pids);
	return err == -ESRCH ? device_begin(f, numbers, nr) : err;
}

/* Change attributes. Context: monitors_lock held. */
static int device_set_attrs(struct device_file *f, const char *text, size_t len)
{
	struct wsmon_monitor *mon = f->mon;
	struct wsmon_attrs attrs;
	int err;

	if (!mon) {
		err = wsmon_attrs_parse(&f->attrs, text, len);
		f->asked |= !err;
		return err;
	}
	if (mon->users == 1)
		return wsmon_set_attrs(mon, text, len);
	/* nobody changes them while there are several users, or at this moment */
	attrs = mon->attrs;
	err = wsmon_attrs_parse(&attrs, text, len);
	if (!err && memcmp(&mon->attrs, &attrs, sizeof(attrs)))
		err = -EBUSY;
	return err;
}

/* Mark this moment in the file's session, or, if it has none, in all that run. */
static int device_mark(struct device_file *f, const char *text, size_t len)
{
	struct wsmon_monitor *mon;
	int ret, err;

	if (f->mon)
		return wsmon_set_mark(f->mon, text, len);
	ret = wsmon_set_mark(&wsmon, text, len);
	list_for_each_entry(mon, &monitors, node) {
		err = wsmon_set_mark(mon, text, len);
		if (ret == -ESRCH)
			ret = err;
	}
	return ret;
}

/* Do what a text asks for. Context: device_file.lock held. */
static int device_command(struct device_file *f, char *text, size_t len, u32 *numbers)
{
	struct wsmon_attrs attrs = f->attrs;
	struct wsmon_request req;
	bool asked = f->asked;
	int err;

	err = wsmon_request_parse(&req, numbers, WSMON_MAX_TARGETS, text, len);
	if (err)
		return err;
	if (mutex_lock_interruptible(&monitors_lock))
		return -ERESTARTSYS;
	/* a file has one session in its life */
	if ((req.nr_pids || req.join) && (f->mon || f->stopped))
		err = -EALREADY;
	else if (req.stop && !f->mon)
		err = -ESRCH;
	if (!err && req.has_attrs)
		err = device_set_attrs(f, text, len);
	if (!err && req.nr_pids)
		err = device_watch(f, numbers, req.nr_pids);
	if (!err && req.join)
		err = device_join(f, NULL, 0);
	if (!err && req.stop)
		device_stop(f);
	if (err && !f->mon) {
		f->attrs = attrs;
		f->asked = asked;
	}
	if (!err && req.mark)
		err = device_mark(f, req.mark, req.mark_len);
	mutex_unlock(&monitors_lock);
	return err;
}

static ssize_t device_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	struct device_file *f = file->private_data;
	u32 *numbers;
	char *text;
	int err;

	if (!count || count > WSMON_INPUT_MAX)
		return -EINVAL;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	numbers = kcalloc(WSMON_MAX_TARGETS, sizeof(*numbers), GFP_KERNEL);
	err = -ENOMEM;
	if (!numbers)
		goto out;
	err = -ERESTARTSYS;
	if (mutex_lock_interruptible(&f->lock))
		goto out;
	err = device_command(f, text, count, numbers);
	mutex_unlock(&f->lock);
out:
	kfree(numbers);
	kfree(text);
	return err ?: count;
}

static ssize_t device_read(struct file *file, char __user *buf, size_t count, loff_t *ppos)
{
	struct device_file *f = file->private_data;

	return wsmon_reader_read(&f->reader, file, buf, count);
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	struct device_file *f = file->private_data;

	return wsmon_reader_poll(&f->reader, file, wait) | EPOLLOUT | EPOLLWRNORM;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "wsmon",
	.fops = &device_fops,
	.mode = 0600,
};

/**
 * wsmon_device_init - create /dev/wsmon
 *
 * Return: 0 or an error of misc_register().
 */
int __init wsmon_device_init(void)
{
	return misc_register(&device);
}

/** wsmon_device_exit - remove /dev/wsmon, which no file has open */
void wsmon_device_exit(void)
{
	misc_deregister(&device);
}
