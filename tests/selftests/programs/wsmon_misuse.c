// SPDX-License-Identifier: GPL-2.0
/*
 * wsmon_misuse.c - misuses the sessions of include/wsmon_kernel.h
 *
 * Its init watches the process that loads it, and fails if a result is wrong. With pid=PID it
 * watches that process until it is unloaded, and waits for its end in a record function; with
 * stall_ms=MS it waits for MS ms in the first record instead.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include <wsmon_kernel.h>

#define FAST	"sample_us=2000 aggr_us=10000 update_us=10000 window_us=10000 cpu_permille=1000"

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "the process whose end is waited for");

static int stall_ms;
module_param(stall_ms, int, 0444);
MODULE_PARM_DESC(stall_ms, "the time that is waited instead");

static bool came;
module_param(came, bool, 0444);
MODULE_PARM_DESC(came, "the record in which is waited came");

static bool in_vain;
module_param(in_vain, bool, 0444);
MODULE_PARM_DESC(in_vain, "the process did not end");

/* Records seen */
static struct {
	struct wsmon_client *session;
	struct pid *tgid;
	struct completion came;
	atomic_t records;
	bool inside;
	bool slow;
	bool elsewhere;
	int errors[3];
	u32 types;
} seen;

static void misuse_record(void *private, const struct wsmon_record *rec)
{
	if (!(current->flags & PF_KTHREAD)) {
		seen.elsewhere = true;
		return;
	}
	WRITE_ONCE(seen.inside, true);
	seen.types |= BIT(rec->type);
	seen.errors[0] = wsmon_session_stop(seen.session);
	seen.errors[1] = wsmon_session_start(seen.session);
	seen.errors[2] = wsmon_session_add(seen.session, task_pid(current));
	atomic_inc(&seen.records);
	complete(&seen.came);
	if (xchg(&seen.slow, false))
		msleep(300);
	WRITE_ONCE(seen.inside, false);
}

/* Return: -EINVAL if a call did not return the expected value */
static int expect(const char *what, long got, long wanted)
{
	if (got == wanted)
		return 0;
	pr_err("%s: %ld instead of %ld\n", what, got, wanted);
	return -EINVAL;
}

/* After a session's end none of its functions may be called */
static int expect_silence(const char *what)
{
	int before = atomic_read(&seen.records);

	if (READ_ONCE(seen.inside))
		return expect(what, 1, 0);
	msleep(50);
	return expect(what, atomic_read(&seen.records), before);
}

static int wait_for_record(void)
{
	reinit_completion(&seen.came);
	return expect("a record comes", !wait_for_completion_timeout(&seen.came, 20 * HZ), 0);
}

static int create_strangely(void)
{
	return expect("create without a function",
		      PTR_ERR(wsmon_session_create(NULL, NULL, NULL)), -EINVAL) ?:
	       expect("create with no attribute",
		      PTR_ERR(wsmon_session_create("what=1", misuse_record, NULL)), -EINVAL) ?:
	       expect("create with a large attribute",
		      PTR_ERR(wsmon_session_create("max_regions=99999", misuse_record, NULL)),
		      -ERANGE);
}

static int before_start(struct wsmon_client *s)
{
	struct pid *kthread = find_get_pid(2);
	int err = expect("stop before start", wsmon_session_stop(s), 0) ?:
		  expect("start without a process", wsmon_session_start(s), -EINVAL) ?:
		  expect("add a kernel thread", wsmon_session_add(s, kthread), -EINVAL) ?:
		  expect("add nothing", wsmon_session_add(s, NULL), -ESRCH) ?:
		  expect("add", wsmon_session_add(s, task_pid(current)), 0) ?:
		  expect("add twice", wsmon_session_add(s, task_tgid(current)), -EINVAL);

	put_pid(kthread);
	return err;
}

static int while_it_runs(struct wsmon_client *s)
{
	int err = expect("start", wsmon_session_start(s), 0) ?:
		  expect("start twice", wsmon_session_start(s), -EBUSY) ?:
		  expect("add while it runs", wsmon_session_add(s, task_pid(current)), -EBUSY) ?:
		  wait_for_record();
	u32 i;

	for (i = 0; !err && i < ARRAY_SIZE(seen.errors); i++)
		err = expect("in a record", seen.errors[i], -EDEADLK);
	return err;
}

