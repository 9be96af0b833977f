// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_device.c - /dev/wsmon: a session for each open file
 *
 * A task writes processes and attributes to an open file, and reads the stream from it. The
 * session ends when all files that named its processes are closed, however the tasks that
 * opened them die. Documentation/reference/abi.rst describes the texts.
 *
 * Files that name the same processes share a monitor, which samples these processes once.
 * Each file has a buffer of its own. The first file sets the attributes; a file that asks for
 * others gets -EBUSY.
 *
 * Lock order: device_file.lock, monitors_lock, then the locks of a monitor. A task holds
 * monitors_lock while a session begins, but not while a session ends or a file leaves it,
 * because these wait for a round. A task that waits for a round with monitors_lock held stops
 * waiting when a signal comes or, while it sets a mark, when a fatal signal comes.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "wsmon_buffer.h"
#include "wsmon_process.h"

/* Max. number of open files: each has a buffer, and may need a monitor; debugfs has one, too */
#define FILES_MAX	(WSMON_MONITORS - 1)

/**
 * struct device_file - an open file
 * @lock:	serialises writes
 * @ns:		pid namespace in which it was opened, referenced
 * @may_trace:	wsmon_may_trace() of the task that opened it
 * @attrs:	attributes so far, for a monitor of its own
 * @asked:	attribute texts written so far, each NUL-terminated: a monitor that the file joins
 *		must have these attributes
 * @asked_len:	bytes of @asked
 * @mon:	the monitor; NULL before the file has a session, and after a stop
 * @owner:	the file named the processes or the cgroup; else it joined
 * @stopped:	the file's part in its session has ended
 * @buffer:	the file's records
 * @reader:	reads @buffer
 */
struct device_file {
	struct mutex lock;	/* outside of all others */
	struct pid_namespace *ns;
	bool may_trace;
	struct wsmon_attrs attrs;
	char *asked;
	size_t asked_len;
	struct wsmon_monitor *mon;
	bool owner;
	bool stopped;
	struct wsmon_buffer buffer;
	struct wsmon_reader reader;
};

/* Protects @monitors, and the users and owners of each monitor in it */
static DEFINE_MUTEX(monitors_lock);
static LIST_HEAD(monitors);
static atomic_t nr_files = ATOMIC_INIT(0);

static int device_open(struct inode *inode, struct file *file)
{
	struct device_file *f;
	int err;

	err = wsmon_may_open(false);
	if (err)
		return err;
	f = kvzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	err = -EMFILE;
	if (!atomic_add_unless(&nr_files, 1, FILES_MAX))
		goto err_free;
	err = wsmon_buffer_init(&f->buffer);
	if (err)
		goto err_uncount;
	mutex_init(&f->lock);
	f->ns = get_pid_ns(task_active_pid_ns(current));
	f->may_trace = wsmon_may_trace();
	f->attrs = wsmon_default_attrs;
	wsmon_reader_init(&f->reader, &f->buffer, f->ns);
	file->private_data = f;
	return stream_open(inode, file);

err_uncount:
	atomic_dec(&nr_files);
err_free:
	kvfree(f);
	return err;
}

/*
 * Take a file off its monitor, and free the monitor after its last user.
 * Context: as device_stop().
 */
static void device_leave(struct device_file *f)
{
	struct wsmon_monitor *mon = f->mon;
	bool last;

	f->mon = NULL;
	wsmon_lock_anyway(mon);
	if (mon->running)
		wsmon_stream_stats(mon->session);
	wsmon_buffer_leave(&f->buffer);
	mutex_unlock(&mon->lock);
	/*
	 * Until here the file was a user, which kept the monitor. A monitor without users is not
	 * in the list any more, so nobody finds it.
	 */
	mutex_lock(&monitors_lock);
	last = !--mon->users;
	mutex_unlock(&monitors_lock);
	if (last)
		wsmon_monitor_free(mon);
}

/*
 * End a file's part in a session. The last owner ends the session, also for files that joined
 * it. Records that are in the buffer can still be read.
 *
 * Context: device_file.lock held, or the file is being released. monitors_lock not held, so
 * that other files need not wait for a round.
 */
static void device_stop(struct device_file *f)
{
	struct wsmon_monitor *mon = f->mon;
	bool last;

	mutex_lock(&monitors_lock);
	last = f->owner && !--mon->owners;
	/* off the list, no file can join; the file is still a user and keeps the monitor */
	if (last)
		list_del(&mon->node);
	mutex_unlock(&monitors_lock);
	if (last)
		wsmon_set_targets(mon, NULL);
	device_leave(f);
	f->stopped = true;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct device_file *f = file->private_data;

	if (f->mon)
		device_stop(f);
	wsmon_buffer_exit(&f->buffer);
	put_pid_ns(f->ns);
	kfree(f->asked);
	kvfree(f);
	atomic_dec(&nr_files);
	return 0;
}

