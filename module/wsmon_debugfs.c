// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_debugfs.c - the files in debugfs wsmon/, for root only; wsmon_buffer.c has "buffer"
 *
 * Documentation/reference/abi.rst describes each file. A read holds wsmon.lock while it makes
 * the text, but not while it copies the text to the reader, which may sleep. It makes a long
 * text a few lines at a time, so that neither kwsmond nor other files wait long for the lock.
 * Pids belong to the pid namespace in which the file was opened.
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "wsmon_session.h"

/* Of a long text, make at most this many bytes and records under one hold of wsmon.lock */
#define LINES_SIZE	(16U << 10)
#define LINES_A_HOLD	256U

/**
 * struct debugfs_cursor - position of a reader in a long text
 * @ns:		pid namespace in which the file was opened, referenced
 * @find:	returns the target, region or peak to show next; NULL at the end
 * @session:	start_ns of the session shown, so that the text ends if another starts; 0: none yet
 * @at:		regions: end of the last region shown, a page number; peaks: index of the next peak
 * @end:	peaks: show peaks before this index, the number when reading began; 0: not set yet
 * @target:	index of the present target
 * @records:	records made under this hold of wsmon.lock
 * @gap:	the history no longer has some peaks before @at
 * @locked:	the reader holds wsmon.lock
 */
struct debugfs_cursor {
	struct pid_namespace *ns;
	void *(*find)(struct debugfs_cursor *c, struct wsmon_session *ss);
	u64 session;
	u64 at;
	u64 end;
	u32 target;
	u32 records;
	bool gap;
	bool locked;
};

static void *lines_find(struct debugfs_cursor *c)
{
	if (wsmon_lock(&wsmon))
		return ERR_PTR(-ERESTARTSYS);
	c->locked = true;
	c->records = 0;
	if (!wsmon.session)
		return NULL;
	if (!c->session)
		c->session = wsmon.session->start_ns;
	if (c->session != wsmon.session->start_ns)
		return NULL;
	return c->find(c, wsmon.session);
}

static void lines_stop(struct seq_file *m, void *v)
{
	struct debugfs_cursor *c = m->private;

	if (c->locked)
		mutex_unlock(&wsmon.lock);
	c->locked = false;
}

static void *lines_start(struct seq_file *m, loff_t *pos)
{
	struct debugfs_cursor *c = m->private;

	if (!*pos) {
		c->session = 0;
		c->at = 0;
		c->end = 0;
		c->target = 0;
		c->gap = false;
	}
	return lines_find(c);
}

/*
 * Go to the next record. A seek makes all records before its position in one read: release
 * wsmon.lock every LINES_A_HOLD records.
 */
static void *lines_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct debugfs_cursor *c = m->private;

	++*pos;
	if (++c->records < LINES_A_HOLD)
		return c->find(c, wsmon.session);
	lines_stop(m, v);
	cond_resched();
	return lines_find(c);
}

/*
 * Copy the text of one write; the caller frees it by kfree(). Each write is a text of its own,
 * so only offset 0 is valid, and writes do not advance the position.
 */
static char *debugfs_copy_text(const char __user *buf, size_t count, loff_t pos)
{
	if (!count || count > WSMON_INPUT_MAX || pos)
		return ERR_PTR(-EINVAL);
	return memdup_user_nul(buf, count);
}

/* Pass the text of one write to a function that changes the monitor. */
static ssize_t text_write(const char __user *buf, size_t count, loff_t pos,
			  int (*set)(struct wsmon_monitor *mon, const char *text, size_t len))
{
	char *text = debugfs_copy_text(buf, count, pos);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = set(&wsmon, text, count);
	kfree(text);
	return ret ?: count;
}

static ssize_t attrs_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return text_write(buf, count, *ppos, wsmon_set_attrs);
}

static void attrs_show_one(struct seq_file *m, const struct wsmon_attrs *a,
			   const struct wsmon_key *key)
{
	u64 val = wsmon_attrs_get(a, key);
	unsigned int part = val % 1000, digits = 3, k;

	seq_printf(m, "%s=", key->name);
	switch (key->kind) {
	case WSMON_KEY_NUMBER:
		seq_printf(m, "%llu", val);
		break;
	case WSMON_KEY_MILLI:
		seq_printf(m, "%llu", val / 1000);
		/* no trailing zeroes */
		for (; part && part % 10 == 0; part /= 10)
			digits--;
		if (part)
			seq_printf(m, ".%0*u", digits, part);
		break;
	case WSMON_KEY_WINDOWS:
		for (k = 0; k < a->nr_windows; k++)
			seq_printf(m, "%s%llu", k ? "," : "", a->windows_us[k]);
		break;
	case WSMON_KEY_DETECTOR:
		seq_puts(m, wsmon_detector_name(val));
		break;
	}
	seq_putc(m, '\n');
}