/* Stop a session while its function runs, and let the function go on. */
static int stop_slowly(struct wsmon_client *s)
{
	int err;

	WRITE_ONCE(seen.slow, true);
	err = wait_for_record() ?:
	      expect("stop", wsmon_session_stop(s), 0) ?: expect_silence("after stop") ?:
	      expect("stop twice", wsmon_session_stop(s), 0);
	return err ?: expect("records in another task", seen.elsewhere, 0) ?:
	       expect("the end is told", !!(seen.types & BIT(WSMON_REC_END)), 1);
}

static int destroy_slowly(struct wsmon_client *s)
{
	int err;

	WRITE_ONCE(seen.slow, true);
	err = wait_for_record();
	wsmon_session_destroy(s);
	wsmon_session_destroy(NULL);
	return err ?: expect_silence("after destroy");
}

static void misuse_nothing(void *private, const struct wsmon_record *rec)
{
}

/* As many sessions as there may be; others may have some. */
static int too_many(void)
{
	struct wsmon_client *s[64];
	int i = 0, err;

	do {
		s[i] = wsmon_session_create(NULL, misuse_nothing, NULL);
	} while (!IS_ERR(s[i]) && ++i < ARRAY_SIZE(s));
	err = expect("one too many", i < ARRAY_SIZE(s) ? PTR_ERR(s[i]) : 0, -EMFILE) ?:
	      expect("there may be many", i > 32, 1);
	while (i--)
		wsmon_session_destroy(s[i]);
	return err;
}

/* Have all threads of a process ended, and is it still to be reaped? */
static bool is_ending(struct pid *tgid)
{
	struct task_struct *leader;
	bool ending;

	rcu_read_lock();
	leader = pid_task(tgid, PIDTYPE_TGID);
	ending = leader && !atomic_read(&leader->signal->live);
	rcu_read_unlock();
	return ending;
}

/*
 * The process waits for its last look, which calls this function, which waits for the
 * process.
 */
static void misuse_end(void *private, const struct wsmon_record *rec)
{
	u32 tries = 1000;

	if (stall_ms ? came : in_vain || !is_ending(private))
		return;
	WRITE_ONCE(came, true);
	if (stall_ms)
		msleep(stall_ms);
	while (is_ending(private) && --tries)
		msleep(20);
	if (!tries)
		WRITE_ONCE(in_vain, true);
}

static int watch_the_end(void)
{
	struct pid *tgid = find_get_pid(pid);
	struct wsmon_client *s;
	int err = -ESRCH;

	if (tgid) {
		/* the whole life of the process is within a window */
		s = wsmon_session_create("window_us=60000000 follow=1", misuse_end, tgid);
		err = PTR_ERR_OR_ZERO(s);
	}
	if (!err) {
		err = wsmon_session_add(s, tgid) ?: wsmon_session_start(s);
		if (err)
			wsmon_session_destroy(s);
	}
	if (err) {
		put_pid(tgid);
		return err;
	}
	seen.session = s;
	seen.tgid = tgid;
	return 0;
}

static int __init misuse_init(void)
{
	struct wsmon_client *s;
	int err;

	if (pid)
		return watch_the_end();
	init_completion(&seen.came);
	err = create_strangely() ?: too_many();
	if (err)
		return err;
	s = wsmon_session_create(FAST, misuse_record, NULL);
	if (IS_ERR(s))
		return PTR_ERR(s);
	WRITE_ONCE(seen.session, s);
	err = before_start(s) ?: while_it_runs(s) ?: stop_slowly(s) ?:
	      expect("start again", wsmon_session_start(s), 0);
	if (!err)
		return destroy_slowly(s);
	wsmon_session_destroy(s);
	return err;
}

static void __exit misuse_exit(void)
{
	if (!pid)
		return;
	wsmon_session_destroy(seen.session);
	put_pid(seen.tgid);
}

module_init(misuse_init);
module_exit(misuse_exit);

MODULE_DESCRIPTION("Uses sessions of wsmon as nobody should");
MODULE_AUTHOR("The wsmon authors");
MODULE_LICENSE("GPL");