/* Return: true if a monitor watches the cgroup of @scope, or exactly its processes. */
static bool monitor_has(const struct wsmon_monitor *mon, const struct wsmon_scope *scope)
{
	/* stable: the monitor began its only session before it was added to the list */
	const struct wsmon_session *ss = mon->session;
	u32 i, j;

	/* a stream has ids of one pid namespace only */
	if (ss->ns != scope->ns)
		return false;
	if (scope->cgroup || ss->cgroup)
		return scope->cgroup == ss->cgroup;
	if (ss->nr_targets != scope->nr)
		return false;
	/* both sets have no duplicates and one size: if one contains the other, they are equal */
	for (i = 0; i < scope->nr; i++) {
		for (j = 0; j < scope->nr && scope->pids[j] != ss->targets[i].pid; j++)
			;
		if (j == scope->nr)
			return false;
	}
	return true;
}

/*
 * Return: true if a monitor has the attributes that a file asked for.
 * Context: the monitor's lock held.
 */
static bool monitor_fits(const struct wsmon_monitor *mon, const struct device_file *f)
{
	struct wsmon_attrs attrs = mon->attrs;
	size_t at, len;

	for (at = 0; at < f->asked_len; at += len + 1) {
		len = strlen(f->asked + at);
		if (wsmon_attrs_parse(&attrs, f->asked + at, len))
			return false;
	}
	return !memcmp(&mon->attrs, &attrs, sizeof(attrs));
}

/*
 * Make a file a user of a monitor and, with @owner, one of its owners.
 * Return: 0; -EBUSY if attributes differ; -ESRCH if the session has ended; -ERESTARTSYS.
 */
static int monitor_join(struct wsmon_monitor *mon, struct device_file *f, bool owner)
{
	int err = 0;

	if (wsmon_lock(mon))
		return -ERESTARTSYS;
	if (!mon->running)
		err = -ESRCH;
	else if (!monitor_fits(mon, f))
		err = -EBUSY;
	if (!err) {
		wsmon_buffer_join(&f->buffer, mon);
		mon->users++;
		mon->owners += owner;
		f->owner = owner;
		f->mon = mon;
		/* wake kwsmond to report targets and mappings to the file at once */
		WRITE_ONCE(mon->session->called, true);
		wake_up_process(mon->session->thread);
	}
	mutex_unlock(&mon->lock);
	return err;
}

/*
 * Return: true if a file may read the records of a session. The ids in them must be of the
 * file's pid namespace; records of processes, not of a cgroup, need the right to trace.
 */
static bool device_may_join(const struct device_file *f, const struct wsmon_session *ss)
{
	return ss->ns == f->ns && (f->may_trace || ss->cgroup);
}

/*
 * Join a monitor that watches the same as @scope; if @scope is NULL, the newest monitor that
 * the file may join. Context: monitors_lock held.
 * Return: 0; -ESRCH if there is no such monitor; -EBUSY; -ERESTARTSYS.
 */
static int device_join(struct device_file *f, const struct wsmon_scope *scope)
{
	struct wsmon_monitor *mon;
	int err = -ESRCH;

	list_for_each_entry_reverse(mon, &monitors, node) {
		if (scope ? monitor_has(mon, scope) : device_may_join(f, mon->session)) {
			err = monitor_join(mon, f, scope);
			if (err != -ESRCH)
				break;
		}
	}
	return err;
}

/* Begin a session with a new monitor. Context: monitors_lock held. */
static int device_begin(struct device_file *f, const struct wsmon_scope *scope)
{
	struct wsmon_monitor *mon = wsmon_monitor_create();
	int err;

	if (IS_ERR(mon))
		return PTR_ERR(mon);
	mon->attrs = f->attrs;
	wsmon_buffer_join(&f->buffer, mon);
	err = wsmon_set_targets(mon, scope);
	if (err) {
		wsmon_buffer_leave(&f->buffer);
		wsmon_monitor_free(mon);
		return err;
	}
	mon->users = 1;
	mon->owners = 1;
	f->owner = true;
	list_add_tail(&mon->node, &monitors);
	f->mon = mon;
	return 0;
}

/* Join the monitor that watches @scope, or begin a new one. Context: monitors_lock held. */
static int device_watch(struct device_file *f, const struct wsmon_scope *scope)
{
	int err = device_join(f, scope);

	return err == -ESRCH ? device_begin(f, scope) : err;
}