static int attrs_show(struct seq_file *m, void *unused)
{
	struct wsmon_attrs a;
	u32 i;

	if (wsmon_lock(&wsmon))
		return -ERESTARTSYS;
	a = wsmon.attrs;
	mutex_unlock(&wsmon.lock);
	for (i = 0; i < WSMON_NR_KEYS; i++)
		attrs_show_one(m, &a, &wsmon_keys[i]);
	return 0;
}

static ssize_t target_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	char *text = debugfs_copy_text(buf, count, *ppos);
	u32 *pids;
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	pids = kcalloc(WSMON_MAX_TARGETS, sizeof(*pids), GFP_KERNEL);
	if (!pids) {
		kfree(text);
		return -ENOMEM;
	}
	ret = wsmon_pids_parse(pids, WSMON_MAX_TARGETS, text, count);
	if (ret >= 0)
		ret = wsmon_set_ids(&wsmon, pids, ret, m->private);
	kfree(pids);
	kfree(text);
	return ret ?: count;
}

/*
 * Print the pids of live targets; with @secondary, only of targets with a secondary MMU.
 * @before precedes the first pid. Return: true if any pid was printed.
 */
static bool pids_show(struct seq_file *m, const char *before, bool secondary)
{
	u32 i;

	for (i = 0; wsmon.running && i < wsmon.session->nr_targets; i++) {
		const struct wsmon_target *t = &wsmon.session->targets[i];

		if (t->gone || (secondary && !t->secondary_mmu))
			continue;
		seq_printf(m, "%s%d", before, pid_nr_ns(t->pid, m->private));
		before = " ";
	}
	return *before == ' ';
}

static int target_show(struct seq_file *m, void *unused)
{
	if (wsmon_lock(&wsmon))
		return -ERESTARTSYS;
	pids_show(m, "", false);
	mutex_unlock(&wsmon.lock);
	seq_putc(m, '\n');
	return 0;
}

static ssize_t mark_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	return text_write(buf, count, *ppos, wsmon_set_mark);
}

static int mark_show(struct seq_file *m, void *unused)
{
	if (wsmon_lock(&wsmon))
		return -ERESTARTSYS;
	seq_printf(m, "%u\n", wsmon.session ? wsmon.session->nr_marks : 0);
	mutex_unlock(&wsmon.lock);
	return 0;
}

static int status_show(struct seq_file *m, void *unused)
{
	if (wsmon_lock(&wsmon))
		return -ERESTARTSYS;
	seq_puts(m, wsmon.running ? "running\n" : "idle\n");
	if (wsmon.stop_reason == WSMON_END_STOPPED)
		seq_puts(m, "last stop: on request\n");
	else if (wsmon.stop_reason == WSMON_END_TARGETS_GONE)
		seq_puts(m, "last stop: every target is gone\n");
	/* targets whose guests or devices have page tables of their own */
	if (pids_show(m, "secondary_mmu: ", true))
		seq_putc(m, '\n');
	mutex_unlock(&wsmon.lock);
	return 0;
}

static void wss_show_one(struct seq_file *m, const struct wsmon_target *t, u32 k, u32 c)
{
	const struct debugfs_cursor *cur = m->private;
	const struct wsmon_wss *w = &wsmon_target_data(t)->wss[k][c];

	if (!w->mapped)
		return;
	seq_printf(m, "pid=%d class=%s window_us=%llu bytes=%llu low=%llu high=%llu mapped=%llu\n",
		   pid_nr_ns(t->pid, cur->ns), wsmon_class_name(c),
		   wsmon.attrs.windows_us[k], w->pages << PAGE_SHIFT,
		   w->low << PAGE_SHIFT, w->high << PAGE_SHIFT, w->mapped << PAGE_SHIFT);
}

/* All sizes of a target are one record, so that a reader sees sizes of one interval. */
static int wss_show(struct seq_file *m, void *v)
{
	const struct wsmon_target *t = v;
	u32 k, c;

	for (k = 0; k < wsmon.attrs.nr_windows; k++) {
		for (c = 0; c < WSMON_NR_CLASSES; c++)
			wss_show_one(m, t, k, c);
	}
	return 0;
}