/* Watch the processes with these ids. Context: monitors_lock held. */
static int device_watch_ids(struct device_file *f, const u32 *ids, u32 nr)
{
	struct pid **pids;
	int err;

	if (!f->may_trace)
		return -EPERM;
	pids = wsmon_pids_find(ids, nr, f->ns);
	if (IS_ERR(pids))
		return PTR_ERR(pids);
	err = device_watch(f, &(struct wsmon_scope){ .pids = pids, .nr = nr, .ns = f->ns });
	wsmon_pids_put(pids, nr);
	return err;
}

/* Append a text to @asked. Return: 0; -E2BIG beyond the size of two texts; -ENOMEM. */
static int device_remember(struct device_file *f, const char *text, size_t len)
{
	char *asked;

	if (f->asked_len + len + 1 > 2 * WSMON_INPUT_MAX)
		return -E2BIG;
	asked = krealloc(f->asked, f->asked_len + len + 1, GFP_KERNEL);
	if (!asked)
		return -ENOMEM;
	memcpy(asked + f->asked_len, text, len);
	asked[f->asked_len + len] = '\0';
	f->asked = asked;
	f->asked_len += len + 1;
	return 0;
}

/* Change attributes. Context: monitors_lock held. */
static int device_set_attrs(struct device_file *f, const char *text, size_t len)
{
	struct wsmon_monitor *mon = f->mon;
	struct wsmon_attrs attrs;
	int err;

	if (!mon) {
		err = wsmon_attrs_parse(&f->attrs, text, len);
		return err ?: device_remember(f, text, len);
	}
	if (mon->users == 1)
		return wsmon_set_attrs(mon, text, len);
	/*
	 * Reading mon->attrs needs no lock of the monitor: only a single user changes them, with
	 * monitors_lock held.
	 */
	attrs = mon->attrs;
	err = wsmon_attrs_parse(&attrs, text, len);
	if (!err && memcmp(&mon->attrs, &attrs, sizeof(attrs)))
		err = -EBUSY;
	return err;
}

/* Mark this moment in the file's session or, if it has none, in all running sessions. */
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

/*
 * Do all that a text asks for, except "stop". @text has the attributes. After an error, a file
 * without a session has its old attributes. Context: monitors_lock held.
 */
static int device_do(struct device_file *f, const struct wsmon_request *req, const u32 *pids,
		     struct cgroup *cgroup, const char *text, size_t len)
{
	struct wsmon_attrs attrs = f->attrs;
	size_t asked_len = f->asked_len;
	int err = 0;

	/* a file has one session in its life */
	if ((req->nr_pids || cgroup || req->join) && (f->mon || f->stopped))
		err = -EALREADY;
	if (!err && req->has_attrs)
		err = device_set_attrs(f, text, len);
	if (!err && req->nr_pids)
		err = device_watch_ids(f, pids, req->nr_pids);
	if (!err && cgroup)
		err = device_watch(f, &(struct wsmon_scope){ .cgroup = cgroup, .ns = f->ns });
	if (!err && req->join)
		err = device_join(f, NULL);
	if (err && !f->mon) {
		f->attrs = attrs;
		f->asked_len = asked_len;
	}
	if (!err && req->mark)
		err = device_mark(f, req->mark, req->mark_len);
	return err;
}

/* Parse a text, and carry it out. Context: device_file.lock held. */
static int device_command(struct device_file *f, char *text, size_t len, u32 *pids)
{
	struct cgroup *cgroup = NULL;
	struct wsmon_request req;
	int err;

	err = wsmon_request_parse(&req, pids, WSMON_MAX_TARGETS, text, len);
	if (err)
		return err;
	if (req.stop) {
		if (!f->mon)
			return -ESRCH;
		device_stop(f);
		return 0;
	}
	if (req.cgroup) {
		cgroup = wsmon_cgroup_get(req.cgroup, req.cgroup_len);
		if (IS_ERR(cgroup))
			return PTR_ERR(cgroup);
		memset(req.cgroup_word, ' ', req.cgroup + req.cgroup_len - req.cgroup_word);
	}
	err = -ERESTARTSYS;
	if (!mutex_lock_interruptible(&monitors_lock)) {
		err = device_do(f, &req, pids, cgroup, text, len);
		mutex_unlock(&monitors_lock);
	}
	if (cgroup)
		wsmon_cgroup_put(cgroup);
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

/** wsmon_device_init - create /dev/wsmon. Return: 0 or an error of misc_register(). */
int __init wsmon_device_init(void)
{
	return misc_register(&device);
}

/** wsmon_device_exit - remove /dev/wsmon. Context: no open file of it is left. */
void wsmon_device_exit(void)
{
	misc_deregister(&device);
}