static void *wss_find(struct debugfs_cursor *c, struct wsmon_session *ss)
{
	while (c->target < ss->nr_targets && ss->targets[c->target].gone)
		c->target++;
	return c->target < ss->nr_targets ? &ss->targets[c->target] : NULL;
}

static void *wss_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct debugfs_cursor *c = m->private;

	c->target++;
	return lines_next(m, v, pos);
}

static unsigned int share_permille(u32 share)
{
	return (share * 1000 + WSMON_ONE / 2) / WSMON_ONE;
}

/* Show a region. If regions changed since the last read, leave out its part before @at. */
static int regions_show(struct seq_file *m, void *v)
{
	const struct debugfs_cursor *c = m->private;
	const struct wsmon_target *t = &wsmon.session->targets[c->target];
	const struct wsmon_region *r = v;
	unsigned int share = share_permille(wsmon_region_share(r));

	seq_printf(m, "pid=%d class=%s start=0x%llx end=0x%llx share=%u.%03u age_ms=%llu\n",
		   pid_nr_ns(t->pid, c->ns),
		   wsmon_class_name(wsmon_target_data(t)->space.area[r->area].class),
		   max(r->start, c->at) << PAGE_SHIFT, r->end << PAGE_SHIFT,
		   share / 1000, share % 1000,
		   div_u64(ktime_get_ns() - r->since_ns, NSEC_PER_MSEC));
	return 0;
}

static void *regions_find(struct debugfs_cursor *c, struct wsmon_session *ss)
{
	for (; c->target < ss->nr_targets; c->target++, c->at = 0) {
		const struct wsmon_regions *rs =
			&wsmon_target_data(&ss->targets[c->target])->regions;
		u32 i = wsmon_regions_search(rs, c->at);

		if (i < rs->nr)
			return &rs->r[i];
	}
	return NULL;
}

static void *regions_next(struct seq_file *m, void *v, loff_t *pos)
{
	const struct wsmon_region *r = v;
	struct debugfs_cursor *c = m->private;

	c->at = r->end;
	return lines_next(m, v, pos);
}

static int peaks_show(struct seq_file *m, void *v)
{
	const struct debugfs_cursor *c = m->private;

	if (c->gap)
		seq_printf(m, "dropped=%llu\n", c->at);
	wsmon_events_show(m, v, c->ns);
	return 0;
}

static void *peaks_find(struct debugfs_cursor *c, struct wsmon_session *ss)
{
	u64 oldest = ss->nr_peaks - min_t(u64, ss->nr_peaks, WSMON_PEAKS_KEPT);

	if (!c->end)
		c->end = ss->nr_peaks;
	if (c->at < oldest) {
		c->at = oldest;
		c->gap = true;
	}
	return c->at < c->end ? &ss->peaks[c->at % WSMON_PEAKS_KEPT] : NULL;
}

static void *peaks_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct debugfs_cursor *c = m->private;

	c->at++;
	c->gap = false;
	return lines_next(m, v, pos);
}

static int stats_show(struct seq_file *m, void *unused)
{
	struct wsmon_rec_stats s = { };

	if (wsmon_lock(&wsmon))
		return -ERESTARTSYS;
	if (wsmon.session)
		wsmon_stats_fill(&s, wsmon.session);
	wsmon_debugfs_buffer_lost(&s);
	mutex_unlock(&wsmon.lock);
	seq_printf(m, "rounds=%llu\nlate_rounds=%llu\nmissed=%llu\nchecks=%llu\narms=%llu\n",
		   s.rounds, s.late_rounds, s.missed, s.checks, s.arms);
	seq_printf(m, "flushes=%llu\nwalk_ns=%llu\nflush_ns=%llu\nadapt_ns=%llu\nemit_ns=%llu\n",
		   s.flushes, s.walk_ns, s.flush_ns, s.adapt_ns, s.emit_ns);
	seq_printf(m, "cpu_ns=%llu\nmax_hold_ns=%llu\nlost_records=%llu\nlost_bytes=%llu\n",
		   s.cpu_ns, s.max_hold_ns, s.lost_records, s.lost_bytes);
	seq_printf(m, "targets=%u\nregions=%u\nsamples=%u\nbudget=%u\n",
		   s.targets, s.regions, s.samples, s.budget);
	seq_printf(m, "sample_ns=%llu\nremote_ns=%llu\nidle_rounds=%llu\nlate_p50_ns=%llu\n",
		   s.sample_ns, s.remote_ns, s.idle_rounds, s.late_p50_ns);
	seq_printf(m, "late_p99_ns=%llu\nlate_max_ns=%llu\nhold_p99_ns=%llu\nmembers=%llu\n",
		   s.late_p99_ns, s.late_max_ns, s.hold_p99_ns, s.members);
	seq_printf(m, "unfollowed=%llu\nwho_armed=%llu\nwho_absent=%llu\nwho_seen=%llu\n",
		   s.unfollowed, s.who_armed, s.who_absent, s.who_seen);
	seq_printf(m, "who_restored=%llu\nwho_skipped=%llu\nwho_huge=%llu\n",
		   s.who_restored, s.who_skipped, s.who_huge);
	return 0;
}

static int text_open(struct file *file, int (*show)(struct seq_file *m, void *v))
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	int ret;

	ret = wsmon_may_open(true);
	if (ret)
		return ret;
	ret = single_open(file, show, ns);
	if (!ret)
		get_pid_ns(ns);
	return ret;
}

static int text_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;

	put_pid_ns(m->private);
	return single_release(inode, file);
}

#define FILE_OPS(name, writer)						\
	static int name##_open(struct inode *inode, struct file *file)	\
	{								\
		return text_open(file, name##_show);			\
	}								\
	static const struct file_operations name##_fops = {		\
		.owner = THIS_MODULE,					\
		.open = name##_open,					\
		.read = seq_read,					\
		.write = writer,					\
		.llseek = seq_lseek,					\
		.release = text_release,				\
	}

static int lines_open(struct file *file, const struct seq_operations *ops,
		      void *(*find)(struct debugfs_cursor *c, struct wsmon_session *ss))
{
	struct seq_file *m;
	struct debugfs_cursor *c;
	char *buf;
	int ret;

	ret = wsmon_may_open(true);
	if (ret)
		return ret;
	buf = kvmalloc(LINES_SIZE, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	c = __seq_open_private(file, ops, sizeof(*c));
	if (!c) {
		kvfree(buf);
		return -ENOMEM;
	}
	m = file->private_data;
	m->buf = buf;
	m->size = LINES_SIZE;
	c->ns = get_pid_ns(task_active_pid_ns(current));
	c->find = find;
	return 0;
}

static int lines_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct debugfs_cursor *c = m->private;

	put_pid_ns(c->ns);
	return seq_release_private(inode, file);
}

#define LINES_OPS(name)							\
	static const struct seq_operations name##_ops = {		\
		.start = lines_start,					\
		.next = name##_next,					\
		.stop = lines_stop,					\
		.show = name##_show,					\
	};								\
	static int name##_open(struct inode *inode, struct file *file)	\
	{								\
		return lines_open(file, &name##_ops, name##_find);	\
	}								\
	static const struct file_operations name##_fops = {		\
		.owner = THIS_MODULE,					\
		.open = name##_open,					\
		.read = seq_read,					\
		.llseek = seq_lseek,					\
		.release = lines_release,				\
	}

FILE_OPS(attrs, attrs_write);
FILE_OPS(target, target_write);
FILE_OPS(mark, mark_write);
FILE_OPS(status, NULL);
FILE_OPS(stats, NULL);
LINES_OPS(wss);
LINES_OPS(regions);
LINES_OPS(peaks);

static const struct {
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
} files[] = {
	{ "attrs", 0600, &attrs_fops },
	{ "target", 0600, &target_fops },
	{ "mark", 0600, &mark_fops },
	{ "status", 0400, &status_fops },
	{ "wss", 0400, &wss_fops },
	{ "regions", 0400, &regions_fops },
	{ "peaks", 0400, &peaks_fops },
	{ "stats", 0400, &stats_fops },
	{ "buffer", 0400, &wsmon_buffer_fops },
};

static struct dentry *debugfs_dir;

/** wsmon_debugfs_exit - remove the files; waits for their users */
void wsmon_debugfs_exit(void)
{
	debugfs_remove(debugfs_dir);
}

/**
 * wsmon_debugfs_init - create the files
 *
 * Return: 0; an error if it cannot create one of them: then there is none.
 */
int __init wsmon_debugfs_init(void)
{
	struct dentry *file;
	unsigned int i;

	debugfs_dir = debugfs_create_dir("wsmon", NULL);
	if (IS_ERR(debugfs_dir))
		return PTR_ERR(debugfs_dir);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = debugfs_create_file(files[i].name, files[i].mode, debugfs_dir, NULL,
					   files[i].fops);
		if (IS_ERR(file)) {
			wsmon_debugfs_exit();
			return PTR_ERR(file);
		}
	}
	return 0;
}
